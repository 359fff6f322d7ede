"""The pages about people, API keys and the audit log."""

import re
from collections.abc import AsyncIterator
from uuid import UUID

import httpx
import pytest
from fastapi import FastAPI

from docmill.service.app import Service
from docmill.service.people.access import SCOPES, machine_access
from docmill.service.people.accounts import NewPerson
from docmill.service.people.sign_in import Visitor
from docmill.service.people.tokens import form_token
from docmill.service.store import tenants
from support.people import PASSWORD, Browser

QUESTIONS = {
    "en": (
        "Ben loses access to Acme: their sessions here end, and their API keys do nothing any more.",
        "Programs that use the key Scanner are refused from now on.",
        "You are signed out everywhere but in this browser.",
    ),
    "de": (
        "Ben verliert den Zugang zu Acme: Die Sitzungen hier enden",
        "Programme mit dem Schlüssel Scanner werden ab sofort abgewiesen.",
        "Sie werden überall außer in diesem Browser abgemeldet.",
    ),
}


@pytest.fixture
async def anna(service: Service) -> UUID:
    return await service.accounts.create_first(NewPerson("anna@example.org", "Anna", PASSWORD), "Acme")


@pytest.fixture
async def annas(anna: UUID, app: FastAPI) -> AsyncIterator[Browser]:
    """The browser of an owner who has signed in."""
    del anna
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        browser = Browser(client)
        assert (await browser.sign_in("anna@example.org")).status_code == 303
        yield browser


def question_of(html: str, path: str) -> str:
    """The question before the form that leads to `path`: closed until somebody opens it."""
    form = re.compile(
        rf'<details class="confirm">\s*<summary[^>]*>.*?</summary>\s*<form[^>]*"{path}"[^>]*>(.*?)</form>',
        re.DOTALL,
    )
    asked = [found for each in html.split("<li>") for found in form.findall(each)]
    assert len(asked) == 1
    assert html.count(f'action="{path}"') == 1
    return asked[0]


@pytest.mark.parametrize("language", ["en", "de"])
async def test_what_cannot_be_undone_is_asked_with_the_name_first(
    annas: Browser, service: Service, language: str
) -> None:
    tenant_id = service.default_tenant_id
    ben, _ = await service.accounts.add("ben@example.org", "Ben", "viewer", tenant_id=tenant_id)
    await service.api_keys.create(machine_access(tenant_id), "Scanner", ["read"], None)
    (key,) = await service.api_keys.page(tenant_id=tenant_id)
    annas.client.cookies.clear()  # another browser; the session of the first is not ended
    await annas.sign_in("anna@example.org")
    await annas.send("/profile", "/profile/language", language=language)

    asked = [
        question_of((await annas.open(page)).text, path)
        for page, path in (
            ("/people", f"/people/{ben}/remove"),
            ("/keys", f"/keys/{key.id}/revoke"),
            ("/profile", "/profile/sessions/end-others"),
        )
    ]

    for html, question in zip(asked, QUESTIONS[language], strict=True):
        assert question in html


async def test_a_person_sees_and_ends_the_keys_of_their_apps(annas: Browser, service: Service) -> None:
    answer = await annas.client.post(
        "/api/token/", data={"username": "anna@example.org", "password": PASSWORD}
    )
    secret = answer.json()["token"]
    (key,) = await service.api_keys.page(tenant_id=service.default_tenant_id)
    assert f"{key.prefix}…" in (await annas.open("/profile")).text

    done = await annas.send("/profile", f"/profile/app-keys/{key.id}/end")

    assert done.status_code == 303
    assert await service.sign_in.of_key(secret) is None
    assert key.prefix not in (await annas.open("/profile")).text


async def test_an_owner_keeps_the_key_of_who_was_removed(annas: Browser, service: Service) -> None:
    tenant_id = service.default_tenant_id
    ben, _ = await service.accounts.add("ben@example.org", "Ben", "owner", tenant_id=tenant_id)
    session = await service.sign_in.begin_session(ben, Visitor())
    access = await service.sign_in.of_session(session.token)
    assert access is not None
    key = await service.api_keys.create(access, "Robot", ["read"], None)
    assert "Robot" not in (await annas.open("/people")).text

    await annas.send("/people", f"/people/{ben}/remove")
    (listed,) = (await annas.client.get("/api/v1/handovers")).json()["handovers"]
    before = await service.sign_in.of_key(key.secret)
    done = await annas.send("/people", f"/people/handovers/key/{key.id}/keep")

    assert (listed["kind"], listed["name"], listed["person"]) == ("key", "Robot", "Ben")
    assert (before, done.status_code) == (None, 303)
    assert await service.sign_in.of_key(key.secret) is not None
    assert "Robot" not in (await annas.open("/people")).text


async def test_the_answered_question_removes_the_person(annas: Browser, service: Service) -> None:
    tenant_id = service.default_tenant_id
    ben, _ = await service.accounts.add("ben@example.org", "Ben", "viewer", tenant_id=tenant_id)

    await annas.send("/people", f"/people/{ben}/remove")

    assert "ben@example.org" not in (await annas.open("/people")).text


async def test_only_an_owner_of_the_organisation_keeps_what_was_left(
    annas: Browser, service: Service, app: FastAPI
) -> None:
    tenant_id = service.default_tenant_id
    ben, _ = await service.accounts.add("ben@example.org", "Ben", "owner", tenant_id=tenant_id)
    source = await service.sources.add("webhook", "Scans", {}, {}, tenant_id=tenant_id, created_by=ben)
    await service.sources.set_state(source.id, "paused", tenant_id=tenant_id)
    robot = await service.api_keys.create(machine_access(tenant_id), "Robot", SCOPES, None)
    async with service.database.accounts() as conn:
        elsewhere = await tenants.add(conn, "Elsewhere")
    await service.accounts.add("eve@example.org", "Eve", "owner", tenant_id=elsewhere)
    await service.accounts.add("rita@example.org", "Rita", "reviewer", tenant_id=tenant_id)
    path = f"/api/v1/handovers/source/{source.id}/keep"

    async def kept_by(email: str) -> int:
        user = await service.accounts.by_email(email)
        assert user is not None
        session = await service.sign_in.begin_session(user.id, Visitor())
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(
            transport=transport,
            base_url="http://localhost",
            cookies={"docmill-session": session.token},
            headers={"x-form-token": form_token(session.token)},
        ) as client:
            return (await client.post(path)).status_code

    assert await kept_by("anna@example.org") == 404  # Ben answers for it
    await annas.send("/people", f"/people/{ben}/remove")
    assert "stands still, and stays so" in (await annas.open("/people")).text
    by_key = await httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost").post(
        path, headers={"authorization": f"Bearer {robot.secret}"}
    )

    assert by_key.status_code == 403
    assert [await kept_by(f"{name}@example.org") for name in ("eve", "rita", "anna", "anna")] == [
        404,
        403,
        204,
        404,
    ]
    row = await service.sources.get(source.id, tenant_id=tenant_id)
    assert row is not None
    assert row.state == "paused"
