"""Pages offer what the person before them may do, and nothing that would be refused."""

import re
from collections.abc import Awaitable, Callable
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin, urlsplit
from uuid import UUID

import httpx
import pytest
from fastapi import FastAPI
from starlette.routing import Match

from docmill.service.app import Service
from docmill.service.people.access import SCOPES_OF_ROLE
from docmill.service.people.accounts import NewPerson
from docmill.service.people.permissions import RULES
from docmill.service.people.sign_in import Visitor
from docmill.service.store.memberships import Role
from docmill.web.access import SESSION_COOKIE, AccessRoute, declaration_of
from docmill.web.app import API_PREFIX, API_ROUTERS, PAGE_ROUTERS
from support.people import PASSWORD

UNSURE = {"check": "confidence", "message": "Date is uncertain.", "fields": ["issue_date"]}


class Controls(HTMLParser):
    """The links of a page, and the addresses that its forms and buttons post to."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.posts: set[str] = set()
        self._hidden = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "a" and (link := values.get("href")):
            self.links.add(link)
        if tag == "form" and values.get("method") == "post" and "hidden" not in values:
            self.posts.add(values.get("action") or "")
        if tag in {"button", "input"} and (address := values.get("formaction")):
            self.posts.add(address)


@pytest.fixture
async def documents(
    service: Service,
    add: Callable[..., Awaitable[UUID]],
    finish: Callable[..., Awaitable[None]],
    read: Callable[..., Awaitable[UUID]],
) -> None:
    """One document in each of the states that have actions of their own, and one in the bin."""
    owner = await service.accounts.create_first(NewPerson("anna@example.org", "Anna", PASSWORD), "Acme")
    await read("ready.png")
    await read("unsure.png", verdict={"failures": [UNSURE]}, valid_structured_data=False)
    untyped = {"document_type": "other", "title": "What is it", "document_date": None}
    await finish(await add("untyped.png"), classification=untyped, extraction_reason="unknown_type")
    failed = {"status": "failed", "classification": None, "error_code": "corrupt", "error_message": "Broken."}
    await finish(await add("failed.png"), **failed)
    deleted = await add("deleted.png")
    await finish(deleted)
    await service.bin.delete(deleted, tenant_id=service.default_tenant_id, deleted_by=owner)


@pytest.mark.usefixtures("documents")
@pytest.mark.parametrize("role", ["viewer", "reviewer", "owner"])
async def test_no_page_offers_what_would_be_refused(service: Service, app: FastAPI, role: Role) -> None:
    permissions = {name for name, rule in RULES.items() if rule.scopes <= SCOPES_OF_ROLE[role]}
    allowed = {"public", "signed in", "person", *permissions}
    user_id, _ = await service.accounts.add(
        f"{role}@example.org", role, role, tenant_id=service.default_tenant_id
    )
    session = await service.sign_in.begin_session(user_id, Visitor())
    cookies = {SESSION_COOKIE: session.token}
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    refused: list[str] = []
    offered: set[str] = set()
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", cookies=cookies) as client:
        waiting, seen = ["/", "/bin", "/profile"], dict[str, int]()
        while waiting:
            page = waiting.pop()
            answer = await client.get(page, headers={"accept": "text/html"})
            if answer.status_code >= 400:
                refused.append(f"{page} is linked to and answers {answer.status_code}")
            if not answer.headers.get("content-type", "").startswith("text/html"):
                continue
            controls = Controls(answer.text)
            for address in controls.posts:
                need = _need(urljoin(page, address))
                offered.add(need)
                if need not in allowed:
                    refused.append(f"{page} offers {address}, which needs {need!r}")
            for link in controls.links:
                target = urljoin(page, link).partition("#")[0]
                kind = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "", urlsplit(target).path)
                if target.startswith("/") and not target.startswith("/api/") and seen.get(kind, 0) < 8:
                    seen[kind] = seen.get(kind, 0) + 1
                    waiting.append(target)

    assert refused == []
    assert {"write", "review"} & offered == {"write", "review"} & allowed, "the pages were not reached"


def _need(address: str) -> str:
    """What the route behind the address of a form needs."""
    path = urlsplit(address).path
    is_api = path.startswith(f"{API_PREFIX}/")
    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST",
        "path": path.removeprefix(API_PREFIX),
        "headers": [],
    }
    for router in API_ROUTERS if is_api else PAGE_ROUTERS:
        for route in router.routes:
            if isinstance(route, AccessRoute) and route.matches(scope)[0] is Match.FULL:
                return declaration_of(route.endpoint).need
    raise AssertionError(f"{address} leads nowhere")
