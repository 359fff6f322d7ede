"""Who may call which route: every route of the vault, for every role, key scope and tenant.

A new route needs a line in `NEEDS`. The ids in its path are those of a stranger in one test, so that no route
can forget its tenant.
"""

import json
import re
from collections.abc import Awaitable, Callable, Collection, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
from fastapi import FastAPI
from starlette.routing import Mount, Route

from docmill.errors import CorruptError
from docmill.model.statement_columns import StatementColumns
from docmill.service.app import Service
from docmill.service.matches import Matches
from docmill.service.people.access import ROLES, SCOPES_OF_ROLE, Scope
from docmill.service.people.accounts import NewPerson
from docmill.service.people.permissions import RULES
from docmill.service.people.sign_in import Visitor
from docmill.service.people.tokens import form_token
from docmill.service.store import (
    arrivals,
    ingestions,
    notes,
    saved_views,
    statement_columns,
    tags,
    tenants,
    webhook_deliveries,
    webhooks,
)
from docmill.service.store.database import new_id
from docmill.service.store.ingestions import Origin
from docmill.service.store.match_decisions import Pair
from docmill.service.store.match_edges import RELATED
from docmill.service.store.memberships import Role
from docmill.service.store.partial_uploads import Uploader
from docmill.service.store.reviews import TITLE
from docmill.web.access import AccessRoute, declaration_of
from docmill.web.app import API_PREFIX, API_ROUTERS, PAGE_ROUTERS
from docmill.web.mcp.tool_registry import TOOLS, Tool
from docmill.web.paperless.paperless_shapes import number_of
from support.people import PASSWORD

