import asyncio
import socket
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from joserfc.jwk import RSAKey
from pydantic import SecretStr

from docmill.errors import MisconfiguredError, ServerError, UnauthorizedError
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.sources.gmail.gmail_settings import GmailSettings
from docmill.service.sources.gmail.gmail_watcher import GmailWatcher
from docmill.service.sources.gmail.google_http import GoogleHttp
from docmill.service.sources.gmail.push_tokens import PushTokens
from docmill.service.sources.json_http import JsonHttp
from docmill.service.sources.watching import SourceWatching
from docmill.service.store import arrivals
from docmill.service.store.arrivals import ArrivalRow
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.doc_sources import SourceRow
from docmill.testing.steps import PaintedPages
from docmill.web.app import create_app
from support.gmail_server import Gmail, gmail_server
from support.mail_clients import MAIL
from support.mailbox_sources import wait_for

PUSH_ACCOUNT = "push@project.iam.gserviceaccount.com"


@pytest.fixture
def gmail() -> Iterator[Gmail]:
    with gmail_server() as gmail:
        yield gmail


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(
        update={
            "sources": settings.sources.model_copy(update={"allow_private_addresses": True}),
            "web": settings.web.model_copy(update={"public_url": "https://vault.example.org"}),
            "limits": settings.limits.model_copy(update={"file_mb": 0.5}),
            "secrets": settings.secrets.model_copy(update={"key": SecretStr("k" * 40)}),
        }
    )


def chosen(gmail: Gmail, **others: Any) -> dict[str, Any]:  # noqa: ANN401  JSON
    return {
        "client_id": "client",
        "api_address": gmail.address,
        "token_address": f"{gmail.address}/token",
        "keys_address": f"{gmail.address}/keys",
        **others,
    }


async def add(service: Service, gmail: Gmail, **others: Any) -> SourceRow:  # noqa: ANN401
    return await service.sources.add(
        "gmail",
        "Inbox",
        chosen(gmail, **others),
        {"refresh_token": gmail.refresh_token, "client_secret": "secret"},
        tenant_id=service.default_tenant_id,
        created_by=DEFAULT_USER_ID,
    )


@asynccontextmanager
async def watching(service: Service) -> AsyncGenerator[None]:
    watch = SourceWatching(service.sources, service.database, "a", lease_s=5.0, concurrency=5)
    task = asyncio.create_task(watch.work_for_ever())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def until(look: Callable[[], Any]) -> None:
    async with asyncio.timeout(20):
        while True:
            found = look()
            if await found if asyncio.iscoroutine(found) else found:
                return
            await asyncio.sleep(0.05)


async def arrived(service: Service, row: SourceRow) -> list[ArrivalRow]:
    async with service.database.tenant(row.tenant_id) as conn:
        return await arrivals.of_source(conn, row.id, limit=100)


def mail(number: int) -> bytes:
    return MAIL + b"%d\r\n" % number


async def test_what_was_there_is_taken_if_wanted_and_what_comes_in_any_case(
    service: Service, gmail: Gmail
) -> None:
    for number in range(5):
        gmail.deliver(mail(number), arrived_at=time.time() - 1000)
    gmail.deliver(mail(5), "SENT", arrived_at=time.time() - 1000)
    every = await add(service, gmail, start="all", poll_s=1)

    async with watching(service):
        await until(lambda: _count(service, every, 5))
        gmail.deliver(mail(6), "INBOX", "UNREAD")
        gmail.deliver(mail(7), "Label_7")
        await until(lambda: _count(service, every, 6))
        await until(lambda: _is_at(service, every, "8"))

    taken = await arrived(service, every)
    assert {row.metadata["subject"] for row in taken} == {"Invoice 7"}
    current = await service.sources.get(every.id, tenant_id=every.tenant_id)
    assert current is not None
    assert (current.arrivals, current.failures) == (6, 0)


