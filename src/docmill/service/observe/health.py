"""Health checks of a process: database, queue and files. Each has a time limit; no answer quotes an error."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Literal

import psycopg

from docmill.errors import DocmillError, ServerError
from docmill.service.ports import Depth, Queue
from docmill.service.protocol.queues import INGESTION
from docmill.service.storage.blobs import Blobs
from docmill.service.store.database import translating_errors

log = logging.getLogger(__name__)

State = Literal["ok", "failing", "silent"]
"""`silent`: there was no answer in time."""

LIMIT_S = 1.5
"""The time limit of a check: callers of the probes wait about two seconds."""

VAULT_HEADER = "x-docmill-vault"
"""Header of `/healthz` that identifies the vault."""

_MARKER = "health/marker"
_MARK = b"docmill was here\n"


@dataclass(frozen=True, slots=True)
class HealthReport:
    """The results of health checks. stopping: this process accepts no more work."""

    checks: Mapping[str, State]
    stopping: bool = False

    @property
    def ok(self) -> bool:
        """True if every check has passed and the process is not stopping."""
        return not self.stopping and all(state == "ok" for state in self.checks.values())

    @property
    def status(self) -> Literal["ok", "failing", "stopping"]:
        """The overall state in one word."""
        if self.stopping:
            return "stopping"
        return "ok" if self.ok else "failing"


def queue_check(name: str) -> str:
    """The name of the check of a queue."""
    return "queue" if name == INGESTION.name else f"{name}_queue"


class HealthChecks:
    """Checks database, queues and file store. stopping: set when the process is told to end.

    queues: by name; each is a check `queue`, or `NAME_queue` for those beside the queue of ingestions.
    """

    def __init__(
        self,
        database_url: str,
        queues: Mapping[str, Queue],
        blobs: Blobs,
        stopping: asyncio.Event,
        *,
        limit_s: float = LIMIT_S,
    ) -> None:
        self._database_url = database_url
        self._blobs = blobs
        self._stopping = stopping
        self._marked = False
        self._checks = {
            "database": _Check("database", self._ask_database, limit_s),
            **{
                queue_check(name): _Check(queue_check(name), queue.ping, limit_s)
                for name, queue in queues.items()
            },
            "files": _Check("files", self._ask_files, limit_s),
        }
        self._countings = {name: _Counting(name, queue, limit_s) for name, queue in queues.items()}

    async def alive(self) -> HealthReport:
        """Check the database, without which the process cannot do anything."""
        return HealthReport({"database": await self._checks["database"].state()})

    async def ready(self) -> HealthReport:
        """Check everything that the process needs for its work."""
        states = await asyncio.gather(*(check.state() for check in self._checks.values()))
        return HealthReport(dict(zip(self._checks, states, strict=True)), stopping=self._stopping.is_set())

    async def depths(self, names: Collection[str]) -> dict[str, Depth]:
        """The numbers of messages in these queues that say. Counting many takes long."""
        depths = await asyncio.gather(*(self._countings[name].depth() for name in names))
        return {name: depth for name, depth in zip(names, depths, strict=True) if depth is not None}

    async def _ask_database(self) -> None:
        # Not through the pool: one that is merely busy is no reason to call the database gone.
        with translating_errors():
            async with await psycopg.AsyncConnection.connect(
                self._database_url, autocommit=True, application_name="docmill health"
            ) as conn:
                await conn.execute("SELECT 1")

    async def _ask_files(self) -> None:
        """Write over a file that must still be there: an empty store is not the one that we began with."""
        if self._marked:
            await self._blobs.size(_MARKER)
        await self._blobs.put(_MARKER, _MARK)
        self._marked = True


class _Check:
    """One check, which many may ask for at once, and which runs once at a time."""

    def __init__(self, name: str, ask: Callable[[], Awaitable[None]], limit_s: float) -> None:
        self._name = name
        self._ask = ask
        self._limit_s = limit_s
        self._asking: asyncio.Task[State] | None = None
        self._last: State = "ok"

    async def state(self) -> State:
        """The state of the answer. A check that cannot be cancelled goes on; the next waits for it."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._answer())
        await asyncio.wait({self._asking}, timeout=self._limit_s + 0.1)
        return self._asking.result() if self._asking.done() else "silent"

    async def _answer(self) -> State:
        state: State = "ok"
        code = None
        try:
            async with asyncio.timeout(self._limit_s):
                await self._ask()
        except TimeoutError:
            state = "silent"
        except DocmillError as error:
            state, code = "failing", error.code
        except psycopg.Error:
            state, code = "failing", ServerError.code
        if state != self._last:
            level = logging.INFO if state == "ok" else logging.WARNING
            log.log(level, "a check changed", extra={"check": self._name, "state": state, "code": code})
            self._last = state
        return state


class _Counting:
    """Counts the messages of a queue, in time or not at all."""

    def __init__(self, name: str, queue: Queue, limit_s: float) -> None:
        self._queue = queue
        self._check = _Check(f"depth of the queue {name}", self._count, limit_s)
        self._depth: Depth | None = None

    async def depth(self) -> Depth | None:
        """The depth; None if the queue does not say."""
        return self._depth if await self._check.state() == "ok" else None

    async def _count(self) -> None:
        self._depth = await self._queue.depth()