NEEDS = {
    "GET /api/v1/documents": "read",
    "POST /api/v1/documents": "write",
    "GET /api/v1/documents/{document_id}": "read",
    "PATCH /api/v1/documents/{document_id}": "review",
    "GET /api/v1/documents/{document_id}/file": "read",
    "HEAD /api/v1/documents/{document_id}/file": "read",
    "GET /api/v1/documents/{document_id}/ingestions": "read",
    "PUT /api/v1/documents/{document_id}/near-duplicates/{other_id}": "review",
    "GET /api/v1/documents/{document_id}/pages": "read",
    "GET /api/v1/documents/{document_id}/pages/{number}.webp": "read",
    "GET /api/v1/documents/{document_id}/preprocessed.pdf": "read",
    "POST /api/v1/documents/{document_id}/reprocess": "write",
    "GET /api/v1/documents/{document_id}/reviews": "read",
    "POST /api/v1/documents/{document_id}/reviews": "review",
    "POST /api/v1/documents/{document_id}/reviews/confirm": "review",
    "POST /api/v1/documents/{document_id}/reviews/reject": "review",
    "POST /api/v1/documents/{document_id}/reviews/check": "review",
    "POST /api/v1/documents/{document_id}/reviews/undo": "review",
    "POST /api/v1/documents/{document_id}/reviews/redo": "review",
    "GET /api/v1/documents/{document_id}/tags": "read",
    "POST /api/v1/documents/{document_id}/tags": "organise",
    "GET /api/v1/documents/{document_id}/notes": "read",
    "POST /api/v1/documents/{document_id}/notes": "organise",
    "DELETE /api/v1/documents/{document_id}/notes/{note_id}": "organise",
    "POST /api/v1/documents/{document_id}/unlock": "write",
    "GET /api/v1/tags": "read",
    "POST /api/v1/tags": "organise",
    "PATCH /api/v1/tags/{tag_id}": "organise",
    "DELETE /api/v1/tags/{tag_id}": "organise",
    "POST /api/v1/tags/{tag_id}/merge": "organise",
    "POST /api/v1/tags/{tag_id}/restore": "organise",
    "POST /api/v1/tags/assign": "organise",
    "GET /api/v1/statement-columns": "read",
    "PUT /api/v1/statement-columns": "review",
    "DELETE /api/v1/statement-columns/{columns_id}": "review",
    "GET /api/v1/views": "read",
    "POST /api/v1/views": "read",
    "DELETE /api/v1/views/{view_id}": "read",
    "DELETE /api/v1/documents/{document_id}": "write",
    "POST /api/v1/documents/{document_id}/restore": "write",
    "GET /api/v1/bin": "read",
    "DELETE /api/v1/bin": "administer",
    "DELETE /api/v1/bin/{document_id}": "administer",
    "GET /api/v1/ingestions": "read",
    "GET /api/v1/ingestions/{ingestion_id}": "read",
    "OPTIONS /api/v1/uploads": "write",
    "POST /api/v1/uploads": "write",
    "GET /api/v1/uploads/{upload_id}": "write",
    "PATCH /api/v1/uploads/{upload_id}": "write",
    "DELETE /api/v1/uploads/{upload_id}": "write",
    "GET /api/v1/documents/{document_id}/related": "read",
    "GET /api/v1/documents/{document_id}/matches": "read",
    "POST /api/v1/documents/{document_id}/matches": "review",
    "GET /api/v1/matches": "read",
    "POST /api/v1/matches/{match_id}/confirm": "review",
    "POST /api/v1/matches/{match_id}/decline": "review",
    "POST /api/v1/matches/{match_id}/unlink": "review",
    "POST /api/v1/matches/{match_id}/undo": "review",
    "POST /api/v1/documents/{document_id}/signed-addresses": "share files",
    "POST /api/v1/signing-keys/rotate": "administer",
    "GET /api/v1/dead-letters": "read",
    "POST /api/v1/dead-letters/purge": "administer",
    "GET /api/v1/operations": "read",
    "POST /api/v1/dead-letters/redrive": "write",
    "GET /api/v1/events": "read",
    "GET /api/v1/pauses": "read",
    "GET /api/v1/me": "signed in",
    "GET /api/v1/people": "administer",
    "POST /api/v1/people/invitations": "administer",
    "DELETE /api/v1/people/invitations/{invitation_id}": "administer",
    "PATCH /api/v1/people/{user_id}": "administer",
    "DELETE /api/v1/people/{user_id}": "administer",
    "GET /api/v1/handovers": "administer",
    "POST /api/v1/handovers/{kind}/{thing_id}/keep": "administer",
    "GET /api/v1/keys": "administer",
    "POST /api/v1/keys": "administer",
    "DELETE /api/v1/keys/{key_id}": "administer",
    "GET /api/v1/audit-log": "administer",
    "GET /api/v1/sources": "read",
    "GET /api/v1/sources/kinds": "read",
    "POST /api/v1/sources": "connect sources",
    "POST /api/v1/sources/test": "connect sources",
    "GET /api/v1/sources/{source_id}": "read",
    "PATCH /api/v1/sources/{source_id}": "connect sources",
    "DELETE /api/v1/sources/{source_id}": "administer",
    "POST /api/v1/sources/{source_id}/test": "connect sources",
    "POST /api/v1/sources/{source_id}/secrets": "connect sources",
    "POST /api/v1/sources/{source_id}/pause": "administer",
    "POST /api/v1/sources/{source_id}/resume": "connect sources",
    "GET /api/v1/sources/{source_id}/items": "read",
    "POST /api/v1/sources/{source_id}/items/{item_id}/retry": "connect sources",
    "GET /api/v1/exports/fields.{form}": "read",
    "GET /api/v1/exports/documents.zip": "read",
    "GET /api/v1/exports/datev.csv": "read",
    "GET /api/v1/exports/datev.zip": "read",
    "GET /api/v1/exports/ledger.csv": "read",
    "GET /api/v1/exports/bookings": "read",
    "GET /api/": "read",
    "POST /api/token/": "public",
    "POST /api/documents/post_document/": "write",
    "GET /api/documents/next_asn/": "read",
    "GET /api/documents/{document_number}/": "read",
    "PATCH /api/documents/{document_number}/": "organise",
    "GET /api/documents/": "read",
    "GET /api/tasks/": "read",
    "GET /api/tags/": "read",
    "POST /api/tags/": "organise",
    "GET /api/document_types/": "read",
    "GET /api/ui_settings/": "read",
    "GET /api/statistics/": "read",
    "GET /api/correspondents/": "read",
    "GET /api/custom_fields/": "read",
    "GET /api/groups/": "read",
    "GET /api/saved_views/": "read",
    "GET /api/storage_paths/": "read",
    "GET /api/users/": "read",
    "GET /": "read",
    "GET /capture": "write",
    "GET /capture/shell": "public",
    "GET /capture/session": "write",
    "GET /capture-worker.js": "public",
    "GET /capture.webmanifest": "public",
    "GET /cards": "read",
    "GET /pauses": "read",
    "POST /upload": "write",
    "POST /theme": "public",
    "POST /list": "public",
    "GET /settings": "read",
    "GET /settings/types/{name}": "read",
    "GET /settings/installation": "administer",
    "GET /settings/sources": "administer",
    "GET /settings/sources/new/{kind}": "connect sources",
    "POST /settings/sources/new/{kind}": "connect sources",
    "POST /settings/sources/new/{kind}/test": "connect sources",
    "GET /settings/sources/{source_id}/authorize": "connect sources",
    "GET /settings/sources/authorized": "connect sources",
    "GET /settings/sources/{source_id}": "administer",
    "POST /settings/sources/{source_id}": "connect sources",
    "POST /settings/sources/{source_id}/test": "connect sources",
    "POST /settings/sources/{source_id}/secrets": "connect sources",
    "POST /settings/sources/{source_id}/pause": "administer",
    "POST /settings/sources/{source_id}/resume": "connect sources",
    "POST /settings/sources/{source_id}/remove": "administer",
    "POST /settings/sources/{source_id}/items/{item_id}/retry": "connect sources",
    "GET /settings/bank-tables": "read",
    "POST /settings/bank-tables/{columns_id}": "review",
    "POST /settings/bank-tables/{columns_id}/forget": "review",
    "POST /language": "public",
    "GET /texts/{language}/{version}.json": "public",
    "POST /hooks/{source_id}": "public",
    "POST /hooks/gmail/{source_id}": "public",
    "GET /docs/{document_id}": "read",
    "GET /matches": "read",
    "POST /matches": "review",
    "GET /docs/{document_id}/matches": "read",
    "POST /docs/{document_id}/matches": "review",
    "GET /review/{document_id}/matches": "read",
    "POST /review/{document_id}/matches": "review",
    "POST /docs/{document_id}/retry": "write",
    "POST /docs/{document_id}/unlock": "write",
    "POST /review/{document_id}/reviews": "review",
    "GET /docs/{document_id}/duplicates": "read",
    "GET /review": "read",
    "GET /review/next": "read",
    "GET /review/{document_id}": "read",
    "POST /review/{document_id}/approve": "review",
    "POST /review/{document_id}/reject": "review",
    "POST /review/{document_id}/undo-rejected": "review",
    "POST /review/{document_id}/undo-approved": "review",
    "POST /review/{document_id}/take-over": "review",
    "POST /review/{document_id}/lock": "review",
    "POST /review/{document_id}/release": "review",
    "POST /review/{document_id}/draft": "review",
    "POST /docs/{document_id}/draft": "review",
    "GET /review/{document_id}/take-over": "read",
    "GET /review/{document_id}/undo-rejected": "read",
    "GET /review/{document_id}/undo-approved": "read",
    "GET /review/{document_id}/reject": "read",
    "GET /review/{document_id}/approve": "read",
    "POST /docs/{document_id}/duplicates": "review",
    "GET /review/{document_id}/reviews/redo": "read",
    "GET /review/{document_id}/reviews/undo": "read",
    "GET /review/{document_id}/reviews/confirm": "read",
    "GET /review/{document_id}/reviews": "read",
    "GET /review/{document_id}/type": "read",
    "GET /review/{document_id}/duplicates": "read",
    "GET /review/{document_id}/reviews/row": "read",
    "GET /docs/{document_id}/reviews/row": "read",
    "GET /docs/{document_id}/reviews/redo": "read",
    "GET /docs/{document_id}/reviews": "read",
    "POST /docs/{document_id}/reviews": "review",
    "POST /review/{document_id}/reviews/row": "review",
    "POST /docs/{document_id}/reviews/row": "review",
    "POST /review/{document_id}/reviews/check": "review",
    "POST /docs/{document_id}/reviews/check": "review",
    "POST /review/{document_id}/read": "review",
    "POST /docs/{document_id}/read": "review",
    "POST /review/{document_id}/reviews/confirm": "review",
    "GET /docs/{document_id}/reviews/confirm": "read",
    "POST /docs/{document_id}/reviews/confirm": "review",
    "POST /review/{document_id}/reviews/undo": "review",
    "GET /docs/{document_id}/reviews/undo": "read",
    "POST /docs/{document_id}/reviews/undo": "review",
    "POST /review/{document_id}/reviews/redo": "review",
    "POST /docs/{document_id}/reviews/redo": "review",
    "POST /review/{document_id}/type": "review",
    "GET /docs/{document_id}/type": "read",
    "POST /docs/{document_id}/type": "review",
    "POST /review/{document_id}/duplicates": "review",
    "POST /docs/{document_id}/tags": "organise",
    "POST /docs/{document_id}/notes": "organise",
    "GET /tags": "read",
    "POST /tags": "organise",
    "POST /tags/found": "organise",
    "POST /tags/marked": "organise",
    "POST /tags/{tag_id}": "organise",
    "POST /tags/{tag_id}/merge": "organise",
    "POST /tags/{tag_id}/remove": "organise",
    "POST /tags/{tag_id}/restore": "organise",
    "POST /views": "read",
    "POST /views/{view_id}/delete": "read",
    "POST /docs/{document_id}/edit": "review",
    "GET /docs/{document_id}/edit": "read",
    "GET /bin": "read",
    "POST /bin/empty": "administer",
    "POST /bin/{document_id}/remove": "administer",
    "POST /docs/{document_id}/delete": "write",
    "POST /restore": "write",
    "POST /bulk": "write",
    "GET /restore": "read",
    "GET /bulk": "read",
    "GET /bin/empty": "read",
    "GET /ops": "read",
    "POST /ops/letters/redrive": "write",
    "POST /ops/letters/discard": "administer",
    "GET /ops/letters/discard": "read",
    "GET /ops/letters/redrive": "read",
    "GET /api/docs": "signed in",
    "GET /api/docs/assets/{name}": "signed in",
    "GET /login": "public",
    "POST /login": "public",
    "POST /logout": "person",
    "GET /welcome": "public",
    "POST /welcome": "public",
    "GET /join": "public",
    "POST /join": "public",
    "GET /openid": "public",
    "GET /openid/callback": "public",
    "GET /forgotten": "public",
    "POST /forgotten": "public",
    "GET /password": "public",
    "POST /password": "public",
    "GET /profile": "person",
    "POST /profile/name": "person",
    "POST /profile/language": "person",
    "POST /profile/password": "person",
    "POST /profile/sessions/end-others": "person",
    "POST /profile/sessions/{session_id}/end": "person",
    "POST /profile/app-keys/{key_id}/end": "person",
    "POST /tenant": "person",
    "GET /people": "administer",
    "POST /people/invitations": "administer",
    "POST /people/invitations/{invitation_id}/withdraw": "administer",
    "POST /people/{user_id}/role": "administer",
    "POST /people/{user_id}/remove": "administer",
    "POST /people/handovers/{kind}/{thing_id}/keep": "administer",
    "GET /keys": "administer",
    "POST /keys": "administer",
    "POST /keys/{key_id}/revoke": "administer",
    "GET /audit-log": "administer",
    "GET /api/v1/webhooks": "administer",
    "POST /api/v1/webhooks": "send events",
    "GET /api/v1/webhooks/{webhook_id}": "administer",
    "PATCH /api/v1/webhooks/{webhook_id}": "send events",
    "DELETE /api/v1/webhooks/{webhook_id}": "administer",
    "POST /api/v1/webhooks/{webhook_id}/test": "send events",
    "POST /api/v1/webhooks/{webhook_id}/pause": "administer",
    "POST /api/v1/webhooks/{webhook_id}/resume": "send events",
    "POST /api/v1/webhooks/{webhook_id}/rotate": "send events",
    "GET /api/v1/webhooks/{webhook_id}/deliveries": "administer",
    "POST /api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver": "send events",
    "POST /api/v1/webhooks/{webhook_id}/redeliver": "send events",
    "GET /webhooks": "administer",
    "POST /webhooks": "send events",
    "GET /webhooks/{webhook_id}": "administer",
    "POST /webhooks/{webhook_id}": "send events",
    "POST /webhooks/{webhook_id}/test": "send events",
    "POST /webhooks/{webhook_id}/pause": "administer",
    "POST /webhooks/{webhook_id}/resume": "send events",
    "POST /webhooks/{webhook_id}/rotate": "send events",
    "POST /webhooks/{webhook_id}/remove": "administer",
    "POST /webhooks/{webhook_id}/redeliver": "send events",
    "POST /webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver": "send events",
    "POST /mcp": "read",
}

