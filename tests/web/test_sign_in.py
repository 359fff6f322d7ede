"""Signing in with a browser: the first account, sessions, forms, invitations, roles."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from uuid import UUID

import httpx
import pytest
from fastapi import FastAPI

from docmill.service.app import Service
from docmill.service.people.accounts import NewPerson
from docmill.service.people.sign_in import MOST_FOR_ADDRESS_AND_EMAIL
from docmill.service.store import audit_log, ingestions
from support.people import PASSWORD, Browser, token_in

Open = Callable[..., Awaitable[Browser]]
Add = Callable[..., Awaitable[UUID]]


@pytest.fixture
async def browser(app: FastAPI) -> AsyncIterator[Open]:
    """Makes browsers. address: of their machine."""
    async with AsyncExitStack() as stack:

        async def make(address: str = "127.0.0.1") -> Browser:
            transport = httpx.ASGITransport(app, raise_app_exceptions=False, client=(address, 5))
            client = httpx.AsyncClient(transport=transport, base_url="http://localhost")
            return Browser(await stack.enter_async_context(client))

        yield make


@pytest.fixture
async def anna(service: Service) -> UUID:
    return await service.accounts.create_first(NewPerson("anna@example.org", "Anna", PASSWORD), "Acme")


@pytest.fixture
async def annas(anna: UUID, browser: Open) -> Browser:
    """Anna's browser, signed in."""
    del anna
    made = await browser()
    assert (await made.sign_in("anna@example.org")).status_code == 303
    return made


async def test_the_first_visitor_makes_the_account_and_closes_the_vault(browser: Open) -> None:
    first, second = await browser(), await browser()
    assert "has no account" in (await second.open("/")).text

    made = await first.send(
        "/welcome",
        "/welcome",
        organisation="Acme",
        name="Anna",
        email="Anna@example.org",
        password=PASSWORD,
    )

    assert (made.status_code, made.headers["location"]) == (303, "/")
    assert "Anna" in (await first.open("/")).text
    closed = await second.open("/?q=tea")
    assert (closed.status_code, closed.headers["location"]) == (303, "/login?next=/%3Fq%3Dtea")
    assert (await second.client.get("/api/v1/documents")).status_code == 401
    assert (await second.open("/welcome")).headers["location"] == "/login"


async def test_elsewhere_the_first_account_needs_the_link(browser: Open, service: Service) -> None:
    far = await browser("192.0.2.7")
    fields = {"organisation": "A", "name": "E", "email": "e@example.org", "password": PASSWORD}
    assert (await far.open("/")).headers["location"].startswith("/welcome")
    assert (await far.open("/welcome")).status_code == 403
    assert (await far.open("/welcome?token=guess")).status_code == 403
    assert (await far.client.get("/metrics")).status_code == 403
    token = await service.accounts.first_link()

    refused = await far.client.post("/welcome", data=fields)
    made = await far.send(f"/welcome?token={token}", "/welcome", token=token, **fields)

    assert refused.status_code == 403
    assert made.status_code == 303
    assert await service.accounts.first_link() is None


async def test_a_session_cookie_is_out_of_reach_for_scripts_and_sites(annas: Browser) -> None:
    again = await annas.client.get("/login")
    session = next(cookie for cookie in annas.client.cookies.jar if cookie.name == "docmill-session")

    assert again.headers["location"] == "/"
    assert session.has_nonstandard_attr("HttpOnly")
    assert session.get_nonstandard_attr("SameSite") == "lax"
    assert not session.secure


async def test_over_tls_the_session_cookie_is_sent_over_tls_alone(app: FastAPI, anna: UUID) -> None:
    del anna
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="https://localhost") as client:
        answer = await Browser(client).sign_in("anna@example.org")

    assert "Secure" in answer.headers["set-cookie"]
    assert answer.headers["strict-transport-security"]


@pytest.mark.usefixtures("anna")
@pytest.mark.parametrize("email", ["anna@example.org", "nobody@example.org"])
async def test_a_refused_sign_in_tells_nothing_and_keeps_the_address(browser: Open, email: str) -> None:
    made = await browser()

    answer = await made.sign_in(email, "wrong password")

    assert answer.status_code == 401
    assert "E-mail address or password is wrong." in answer.text
    assert f'value="{email}"' in answer.text
    assert "docmill-session" not in made.client.cookies


