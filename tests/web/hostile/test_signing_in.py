"""Attacks on the sign-in: guessing by time and by words, huge passwords, limits, and chosen sessions."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from ipaddress import ip_network
from typing import Any

import httpx
import pytest
from argon2 import PasswordHasher
from starlette.types import Message, Receive, Scope, Send

from docmill.errors import RateLimitedError
from docmill.service.people import sign_in
from docmill.service.people.passwords import LONGEST
from docmill.service.people.sign_in import Visitor
from docmill.service.store.database import Database
from docmill.web.security import Reach, TrustedRequestsOnly
from support.attacked_vault import AttackedVault
from support.people import PASSWORD, Browser, token_in

pytestmark = pytest.mark.asyncio(loop_scope="module")

EMAILS = ["anna@example.org", "nobody@example.org"]


@asynccontextmanager
async def browser(attacked: AttackedVault, address: str) -> AsyncGenerator[Browser]:
    async with attacked.client(address=address) as client:
        yield Browser(client)


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of all passwords that were hashed."""
    lengths: list[int] = []
    verify, hash_password = PasswordHasher.verify, PasswordHasher.hash

    def noting_verify(self: PasswordHasher, known: str, password: str) -> bool:
        lengths.append(len(password))
        return verify(self, known, password)

    def noting_hash(self: PasswordHasher, password: str) -> str:
        lengths.append(len(password))
        return hash_password(self, password)

    monkeypatch.setattr(PasswordHasher, "verify", noting_verify)
    monkeypatch.setattr(PasswordHasher, "hash", noting_hash)
    return lengths


@pytest.fixture
def transactions(monkeypatch: pytest.MonkeyPatch) -> list[Database]:
    """An item for each transaction that began."""
    begun: list[Database] = []
    transaction = Database.transaction

    def noting(self: Database) -> Any:  # noqa: ANN401  a context manager
        begun.append(self)
        return transaction(self)

    monkeypatch.setattr(Database, "transaction", noting)
    return begun