SCOPES_NEEDED: dict[str, set[Scope]] = {
    "signed in": set(),
    "read": {"read"},
    "review": {"read", "review"},
    "write": {"write"},
    "organise": {"read", "write"},
    "share files": {"read", "write"},
    "administer": {"administer"},
    "connect sources": {"administer", "write"},
    "send events": {"administer", "read"},
}
"""Of an API key, for each permission. Pages need `read` besides: all of them show something of documents."""

SECRET = "Zeppelin"

GIVES_A_ROLE = {"PATCH /api/v1/people/{user_id}"}
"""What needs the scopes of that role, too: that of a viewer here."""

OF_PEOPLE = {
    "POST /api/v1/handovers/{kind}/{thing_id}/keep",
    "POST /people/handovers/{kind}/{thing_id}/keep",
}
"""What no key does, whatever its scopes: a person answers for what is kept."""

KEYS: list[set[Scope]] = [
    {"read"},
    {"write"},
    {"administer"},
    {"read", "review"},
    {"read", "write"},
    {"administer", "write"},
    {"administer", "read"},
    {"read", "review", "write"},
    {"administer", "read", "review"},
]
RECEIPTS = {
    "Deletion",
    "Fault",
    "Reprocessing",
    "Redriving",
    "Restoration",
    "ResumableUpload",
    "UploadedFile",
    "UploadResult",
}
"""Answers with ids, numbers and what the request itself sent: all that a key without `read` gets of
documents."""

