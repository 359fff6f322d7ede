"""Signing in through a real OpenID provider on this machine."""

import base64
import json
import warnings
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from pydantic import SecretStr

from docmill.ports import PageRenderer
from docmill.service.app import open_service
from docmill.service.config.settings import Settings
from docmill.service.config.web import Oidc
from docmill.service.people.accounts import NewPerson
from docmill.web.app import create_app
from support.people import PASSWORD, Browser

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the provider's own use of authlib
    from oidc_provider_mock import User, run_server_in_thread

VERIFIED = User(sub="a1", claims={"email": "Anna@example.org", "email_verified": True, "name": "Anna"})
UNVERIFIED = User(sub="m1", claims={"email": "anna@example.org", "email_verified": False})
UNKNOWN = User(sub="n1", claims={"email": "nobody@example.org", "email_verified": True})


@pytest.fixture
def issuer() -> Iterator[str]:
    users = (VERIFIED, UNVERIFIED, UNKNOWN)
    with run_server_in_thread(user_claims=users, require_nonce=True) as server:
        yield f"http://localhost:{server.server_port}"


@dataclass
class Visit:
    """A browser that goes to the provider and comes back."""

    browser: Browser

    async def go(self, to: str = "/") -> str:
        """The address of the provider."""
        answer = await self.browser.open(f"/openid?next={to}")
        assert answer.status_code == 303, answer.text
        return answer.headers["location"]

    async def come_back(self, address: str, subject: str | None) -> httpx.Response:
        """Sign in at the provider, or refuse to, and follow it back."""
        data = {"action": "deny"} if subject is None else {"sub": subject}
        async with httpx.AsyncClient() as provider:
            answer = await provider.post(address, data=data)
        return await self.browser.open(answer.headers["location"])


@pytest.fixture
async def visit(
    database_url: str, tmp_path: Path, issuer: str, renderer: PageRenderer
) -> AsyncIterator[Visit]:
    oidc = Oidc(issuer=issuer, client_id="docmill", client_secret=SecretStr("secret"), label="Acme login")
    settings = Settings(data_dir=tmp_path, database_url=SecretStr(database_url), oidc=oidc)
    async with open_service(settings) as service:
        await service.accounts.create_first(NewPerson("anna@example.org", "Anna", PASSWORD), "Acme")
        transport = httpx.ASGITransport(create_app(service, renderer, settings))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield Visit(Browser(client))


pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


async def test_a_person_with_an_account_comes_in_and_where_they_wanted(visit: Visit) -> None:
    assert "Acme login" in (await visit.browser.open("/login")).text

    address = await visit.go("/profile")
    entered = await visit.come_back(address, "a1")

    query = parse_qs(urlsplit(address).query)
    assert query["code_challenge_method"] == ["S256"]
    assert query["nonce"]
    assert (entered.status_code, entered.headers["location"]) == (303, "/profile")
    assert (await visit.browser.client.get("/api/v1/me")).json()["email"] == "anna@example.org"


@pytest.mark.parametrize("subject", ["m1", "n1"])
async def test_an_address_that_is_unverified_or_unknown_is_let_in_nowhere(visit: Visit, subject: str) -> None:
    refused = await visit.come_back(await visit.go(), subject)

    assert refused.status_code == 403
    assert "Ask an owner to invite you" in refused.text
    assert (await visit.browser.client.get("/api/v1/me")).status_code == 401


async def test_who_refuses_at_the_provider_is_told_so(visit: Visit) -> None:
    refused = await visit.come_back(await visit.go(), None)

    assert refused.status_code == 401
    assert "did not sign you in" in refused.text


async def test_an_answer_from_another_visit_is_refused(visit: Visit) -> None:
    first = await visit.go()
    await visit.go()

    refused = await visit.come_back(first, "a1")

    assert refused.status_code == 401
    assert "begun elsewhere" in refused.text


async def test_halves_of_characters_in_the_cookie_of_a_visit_are_nonsense(visit: Visit) -> None:
    pending = {"state": "\ud800", "nonce": "a", "verifier": "b", "to": "/"}
    cookie = base64.urlsafe_b64encode(json.dumps(pending).encode()).decode()

    refused = await visit.browser.client.get(
        "/openid/callback?code=a&state=b", headers={"cookie": f"docmill-openid={cookie}"}
    )

    assert refused.status_code == 401
    assert "begun elsewhere" in refused.text


async def test_a_code_that_the_provider_did_not_give_is_refused(visit: Visit) -> None:
    query = parse_qs(urlsplit(await visit.go()).query)

    refused = await visit.browser.open(f"/openid/callback?code=guess&state={query['state'][0]}")

    assert refused.status_code == 401
    assert "cannot be trusted" in refused.text


async def test_without_a_provider_there_is_none(client: httpx.AsyncClient) -> None:
    assert (await client.get("/openid")).status_code == 404
    assert (await client.get("/openid/callback?code=a&state=b")).status_code == 404
