"""A forgotten password, with a real mail server."""

import re
from collections.abc import AsyncIterator, Iterator
from email import message_from_bytes, policy
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from docmill.ports import PageRenderer
from docmill.service.app import open_service
from docmill.service.config.settings import Settings
from docmill.service.people import invitations, sign_in
from docmill.service.people.accounts import NewPerson
from docmill.service.people.tokens import form_token
from docmill.web.app import create_app
from support.people import PASSWORD, Browser
from support.postbox import Postbox, taking_mails

CHOSEN = "Win at https://evil.example now"
"""A name that a stranger would like to send to others in a mail of the vault."""


def without_token(html: str) -> str:
    return re.sub(r'name="form_token" value="\w+"', "", html)


@pytest.fixture
def postbox() -> Iterator[Postbox]:
    with taking_mails() as postbox:
        yield postbox


@pytest.fixture
async def browser(
    database_url: str, tmp_path: Path, postbox: Postbox, renderer: PageRenderer
) -> AsyncIterator[Browser]:
    settings = Settings(data_dir=tmp_path, database_url=SecretStr(database_url), smtp=postbox.smtp)
    async with open_service(settings) as service:
        await service.accounts.create_first(NewPerson("anna@example.org", CHOSEN, PASSWORD), CHOSEN)
        transport = httpx.ASGITransport(create_app(service, renderer, settings))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield Browser(client)


async def test_a_mailed_link_sets_a_new_password(browser: Browser, postbox: Postbox) -> None:
    sent = await browser.send("/forgotten", "/forgotten", email="Anna@example.org")
    unknown = await browser.send("/forgotten", "/forgotten", email="nobody@example.org")

    assert without_token(sent.text) == without_token(unknown.text)
    (mail,) = postbox.mails
    assert mail.rcpt_tos == ["anna@example.org"]
    content = mail.content if isinstance(mail.content, bytes) else (mail.content or "").encode()
    text = message_from_bytes(content, policy=policy.default).get_content()
    assert "evil.example" not in content.decode()
    link = re.search(r"http://localhost(/password\?token=([\w-]+))", text)
    assert link is not None
    page, token = link[1], link[2]
    short = await browser.send(page, "/password", token=token, password="short")
    done = await browser.send(page, "/password", token=token, password="another good one")
    assert (short.status_code, done.status_code) == (422, 303)
    assert (await browser.sign_in("anna@example.org")).status_code == 401
    assert (await browser.sign_in("anna@example.org", "another good one")).status_code == 303
    assert (await browser.open(page)).status_code == 422


async def test_a_mailed_link_leads_past_a_lock_that_others_caused(
    browser: Browser, postbox: Postbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sign_in, "MOST_FOR_EMAIL", 2)
    for _ in range(2):
        await browser.sign_in("anna@example.org", "wrong password")
    locked = await browser.sign_in("anna@example.org")

    await browser.send("/forgotten", "/forgotten", email="anna@example.org")
    (mail,) = postbox.mails
    content = mail.content if isinstance(mail.content, bytes) else (mail.content or "").encode()
    text = message_from_bytes(content, policy=policy.default).get_content()
    page = text.partition("http://localhost")[2].split()[0]
    token = page.partition("token=")[2]
    await browser.send(page, "/password", token=token, password="another good one")
    entered = await browser.sign_in("anna@example.org", "another good one")

    assert locked.status_code == 429
    assert '<a href="/forgotten">a link by mail</a>' in locked.text
    assert entered.status_code == 303


async def test_a_browser_keeps_that_somebody_has_signed_in_there(browser: Browser) -> None:
    browser.client.cookies.set("docmill-browser", "chosen", domain="localhost.local")

    first = await browser.sign_in("anna@example.org")
    (kept,) = [text for text in first.headers.get_list("set-cookie") if text.startswith("docmill-browser=")]
    secret = browser.client.cookies["docmill-browser"]
    await browser.send("/", "/logout")
    await browser.sign_in("anna@example.org")

    assert "chosen" not in kept
    assert "HttpOnly" in kept
    assert "SameSite=lax" in kept
    assert browser.client.cookies["docmill-browser"] == secret


async def test_nobody_is_flooded_with_mails(browser: Browser, postbox: Postbox) -> None:
    answers = [await browser.send("/forgotten", "/forgotten", email="anna@example.org") for _ in range(4)]

    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert len(postbox.mails) == 3


async def test_without_a_mail_server_the_page_says_whom_to_ask(client: httpx.AsyncClient) -> None:
    page = await client.get("/forgotten")

    assert "docmill users reset" in page.text


async def test_an_invitation_with_an_address_is_mailed_and_not_shown(
    browser: Browser, postbox: Postbox
) -> None:
    await browser.sign_in("anna@example.org")

    page = await browser.send("/people", "/people/invitations", role="viewer", email="Vera@example.org")

    assert "/join?token=" not in page.text
    assert "vera@example.org" in page.text.lower()
    (mail,) = postbox.mails
    assert mail.rcpt_tos == ["Vera@example.org"]
    content = mail.content if isinstance(mail.content, bytes) else (mail.content or "").encode()
    text = message_from_bytes(content, policy=policy.default).get_content()
    assert "evil.example" not in text
    link = re.search(r"http://localhost(/join\?token=([\w-]+))", text)
    assert link is not None
    browser.client.cookies.clear()
    joined = await browser.send(
        link[1], "/join", token=link[2], name="Vera", email="vera@example.org", password=PASSWORD
    )
    assert joined.status_code == 303


async def test_an_organisation_mails_a_limited_number_of_invitations(
    browser: Browser, postbox: Postbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invitations, "MOST_MAILS", 1)
    await browser.sign_in("anna@example.org")

    pages = [
        await browser.send("/people", "/people/invitations", role="viewer", email=f"{name}@example.org")
        for name in ("vera", "carl")
    ]
    by_program = await browser.client.post(
        "/api/v1/people/invitations",
        json={"role": "viewer", "email": "eve@example.org"},
        headers={"x-form-token": form_token(browser.client.cookies["docmill-session"])},
    )

    assert [page.status_code for page in pages] == [200, 429]
    assert (by_program.status_code, by_program.json()["code"]) == (429, "rate_limited")
    assert [mail.rcpt_tos for mail in postbox.mails] == [["vera@example.org"]]
    assert "carl@example.org" not in (await browser.open("/people")).text


async def test_an_invitation_that_could_not_be_mailed_is_withdrawn(
    browser: Browser, postbox: Postbox
) -> None:
    await browser.sign_in("anna@example.org")
    postbox.refusals["vera@example.org"] = "550 no such person"

    page = await browser.send("/people", "/people/invitations", role="viewer", email="vera@example.org")

    assert page.status_code == 503
    assert "/withdraw" not in (await browser.open("/people")).text