OPEN_TO_ALL = {"/healthz", "/readyz", "/metrics", "/api/v1/openapi.json"}
"""They tell nothing of a tenant; the metrics, of all together, are for this machine only."""

REVIEW = {"ingestion_id": str(new_id())}

JSON: dict[str, dict[str, Any]] = {
    "PATCH /api/v1/documents/{document_id}": {"document_type": "invoice"},
    "PUT /api/v1/documents/{document_id}/near-duplicates/{other_id}": {"is_duplicate": True},
    "POST /api/v1/documents/{document_id}/reviews": {
        **REVIEW,
        "reviews": [{"path": "", "action": "confirm"}],
    },
    "POST /api/v1/documents/{document_id}/reviews/confirm": REVIEW,
    "POST /api/v1/documents/{document_id}/reviews/undo": REVIEW,
    "POST /api/v1/documents/{document_id}/unlock": {"password": "guess"},
    "POST /api/v1/documents/{document_id}/matches": {"other_id": str(new_id())},
    "PATCH /api/v1/people/{user_id}": {"role": "viewer"},
    "POST /api/v1/documents/{document_id}/reviews/check": {
        "reviews": [{"path": "number", "action": "confirm"}]
    },
    "POST /api/v1/documents/{document_id}/reviews/redo": REVIEW,
    "POST /api/v1/documents/{document_id}/reviews/reject": {**REVIEW, "reason": "spam"},
    "POST /api/v1/documents/{document_id}/signed-addresses": {},
    "POST /api/v1/documents/{document_id}/tags": {"add": ["theirs"]},
    "POST /api/v1/documents/{document_id}/notes": {"text": "theirs"},
    "PATCH /api/documents/{document_number}/": {"archive_serial_number": 7},
    "PATCH /api/v1/tags/{tag_id}": {"name": "theirs"},
    "POST /api/v1/tags/{tag_id}/merge": {"into": str(new_id())},
    "PATCH /api/v1/sources/{source_id}": {"name": "theirs"},
    "PATCH /api/v1/webhooks/{webhook_id}": {"with_data": True},
    "POST /api/v1/webhooks/{webhook_id}/rotate": {},
    "POST /api/v1/webhooks/{webhook_id}/redeliver": {},
}
_OF_DOCUMENT = {
    "duplicates": {"other_id": str(new_id()), "decision": "same"},
    "draft": {"path": "number", "typed": "8"},
    "matches": {"link": f"{new_id()} {new_id()} related"},
    "read": {"page": "1", "box": "0,0,1,1"},
    "reviews": {**REVIEW, "path": "number"},
    "reviews/check": {**REVIEW, "path": "number", "typed": "8"},
    "reviews/confirm": REVIEW,
    "reviews/redo": REVIEW,
    "reviews/row": {**REVIEW, "table": "lines"},
    "reviews/undo": REVIEW,
    "type": {"document_type": "invoice"},
}
FORMS: dict[str, dict[str, str]] = {
    "POST /matches": {"match_id": str(new_id()), "action": "confirm"},
    "POST /docs/{document_id}/unlock": {"password": "guess"},
    "POST /people/{user_id}/role": {"role": "viewer"},
    **{
        f"POST /{base}/{{document_id}}/{end}": form
        for base in ("docs", "review")
        for end, form in _OF_DOCUMENT.items()
    },
    "POST /docs/{document_id}/edit": {"title": "theirs"},
    "POST /docs/{document_id}/tags": {"add": "theirs"},
    "POST /docs/{document_id}/notes": {"text": "theirs"},
    "POST /review/{document_id}/approve": REVIEW,
    "POST /review/{document_id}/reject": {**REVIEW, "reason": "spam"},
    "POST /tags/{tag_id}": {"name": "theirs"},
    "POST /tags/{tag_id}/merge": {"into": str(new_id())},
}
"""What a request needs so that nothing but its ids is wrong with it."""


