import base64
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.sources.smtp.sender_checks import are_aligned
from docmill.service.store import arrivals
from support.mail_clients import MAIL, Mailbox, MailClient

pytest.importorskip("spf")
dkim: Any = pytest.importorskip("dkim")

from cryptography.hazmat.primitives import serialization  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: E402

from support.dns_server import dns_server  # noqa: E402

AddMailbox = Callable[..., Awaitable[Mailbox]]

KEY = rsa.generate_private_key(65537, 2048)
PEM = KEY.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
)
PUBLIC = base64.b64encode(
    KEY.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
).decode()


def key_record(domain: str, selector: str = "s1") -> dict[tuple[str, str], list[str]]:
    value = f"v=DKIM1; k=rsa; p={PUBLIC}"
    return {(f"{selector}._domainkey.{domain}", "TXT"): [f'"{value[:200]}" "{value[200:]}"']}


def signed(mail: bytes = MAIL, domain: bytes = b"example.com", **options: Any) -> bytes:  # noqa: ANN401
    return dkim.sign(mail, b"s1", domain, PEM, include_headers=[b"from", b"subject"], **options) + mail


@pytest.fixture
def records() -> dict[tuple[str, str], list[str]]:
    return {
        **key_record("example.com"),
        **key_record("evil.org"),
        ("example.com", "TXT"): ['"some text"', '"v=spf1 ip4:192.0.2.1 -all"'],
        ("good.example.com", "TXT"): ['"v=spf1 include:net.example.net mx -all"'],
        ("net.example.net", "TXT"): ['"v=spf1 a:relay.example.net ~all"'],
        ("relay.example.net", "A"): ["127.0.0.1"],
        ("loop.example.com", "TXT"): ['"v=spf1 include:loop.example.com -all"'],
        ("down.example.com", "FAIL"): [],
        ("s1._domainkey.down.example.com", "FAIL"): [],
    }


@pytest.fixture
async def name_server(records: dict[tuple[str, str], list[str]]) -> AsyncGenerator[str]:
    async with dns_server(records) as address:
        yield address


@pytest.fixture
def receiver_settings(name_server: str) -> dict[str, Any]:
    return {"check_senders": True, "dns_servers": (name_server,)}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings


GOOD = MAIL.replace(b"anna@example.com", b"anna@good.example.com")
DOWN = MAIL.replace(b"anna@example.com", b"anna@down.example.com")


@pytest.mark.parametrize(
    ("mail", "sender", "code", "spf", "dkim_result"),
    [
        pytest.param(MAIL, "anna@example.com", 550, "fail", "none", id="other client"),
        pytest.param(GOOD, "anna@good.example.com", 250, "pass", "none", id="include, a"),
        pytest.param(MAIL, "x@good.example.com", 250, "pass", "none", id="domain below"),
        pytest.param(MAIL, "x@unknown.example", 550, "none", "none", id="no record"),
        pytest.param(MAIL, "x@loop.example.com", 550, "permerror", "none", id="loop"),
        pytest.param(DOWN, "x@down.example.com", 451, "temperror", "none", id="DNS fails"),
        pytest.param(signed(), "x@unknown.example", 250, "none", "pass", id="signed"),
        pytest.param(signed() + b"more\r\n", "x@unknown.example", 550, "none", "fail", id="changed"),
        pytest.param(signed(domain=b"evil.org"), "x@evil.org", 550, "none", "pass", id="signed by another"),
        pytest.param(signed(domain=b"no-key.org"), "x@evil.org", 550, "none", "fail", id="no key"),
        pytest.param(
            signed(domain=b"down.example.com"), "x@evil.org", 451, "none", "temperror", id="no answer"
        ),
        pytest.param(
            signed(length=True) + b"more\r\n", "x@evil.org", 550, "none", "fail", id="a part of the body"
        ),
        pytest.param(
            b"DKIM-Signature: v=1; nonsense\r\n" * 3 + signed(),
            "x@evil.org",
            250,
            "none",
            "pass",
            id="several",
        ),
    ],
)
async def test_senders_are_checked(
    service: Service,
    client: MailClient,
    add_mailbox: AddMailbox,
    mail: bytes,
    sender: str,
    code: int,
    spf: str,
    dkim_result: str,
) -> None:
    strict, lenient = await add_mailbox("Strict", require="spf_or_dkim"), await add_mailbox("Lenient")

    assert (await client.send(strict.address, mail, sender=sender))[0] == code
    assert (await client.send(lenient.address, mail, sender=sender))[0] == 250

    async with service.database.tenant(lenient.row.tenant_id) as conn:
        (arrival,) = await arrivals.of_source(conn, lenient.row.id, limit=5)
    assert (arrival.metadata["spf"], arrival.metadata["dkim"]) == (spf, dkim_result)


async def test_a_large_signed_mail_is_checked(
    client: MailClient,
    add_mailbox: AddMailbox,
    receive: Callable[[], AbstractAsyncContextManager[MailClient]],
) -> None:
    del receive
    mailbox = await add_mailbox(require="spf_or_dkim")
    mail = MAIL + b"y" * 70 + b"\r\n" + (b"x" * 70 + b"\r\n") * 100_000

    assert (await client.send(mailbox.address, signed(mail), sender="x@unknown.example"))[0] == 250


@pytest.mark.parametrize(
    ("domain", "from_domain", "aligned"),
    [
        ("example.com", "Example.com", True),
        ("mail.example.com", "example.com", True),
        ("example.com", "mail.example.com", True),
        ("badexample.com", "example.com", False),
        ("com", "example.com", False),
        ("", "example.com", False),
        ("example.com", "", False),
    ],
)
def test_domains_are_aligned(domain: str, from_domain: str, aligned: bool) -> None:  # noqa: FBT001
    assert are_aligned(domain, from_domain) is aligned
