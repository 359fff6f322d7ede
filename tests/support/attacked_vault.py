"""A vault of two organisations for tests that attack it, and the parameters of all of its routes."""

import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, get_origin
from urllib.parse import quote, urlencode
from uuid import UUID

import httpx
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from psycopg.types.json import Jsonb
from pydantic import BaseModel

from docmill.service.app import Service
from docmill.service.people.accounts import NewPerson
from docmill.service.people.keys import NewKey
from docmill.service.people.sign_in import Visitor
from docmill.service.people.tokens import form_token
from docmill.service.store import ingestions, saved_views, tags, tenants
from docmill.service.store.database import new_id
from docmill.service.store.memberships import Role
from docmill.web.access import AccessRoute
from docmill.web.app import API_PREFIX, API_ROUTERS, PAGE_ROUTERS
from support.people import PASSWORD

Place = Literal["path", "query", "header", "form", "json"]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a route. is_id: whether it names a row."""

    place: Place
    name: str
    is_id: bool
    is_list: bool


@dataclass(frozen=True)
class Operation:
    """A method of a route."""

    method: str
    path: str
    route: AccessRoute
    parameters: tuple[Parameter, ...]

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def is_page(self) -> bool:
        return not self.path.startswith("/api/")


@dataclass
class Organisation:
    """A tenant, its people's sessions by role, a key of all scopes, and ids of its rows by parameter."""

    tenant_id: UUID
    sessions: dict[Role, str] = field(default_factory=dict[Role, str])
    users: dict[Role, UUID] = field(default_factory=dict[Role, UUID])
    key: NewKey | None = None
    ids: dict[str, str] = field(default_factory=dict[str, str])


@dataclass
class AttackedVault:
    """The vault, and two organisations with rows of every kind."""

    app: FastAPI
    service: Service
    ours: Organisation
    theirs: Organisation

    def client(self, *, session: str = "", key: str = "", address: str = "127.0.0.1") -> httpx.AsyncClient:
        """A client with a session, with its token for forms, or with a key."""
        headers = {"accept": "text/html,*/*"}
        if session:
            headers["x-form-token"] = form_token(session)
        if key:
            headers["authorization"] = f"Bearer {key}"
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app, raise_app_exceptions=False, client=(address, 7)),
            base_url="http://localhost",
            headers=headers,
            cookies={"docmill-session": session} if session else {},
        )


async def furnish(app: FastAPI, service: Service) -> AttackedVault:
    """Fill a new vault."""
    owner = await service.accounts.create_first(NewPerson("anna@example.org", "Anna", PASSWORD), "Ours")
    async with service.database.accounts() as conn:
        elsewhere = await tenants.add(conn, "Theirs")
    ours, theirs = Organisation(service.default_tenant_id), Organisation(elsewhere)
    for organisation in (ours, theirs):
        for role in ("owner", "reviewer", "viewer"):
            if organisation is ours and role == "owner":
                user_id = owner
            else:
                email = f"{role}@{organisation.tenant_id}.example"
                user_id, _ = await service.accounts.add(email, role, role, tenant_id=organisation.tenant_id)
            await sign_in(service, organisation, role, user_id)
        await _add_rows(service, organisation)
    return AttackedVault(app, service, ours, theirs)


async def sign_in(service: Service, organisation: Organisation, role: Role, user_id: UUID) -> None:
    """Begin a session for a person of the organisation."""
    session = await service.sign_in.begin_session(user_id, Visitor(), tenant_id=organisation.tenant_id)
    organisation.sessions[role], organisation.users[role] = session.token, user_id


async def _add_rows(service: Service, organisation: Organisation) -> None:
    tenant_id, owner = organisation.tenant_id, organisation.users["owner"]
    access = await service.sign_in.of_session(organisation.sessions["owner"])
    assert access is not None
    organisation.key = await service.api_keys.create(
        access, "robot", ["read", "review", "write", "administer"], None
    )
    await service.invitations.invite("viewer", tenant_id=tenant_id, invited_by=owner)
    documents = [await read_document(service, tenant_id, name) for name in ("first.pdf", "second.pdf")]
    async with service.database.tenant(tenant_id) as conn:
        tag_id, other_tag_id = await tags.named_or_new(conn, ["rent", "travel"], tenant_id=tenant_id)
        ingestion_id = await ingestions.newest_id(conn, documents[0])
        view = await saved_views.save(conn, tenant_id=tenant_id, user_id=owner, name="mine", query="q=a")
        cur = await conn.execute("SELECT id FROM one_time_links WHERE kind = 'invitation'")
        ((invitation_id,),) = await cur.fetchall()
        await conn.execute(
            """
            INSERT INTO dead_letter (id, tenant_id, body, error_code, error_message, step, attempts)
            VALUES (gen_random_uuid(), %(tenant)s, %(ingestion)s, 'corrupt', 'damaged', 'read', 1)
            """,
            {"tenant": tenant_id, "ingestion": ingestion_id},
        )
    organisation.ids = {
        "document_id": str(documents[0]),
        "document": str(documents[0]),
        "other_id": str(documents[1]),
        "ingestion_id": str(ingestion_id),
        "tag_id": str(tag_id),
        "into": str(other_tag_id),
        "view_id": str(view.id),
        "invitation_id": str(invitation_id),
        "user_id": str(organisation.users["viewer"]),
        "key_id": str(organisation.key.id),
        "session_id": str(access.session_id),
        "tenant_id": str(tenant_id),
        "after": str(documents[0]),
        "id": str(documents[0]),
        "ids": str(documents[0]),
        "documents": str(documents[0]),
    }