def all_routes() -> dict[str, AccessRoute]:
    """Every route by method and path."""
    found: dict[str, AccessRoute] = {}
    for router in (*API_ROUTERS, *PAGE_ROUTERS):
        prefix = API_PREFIX if router in API_ROUTERS else ""
        for route in router.routes:
            assert isinstance(route, AccessRoute)
            for method in route.methods or ():
                found[f"{method} {prefix}{route.path}"] = route
    return found


def test_every_route_is_in_the_table_with_what_it_needs() -> None:
    declared = {name: declaration_of(route.endpoint).need for name, route in all_routes().items()}

    assert declared == NEEDS


def test_nothing_else_is_served(app: FastAPI) -> None:
    others = {route.path for route in app.routes if isinstance(route, Route | Mount)}
    paths = {path for path in others if not path.startswith("/static/")}

    assert paths <= OPEN_TO_ALL
    assert set(app.openapi()["paths"]) <= {name.partition(" ")[2] for name in NEEDS} | OPEN_TO_ALL


NO_IDS = {
    "language": "de",
    "version": "0",
    "number": 1,
    "form": "csv",
    "name": "swagger-ui.css",
    "kind": "folder",
}
"""Parts of paths that are the same for every tenant."""


class Somebody:
    """One who asks: a person with a session, or a program with a key."""

    def __init__(self, app: FastAPI, headers: dict[str, str], session: str = "") -> None:
        cookies = {"docmill-session": session} if session else {}
        token = {"x-form-token": form_token(session)} if session else {}
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(
            transport=transport, base_url="http://localhost", headers={**headers, **token}, cookies=cookies
        )

    async def ask(self, name: str, ids: dict[str, object]) -> int:
        """The status of the answer. ids: for the path; others are made up."""
        return (await self.send(name, ids)).status_code

    async def request(self, method: str, path: str, body: dict[str, Any]) -> httpx.Response:
        """The answer to a request as it is."""
        return await self._client.request(method, path, **body)

    async def send(self, name: str, ids: dict[str, object]) -> httpx.Response:
        """The answer. ids: for the path; others are made up."""
        method, _, path = name.partition(" ")
        path = path.replace("{kind}/{thing_id}", "key/{thing_id}")
        path = re.sub(
            r"\{(\w+)\}", lambda part: str(ids.get(part[1]) or NO_IDS.get(part[1]) or new_id()), path
        )
        body: dict[str, Any] = {}
        if name in JSON:
            body["json"] = JSON[name]
        elif name in FORMS:
            body["data"] = FORMS[name]
        return await self._client.request(method, path, **body)


