import asyncio
from collections.abc import AsyncIterator, Sequence
from uuid import UUID

import pytest

from docmill.errors import NetworkError, ServerError
from docmill.service.events.outbox import Outbox
from docmill.service.events.wakeups import Wakeups
from docmill.service.store.database import DEFAULT_TENANT_ID, Database
from docmill.testing.queue import MemoryQueue


class Line(MemoryQueue):
    """A queue that can be down, and that can tell when something came or was refused."""

    def __init__(self) -> None:
        super().__init__()
        self.is_down = False
        self.sent: list[str] = []
        self.tenant_ids: list[UUID | None] = []
        self.refused = asyncio.Event()
        self.came = asyncio.Condition()

    async def send(
        self, bodies: Sequence[str], *, delay_s: float = 0, tenant_ids: Sequence[UUID | None] = ()
    ) -> None:
        if self.is_down:
            self.refused.set()
            raise NetworkError("the queue is down")
        await super().send(bodies, delay_s=delay_s)
        async with self.came:
            self.sent += bodies
            self.tenant_ids += tenant_ids
            self.came.notify_all()

    async def until_sent(self, count: int) -> list[str]:
        async with asyncio.timeout(20), self.came:
            await self.came.wait_for(lambda: len(self.sent) >= count)
        return self.sent


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    async with Database(database_url) as database:
        yield database


@pytest.fixture
async def wakeups(database: Database) -> AsyncIterator[Wakeups]:
    async with Wakeups(database) as wakeups:
        await asyncio.wait_for(wakeups.listening(), 10)
        yield wakeups


@pytest.fixture
def queue() -> Line:
    return Line()


@pytest.fixture
def outbox(database: Database, wakeups: Wakeups, queue: Line) -> Outbox:
    """An outbox whose task does not run."""
    return Outbox(database, wakeups, queue, "test")


async def promise(database: Database, outbox: Outbox, *bodies: str, delay_s: float = 0) -> None:
    async with database.transaction() as conn:
        await outbox.send_in(conn, bodies, delay_s=delay_s)
    outbox.announce()


async def rows(database: Database) -> int:
    async with database.connection() as conn:
        cur = await conn.execute("SELECT count(*) FROM outbox")
        return (await cur.fetchone() or (0,))[0]


async def test_what_was_promised_is_sent_after_the_commit(
    database: Database, outbox: Outbox, queue: Line
) -> None:
    async with outbox:
        await promise(database, outbox, "a", "b")

        assert sorted(await queue.until_sent(2)) == ["a", "b"]


async def test_what_is_promised_while_the_relay_waits_is_sent(
    database: Database, outbox: Outbox, queue: Line
) -> None:
    async with outbox:
        for count, body in enumerate(["a", "b", "c"], 1):
            await promise(database, outbox, body)
            await queue.until_sent(count)

    assert queue.sent == ["a", "b", "c"]


async def test_what_was_rolled_back_is_never_sent(database: Database, outbox: Outbox, queue: Line) -> None:
    async def promise_and_fail() -> None:
        async with database.transaction() as conn:
            await outbox.send_in(conn, ["never"])
            raise ServerError("the caller fails")

    with pytest.raises(ServerError):
        await promise_and_fail()

    assert await outbox.relay() == 0
    assert queue.sent == []


async def test_a_process_that_died_after_its_commit_is_stood_in_for(
    database: Database, wakeups: Wakeups, outbox: Outbox, queue: Line
) -> None:
    await promise(database, outbox, "a")  # by a process whose task never ran

    async with Outbox(database, wakeups, queue, "test"):
        assert await queue.until_sent(1) == ["a"]


async def test_a_crash_between_sending_and_the_commit_sends_again(
    database: Database, outbox: Outbox, queue: Line
) -> None:
    async def send_and_crash(
        bodies: Sequence[str], *, delay_s: float = 0, tenant_ids: Sequence[UUID | None] = ()
    ) -> None:
        await Line.send(queue, bodies, delay_s=delay_s, tenant_ids=tenant_ids)
        raise asyncio.CancelledError

    await promise(database, outbox, "a")
    queue.send = send_and_crash
    with pytest.raises(asyncio.CancelledError):
        await outbox.relay()
    del queue.send

    assert await outbox.relay() == 1
    assert queue.sent == ["a", "a"]
    assert await rows(database) == 0


async def test_while_the_queue_is_down_nothing_is_lost_and_the_log_says_so_once(
    database: Database, outbox: Outbox, queue: Line, caplog: pytest.LogCaptureFixture
) -> None:
    queue.is_down = True
    async with outbox:
        await promise(database, outbox, "a")
        for _ in range(2):
            await asyncio.wait_for(queue.refused.wait(), 20)
            queue.refused.clear()
        assert await rows(database) == 1

        queue.is_down = False
        await promise(database, outbox, "b")
        assert sorted(await queue.until_sent(2)) == ["a", "b"]

    assert caplog.text.count("does not work now") == 1
    assert caplog.text.count("works again") <= 1


async def test_a_delay_is_counted_from_the_transaction(
    database: Database, outbox: Outbox, queue: Line
) -> None:
    await promise(database, outbox, "later", delay_s=60)
    early = await outbox.relay()
    async with database.connection() as conn:
        await conn.execute("UPDATE outbox SET due_at = due_at - interval '61 s'")
    due = await outbox.relay()

    assert (early, due) == (0, 1)
    assert len(await queue.receive(limit=10, wait_s=0)) == 1


async def test_many_processes_relay_at_once_and_send_each_message_once(
    database: Database, wakeups: Wakeups, queue: Line
) -> None:
    outboxes = [Outbox(database, wakeups, queue, "test") for _ in range(5)]
    bodies = [str(number) for number in range(500)]
    await promise(database, outboxes[0], *bodies)

    while sum(await asyncio.gather(*(outbox.relay() for outbox in outboxes))):
        pass

    assert sorted(queue.sent) == sorted(bodies)
    assert await rows(database) == 0


async def test_outboxes_of_different_queues_do_not_touch_each_others_messages(
    database: Database, wakeups: Wakeups, outbox: Outbox, queue: Line
) -> None:
    await promise(database, outbox, "mine")

    assert await Outbox(database, wakeups, queue, "other").relay() == 0
    assert await outbox.relay() == 1


async def test_a_fault_of_ours_does_not_end_the_relaying(
    database: Database, outbox: Outbox, queue: Line, caplog: pytest.LogCaptureFixture
) -> None:
    failed = asyncio.Event()

    async def fail(
        bodies: Sequence[str], *, delay_s: float = 0, tenant_ids: Sequence[UUID | None] = ()
    ) -> None:
        del queue.send
        failed.set()
        raise ZeroDivisionError(bodies, delay_s, tenant_ids)

    queue.send = fail
    async with outbox:
        await promise(database, outbox, "a")
        await asyncio.wait_for(failed.wait(), 20)

        assert await queue.until_sent(1) == ["a"]

    assert "ZeroDivisionError" in caplog.text


async def test_a_message_is_sent_with_the_tenant_of_its_transaction(
    database: Database, outbox: Outbox, queue: Line
) -> None:
    async with database.tenant(DEFAULT_TENANT_ID) as conn:
        await outbox.send_in(conn, ["a", "b"])
    await promise(database, outbox, "of none")

    await outbox.relay()

    assert dict(zip(queue.sent, queue.tenant_ids, strict=True)) == {
        "a": DEFAULT_TENANT_ID,
        "b": DEFAULT_TENANT_ID,
        "of none": None,
    }