async def _chunks(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def read_document(service: Service, tenant_id: UUID, file_name: str, **columns: object) -> UUID:
    """Add a document that was read: its id. columns: of the ingestion, others than those of a receipt."""
    accepted = await service.intake.accept(
        _chunks(f"{tenant_id} {file_name}".encode()), tenant_id=tenant_id, file_name=file_name
    )
    values: dict[str, object] = {
        "classification": {
            "document_type": "receipt",
            "title": "Corner Bakery",
            "document_date": "2026-11-03",
        },
        "structured_data": {
            "currency": "EUR",
            "gross_total": "12.90",
            "seller": {"name": "Corner Bakery", "address": None},
            "issue_date": "2026-11-03",
            "lines": [{"description": "Bread", "net_amount": "4.50"}],
        },
        "evidence": {},
        "error_message": None,
        "extraction_reason": None,
        **columns,
    }
    async with service.database.tenant(tenant_id) as conn:
        await conn.execute(
            """
            UPDATE document SET media_type = 'application/pdf', page_count = 1, text = %(text)s
             WHERE id = %(id)s
            """,
            {"id": accepted.document_id, "text": columns.get("text", "Corner Bakery 12.90 EUR")},
        )
        await conn.execute(
            """
            UPDATE ingestion
               SET status = 'completed', classification = %(classification)s, evidence = %(evidence)s,
                   structured_data = %(structured_data)s, valid_structured_data = true,
                   error_message = %(error_message)s, extraction_reason = %(extraction_reason)s,
                   pipeline_fingerprint = %(fingerprint)s, attempt_count = 1, started_at = created_at,
                   completed_at = clock_timestamp()
             WHERE document_id = %(id)s
            """,
            {
                **{key: Jsonb(value) if isinstance(value, dict) else value for key, value in values.items()},
                "id": accepted.document_id,
                "fingerprint": await service.fingerprint.now(),
            },
        )
    return accepted.document_id


def operations() -> Iterator[Operation]:
    """Every method of every route, with all of its parameters."""
    for router in (*API_ROUTERS, *PAGE_ROUTERS):
        prefix = API_PREFIX if router in API_ROUTERS else ""
        for route in router.routes:
            assert isinstance(route, AccessRoute)
            parameters = tuple(dict.fromkeys(_parameters(route.dependant)))
            for method in sorted(route.methods or ()):
                yield Operation(method, prefix + route.path, route, parameters)


def _parameters(dependant: Dependant) -> Iterator[Parameter]:
    for place, fields in (
        ("path", dependant.path_params),
        ("query", dependant.query_params),
        ("header", dependant.header_params),
        ("form", dependant.body_params),
    ):
        for parameter in fields:
            info = parameter.field_info
            where: Any = "json" if place == "form" and type(info).__name__ == "Body" else place
            model = info.annotation
            if isinstance(model, type) and issubclass(model, BaseModel):
                for name, member in model.model_fields.items():
                    yield _parameter(where, member.alias or name, member.annotation)
            else:
                yield _parameter(where, parameter.alias, info.annotation)
    for inner in dependant.dependencies:
        yield from _parameters(inner)


def _parameter(place: Place, name: str, annotation: object) -> Parameter:
    is_id = _mentions(annotation, UUID) or name == "document_id"
    is_list = _mentions(annotation, list) or _mentions(annotation, tuple) or _mentions(annotation, frozenset)
    return Parameter(place, name, is_id, is_list)


def _mentions(annotation: object, kind: type) -> bool:
    is_it = annotation is kind or get_origin(annotation) is kind
    return is_it or any(_mentions(part, kind) for part in get_args(annotation))


def send_of(
    operation: Operation, values: Mapping[Parameter, Any], ids: Mapping[str, str]
) -> tuple[str, str, dict[str, Any]]:
    """Method, address, and body with its headers, of a request with `values`. ids: for the path."""
    by_place: dict[Place, dict[str, Any]] = {"query": {}, "header": {}, "form": {}, "json": {}, "path": {}}
    for parameter, value in values.items():
        is_repeated = parameter.is_list and not isinstance(value, list)
        by_place[parameter.place][parameter.name] = [value] if is_repeated else value
    known = {"number": "1", "form": "csv", "name": "swagger-ui.css", **ids, **by_place["path"]}
    path = re.sub(
        r"\{(\w+)\}",
        lambda part: quote(known.get(part[1]) or str(new_id()), "", errors="surrogatepass"),
        operation.path,
    )
    if by_place["query"]:
        path += "?" + urlencode(by_place["query"], doseq=True, errors="surrogatepass")
    request: dict[str, Any] = {}
    places = {parameter.place for parameter in operation.parameters}
    if "json" in places:
        request["content"] = json.dumps(by_place["json"])
        request["headers"] = {"content-type": "application/json"}
    elif "form" in places:
        request["content"] = urlencode(by_place["form"], doseq=True, errors="surrogatepass")
        request["headers"] = {"content-type": "application/x-www-form-urlencoded"}
    return operation.method, path, request