@pytest.fixture
async def owner(service: Service, app: FastAPI) -> UUID:
    """The first owner; streams of events end at once."""
    app.state.vault.closing.set()
    return await service.accounts.create_first(NewPerson("anna@example.org", "Anna", PASSWORD), "Acme")


@pytest.fixture
def person(service: Service, app: FastAPI) -> Callable[..., Awaitable[Somebody]]:
    """Makes people with a role in a tenant, with a session each."""

    async def make(role: Role, tenant_id: UUID | None = None) -> Somebody:
        tenant_id = tenant_id or service.default_tenant_id
        user_id, _ = await service.accounts.add(f"{new_id()}@example.org", role, role, tenant_id=tenant_id)
        session = await service.sign_in.begin_session(user_id, Visitor())
        return Somebody(app, {}, session.token)

    return make


async def test_without_a_sign_in_nothing_is_reached(app: FastAPI, owner: UUID) -> None:
    del owner
    nobody = Somebody(app, {})
    wrong = Somebody(app, {"authorization": "Bearer dm_guess"}, "guess")

    for name, need in NEEDS.items():
        if need != "public":
            assert (await nobody.ask(name, {}), await wrong.ask(name, {})) == (401, 401), name


@pytest.mark.usefixtures("owner")
@pytest.mark.parametrize("role", ROLES)
async def test_a_role_reaches_what_it_allows(person: Callable[..., Awaitable[Somebody]], role: Role) -> None:
    for name, need in NEEDS.items():
        if need == "public":
            continue
        somebody = await person(role)  # another one each time, since some routes end the session
        is_allowed = SCOPES_NEEDED.get(need, set()) <= SCOPES_OF_ROLE[role]
        assert (await somebody.ask(name, {}) not in {401, 403}) == is_allowed, name


@pytest.fixture
def program(service: Service, app: FastAPI, owner: UUID) -> Callable[..., Awaitable[Somebody]]:
    """Makes programs with a key each, which an owner has made."""

    async def make(scopes: Collection[Scope]) -> Somebody:
        session = await service.sign_in.begin_session(owner, Visitor())
        access = await service.sign_in.of_session(session.token)
        assert access is not None
        soon = datetime.now(UTC) + timedelta(days=1)
        key = await service.api_keys.create(access, "robot", scopes, soon)
        return Somebody(app, {"authorization": f"Bearer {key.secret}"})

    return make


def _scopes_needed(name: str) -> set[Scope]:
    is_page = not name.partition(" ")[2].startswith(("/api/", "/mcp"))
    needed = SCOPES_NEEDED[NEEDS[name]]
    of_documents: set[Scope] = {"read"} if name in GIVES_A_ROLE or (is_page and needed) else set()
    return needed | of_documents


def test_each_permission_needs_the_scopes_of_the_table() -> None:
    assert {name: set(rule.scopes) for name, rule in RULES.items()} == {
        name: scopes for name, scopes in SCOPES_NEEDED.items() if name != "signed in"
    }


def _joined(scopes: Iterable[Scope]) -> str:
    """The name of a test, the same in every process."""
    return "+".join(sorted(scopes))


@pytest.mark.parametrize("scopes", KEYS, ids=_joined)
async def test_a_key_reaches_what_its_scopes_allow(
    program: Callable[..., Awaitable[Somebody]], scopes: set[Scope]
) -> None:
    robot = await program(scopes)

    for name, need in NEEDS.items():
        if need != "public":
            is_allowed = need != "person" and name not in OF_PEOPLE and _scopes_needed(name) <= scopes
            assert (await robot.ask(name, {}) not in {401, 403}) == is_allowed, name


