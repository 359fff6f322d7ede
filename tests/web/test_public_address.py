"""Whole addresses that are given to others: those of the settings, whatever a request calls the vault."""

import warnings
from collections.abc import Iterator
from email import message_from_bytes, policy
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import httpx
import pytest
from pydantic import SecretStr

from docmill.ports import PageRenderer
from docmill.service.app import Service, open_service
from docmill.service.config.secrets import Secrets
from docmill.service.config.settings import Settings
from docmill.service.config.web import Oidc, Web
from docmill.service.people.accounts import NewPerson
from docmill.service.people.sign_in import Visitor
from docmill.service.people.tokens import form_token
from docmill.web.app import create_app
from support.people import PASSWORD, Browser
from support.postbox import Postbox, taking_mails

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the provider's own use of authlib
    from oidc_provider_mock import run_server_in_thread

PUBLIC = "https://vault.example.org:8443"
HOST = {"host": "127.0.0.1:8080"}
"""Answered, but not by others than this machine."""

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def postbox() -> Iterator[Postbox]:
    with taking_mails() as postbox:
        yield postbox


@pytest.fixture
def settings(database_url: str, tmp_path: Path, postbox: Postbox) -> Settings:
    return Settings(
        data_dir=tmp_path,
        database_url=SecretStr(database_url),
        smtp=postbox.smtp,
        secrets=Secrets(key=SecretStr("k" * 64)),
        web=Web(public_url=PUBLIC),
    )


@pytest.fixture
async def anna(service: Service) -> UUID:
    return await service.accounts.create_first(NewPerson("anna@example.org", "Anna", PASSWORD), "Acme")


@pytest.fixture
async def annas(client: httpx.AsyncClient, service: Service, anna: UUID) -> httpx.AsyncClient:
    """Anna's browser, signed in, which sends the token of forms with each request."""
    session = await service.sign_in.begin_session(anna, Visitor())
    client.cookies.set("docmill-session", session.token, domain="localhost.local")
    client.headers["x-form-token"] = form_token(session.token)
    client.headers["cookie"] = f"docmill-session={session.token}"
    return client


def redirect_of(answer: httpx.Response) -> str:
    """The address to which a provider is to send the browser back."""
    assert answer.status_code == 303, answer.text
    return parse_qs(urlsplit(answer.headers["location"]).query)["redirect_uri"][0]


@pytest.mark.usefixtures("anna")
async def test_a_mailed_link_leads_to_the_public_address(client: httpx.AsyncClient, postbox: Postbox) -> None:
    client.headers.update(HOST)

    sent = await Browser(client).send("/forgotten", "/forgotten", email="anna@example.org")

    assert sent.status_code == 200
    (mail,) = postbox.mails
    content = mail.content if isinstance(mail.content, bytes) else (mail.content or "").encode()
    text = message_from_bytes(content, policy=policy.default).get_content()
    assert f"\n{PUBLIC}/password?token=" in text
    assert "127.0.0.1" not in text


async def test_an_invitation_leads_to_the_public_address(annas: httpx.AsyncClient) -> None:
    by_api = await annas.post("/api/v1/people/invitations", json={"role": "viewer"}, headers=HOST)
    by_page = await annas.post("/people/invitations", data={"role": "viewer"}, headers=HOST)

    assert by_api.json()["link"].startswith(f"{PUBLIC}/join?token=")
    assert f"<code>{PUBLIC}/join?token=" in by_page.text
    assert "opens on this machine only" not in by_page.text


async def test_lists_for_phone_apps_go_on_at_the_public_address(annas: httpx.AsyncClient) -> None:
    index = (await annas.get("/api/", headers=HOST)).json()
    first = (await annas.get("/api/document_types/?page_size=1&x=a%26b", headers=HOST)).json()

    assert index["tags"] == f"{PUBLIC}/api/tags/"
    assert first["next"] == f"{PUBLIC}/api/document_types/?page_size=1&x=a%26b&page=2"


async def test_the_provider_of_a_mailbox_sends_back_to_the_public_address(
    annas: httpx.AsyncClient, service: Service, anna: UUID
) -> None:
    mailbox = {
        "host": "192.0.2.1",
        "user": "anna",
        "sign_in": "oauth2",
        "client_id": "client",
        "token_address": "https://login.example.org/token",
        "authorization_address": "https://login.example.org/authorize",
    }
    row = await service.sources.add(
        "imap", "Mails", mailbox, {}, tenant_id=service.default_tenant_id, created_by=anna
    )

    sent = await annas.get(f"/settings/sources/{row.id}/authorize", headers=HOST)

    assert redirect_of(sent) == f"{PUBLIC}/settings/sources/authorized"


async def test_the_provider_of_the_sign_in_sends_back_to_the_public_address(
    settings: Settings, renderer: PageRenderer
) -> None:
    with run_server_in_thread() as server:
        oidc = Oidc(issuer=f"http://localhost:{server.server_port}", client_id="docmill")
        settings = settings.model_copy(update={"oidc": oidc})
        async with open_service(settings) as service:
            transport = httpx.ASGITransport(create_app(service, renderer, settings))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                sent = await client.get("/openid", headers=HOST)

    assert redirect_of(sent) == f"{PUBLIC}/openid/callback"


async def test_without_a_public_address_the_name_of_the_request_is_a_configured_one(
    service: Service, renderer: PageRenderer, settings: Settings, annas: httpx.AsyncClient
) -> None:
    web = Web(hosts=("vault.example.org:8443",))
    app = create_app(service, renderer, settings.model_copy(update={"web": web}))
    transport, headers = httpx.ASGITransport(app), annas.headers
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
        links = [
            await client.post("/api/v1/people/invitations", json={"role": "viewer"}, headers={"host": host})
            for host in ("vault.example.org:8443", "vault.example.org:8444", "vault.example.org")
        ]

    assert [answer.status_code for answer in links] == [201, 421, 421]
    assert links[0].json()["link"].startswith("http://vault.example.org:8443/join?token=")
