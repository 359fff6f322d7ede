import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import pytest

from contracts.queue import MAX_RECEIVES, MAX_WAITING_RECEIVES, VISIBILITY_S, QueueContract
from docmill.errors import ServerError
from docmill.service.events.wakeups import Wakeups
from docmill.service.ports import ExpectedMessage, Queue
from docmill.service.queue.postgres import PostgresQueue
from docmill.service.store import tenants
from docmill.service.store.database import Conn, Database


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    async with Database(database_url) as database:
        yield database


@pytest.fixture
async def wakeups(database: Database) -> AsyncIterator[Wakeups]:
    async with Wakeups(database) as wakeups:
        await asyncio.wait_for(wakeups.listening(), 10)
        yield wakeups


class TestPostgresQueue(QueueContract):
    @pytest.fixture
    def queue(self, database: Database, wakeups: Wakeups) -> Queue:
        self.database = database
        return PostgresQueue(database, wakeups, "test", visibility_s=VISIBILITY_S, max_receives=MAX_RECEIVES)

    @pytest.fixture
    def patient_queue(self, database: Database, wakeups: Wakeups) -> Queue:
        self.database = database
        return PostgresQueue(database, wakeups, "patient", max_receives=MAX_WAITING_RECEIVES)

    async def let_pass(self, seconds: float) -> None:
        async with self.database.connection() as conn:
            await conn.execute(
                """
                UPDATE message
                   SET visible_at = visible_at - make_interval(secs => %(seconds)s),
                       sent_at = sent_at - make_interval(secs => %(seconds)s)
                """,
                {"seconds": seconds},
            )


async def test_queues_do_not_see_each_other(database: Database, wakeups: Wakeups) -> None:
    mine = PostgresQueue(database, wakeups, "mine")
    other = PostgresQueue(database, wakeups, "other")
    await mine.send(["a"])

    assert await other.receive(limit=1, wait_s=0) == []
    assert await other.purge([]) == 0
    assert (await other.depth()).due == 0


class Forgetful(Database):
    """Loses the answer to the next statements: what was done is done, and nobody hears of it."""

    lost_answers = 0

    @asynccontextmanager
    async def connection(self) -> AsyncGenerator[Conn]:
        async with super().connection() as conn:
            yield conn
        if self.lost_answers:
            self.lost_answers -= 1
            raise ServerError("the connection broke")


async def test_messages_that_were_received_unheard_come_with_the_next_question(
    database_url: str, wakeups: Wakeups
) -> None:
    async with Forgetful(database_url) as database:
        queue = PostgresQueue(database, wakeups, "test")
        await queue.send(["a", "b"])
        database.lost_answers = 1

        with pytest.raises(ServerError):
            await queue.receive(limit=10, wait_s=0)
        messages = await queue.receive(limit=10, wait_s=0)

    assert sorted(message.body for message in messages) == ["a", "b"]


async def test_a_stale_receipt_neither_deletes_nor_releases(database: Database, wakeups: Wakeups) -> None:
    queue = PostgresQueue(database, wakeups, "test", visibility_s=0)
    await queue.send(["a"])
    (stale,) = await queue.receive(limit=1, wait_s=0)
    patient = PostgresQueue(database, wakeups, "test")
    (current,) = await patient.receive(limit=1, wait_s=0)

    await queue.delete([stale])
    await queue.release(stale)

    assert await patient.extend(current, visibility_s=60)


async def test_a_message_is_not_sent_when_the_transaction_fails(database: Database, wakeups: Wakeups) -> None:
    queue = PostgresQueue(database, wakeups, "test")

    async def send_and_fail() -> None:
        async with database.transaction() as conn:
            await queue.send_in(conn, ["a"])
            raise ServerError("the caller fails")

    with pytest.raises(ServerError):
        await send_and_fail()

    assert (await queue.depth()).due == 0


async def test_a_receiver_in_another_process_is_woken(database: Database, database_url: str) -> None:
    async with Database(database_url) as far, Wakeups(far) as far_notices, Wakeups(database) as near_notices:
        await asyncio.wait_for(far_notices.listening(), 10)
        heard = far_notices.next("queue:test")

        await PostgresQueue(database, near_notices, "test").send(["a"])

        await asyncio.wait_for(heard.wait(), 10)


