"""OAuth 2 and TLS against a real server."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pydantic import SecretStr

from docmill.errors import MisconfiguredError, RateLimitedError, ServerError, UnauthorizedError
from docmill.service.app import Service
from docmill.service.config.secrets import Secrets
from docmill.service.config.settings import Settings
from docmill.service.sources.imap.imap_connection import ImapConnection
from docmill.service.sources.imap.imap_kind import IMAP
from docmill.service.sources.imap.imap_settings import ImapSettings
from docmill.service.sources.json_http import JsonHttp
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.doc_sources import SourceRow
from support.dovecot import PASSWORD, Dovecot, running_dovecot
from support.mailbox_sources import mailbox_settings, wait_for, wait_for_items, watching
from support.mails import mail
from support.oauth_server import OAuthServer, running_oauth_server


@pytest.fixture
def settings(settings: Settings) -> Settings:
    sources = settings.sources.model_copy(update={"allow_private_addresses": True})
    secrets = Secrets(key=SecretStr("k" * 64))
    return settings.model_copy(update={"sources": sources, "secrets": secrets})


@pytest.fixture
def provider() -> Iterator[OAuthServer]:
    with running_oauth_server() as server:
        yield server


@pytest.fixture
def dovecot(provider: OAuthServer, tmp_path: Path) -> Iterator[Dovecot]:
    """A server that takes the access tokens of the provider, and passwords as well."""
    config = tmp_path / "oauth2.conf"
    config.write_text(
        f"introspection_url = {provider.introspection}\nintrospection_mode = get\n"
        "username_attribute = user\nactive_attribute = active\nactive_value = true\n"
    )
    for folder in (config.parent, *config.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o011)
    config.chmod(0o644)
    options = (
        "auth_mechanisms = plain login xoauth2 oauthbearer\n"
        f"passdb {{\n  driver = oauth2\n  mechanisms = xoauth2 oauthbearer\n  args = {config}\n}}\n"
    )
    with running_dovecot(options) as server:
        yield server


async def add_oauth_mailbox(service: Service, dovecot: Dovecot, provider: OAuthServer) -> SourceRow:
    return await service.sources.add(
        "imap",
        "Mails",
        mailbox_settings(
            dovecot, sign_in="oauth2", client_id="client", token_address=provider.token_address, scope="mail"
        ),
        {"client_secret": "hush", "refresh_token": "refresh-0"},
        tenant_id=service.default_tenant_id,
        created_by=DEFAULT_USER_ID,
    )


async def test_mails_are_taken_with_an_access_token(
    service: Service, dovecot: Dovecot, provider: OAuthServer
) -> None:
    dovecot.deliver("anna", [mail(1)])
    row = await add_oauth_mailbox(service, dovecot, provider)

    async with watching(service):
        await wait_for_items(service, row, 1)

    assert provider.asked == [
        {
            "grant_type": "refresh_token",
            "refresh_token": "refresh-0",
            "client_id": "client",
            "client_secret": "hush",
            "scope": "mail",
        }
    ]


async def test_a_token_that_is_refused_is_renewed_once(
    service: Service, dovecot: Dovecot, provider: OAuthServer
) -> None:
    row = await add_oauth_mailbox(service, dovecot, provider)
    source = service.sources.open(row)
    await source.test()
    provider.valid.clear()

    await source.test()
    assert len(provider.asked) == 2
    await source.test()
    assert len(provider.asked) == 2

    provider.valid.clear()
    provider.failure = (400, "invalid_grant")
    with pytest.raises(UnauthorizedError, match="again"):
        await source.test()


async def test_a_token_is_renewed_before_it_ends_and_a_new_refresh_token_is_kept(
    service: Service, dovecot: Dovecot, provider: OAuthServer
) -> None:
    provider.rotates, provider.life_s = True, 60  # less than the time for which it must hold still
    row = await add_oauth_mailbox(service, dovecot, provider)
    source = service.sources.open(row)
    await source.test()
    await source.test()
    assert [form["refresh_token"] for form in provider.asked] == ["refresh-0", "refresh-1"]

    current = await service.sources.get(row.id, tenant_id=row.tenant_id)
    assert current is not None
    assert current.version == row.version  # so that its watch goes on
    assert service.sources.opened(current).secrets.refresh_token.get_secret_value() == "refresh-2"
    assert service.sources.opened(current).secrets.client_secret.get_secret_value() == "hush"


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        ((429, "slow_down"), RateLimitedError),
        ((503, "x"), ServerError),
        ((401, "invalid_client"), UnauthorizedError),
    ],
)
async def test_a_provider_that_refuses(
    service: Service,
    dovecot: Dovecot,
    provider: OAuthServer,
    failure: tuple[int, str],
    kind: type[Exception],
) -> None:
    provider.failure = failure
    row = await add_oauth_mailbox(service, dovecot, provider)

    with pytest.raises(kind) as told:
        await service.sources.test(row)

    assert "hush" not in str(told.value)


async def test_tokens_are_fetched_from_public_addresses_by_https_alone() -> None:
    with pytest.raises(MisconfiguredError, match="https"):
        await JsonHttp(allow_private=False).post_form("http://example.org/token", {}, what="the address")
    for odd in ("https://[::1/token", "https://example.org:99999/token", "https:///token"):
        with pytest.raises(MisconfiguredError, match="address"):
            await JsonHttp(allow_private=False).post_form(odd, {}, what="the address")
    with pytest.raises(MisconfiguredError, match="private"):
        await JsonHttp(allow_private=False).post_form("https://127.0.0.1:9/token", {}, what="the address")


@dataclass(frozen=True)
class Certificate:
    certificate: str
    files: str


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    """A certificate of 127.0.0.1 that its own authority has signed, and Dovecot's settings for it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mail server of a test")])
    now = dt.datetime.now(dt.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = signed.public_bytes(serialization.Encoding.PEM)
    (tmp_path / "cert.pem").write_bytes(pem)
    (tmp_path / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    files = f"ssl = yes\nssl_cert = <{tmp_path}/cert.pem\nssl_key = <{tmp_path}/key.pem\n"
    return Certificate(pem.decode(), files)


@pytest.mark.parametrize("security", ["tls", "starttls"])
async def test_the_connection_is_encrypted_and_the_certificate_verified(
    service: Service, certificate: Certificate, security: str
) -> None:
    with running_dovecot(certificate.files) as dovecot:
        dovecot.deliver("anna", [mail(1)])
        wanted: dict[str, Any] = {"security": security, "ca_certificates": certificate.certificate}
        if security == "tls":
            wanted["port"] = dovecot.tls_port
        chosen = mailbox_settings(dovecot, **wanted)
        secrets = {"password": PASSWORD}
        tenant_id = service.default_tenant_id
        row = await service.sources.add(
            "imap", "Mails", chosen, secrets, tenant_id=tenant_id, created_by=DEFAULT_USER_ID
        )

        async with watching(service):
            await wait_for_items(service, row, 1)
            dovecot.deliver("anna", [mail(2)])
            await wait_for_items(service, row, 2)

        with pytest.raises(MisconfiguredError, match="certificate"):
            await service.sources.test_settings(
                "imap", {**chosen, "ca_certificates": ""}, secrets, tenant_id=tenant_id
            )


async def test_a_server_without_encryption_is_no_fallback(service: Service, dovecot: Dovecot) -> None:
    with pytest.raises(MisconfiguredError, match="STARTTLS"):
        await service.sources.test_settings(
            "imap",
            mailbox_settings(dovecot, security="starttls"),
            {"password": PASSWORD},
            tenant_id=service.default_tenant_id,
        )


async def test_a_lost_permission_is_shown(service: Service, dovecot: Dovecot, provider: OAuthServer) -> None:
    provider.refresh_token = "another"
    row = await add_oauth_mailbox(service, dovecot, provider)

    async with watching(service):
        current = await wait_for(service, row, lambda now: now.failures > 0)

    assert current.last_error_code == "unauthorized"


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["93.184.216.34", "10.0.0.1"], ["::ffff:10.0.0.1"]])
async def test_a_server_in_a_private_network_is_not_connected_to(addresses: list[str]) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        del host, port
        return addresses

    connection = ImapConnection("the mail server")
    chosen = ImapSettings(host="mail.example.org", user="anna")
    with pytest.raises(MisconfiguredError, match="private network"):
        await connection.open(chosen, allow_private=False, resolve=resolve)
    connection.close()


async def test_no_password_goes_over_the_internet_in_clear_text() -> None:
    with pytest.raises(MisconfiguredError, match="without encryption"):
        IMAP.check(ImapSettings(host="mail.example.org", user="anna", security="none"), Settings())