async def test_another_mailbox_is_read_from_its_own_beginning(service: Service, gmail: Gmail) -> None:
    for number in range(5):
        gmail.deliver(mail(number), arrived_at=time.time() - 1000)
    row = await add(service, gmail, start="all", poll_s=1)
    async with watching(service):
        await until(lambda: _is_at(service, row, "5"))
    gmail.mailbox = "ben@example.com"
    for known in (gmail.mails, gmail.labels, gmail.arrived_at, gmail.history):
        known.clear()
    gmail.history.append("other")  # its history is shorter than that of the mailbox before
    gmail.mails["b1"], gmail.labels["b1"], gmail.arrived_at["b1"] = mail(9), ["INBOX"], time.time() - 900
    await _resume(service, row)

    async with watching(service):
        await until(lambda: _count(service, row, 6))


async def _count(service: Service, row: SourceRow, count: int) -> bool:
    return len(await arrived(service, row)) >= count


async def _is_at(service: Service, row: SourceRow, history_id: str) -> bool:
    current = await service.sources.get(row.id, tenant_id=row.tenant_id)
    position = None if current is None else current.position
    return position is not None and position["history_id"] == history_id


async def test_after_a_restart_the_history_goes_on_and_an_old_one_is_replaced_by_the_list(
    service: Service, gmail: Gmail
) -> None:
    gmail.deliver(mail(0), arrived_at=time.time() - 1000)
    row = await add(service, gmail, poll_s=600)
    async with watching(service):
        await until(lambda: "/gmail/v1/users/me/history" in gmail.asked)
    gmail.deliver(mail(1))
    gmail.deliver(mail(2))
    await _resume(service, row)
    async with watching(service):
        await until(lambda: _count(service, row, 2))
    gmail.deliver(mail(3))
    gmail.oldest = len(gmail.history) + 1
    await _resume(service, row)
    async with watching(service):
        await until(lambda: _count(service, row, 3))

    # What was there before the source was made is not taken by the list.
    assert len(await arrived(service, row)) == 3


async def _resume(service: Service, row: SourceRow) -> None:
    """As after the lease of a worker that died."""
    async with service.database.tenant(row.tenant_id) as conn:
        await conn.execute("UPDATE doc_source SET lease_until = NULL, next_attempt_at = NULL")


async def test_a_mail_that_is_too_large_or_gone_stops_no_other(service: Service, gmail: Gmail) -> None:
    gmail.deliver(MAIL + b"x" * 1_000_000)
    gone = gmail.deliver(mail(1))
    gmail.deliver(mail(2))
    del gmail.mails[gone]
    gmail.mails["m9"] = mail(3)
    gmail.labels["m9"], gmail.arrived_at["m9"] = ["INBOX"], time.time()
    row = await add(service, gmail, start="all", poll_s=1)

    async with watching(service):
        await until(lambda: _count(service, row, 3))

    assert {arrival.error_code for arrival in await arrived(service, row)} == {None, "too_large"}


async def test_a_push_wakes_the_watch_and_others_do_not(
    service: Service, settings: Settings, gmail: Gmail
) -> None:
    row = await add(service, gmail, poll_s=600, topic="projects/p/topics/t", push_account=PUSH_ACCOUNT)
    address = service.sources.address(row) or ""
    assert address == f"https://vault.example.org/hooks/gmail/{row.id}"
    app = create_app(service, PaintedPages(), settings)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:

        async def push(token: str, source: object = row.id) -> int:
            headers = {"authorization": f"Bearer {token}"}
            return (await client.post(f"/hooks/gmail/{source}", json={}, headers=headers)).status_code

        async with watching(service):
            await until(lambda: "/gmail/v1/users/me/history" in gmail.asked)
            assert gmail.watches == [
                {"topicName": "projects/p/topics/t", "labelIds": ["INBOX"], "labelFilterBehavior": "INCLUDE"}
            ]
            gmail.deliver(mail(1))
            stranger = RSAKey.generate_key(2048, {"kid": "k1"})
            refused = [
                gmail.push_token("https://elsewhere.example.org"),
                gmail.push_token(address, email="eve@project.iam.gserviceaccount.com"),
                gmail.push_token(address, email_verified=False),
                gmail.push_token(address, iss="https://evil.example.org"),
                gmail.push_token(address, exp=int(time.time()) - 600),
                gmail.push_token(address, key=stranger),
                "nonsense",
                "",
            ]
            assert [await push(token) for token in refused] == [401] * len(refused)
            assert await push(gmail.push_token(address), "00000000-0000-0000-0000-000000000000") == 404
            await asyncio.sleep(0.5)
            assert await arrived(service, row) == []

            began = time.monotonic()
            assert await push(gmail.push_token(address)) == 204
            await until(lambda: _count(service, row, 1))
            assert time.monotonic() - began < 10