@pytest.mark.usefixtures("anna")
async def test_who_tries_too_often_is_told_to_wait(browser: Open) -> None:
    made = await browser()
    for _ in range(MOST_FOR_ADDRESS_AND_EMAIL):
        await made.sign_in("anna@example.org", "wrong password")

    answer = await made.sign_in("anna@example.org")

    assert answer.status_code == 429
    assert "Try again in 15 minutes" in answer.text
    assert 0 < int(answer.headers["retry-after"]) <= 900


async def test_a_huge_body_is_refused_before_it_is_used(browser: Open, anna: UUID) -> None:
    del anna
    made = await browser()

    answer = await made.client.post("/login", data={"email": "a@b.org", "password": "x" * 10**6})

    assert answer.status_code == 413


@pytest.mark.parametrize("token", [None, "", "0" * 64])
async def test_a_form_without_its_token_changes_nothing(
    annas: Browser, service: Service, token: str | None
) -> None:
    fields = {"name": "Eve"} if token is None else {"name": "Eve", "form_token": token}

    answer = await annas.client.post("/profile/name", data=fields)

    assert answer.status_code == 403
    user = await service.accounts.by_email("anna@example.org")
    assert user is not None
    assert user.name == "Anna"


async def test_the_token_of_another_session_is_refused(annas: Browser, browser: Open) -> None:
    other = await browser()
    await other.sign_in("anna@example.org")
    theirs = token_in((await other.open("/profile")).text, "/profile/name")

    answer = await annas.client.post("/profile/name", data={"name": "Eve", "form_token": theirs})

    assert answer.status_code == 403


async def test_an_upload_needs_the_token_before_its_files(annas: Browser, service: Service) -> None:
    token = token_in((await annas.open("/")).text, "/upload")
    files = {"file": ("a.pdf", b"%PDF-1.4")}

    refused = [
        await annas.client.post("/upload", files=files),
        await annas.client.post("/api/v1/documents", files=files),
        await annas.client.post("/upload", files=[*files.items(), ("form_token", (None, token))]),
    ]
    by_form = await annas.client.post("/upload", data={"form_token": token}, files=files)
    by_script = await annas.client.post("/api/v1/documents", files=files, headers={"x-form-token": token})

    assert [answer.status_code for answer in refused] == [403, 403, 403]
    assert (by_form.status_code, by_script.status_code) == (201, 200)
    document_id = UUID(by_script.json()["results"][0]["document_id"])
    async with service.database.tenant(service.default_tenant_id) as conn:
        (row,) = await ingestions.of_document(conn, document_id)
    user = await service.accounts.by_email("anna@example.org")
    assert user is not None
    assert row.uploaded_by == user.id


async def test_sign_out_ends_the_session(annas: Browser) -> None:
    stolen = annas.client.cookies["docmill-session"]

    await annas.send("/", "/logout")

    annas.client.cookies.set("docmill-session", stolen, domain="localhost.local")
    assert (await annas.client.get("/api/v1/me")).status_code == 401


async def test_an_invited_viewer_reads_and_changes_nothing(annas: Browser, browser: Open, add: Add) -> None:
    document_id = await add()
    page = await annas.send("/people", "/people/invitations", role="viewer", email="vera@example.org")
    link = page.text.partition("<code>")[2].partition("</code>")[0]
    assert link.startswith("http://localhost/join?token=")
    assert page.headers["cache-control"] == "no-store"
    veras = await browser("192.0.2.9")

    joined = await veras.send(
        link,
        "/join",
        token=link.partition("token=")[2],
        name="Vera",
        email="vera@example.org",
        password=PASSWORD,
    )

    assert joined.status_code == 303
    assert (await veras.open(f"/docs/{document_id}")).status_code == 200
    token = token_in((await veras.open("/")).text, "/theme")
    refused = await veras.client.post(
        f"/docs/{document_id}/retry", data={"form_token": token}, headers={"accept": "text/html"}
    )
    assert refused.status_code == 403
    assert "viewer" in refused.text
    assert (await veras.open("/people")).status_code == 403
    assert (await veras.open(link)).status_code == 422