@pytest.mark.parametrize("scopes", [scopes for scopes in KEYS if "administer" in scopes], ids=_joined)
async def test_no_key_makes_anybody_an_owner(
    service: Service,
    app: FastAPI,
    owner: UUID,
    program: Callable[..., Awaitable[Somebody]],
    scopes: set[Scope],
) -> None:
    tenant_id = service.default_tenant_id
    vera, _ = await service.accounts.add("vera@example.org", "Vera", "viewer", tenant_id=tenant_id)
    session = await service.sign_in.begin_session(owner, Visitor())
    role: dict[str, Any] = {"role": "owner"}
    requests: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/api/v1/people/invitations", {"json": role}),
        ("POST", "/api/v1/people/invitations", {"json": {**role, "email": "eve@example.org"}}),
        ("PATCH", f"/api/v1/people/{vera}", {"json": role}),
        ("POST", "/people/invitations", {"data": role}),
        ("POST", f"/people/{vera}/role", {"data": role}),
    ]

    async def answers(somebody: Somebody) -> list[int]:
        return [(await somebody.request(*request)).status_code for request in requests]

    async def owners() -> list[object]:
        async with service.database.accounts(tenant_id) as conn:
            cur = await conn.execute(
                """
                SELECT user_id::text FROM memberships WHERE role = 'owner' AND ended_at IS NULL
                 UNION ALL
                SELECT 'invited' FROM one_time_links WHERE role = 'owner'
                """
            )
            return [who for (who,) in await cur.fetchall()]

    assert await answers(await program(scopes)) == [403] * len(requests)
    assert await owners() == [str(owner)]

    # The requests are right: a person may.
    assert [status // 100 for status in await answers(Somebody(app, {}, session.token))] == [2, 2, 2, 2, 3]
    assert sorted(map(str, await owners())) == sorted([str(owner), str(vera), *["invited"] * 3])


def test_answers_without_read_are_receipts(app: FastAPI) -> None:
    """What comes back fits the table: by the shapes of the answers that the API describes."""
    described: dict[str, Any] = app.openapi()
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            need = NEEDS.get(f"{method.upper()} {path}")
            if need is None or need not in RULES or RULES[need].answer != "receipts":  # pyright: ignore[reportArgumentType]  a word of the table
                continue
            answers = {
                status: answer for status, answer in operation["responses"].items() if status.startswith("2")
            }
            names = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(answers)))
            assert names <= RECEIPTS, (method, path)


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_a_tool_has_a_permission_of_the_table(tool: Tool[Any]) -> None:
    assert tool.needs in RULES
    assert tool.needs == ("write" if tool.name.startswith("file_") else "read")


@pytest.mark.parametrize("scopes", [{"write"}, {"administer"}, {"administer", "write"}], ids=_joined)
async def test_a_key_without_read_is_told_nothing_of_a_document(
    service: Service,
    owner: UUID,
    program: Callable[..., Awaitable[Somebody]],
    read: Callable[..., Awaitable[UUID]],
    scopes: set[Scope],
) -> None:
    tenant_id = service.default_tenant_id
    document_id, other_id = await read(f"{SECRET}.png"), await read(f"{SECRET}-2.png")
    await service.edits.change(document_id, {TITLE: SECRET}, tenant_id=tenant_id, edited_by=owner)
    async with service.database.tenant(tenant_id) as conn:
        (tag_id,) = await tags.named_or_new(conn, [SECRET], tenant_id=tenant_id)
        newest = await ingestions.newest_id(conn, document_id)
        await notes.add(conn, document_id, SECRET, tenant_id=tenant_id, author="Us", author_id=owner)
    ids: dict[str, object] = {
        "document_id": document_id,
        "other_id": other_id,
        "ingestion_id": newest,
        "tag_id": tag_id,
    }
    robot = await program(scopes)

    # What takes the document away comes last.
    for name in sorted(NEEDS, key=lambda name: "DELETE" in name or "delete" in name):
        if NEEDS[name] != "public" and "{document_id}" in name:
            answer = await robot.send(name, ids)
            assert SECRET not in answer.text, name
            assert SECRET not in str(answer.headers), name