async def test_a_receiver_that_hears_nothing_looks_anyway(database: Database) -> None:
    deaf = Wakeups(database)
    queue = PostgresQueue(database, deaf, "test")
    receiving = asyncio.create_task(queue.receive(limit=1, wait_s=30))
    await asyncio.sleep(0)

    async with database.transaction() as conn:
        await queue.send_in(conn, ["a"])

    async with asyncio.timeout(10):
        assert len(await receiving) == 1


async def test_cancelled_while_the_database_answers_it_gives_back(
    database: Database, wakeups: Wakeups
) -> None:
    queue = PostgresQueue(database, wakeups, "test")
    await queue.send(["a"])
    locked = asyncio.Event()
    done = asyncio.Event()

    async def hold_the_table() -> None:
        async with database.transaction() as conn:
            await conn.execute("LOCK TABLE message IN ACCESS EXCLUSIVE MODE")
            locked.set()
            await done.wait()

    holding = asyncio.create_task(hold_the_table())
    await locked.wait()
    receiving = asyncio.create_task(queue.receive(limit=1, wait_s=0))
    await _until_blocked(database)
    receiving.cancel()
    done.set()
    await holding

    with pytest.raises(asyncio.CancelledError):
        await receiving
    (message,) = await queue.receive(limit=1, wait_s=0)
    assert message.receive_count == 1  # nobody has had it


async def _until_blocked(database: Database) -> None:
    async with asyncio.timeout(10):
        while True:
            async with database.connection() as conn:
                cur = await conn.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
                if (await cur.fetchone() or (0,))[0]:
                    return


async def test_a_deep_queue_is_not_read_to_say_what_was_never_sent(database_url: str) -> None:
    # One connection, which alone knows at once what it has read.
    async with Database(database_url, max_connections=1) as alone:
        queue = PostgresQueue(alone, Wakeups(alone), "test")
        await queue.send([f"body {number}" for number in range(10_000)])
        async with alone.connection() as conn:
            await conn.execute("SET ROLE NONE; ANALYZE message; SET ROLE docmill_app")
        before = await times_read_whole(alone)

        unsent = await queue.unsent([ExpectedMessage(body) for body in ("body 1", "body 9999", "never")])

        assert unsent == ["never"]
        assert await times_read_whole(alone) == before


async def times_read_whole(database: Database) -> int:
    async with database.connection() as conn:
        await conn.execute("SELECT pg_stat_force_next_flush()")
        cur = await conn.execute("SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'message'")
        (count,) = await cur.fetchone() or (0,)
    return count


async def test_tenants_take_turns(database: Database, wakeups: Wakeups) -> None:
    queue = PostgresQueue(database, wakeups, "turns")
    async with database.accounts() as conn:
        greedy, modest, other = [await tenants.add(conn, name) for name in ("Greedy", "Modest", "Other")]

    async def send(tenant_id: UUID, *bodies: str) -> None:
        async with database.tenant(tenant_id) as conn:
            await queue.send_in(conn, bodies)

    async def take(count: int) -> list[str]:
        return [message.body for message in await queue.receive(limit=count, wait_s=0)]

    await send(greedy, *(f"g{number}" for number in range(200)))
    assert sorted(await take(10)) == sorted(f"g{number}" for number in range(10))
    await send(modest, "m0")
    await send(other, *(f"o{number}" for number in range(3)))
    await send(modest, "m1")
    await send(greedy, "g200")

    # A tenant's own messages stand one after the other, those of several beside each other.
    taken = [body for _ in range(5) for body in await take(2)]
    assert {"m0", "m1", "o0", "o1", "o2"} <= set(taken)
    assert [body for body in taken if body[0] == "o"] == ["o0", "o1", "o2"]
    rest = await take(300)
    assert len(rest) == 201 - 10 - (10 - 5)

    # Outside of a transaction, each message is sent with its tenant.
    await queue.send([*(f"g{number}" for number in range(50)), "m2"], tenant_ids=[greedy] * 50 + [modest])
    assert "m2" in await take(3)