async def test_another_role_holds_at_once_and_ends_the_sessions(
    annas: Browser, browser: Open, service: Service, anna: UUID
) -> None:
    token = await service.invitations.invite("owner", tenant_id=service.default_tenant_id, invited_by=anna)
    ben, _ = await service.invitations.accept(token, NewPerson("ben@example.org", "Ben", PASSWORD), None)
    bens = await browser()
    await bens.sign_in("ben@example.org")

    await annas.send("/people", f"/people/{ben}/role", role="viewer")

    assert (await bens.open("/people")).headers["location"].startswith("/login")
    await bens.sign_in("ben@example.org")
    assert (await bens.open("/people")).status_code == 403


async def test_a_new_password_ends_the_other_sessions_and_renews_this_one(
    annas: Browser, browser: Open
) -> None:
    other = await browser()
    await other.sign_in("anna@example.org")
    before = annas.client.cookies["docmill-session"]

    wrong = await annas.send("/profile", "/profile/password", password="no", new_password="another good one")
    done = await annas.send(
        "/profile", "/profile/password", password=PASSWORD, new_password="another good one"
    )

    assert (wrong.status_code, done.status_code) == (422, 303)
    assert annas.client.cookies["docmill-session"] != before
    assert (await annas.open("/profile")).status_code == 200
    assert (await other.open("/profile")).status_code == 303


async def test_a_key_is_shown_once_and_works_until_it_is_revoked(
    annas: Browser, client: httpx.AsyncClient
) -> None:
    page = await annas.send("/keys", "/keys", name="robot", scope=["read"], days="90")
    secret = page.text.partition("<p><code>dm_")[2].partition("</code>")[0]
    header = {"authorization": f"Bearer dm_{secret}"}
    assert secret not in (await annas.open("/keys")).text

    me = await client.get("/api/v1/me", headers=header)
    assert (me.json()["via"], me.json()["scopes"]) == ("key", ["read"])
    assert (await client.get("/profile", headers=header)).status_code == 403
    refused = await client.post("/api/v1/documents", headers=header, files={"file": ("a.pdf", b"%PDF")})
    assert refused.json()["code"] == "forbidden"
    key_id = (await annas.client.get("/api/v1/keys")).json()["keys"][0]["id"]
    await annas.send("/keys", f"/keys/{key_id}/revoke")
    ended = await client.get("/api/v1/me", headers=header)

    assert (ended.status_code, ended.json()["code"]) == (401, "not_signed_in")
    assert ended.headers["www-authenticate"].startswith("Bearer")


async def test_a_wrong_key_opens_no_open_vault(client: httpx.AsyncClient) -> None:
    assert (await client.get("/api/v1/me")).json()["via"] == "machine"

    answer = await client.get("/api/v1/me", headers={"authorization": "Bearer dm_wrong"})

    assert answer.status_code == 401


async def test_changes_are_in_the_audit_log_with_who_and_where(annas: Browser, service: Service) -> None:
    await annas.send("/people", "/people/invitations", role="viewer", email="vera@example.org")

    async with service.database.tenant(service.default_tenant_id) as conn:
        entries = await audit_log.page(conn)

    assert [(entry.user_name, entry.action, entry.address) for entry in entries] == [
        ("Anna", "invite", "127.0.0.1"),
        ("Anna", "sign_in", "127.0.0.1"),
    ]
    assert entries[0].details == {"role": "viewer", "email": "vera@example.org"}
    page = await annas.open("/audit-log")
    assert "vera@example.org" in page.text
    listed = (await annas.client.get("/api/v1/audit-log?limit=1")).json()
    assert listed["entries"][0]["action"] == "invite"
    assert listed["next"]


async def test_the_audit_log_names_what_was_changed(
    annas: Browser, service: Service, add: Callable[..., Awaitable[UUID]]
) -> None:
    document_id = await add("letter.pdf")
    await annas.send(f"/docs/{document_id}", f"/docs/{document_id}/tags", add="urgent")

    page = await annas.open("/audit-log")

    assert f'<span title="{document_id}">letter.pdf</span>' in page.text
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("DELETE FROM document WHERE id = %s", [document_id])
    assert f"<code>{document_id}</code>" in (await annas.open("/audit-log")).text


@pytest.mark.usefixtures("anna")
@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\evil.example"])
async def test_a_sign_in_leads_back_to_this_vault_only(browser: Open, target: str) -> None:
    made = await browser()

    answer = await made.send("/login", "/login", email="anna@example.org", password=PASSWORD, next=target)

    assert answer.headers["location"] == "/"
