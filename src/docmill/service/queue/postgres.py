"""The queue in PostgreSQL. Each delivery has a receipt; one that is over has no effect."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID, uuid4

from psycopg.rows import class_row

from docmill.errors import DocmillError
from docmill.service.events.wakeups import Wakeups
from docmill.service.ports import DeadMessage, Depth, ExpectedMessage, Message
from docmill.service.store.database import Conn, Database, new_id

_NO_ID = UUID(int=0)


class PostgresQueue:
    """`Queue` in a table. Tenants take turns: who sends much delays no messages of others.

    visibility_s: how long a delivery is hidden. max_receives: a message received so often is dead.
    """

    def __init__(
        self,
        database: Database,
        wakeups: Wakeups,
        name: str,
        *,
        visibility_s: float = 300,
        max_receives: int = 1000,
    ) -> None:
        self._database = database
        self._wakeups = wakeups
        self._name = name
        self._topic = f"queue:{name}"
        self._visibility_s = visibility_s
        self._max_receives = max_receives
        self._unheard: set[UUID] = set()
        """Receipts of receptions that ended in an error: it is unknown which messages they took."""

    async def send(
        self, bodies: Sequence[str], *, delay_s: float = 0, tenant_ids: Sequence[UUID | None] = ()
    ) -> None:
        """See `Queue.send`. Each tenant's messages are sent in a transaction of their own."""
        of_tenant: defaultdict[UUID | None, list[str]] = defaultdict(list)
        for body, tenant_id in zip(bodies, tenant_ids or [None] * len(bodies), strict=True):
            of_tenant[tenant_id].append(body)
        for tenant_id, its_bodies in of_tenant.items():
            database = self._database
            async with database.tenant(tenant_id) if tenant_id else database.connection() as conn:
                await self.send_in(conn, its_bodies, delay_s=delay_s)
        if not delay_s:
            self.announce()

    async def send_in(self, conn: Conn, bodies: Sequence[str], *, delay_s: float = 0) -> None:
        """Enqueue within the caller's transaction, who calls `announce` after the commit.

        A message stands behind the waiting ones of the tenant of the transaction, and beside the first of
        those that wait: start-time fair queueing (Goyal, Vin, Cheng, 1996), each message of the same length.
        """
        await conn.execute(
            """
            INSERT INTO message (id, queue, body, visible_at, tenant_id, turn)
            SELECT id, %(queue)s, body, clock_timestamp() + make_interval(secs => %(delay_s)s), tenant,
                   first_turn + make_interval(secs => %(delay_s)s) + number * interval '1 microsecond'
              FROM unnest(%(ids)s::uuid[], %(bodies)s::text[]) WITH ORDINALITY AS sent (id, body, number),
                   (SELECT coalesce(current_tenant(), %(no_id)s) AS tenant) AS sender,
                   LATERAL (SELECT greatest(
                       (SELECT max(turn) FROM message
                         WHERE queue = %(queue)s AND tenant_id = tenant AND receive_count = 0
                           AND visible_at <= now()),
                       least((SELECT min(turn) FROM message
                               WHERE queue = %(queue)s AND receive_count = 0 AND visible_at <= now()),
                             clock_timestamp())) AS first_turn) AS line
            """,
            {
                "queue": self._name,
                "ids": [new_id() for _ in bodies],
                "bodies": list(bodies),
                "delay_s": delay_s,
                "no_id": _NO_ID,
            },
        )

    def announce(self) -> None:
        """Wake those who wait for messages."""
        self._wakeups.announce(self._topic)

    async def receive(self, *, limit: int, wait_s: float, receiver: str = "") -> list[Message]:
        """See `Queue.receive`."""
        deadline = time.monotonic() + wait_s
        while True:
            heard = self._wakeups.next(self._topic)
            receiving = asyncio.ensure_future(self._receive_heard(limit, receiver))
            try:
                messages, died = await asyncio.shield(receiving)
            except asyncio.CancelledError:
                messages, _ = await receiving
                for message in messages:
                    await self.release(message, counts=False)
                raise
            left_s = deadline - time.monotonic()
            if messages or (left_s <= 0 and not died):
                return messages
            if not died:
                await self._wakeups.wait(heard, timeout_s=left_s)

    async def _receive_heard(self, limit: int, receiver: str) -> tuple[list[Message], int]:
        """Receive messages, after giving back those of earlier calls whose answer was lost."""
        for unheard in list(self._unheard):
            async with self._database.connection() as conn:
                await conn.execute(
                    """
                    UPDATE message
                       SET visible_at = clock_timestamp(), receipt = NULL
                     WHERE receipt = %(receipt_handle)s
                    """,
                    {"receipt_handle": unheard},
                )
            self._unheard.discard(unheard)
        receipt = uuid4()
        try:
            return await self._receive_now(limit, receiver, receipt)
        except DocmillError:
            self._unheard.add(receipt)
            raise

    async def _receive_now(self, limit: int, receiver: str, receipt: UUID) -> tuple[list[Message], int]:
        """Messages that are due, and how many were found dead instead. receipt: new; all get the same."""
        async with self._database.connection() as conn:
            cur = await conn.execute(
                """
                WITH due AS (
                    -- now() and not clock_timestamp(): only a stable function can use the index.
                    SELECT id
                      FROM message
                     WHERE queue = %(queue)s AND visible_at <= now()
                     ORDER BY turn
                     LIMIT %(limit)s
                       FOR UPDATE SKIP LOCKED
                ), died AS (
                    DELETE FROM message
                     USING due
                     WHERE message.id = due.id AND receive_count >= %(max_receives)s
                    RETURNING message.id, queue, body, receive_count, sent_at
                ), buried AS (
                    INSERT INTO dead_message (id, queue, body, receive_count, sent_at)
                    SELECT id, queue, body, receive_count, sent_at FROM died
                    RETURNING id
                ), taken AS (
                    UPDATE message
                       SET receive_count = receive_count + 1,
                           receipt = %(receipt_handle)s,
                           receiver = %(receiver)s,
                           visible_at = clock_timestamp() + make_interval(secs => %(visibility_s)s)
                      FROM due
                     WHERE message.id = due.id AND receive_count < %(max_receives)s
                    RETURNING message.id::text, body, receipt::text, receive_count
                )
                SELECT died, id, body, receipt, receive_count
                  FROM (SELECT count(*) AS died FROM buried) AS dead
                  LEFT JOIN taken ON true
                """,
                {
                    "queue": self._name,
                    "limit": limit,
                    "max_receives": self._max_receives,
                    "visibility_s": self._visibility_s,
                    "receipt_handle": receipt,
                    "receiver": receiver,
                },
            )
            rows = await cur.fetchall()
        return [Message(*row[1:]) for row in rows if row[1] is not None], rows[0][0]

    async def extend(self, message: Message, *, visibility_s: float) -> bool:
        """See `Queue.extend`."""
        async with self._database.connection() as conn:
            cur = await conn.execute(
                """
                UPDATE message
                   SET visible_at = clock_timestamp() + make_interval(secs => %(visibility_s)s)
                 WHERE id = %(id)s AND receipt = %(receipt_handle)s AND visible_at > clock_timestamp()
                """,
                {"id": message.id, "receipt_handle": message.receipt, "visibility_s": visibility_s},
            )
            return cur.rowcount == 1

    async def delete(self, messages: Sequence[Message]) -> None:
        """See `Queue.delete`. A delivery that is over deletes nothing."""
        async with self._database.connection() as conn:
            await conn.execute(
                """
                DELETE FROM message
                 USING unnest(%(ids)s::uuid[], %(receipts)s::uuid[]) AS done (id, receipt)
                 WHERE message.id = done.id AND message.receipt = done.receipt
                """,
                {
                    "ids": [message.id for message in messages],
                    "receipts": [message.receipt for message in messages],
                },
            )

    async def release(self, message: Message, *, delay_s: float = 0, counts: bool = True) -> None:
        """See `Queue.release`. A delivery that is over releases nothing."""
        async with self._database.connection() as conn:
            await conn.execute(
                """
                UPDATE message
                   SET visible_at = clock_timestamp() + make_interval(secs => %(delay_s)s),
                       receipt = NULL,
                       receive_count = receive_count - %(refund)s
                 WHERE id = %(id)s AND receipt = %(receipt_handle)s
                """,
                {
                    "id": message.id,
                    "receipt_handle": message.receipt,
                    "delay_s": delay_s,
                    "refund": 0 if counts else 1,
                },
            )
        if not delay_s:
            self.announce()

    async def release_received(self, receiver: str) -> list[str]:
        """See `Queue.release_received`."""
        async with self._database.connection() as conn:
            cur = await conn.execute(
                """
                UPDATE message
                   SET visible_at = clock_timestamp(), receipt = NULL
                 WHERE queue = %(queue)s
                   AND receiver = %(receiver)s
                   AND receipt IS NOT NULL
                   AND visible_at > clock_timestamp()
                RETURNING body
                """,
                {"queue": self._name, "receiver": receiver},
            )
            bodies = [body for (body,) in await cur.fetchall()]
        if bodies:
            self.announce()
        return bodies

    async def hasten_in(self, conn: Conn, body: str) -> None:
        """See `Sender.hasten_in`."""
        await conn.execute(
            """
            UPDATE message
               SET visible_at = clock_timestamp(), receipt = NULL
             WHERE queue = %(queue)s
               AND body = %(body)s
               AND receipt IS NOT NULL
               AND visible_at > clock_timestamp()
            """,
            {"queue": self._name, "body": body},
        )

    async def ping(self) -> None:
        """See `Queue.ping`."""
        async with self._database.connection() as conn:
            await conn.execute("SELECT FROM message WHERE id = %(id)s", {"id": _NO_ID})

    async def depth(self) -> Depth:
        """See `Queue.depth`."""
        async with self._database.connection() as conn, conn.cursor(row_factory=class_row(Depth)) as cur:
            await cur.execute(
                """
                SELECT count(*) FILTER (WHERE visible_at <= now()) AS due,
                       count(*) FILTER (WHERE visible_at > now() AND receipt IS NULL) AS delayed,
                       count(*) FILTER (WHERE visible_at > now() AND receipt IS NOT NULL) AS in_flight,
                       coalesce(
                           extract(epoch FROM now() - min(sent_at) FILTER (WHERE visible_at <= now())), 0
                       )::float8 AS oldest_age_s
                  FROM message
                 WHERE queue = %(queue)s
                """,
                {"queue": self._name},
            )
            depth = await cur.fetchone()
        assert depth is not None  # an aggregate without GROUP BY has one row
        return depth

    async def unsent(self, expected: Sequence[ExpectedMessage]) -> list[str]:
        """See `Queue.unsent`."""
        async with self._database.connection() as conn:
            cur = await conn.execute(
                """
                SELECT body
                  FROM unnest(%(bodies)s::text[]) AS wanted (body)
                 WHERE NOT EXISTS (
                           SELECT FROM message WHERE queue = %(queue)s AND message.body = wanted.body
                       )
                """,
                {"queue": self._name, "bodies": [message.body for message in expected]},
            )
            return [body for (body,) in await cur.fetchall()]

    async def dead_messages(self, *, limit: int) -> list[DeadMessage]:
        """See `Queue.dead_messages`."""
        async with (
            self._database.connection() as conn,
            conn.cursor(row_factory=class_row(DeadMessage)) as cur,
        ):
            await cur.execute(
                """
                SELECT id::text AS id, body, receive_count
                  FROM dead_message
                 WHERE queue = %(queue)s
                 ORDER BY died_at DESC, dead_message.id DESC
                 LIMIT %(limit)s
                """,
                {"queue": self._name, "limit": limit},
            )
            return await cur.fetchall()

    async def redrive(self, ids: Sequence[str]) -> int:
        """See `Queue.redrive`."""
        async with self._database.connection() as conn:
            cur = await conn.execute(
                """
                WITH revived AS (
                    DELETE FROM dead_message
                     WHERE queue = %(queue)s AND id = ANY(%(ids)s::uuid[])
                    RETURNING id, queue, body
                )
                INSERT INTO message (id, queue, body, visible_at)
                SELECT id, queue, body, clock_timestamp() FROM revived
                """,
                {"queue": self._name, "ids": list(ids)},
            )
        self.announce()
        return cur.rowcount

    async def purge(self, ids: Sequence[str]) -> int:
        """See `Queue.purge`."""
        async with self._database.connection() as conn:
            cur = await conn.execute(
                "DELETE FROM dead_message WHERE queue = %(queue)s AND id = ANY(%(ids)s::uuid[])",
                {"queue": self._name, "ids": list(ids)},
            )
            return cur.rowcount
