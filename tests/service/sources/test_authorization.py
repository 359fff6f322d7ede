"""The permission of a mailbox's owner, from a real provider."""

from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
from pydantic import SecretStr

from docmill.errors import MisconfiguredError, UnauthorizedError, ValidationError
from docmill.service.app import Service
from docmill.service.config.secrets import Secrets
from docmill.service.config.settings import Settings
from docmill.service.sources.authorization import PendingPermission
from docmill.service.sources.imap.imap_settings import ImapSettings
from docmill.service.store.database import DEFAULT_USER_ID, new_id
from docmill.service.store.doc_sources import SourceRow
from support.oauth_server import OAuthServer, running_oauth_server

BACK = "http://localhost:1/back"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    sources = settings.sources.model_copy(update={"allow_private_addresses": True})
    return settings.model_copy(update={"sources": sources, "secrets": Secrets(key=SecretStr("k" * 64))})


@pytest.fixture
def provider() -> Iterator[OAuthServer]:
    with running_oauth_server() as server:
        yield server


async def add(service: Service, provider: OAuthServer, **changes: object) -> SourceRow:
    chosen = {
        "host": "127.0.0.1",
        "user": "anna@example.org",
        "sign_in": "oauth2",
        "client_id": "client",
        "scope": "mail",
        "token_address": provider.token_address,
        "authorization_address": provider.authorization_address,
        **changes,
    }
    return await service.sources.add(
        "imap",
        f"Mails {new_id()}",
        {name: str(value) for name, value in chosen.items()},
        {"client_secret": "hush"},
        tenant_id=service.default_tenant_id,
        created_by=DEFAULT_USER_ID,
    )


def visit(address: str) -> dict[str, str]:
    """The query with which the browser of the owner comes back."""
    location = httpx.get(address, follow_redirects=False).headers["location"]
    assert location.startswith(BACK)
    return dict(parse_qsl(urlsplit(location).query))


async def test_the_refresh_token_of_a_permission_is_kept(service: Service, provider: OAuthServer) -> None:
    row = await add(service, provider)

    address, pending = service.sources.ask_permission(row, BACK)
    changed = await service.sources.keep_permission(row, pending, visit(address))

    assert service.sources.secret_names(changed) == ["client_secret", "refresh_token"]
    secrets = service.sources.opened(changed).secrets
    assert secrets.refresh_token.get_secret_value() == provider.refresh_token
    assert changed.version != row.version  # so that it is watched with the permission
    (form,) = provider.asked
    assert form["client_secret"] == "hush"
    asked = dict(parse_qsl(urlsplit(address).query))
    assert (asked["scope"], asked["login_hint"]) == ("mail", "anna@example.org")
    assert "hush" not in address
    assert pending.verifier not in address


async def test_an_answer_to_another_request_is_not_taken(service: Service, provider: OAuthServer) -> None:
    row = await add(service, provider)
    address, _ = service.sources.ask_permission(row, BACK)
    _, other = service.sources.ask_permission(row, BACK)
    answer = visit(address)

    with pytest.raises(UnauthorizedError, match="begin again"):
        await service.sources.keep_permission(row, other, answer)
    mixed = PendingPermission(BACK, state=answer["state"], verifier=other.verifier)
    with pytest.raises(UnauthorizedError, match="permission"):
        await service.sources.keep_permission(row, mixed, answer)


async def test_an_owner_may_refuse(service: Service, provider: OAuthServer) -> None:
    provider.agrees = False
    row = await add(service, provider)
    address, pending = service.sources.ask_permission(row, BACK)

    with pytest.raises(UnauthorizedError, match="access_denied"):
        await service.sources.keep_permission(row, pending, visit(address))

    assert provider.asked == []


async def test_a_permission_without_a_refresh_token_is_told(service: Service, provider: OAuthServer) -> None:
    row = await add(service, provider)
    address, pending = service.sources.ask_permission(row, BACK)
    online = address.replace("access_type=offline", "access_type=online")

    with pytest.raises(MisconfiguredError, match="offline"):
        await service.sources.keep_permission(row, pending, visit(online))


async def test_only_mailboxes_with_oauth_2_need_permission(service: Service, provider: OAuthServer) -> None:
    row = await add(service, provider, sign_in="password")
    assert service.sources.permission_server(row) is None
    with pytest.raises(ValidationError, match="OAuth 2"):
        service.sources.ask_permission(row, BACK)
    unknown = await add(service, provider, authorization_address="")
    with pytest.raises(MisconfiguredError, match="authorization_address"):
        service.sources.ask_permission(unknown, BACK)
    odd = await add(service, provider, authorization_address="javascript:alert(1)")
    with pytest.raises(MisconfiguredError, match="https"):
        service.sources.ask_permission(odd, BACK)


async def test_gmail_is_asked_for_reading_alone(service: Service, provider: OAuthServer) -> None:
    row = await service.sources.add(
        "gmail",
        "Gmail",
        {"client_id": "client", "authorization_address": provider.authorization_address},
        {},
        tenant_id=service.default_tenant_id,
        created_by=DEFAULT_USER_ID,
    )
    address, _ = service.sources.ask_permission(row, BACK)
    asked = dict(parse_qsl(urlsplit(address).query))
    assert asked["scope"] == "https://www.googleapis.com/auth/gmail.readonly"


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({"sign_in": "google"}, "https://accounts.google.com/o/oauth2/v2/auth"),
        ({"sign_in": "microsoft"}, "https://login.microsoftonline.com/common/oauth2/v2.0/authorize"),
        (
            {
                "sign_in": "microsoft",
                "token_address": "https://login.microsoftonline.com/o/oauth2/v2.0/token",
            },
            "https://login.microsoftonline.com/o/oauth2/v2.0/authorize",
        ),
    ],
)
def test_addresses_of_large_providers_are_known(chosen: dict[str, str], expected: str) -> None:
    settings = ImapSettings.model_validate({"user": "anna@example.org", "client_id": "c", **chosen})
    assert settings.authorization_endpoint == expected
