"""Wake-ups between processes, and the feed of events that waits for them."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import suppress
from types import TracebackType
from typing import LiteralString, Self
from uuid import UUID

import psycopg

from docmill.errors import DocmillError
from docmill.resilience.concurrency import cancel_and_wait
from docmill.service.store import events
from docmill.service.store.database import Database, is_pooled
from docmill.service.store.events import EventRow

log = logging.getLogger(__name__)

CHANNEL: LiteralString = "docmill"
COALESCE_S = 0.05
"""NOTIFY takes a lock of the whole server at commit: in each insert's transaction it costs six times the
insert (measured), so it is sent after the commit, at most once in this time, on a connection of its own."""

MAX_POLL_S = 1.0
"""A notice can be lost: its sender died, or our connection broke. Nobody waits longer than this for one."""

_RECONNECT_S = 0.5


class Wakeups:
    """Topics that can be announced and waited for. One LISTEN connection per process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._heard: dict[str, asyncio.Event] = {}
        self._pending: set[str] = set()
        self._dirty = asyncio.Event()
        self._listening = asyncio.Event()
        self._is_deaf = False
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._send())]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await cancel_and_wait(self._tasks, again_s=1)

    def announce(self, topic: str) -> None:
        """Wake all who wait for `topic`, soon. Call it after the commit."""
        self._pending.add(topic)
        self._dirty.set()

    def next(self, topic: str) -> asyncio.Event:
        """An event that is set at the next notice of `topic`.

        Ask for it before looking for news, so that no notice is missed.
        """
        return self._heard.setdefault(topic, asyncio.Event())

    async def wait(self, heard: asyncio.Event, *, timeout_s: float = MAX_POLL_S) -> None:
        """Return when `heard` is set, or after the longest time without a look."""
        await self.wait_for_notice(heard, timeout_s=min(timeout_s, MAX_POLL_S))

    async def wait_for_notice(self, heard: asyncio.Event, *, timeout_s: float) -> None:
        """Return when `heard` is set, or after `timeout_s`: that long, work may wait for a lost notice."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await heard.wait()

    async def listening(self) -> None:
        """Return once notices of other processes are received."""
        await self._listening.wait()

    def _wake(self, topic: str) -> None:
        heard = self._heard.pop(topic, None)
        if heard is not None:
            heard.set()

    async def _listen(self) -> None:
        connect = psycopg.AsyncConnection.connect
        while True:
            try:
                async with await connect(self._database.url, autocommit=True, connect_timeout=5) as conn:
                    if await is_pooled(conn):  # its connections get no notifications
                        log.warning(
                            "behind a pooler of connections, news of other processes take up to a second"
                        )
                        self._is_deaf = True
                        self._listening.set()
                        await asyncio.Event().wait()
                    await conn.execute(f"LISTEN {CHANNEL}")
                    self._listening.set()
                    for topic in list(self._heard):  # what was announced while nobody listened
                        self._wake(topic)
                    async for notice in conn.notifies():
                        self._wake(notice.payload)
            except psycopg.Error as error:
                log.warning("lost the listening connection", extra={"reason": type(error).__name__})
            self._listening.clear()
            await asyncio.sleep(_RECONNECT_S)

    async def _send(self) -> None:
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            topics, self._pending = self._pending, set()
            if self._is_deaf:
                for topic in topics:
                    self._wake(topic)
            try:
                async with self._database.connection() as conn:
                    await conn.execute(
                        "SELECT pg_notify(%s, topic) FROM unnest(%s::text[]) topic", [CHANNEL, list(topics)]
                    )
            except DocmillError as error:
                log.warning("could not send wakeups", extra={"code": error.code})
            await asyncio.sleep(COALESCE_S)


TOPIC = "event"


class EventFeed:
    """Tells waiting clients that documents have changed."""

    def __init__(self, database: Database, wakeups: Wakeups) -> None:
        self._database = database
        self._wakeups = wakeups

    def announce(self) -> None:
        """Wake all who follow the feed. Call it after a commit that changed documents or ingestions."""
        self._wakeups.announce(TOPIC)

    async def follow(
        self, tenant_id: UUID, after: int, *, limit: int = 500
    ) -> AsyncGenerator[list[EventRow]]:
        """Batches of events after id `after`, for ever; each waits until there are some."""
        while True:
            heard = self._wakeups.next(TOPIC)
            async with self._database.tenant(tenant_id) as conn:
                batch = await events.since(conn, after, limit=limit)
            if batch:
                after = batch[-1].id
                yield batch
            else:
                await self._wakeups.wait(heard)