async def test_an_access_token_that_was_withdrawn_is_renewed(service: Service, gmail: Gmail) -> None:
    row = await add(service, gmail, poll_s=1)
    async with watching(service):
        await until(lambda: "/gmail/v1/users/me/history" in gmail.asked)
        gmail.access_tokens.clear()
        gmail.deliver(mail(1))
        await until(lambda: _count(service, row, 1))

    current = await service.sources.get(row.id, tenant_id=row.tenant_id)
    assert current is not None
    assert current.failures == 0


async def test_a_test_tells_what_is_wrong(service: Service, gmail: Gmail) -> None:
    row = await add(service, gmail, label="invoices")
    assert await service.sources.test(row) == "the mailbox anna@example.com can be read"

    ended = await service.sources.change(row, secrets={"refresh_token": "old"})
    with pytest.raises(UnauthorizedError, match="permission"):
        await service.sources.test(ended)
    other = await service.sources.change(row, settings=chosen(gmail, label="no such label"))
    other = await service.sources.change(other, secrets={"refresh_token": "refresh"})
    with pytest.raises(MisconfiguredError, match="no label"):
        await service.sources.test(other)


async def test_pushes_need_an_account_that_signs_them(service: Service, gmail: Gmail) -> None:
    with pytest.raises(MisconfiguredError, match="push_account"):
        await add(service, gmail, topic="projects/p/topics/t")


async def test_a_topic_that_does_not_exist_is_told_as_a_setting_to_check(
    service: Service, gmail: Gmail
) -> None:
    gmail.missing_topics = {"projects/p/topics/t"}
    account = "push@project.iam.gserviceaccount.com"
    row = await add(service, gmail, topic="projects/p/topics/t", push_account=account)

    async with watching(service):
        current = await wait_for(service, row, lambda now: now.failures > 0)

    assert current.last_error_code == "misconfigured"
    assert "topic" in (current.last_error_message or "")


NONSENSE: list[tuple[str, tuple[int, Any]]] = [
    ("/token", (404, {})),
    ("messages", (200, [])),
    ("messages", (200, {})),
]


@pytest.mark.parametrize(("path", "answer"), NONSENSE)
async def test_a_mail_is_not_lost_to_an_answer_that_makes_no_sense(
    service: Service, gmail: Gmail, monkeypatch: pytest.MonkeyPatch, path: str, answer: tuple[int, Any]
) -> None:
    message_id = gmail.deliver(MAIL)
    row = await add(service, gmail, start="all")
    connection = service.sources.open(row)
    assert isinstance(connection, GmailWatcher)
    if path != "/token":
        await connection.api.profile()  # signs in
    answers = gmail.answer

    def confused(asked: str, *others: Any) -> tuple[int, Any]:  # noqa: ANN401
        return answer if path in asked else answers(asked, *others)

    monkeypatch.setattr(gmail, "answer", confused)

    with pytest.raises((MisconfiguredError, ServerError)):
        await connection.api.content(message_id, max_bytes=1_000_000)
    monkeypatch.undo()
    assert await connection.api.content(message_id, max_bytes=1_000_000) == MAIL


async def test_keys_at_an_address_that_is_slow_keep_no_other_source_waiting(gmail: Gmail) -> None:
    silent = socket.create_server(("127.0.0.1", 0))
    port = silent.getsockname()[1]
    tokens = PushTokens(GoogleHttp(JsonHttp(allow_private=True)))
    slow = GmailSettings(client_id="c", push_account=PUSH_ACCOUNT, keys_address=f"http://127.0.0.1:{port}/")
    quick = slow.model_copy(update={"keys_address": f"{gmail.address}/keys"})
    waiting = asyncio.create_task(tokens.verify(gmail.push_token("a"), slow, audience="a"))
    await asyncio.sleep(0.2)

    async with asyncio.timeout(5):
        await tokens.verify(gmail.push_token("a"), quick, audience="a")

    assert not waiting.done()
    waiting.cancel()
    await asyncio.wait([waiting])
    silent.close()
