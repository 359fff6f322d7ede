"""The real worker in a process of its own, which stops where it is told to.

Nothing in docmill knows of this: the points are laid around its objects from outside.
Run as a module it is a mother of such processes: they are forked, so that each is there at once and need not
load everything again.
"""

import asyncio
import ctypes
import json
import logging
import os
import random
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from docmill.errors import TransientError
from docmill.pipeline import Steps
from docmill.resilience.concurrency import stop_signals
from docmill.service import app, worker
from docmill.service.config.settings import Settings
from docmill.service.observe.logs import configure_logs
from docmill.service.ports.matching import DocumentToMatch
from docmill.service.processing import polling
from docmill.service.processing.matching_claims import MatchingClaims
from docmill.service.processing.matching_phases import MatchingPhases
from docmill.service.storage.blobs import Blobs
from docmill.service.store import database
from docmill.service.store.database import Conn, Database
from docmill.testing.matching import ScriptedMatcher
from docmill.workers.pool import Pool
from faults.control import stop_at
from faults.steps import obedient_steps

CLAIMED = "after the claim"
_SET_DEATH_SIGNAL = 1
BEFORE_COMMIT = "before the commit"
AFTER_COMMIT = "after the commit"

MATCHING = "matching: "
"""How the points begin that lie in matching. A process matches documents if it has one of them."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Points:
    """Where this process stops."""

    control: str
    armed: Collection[str]

    async def __call__(self, point: str) -> None:
        if point in self.armed:
            await stop_at(self.control, point, os.getpid())


class ObservedDatabase(Database):
    """Tells what a transaction has done to ingestions by looking at their rows, not at our statements."""

    points: Points

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Conn]:
        async with super().transaction() as conn:
            yield conn
            changes = await self._changes(conn)
            if changes & {"completed", "failed"}:
                await self.points(BEFORE_COMMIT)
        if changes & {"completed", "failed"}:
            await self.points(AFTER_COMMIT)
        if "claimed" in changes:
            await self.points(CLAIMED)

    async def _changes(self, conn: Conn) -> set[str]:
        cur = await conn.execute(
            """
            SELECT CASE WHEN status <> 'in-progress' THEN status
                        WHEN started_at >= now() THEN 'claimed'  -- since this transaction began
                        ELSE 'moved' END
              FROM ingestion
             WHERE xmin = pg_current_xact_id_if_assigned()::xid
            """
        )
        return {row[0] for row in await cur.fetchall()}


def around(
    subject: object,
    method: str,
    *,
    before: Callable[[], Awaitable[None]] | None = None,
    after: Callable[[Any], Awaitable[None]] | None = None,
) -> None:
    """Have something done before, or with the result after, each call of an object's method."""
    original = cast("Callable[..., Awaitable[Any]]", getattr(subject, method))

    async def wrapped(*args: object, **kwargs: object) -> object:
        if before is not None:
            await before()
        result = await original(*args, **kwargs)
        if after is not None:
            await after(result)
        return result

    setattr(subject, method, wrapped)


def after_put_once(blobs: Blobs, after: Callable[[str], Awaitable[None]]) -> None:
    """Have something done with the key of each file that is written once."""
    original = blobs.put_once

    async def wrapped(key: str, data: bytes) -> bool:
        written = await original(key, data)
        await after(key)
        return written

    blobs.put_once = wrapped


def lay_points(service: app.Service, steps: Steps, points: Points) -> None:
    """Put the points around the objects of a process."""

    async def received(messages: list[object]) -> None:
        if messages:
            await points("after receive")

    async def always(point: str) -> None:
        await points(point)

    async def stored(key: str) -> None:
        if "/transcription." in key:  # a worker also marks its store when it starts
            await points("after the transcription")

    around(service.queue, "receive", after=received)
    around(service.queue, "delete", before=lambda: always("before the delete"))
    around(service.queue, "delete", after=lambda _: always("after the delete"))
    around(service.queue, "extend", before=lambda: always("before a heartbeat"))
    after_put_once(service.blobs, stored)
    around(service.intake, "accept_part", after=lambda _: always("after a part was taken in"))
    around(steps.converter, "convert", before=lambda: always("after read"))


def matcher_with(points: Points) -> ScriptedMatcher | None:
    """A matcher that stops at points in its phases; None if the process is to match nothing."""
    if not any(point.startswith(MATCHING) for point in points.armed):
        return None

    def at(point: str) -> Callable[[DocumentToMatch], Awaitable[None]]:
        async def stop(_document: DocumentToMatch) -> None:
            await points(MATCHING + point)

        return stop

    return ScriptedMatcher(
        preparing=at("in prepare"), deciding=at("in decide"), writing=at("before the commit")
    )


def lay_matching_points(service: app.Service, points: Points) -> None:
    """Put the points of matching around the objects of a process."""
    if service.matching is None:
        return

    def at(point: str) -> Callable[..., Awaitable[None]]:
        async def stop(*_: object) -> None:
            await points(MATCHING + point)

        return stop

    async def received(messages: list[object]) -> None:
        if messages:
            await points(MATCHING + "after receive")

    around(service.matching.queue, "receive", after=received)
    around(service.matching.queue, "delete", before=at("before the delete"), after=at("after the delete"))
    around(service.matching.queue, "extend", before=at("before a heartbeat"))
    around(MatchingPhases, "match", before=at("after the claim"))
    around(MatchingClaims, "write", after=at("after the commit"))


def hurry(factor: float) -> None:
    """Shorten the waits that no setting shortens."""
    assert hasattr(polling, "_POLL_RETRY_S")
    assert hasattr(database, "ANSWER_S")
    database.__dict__["ANSWER_S"] *= factor
    polling.__dict__["_POLL_RETRY_S"] *= factor
    for error in (TransientError, *TransientError.__subclasses__()):
        if "delays_s" in vars(error):
            error.delays_s = tuple(delay_s * factor for delay_s in error.delays_s)


async def work(orders: dict[str, Any]) -> None:
    """Be a worker until stopped by a signal."""
    points = Points(orders["control"], frozenset(orders["points"]))
    ObservedDatabase.points = points
    if points.armed:
        app.__dict__["Database"] = ObservedDatabase
    with stop_signals() as (stop, abort):
        async with (
            app.open_service(Settings(**orders["settings"]), matcher=matcher_with(points)) as service,
            Pool(1) as pool,
        ):
            steps = obedient_steps(orders["control"], pool)
            lay_points(service, steps, points)
            lay_matching_points(service, points)
            await worker.run_worker(service, steps, stop, abort)


def main(orders: dict[str, Any], log_fd: int) -> None:
    """The life of one worker process."""
    random.seed()
    os.setsid()
    ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)  # a test that is killed leaves nobody behind
    configure_logs(stream=os.fdopen(log_fd, "w", buffering=1))
    hurry(orders["hurry"])
    asyncio.run(work(orders))


def mother(requests: socket.socket) -> tuple[dict[str, Any], int] | None:
    """Fork at every request. Returns in each child, with its orders and log, and in the mother at the end.

    The mother makes no ids: the state of their generator would be inherited.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        request, fds, _, _ = socket.recv_fds(requests, 65536, 1)
        if not request:
            return None
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            requests.close()
            return json.loads(request), fds[0]
        os.close(fds[0])
        requests.sendall(f"{pid}\n".encode())


if __name__ == "__main__":
    import_module("docmill.service.aws.resources")  # once, and not after every fork
    given = mother(socket.socket(fileno=int(sys.argv[1])))
    if given is not None:
        main(*given)
