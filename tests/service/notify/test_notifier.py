"""Notifications from the transaction that tells of a failure to the message, with a real database."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from docmill.errors import NetworkError, RateLimitedError
from docmill.resilience.concurrency import cancel_and_wait
from docmill.service.app import Service
from docmill.service.notify.message import Digest
from docmill.service.notify.notifier import Notifier
from docmill.service.observe.metrics import Metrics
from docmill.service.processing.pause_records import PauseRecords
from docmill.service.protocol.pause import Cause
from docmill.service.store import notifications
from docmill.service.store.database import DEFAULT_TENANT_ID, new_id, try_lock
from docmill.service.store.notifications import Notification, NotificationKind

HOUR_S = 3600.0


@dataclass
class Recorder:
    """A channel that keeps what it is given. errors: of the next messages."""

    name: str = "slack"
    errors: list[Exception] = field(default_factory=list[Exception])
    tried: list[Digest] = field(default_factory=list[Digest])
    sent: list[Digest] = field(default_factory=list[Digest])

    async def send(self, digest: Digest) -> None:
        self.tried.append(digest)
        if self.errors:
            raise self.errors.pop(0)
        self.sent.append(digest)


def notifier(service: Service, *channels: Recorder) -> Notifier:
    return Notifier(service.database, channels, HOUR_S)


async def fail(
    service: Service,
    error: str = "no match",
    *,
    count: int = 1,
    kind: NotificationKind = "matching_failed",
    tenant_id: UUID = DEFAULT_TENANT_ID,
) -> None:
    async with service.database.tenant(tenant_id) as conn:
        for _ in range(count):
            await notifications.add(conn, Notification(kind, tenant_id, None, error, attempts=3))


async def age(service: Service, by: timedelta, tenant_id: UUID = DEFAULT_TENANT_ID) -> None:
    """Let time pass for everything that waits."""
    async with service.database.tenant(tenant_id) as conn:
        await conn.execute("UPDATE notification SET created_at = created_at - %s", [by])
        await conn.execute(
            """
            UPDATE notification_delivery
               SET next_attempt_at = next_attempt_at - %(by)s, sent_at = sent_at - %(by)s
            """,
            {"by": by},
        )


async def send_all(sender: Notifier) -> int:
    count = 0
    while await sender.send_next():
        count += 1
    return count


async def kept(service: Service) -> int:
    async with service.database.tenant(DEFAULT_TENANT_ID) as conn:
        cur = await conn.execute("SELECT count(*) FROM notification")
        (count,) = await cur.fetchone() or (0,)
        return count


def totals(digests: Sequence[Digest]) -> list[int]:
    return [digest.total for digest in digests]


async def test_the_first_failure_is_told_at_once_and_500_more_are_one_message(service: Service) -> None:
    slack = Recorder()
    sender = notifier(service, slack)

    await fail(service)
    assert await send_all(sender) == 1
    await fail(service, count=300)
    await fail(service, "another reason", count=200)
    assert await send_all(sender) == 0  # the window is open
    await age(service, timedelta(hours=2))
    assert await send_all(sender) == 1

    assert totals(slack.sent) == [1, 500]
    assert [(each.error, each.count) for each in slack.sent[1].errors] == [
        ("no match", 300),
        ("another reason", 200),
    ]
    assert len(slack.sent[1].first) == 10
    assert await kept(service) == 0


async def test_what_is_rolled_back_is_not_told(service: Service) -> None:
    slack = Recorder()

    async with service.database.tenant(DEFAULT_TENANT_ID) as conn, conn.transaction(force_rollback=True):
        await notifications.add(conn, Notification("setup_error", DEFAULT_TENANT_ID, None, "x"))

    assert await send_all(notifier(service, slack)) == 0


async def test_a_message_that_fails_is_sent_again_with_the_same_id_and_content(service: Service) -> None:
    slack = Recorder(errors=[NetworkError("away"), RateLimitedError("slowly", retry_after_s=90)])
    sender = notifier(service, slack)
    await fail(service)

    assert await send_all(sender) == 1
    await fail(service, "later")
    assert await send_all(sender) == 0  # it waits for five seconds
    await age(service, timedelta(seconds=6))
    assert await send_all(sender) == 1
    await age(service, timedelta(seconds=60))
    assert await send_all(sender) == 0  # for as long as the channel asked
    await age(service, timedelta(seconds=31))
    assert await send_all(sender) == 1
    await age(service, timedelta(hours=2))
    assert await send_all(sender) == 1

    assert len({digest.id for digest in slack.tried[:3]}) == 1
    assert totals(slack.tried) == [1, 1, 1, 1]
    assert [digest.errors[0].error for digest in slack.sent] == ["no match", "later"]


async def test_a_failure_committed_while_an_older_message_is_sent_is_told_next(service: Service) -> None:
    is_stored, may_commit = asyncio.Event(), asyncio.Event()

    async def fail_slowly() -> None:
        async with service.database.tenant(DEFAULT_TENANT_ID) as conn:
            await notifications.add(
                conn, Notification("matching_failed", DEFAULT_TENANT_ID, None, "stored first")
            )
            is_stored.set()
            await may_commit.wait()

    @dataclass
    class SlowRecorder(Recorder):
        async def send(self, digest: Digest) -> None:
            may_commit.set()
            await slow
            await super().send(digest)

    slack = SlowRecorder()
    sender = Notifier(service.database, [slack], 0)
    slow = asyncio.create_task(fail_slowly())
    await is_stored.wait()
    await asyncio.sleep(0.002)  # the milliseconds order the ids
    await fail(service, "committed first")

    assert await send_all(sender) == 2

    assert [[each.error for each in digest.first] for digest in slack.sent] == [
        ["committed first"],
        ["stored first"],
    ]
    assert len({digest.id for digest in slack.sent}) == 2
    assert await kept(service) == 0


async def test_each_channel_has_its_own_state(service: Service) -> None:
    slack, webhook = Recorder(errors=[NetworkError("away")]), Recorder("webhook")
    sender = notifier(service, slack, webhook)
    await fail(service)

    await send_all(sender)
    assert (totals(slack.sent), totals(webhook.sent)) == ([], [1])
    assert await kept(service) == 1
    await age(service, timedelta(hours=1))
    await send_all(sender)

    assert (totals(slack.sent), totals(webhook.sent)) == ([1], [1])
    assert await kept(service) == 0


async def test_after_a_day_a_message_is_given_up(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    slack = Recorder(errors=[NetworkError("away"), NetworkError("away")])
    sender, metrics = notifier(service, slack), Metrics()
    await fail(service)

    assert await sender.send_next(metrics)
    await age(service, timedelta(hours=25))
    with caplog.at_level(logging.INFO):
        assert await sender.send_next(metrics)
    assert not await sender.send_next(metrics)  # nothing is left of it
    await fail(service, "new")
    await age(service, timedelta(hours=2))
    assert await sender.send_next(metrics)

    assert [digest.errors[0].error for digest in slack.sent] == ["new"]
    assert "notifications are given up" in caplog.messages
    counts = {
        sample.labels["outcome"]: sample.value
        for family in text_string_to_metric_families(metrics.exposition().decode())
        for sample in family.samples
        if sample.name == "docmill_notifications_total"
    }
    assert counts == {"failed": 1, "given_up": 1, "sent": 1}


async def test_tenants_get_messages_of_their_own(service: Service) -> None:
    other = new_id()
    async with await psycopg.AsyncConnection.connect(service.owner_url) as conn:
        await conn.execute("INSERT INTO tenant (id, name) VALUES (%s, 'other')", [other])
    slack = Recorder()
    await fail(service)
    await fail(service, tenant_id=other, count=2)

    assert await send_all(notifier(service, slack)) == 2

    assert {digest.tenant_id: digest.total for digest in slack.sent} == {DEFAULT_TENANT_ID: 1, other: 2}


async def test_a_document_that_is_deleted_meanwhile_is_told_of_no_more(service: Service) -> None:
    slack = Recorder(errors=[NetworkError("away")])
    sender = notifier(service, slack)
    await fail(service)

    assert await sender.send_next()
    async with service.database.tenant(DEFAULT_TENANT_ID) as conn:
        await conn.execute("DELETE FROM notification")  # as with its document
    await fail(service, "new")
    await age(service, timedelta(hours=2))
    await send_all(sender)

    assert [digest.errors[0].error for digest in slack.sent] == ["new"]


async def test_the_worker_sends_what_is_due_until_it_is_stopped(service: Service) -> None:
    sent = asyncio.Event()

    class Announcing(Recorder):
        async def send(self, digest: Digest) -> None:
            await super().send(digest)
            sent.set()

    await fail(service)
    channels = Recorder("slack"), Announcing("webhook")  # in the order of their names
    working = asyncio.create_task(notifier(service, *channels).work_for_ever())
    try:
        async with asyncio.timeout(20):
            await sent.wait()
    finally:
        await cancel_and_wait([working])
    await notifier(service).work_for_ever()  # without a channel there is nothing to do


async def test_one_process_sends_at_a_time(service: Service) -> None:
    slack = Recorder()
    await fail(service)

    async with service.database.transaction() as conn:
        assert await try_lock(conn, "notifications")
        assert await send_all(notifier(service, slack)) == 0

    assert await send_all(notifier(service, slack)) == 1


async def test_old_notifications_are_forgotten_without_a_channel(service: Service) -> None:
    await fail(service)
    await age(service, timedelta(days=3))

    await notifier(service).forget_old()

    assert await kept(service) == 0


async def test_a_pause_is_told_once_for_all_workers(service: Service) -> None:
    slack = Recorder()
    cause = Cause("llm", "extract", "unauthorized", "the key of llm is refused; set llm.api_key")
    for worker_id in ("a", "b"):
        records = PauseRecords(
            service.database, worker_id, lambda: [cause], lambda: None, tenant_id=DEFAULT_TENANT_ID
        )
        records.note_change()
        await records.write_next()

    assert await send_all(notifier(service, slack)) == 1

    (digest,) = slack.sent
    assert digest.subject == "docmill: processing is paused"
    assert digest.errors[0].error == "the key of llm is refused; set llm.api_key"


async def test_workers_that_meet_an_error_at_the_same_moment_tell_of_it_once(service: Service) -> None:
    slack = Recorder()
    cause = Cause("small model", "match", "unauthorized", "the key of llm is refused; set llm.api_key")
    workers = [
        PauseRecords(service.database, name, lambda: [cause], lambda: None, tenant_id=DEFAULT_TENANT_ID)
        for name in ("a", "b", "c", "d")
    ]
    for records in workers:
        records.note_change()

    await asyncio.gather(*(records.write_next() for records in workers))

    assert await send_all(notifier(service, slack)) == 1
    assert [digest.total for digest in slack.sent] == [1]