async def test_ids_of_another_tenant_are_not_found_anywhere(
    service: Service,
    owner: UUID,
    person: Callable[..., Awaitable[Somebody]],
    read: Callable[..., Awaitable[UUID]],
) -> None:
    session = await service.sign_in.begin_session(owner, Visitor())
    access = await service.sign_in.of_session(session.token)
    assert access is not None
    await service.invitations.invite("viewer", tenant_id=service.default_tenant_id, invited_by=owner)
    key = await service.api_keys.create(access, "robot", ["read"], None)
    async with service.database.accounts() as conn:
        elsewhere = await tenants.add(conn, "Elsewhere")
        cur = await conn.execute("SELECT id FROM one_time_links WHERE kind = 'invitation'")
        ((invitation_id,),) = await cur.fetchall()
    source = await service.sources.add(
        "webhook", "Ours", {}, {}, tenant_id=service.default_tenant_id, created_by=owner
    )
    document_id = await read()
    async with service.database.tenant(service.default_tenant_id) as conn:
        (tag_id,) = await tags.named_or_new(conn, ["ours"], tenant_id=service.default_tenant_id)
        newest = await ingestions.newest_id(conn, document_id)
        columns = await statement_columns.put(
            conn,
            StatementColumns(
                delimiter=";", headings=("Day", "Sum"), date=0, date_order="dmy", decimal_mark=",", amount=1
            ),
            tenant_id=service.default_tenant_id,
            set_by=owner,
        )
        origin = Origin(source_id=source.id, metadata={"path": "a.pdf"})
        await arrivals.add(
            conn,
            origin,
            "a",
            tenant_id=service.default_tenant_id,
            document_id=None,
            error=CorruptError("the file is empty"),
        )
        (item,) = await arrivals.of_source(conn, source.id, limit=1)
        view = await saved_views.save(
            conn, tenant_id=service.default_tenant_id, user_id=owner, name="ours", query="q=ours"
        )
        await webhooks.add(
            conn,
            webhook_id := new_id(),
            tenant_id=service.default_tenant_id,
            url="https://hook.invalid/",
            events=["document.failed"],
            with_data=False,
            secret=b"sealed",
            created_by=owner,
        )
        delivery_id = await webhook_deliveries.add_test(
            conn, webhook_id, tenant_id=service.default_tenant_id, kind="webhook.test", lease_s=0
        )
        view = await saved_views.save(
            conn, tenant_id=service.default_tenant_id, user_id=owner, name="ours", query="q=ours"
        )
        note_id = await notes.add(
            conn, document_id, "ours", tenant_id=service.default_tenant_id, author="Us", author_id=owner
        )
    ids: dict[str, object] = {
        "source_id": source.id,
        "document_id": document_id,
        "document_number": number_of(document_id),
        "other_id": await read("other.png"),
        "user_id": owner,
        "key_id": key.id,
        "thing_id": key.id,
        "session_id": access.session_id,
        "invitation_id": invitation_id,
        "ingestion_id": newest,
        "tag_id": tag_id,
        "view_id": view.id,
        "note_id": note_id,
        "columns_id": columns.id,
        "item_id": item.id,
        "webhook_id": webhook_id,
        "delivery_id": delivery_id,
    }
    upload = await service.resumable_uploads.create(
        Uploader(service.default_tenant_id, owner), byte_length=8, file_name="bill.pdf"
    )
    ids["upload_id"] = upload.id
    linked = await Matches(service.database, service.feed).link(
        Pair(str(document_id), str(ids["other_id"]), RELATED),
        tenant_id=service.default_tenant_id,
        decided_by=owner,
    )
    ids["match_id"] = linked.link.pair.id
    before = await _everything(service)
    stranger = await person("owner", elsewhere)

    unknown = {part for name in NEEDS for part in re.findall(r"\{(\w+)\}", name)} - {*ids, *NO_IDS}
    assert unknown == set(), "ids in a path that this test does not know"
    found: dict[str, int] = {}
    for name, need in NEEDS.items():
        # `back` only names the page of the document, without a look at it.
        is_back = re.match(r"GET /(docs|review)/{document_id}/", name)
        if re.search(r"\{(?!form|name|kind)", name) and not is_back and need != "public":
            found[name] = await stranger.ask(name, ids)
    assert {name: status for name, status in found.items() if status != 404} == {}
    assert await _everything(service) == before


async def _everything(service: Service) -> list[object]:
    """What a stranger must not change."""
    async with service.database.tenant(service.default_tenant_id) as conn:
        cur = await conn.execute(
            """
            SELECT (SELECT count(*) FROM review), (SELECT count(*) FROM ingestion),
                   (SELECT count(*) FROM one_time_links), (SELECT count(*) FROM audit_log),
                   (SELECT array_agg(role || coalesce(ended_at::text, '') ORDER BY user_id) FROM memberships),
                   (SELECT count(*) FROM api_keys WHERE revoked_at IS NULL),
                   (SELECT count(*) FROM tag WHERE removed_at IS NULL), (SELECT count(*) FROM saved_view),
                   (SELECT count(*) FROM review_lock), (SELECT count(*) FROM review_draft),
                   (SELECT array_agg(decision) FROM match_decision),
                   (SELECT count(*) FROM arrival),
                   (SELECT array_agg(state || name || version) FROM doc_source WHERE removed_at IS NULL),
                   (SELECT array_agg(text) FROM document_note),
                   (SELECT array_agg(webhook.state || encode(secret, 'escape') || with_data) FROM webhook),
                   (SELECT array_agg(attempts) FROM webhook_delivery)
            """
        )
        return list(await cur.fetchall())