async def test_a_refusal_takes_the_same_work_whether_there_is_an_account(
    attacked: AttackedVault, hashed: list[int], transactions: list[Database]
) -> None:
    work: list[tuple[int, list[int]]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        async def noting_send(message: Message) -> None:
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                work.append((len(transactions), [*hashed]))

        transactions.clear()
        hashed.clear()
        await attacked.app(scope, receive, noting_send)

    for number in range(10):  # the first one makes the hash that is compared with where there is none
        transport = httpx.ASGITransport(app, client=(f"192.0.2.{80 + number}", 7))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            await Browser(client).sign_in(EMAILS[number % 2], "wrong password")

    refusals = work[3::2]  # of a page and its form in turn
    assert len(refusals) == 9
    assert len({repr(refusal) for refusal in refusals}) == 1
    assert refusals[0][1] == [len("wrong password")]


async def test_no_answer_tells_whether_there_is_an_account(attacked: AttackedVault) -> None:
    seen: list[tuple[int, str, int, str]] = []
    for number, email in enumerate(EMAILS):
        async with browser(attacked, f"192.0.2.{number + 1}") as made:
            refused = await made.sign_in(email, "wrong password")
            token = token_in((await made.open("/login")).text, "/login")
            asked = {"email": email, "form_token": token}
            forgotten = await made.client.post("/forgotten", data=asked)
        seen.append(
            (
                refused.status_code,
                _without_tokens(refused.text).replace(email, ""),
                forgotten.status_code,
                _without_tokens(forgotten.text).replace(email, ""),
            )
        )

    assert seen[0] == seen[1]


def _without_tokens(html: str) -> str:
    return "".join(part for part in html.split('"') if len(part) != 96)


async def test_a_refusal_is_in_the_audit_log_of_the_person(attacked: AttackedVault) -> None:
    async with browser(attacked, "192.0.2.90") as made:
        await made.sign_in("anna@example.org", "wrong password")
    async with attacked.client(session=attacked.ours.sessions["owner"]) as owner:
        log = await owner.get("/api/v1/audit-log", params={"action": "sign_in_refused"})

    assert "192.0.2.90" in {entry["address"] for entry in log.json()["entries"]}


@pytest.mark.parametrize("path", ["/login", "/join", "/password", "/welcome", "/profile/password"])
async def test_nobody_has_a_huge_password_hashed(
    attacked: AttackedVault, hashed: list[int], path: str
) -> None:
    fields = {"email": "anna@example.org", "token": "guess", "new_password": "y" * 10**6}
    session = attacked.ours.sessions["owner"] if path.startswith("/profile") else ""
    async with attacked.client(session=session, address="192.0.2.70") as client:
        token = token_in((await client.get("/login")).text, "/login") if not session else ""
        for size in (10**6, 30_000):
            form = {**fields, "form_token": token, "password": "x" * size}
            answer = await client.post(path, data=form)
            assert 300 <= answer.status_code < 500, answer.text

    assert max(hashed, default=0) <= LONGEST


async def test_the_limit_of_attempts_is_that_of_the_machine_whatever_it_says(attacked: AttackedVault) -> None:
    """Without a proxy in the settings, nobody is believed to have forwarded anything."""
    statuses: list[int] = []
    async with browser(attacked, "192.0.2.60") as made:
        token = token_in((await made.open("/login")).text, "/login")
        for number in range(sign_in.MOST_FOR_ADDRESS_AND_EMAIL + 1):
            forged = {
                "x-forwarded-for": f"198.51.100.{number}",
                "forwarded": f"for=198.51.100.{number}",
                "x-real-ip": f"198.51.100.{number}",
            }
            form = {"email": "limited@example.org", "password": "x", "form_token": token}
            statuses.append((await made.client.post("/login", data=form, headers=forged)).status_code)

    assert statuses == [401] * sign_in.MOST_FOR_ADDRESS_AND_EMAIL + [429]


@pytest.mark.parametrize("own", ["203.0.113.5", "203.0.113.5:4711"])
@pytest.mark.parametrize(
    "forged", ["198.51.100.1", "198.51.100.2, 10.0.0.9", "198.51.100.3, unknown", "_x", ""]
)
async def test_forged_hops_before_a_trusted_proxy_do_not_change_whose_limit_it_is(
    forged: str, own: str
) -> None:
    assert await _client_of(f"{forged}, {own}") == "203.0.113.5"


@pytest.mark.parametrize("said", ["unknown", "203.0.113.5 10.0.0.2", "fe80::1%25eth0", "203.0.113.999", ""])
async def test_what_is_no_address_reveals_none_that_was_forged_before_it(said: str) -> None:
    assert await _client_of(f"198.51.100.1, {said}") == "10.0.0.1"


async def _client_of(forwarded_for: str) -> str:
    seen: list[str] = []

    async def note(scope: Scope, receive: Receive, send: Send) -> None:
        del receive, send
        seen.append(scope["client"][0])

    scope: dict[str, Any] = {
        "type": "http",
        "scheme": "http",
        "method": "GET",
        "client": ("10.0.0.1", 7),
        "headers": [(b"host", b"localhost"), (b"x-forwarded-for", forwarded_for.encode())],
    }
    unused: Any = None
    await TrustedRequestsOnly(note, reach=Reach(proxies=(ip_network("10.0.0.0/24"),)))(scope, unused, unused)
    return seen[0]


async def test_one_network_of_ipv6_has_one_limit(attacked: AttackedVault) -> None:
    service = attacked.service.sign_in
    for number in range(sign_in.MOST_FOR_ADDRESS_AND_EMAIL):
        with pytest.raises(sign_in.SignInRefusedError):
            await service.verify("six@example.org", "", Visitor(f"2001:db8::{number:x}"))

    with pytest.raises(RateLimitedError):
        await service.verify("six@example.org", "", Visitor("2001:db8::ffff"))
    with pytest.raises(sign_in.SignInRefusedError):
        await service.verify("six@example.org", "", Visitor("2001:db8:0:1::1"))


async def test_a_session_that_an_attacker_chose_is_not_the_one_that_begins(attacked: AttackedVault) -> None:
    async with browser(attacked, "192.0.2.50") as made:
        made.client.cookies.set("docmill-session", "chosen", domain="localhost.local")
        made.client.cookies.set("docmill-visit", "chosen", domain="localhost.local")
        answer = await made.sign_in("anna@example.org", PASSWORD)
    async with attacked.client(session="chosen") as attacker:
        stolen = await attacker.get("/api/v1/me")

    assert answer.status_code == 303
    assert "docmill-session=chosen" not in answer.headers["set-cookie"]
    assert stolen.status_code == 401


@pytest.mark.parametrize(
    "cookie", ["", "x" * 8000, "\xff", "' OR 1=1 --", "../../etc/passwd", "a; docmill-session=b"]
)
async def test_nonsense_for_a_session_is_none(attacked: AttackedVault, cookie: str) -> None:
    async with attacked.client() as stranger:
        header = f"docmill-session={cookie}".encode("latin-1")
        answer = await stranger.get("/api/v1/me", headers=[(b"cookie", header)])

    assert answer.status_code == 401
