"""Pool of child processes that do CPU work and open untrusted files, with limits on time and memory."""

import asyncio
import contextlib
import logging
import os
import pickle
import socket
import time
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias, TypeVar, TypeVarTuple

from docmill.errors import CrashedError, DocmillError, TooLargeError, room_in
from docmill.resilience.time_limits import charged
from docmill.workers.child import LENGTH
from docmill.workers.fair_semaphore import FairSemaphore, current_tenant
from docmill.workers.launching import (
    ChildOptions,
    ChildProcess,
    Launcher,
    Preload,
    SpawningLauncher,
    TemplateLauncher,
    refusals_explained,
)
from docmill.workers.processor_time import TaskTimer, processor_seconds
from docmill.workers.replies import OutOfMemoryError, loads, package_of
from docmill.workers.scratch import SCRATCH, ScratchFolder, remove_abandoned

MEMORY_BYTES = 1_200_000_000
"""Most memory that a child may allocate; with mapped code and its parent it stays below 1.5 GB."""
MAX_RESIDENT_BYTES = 900_000_000
"""A child that holds more than this after a task does no other."""
MAX_REPLY_BYTES = 512_000_000
OVERFULL = "reading this file writes more to the disk than is allowed; split it or reduce its size"
TURN_S = 5.0
"""Seconds of work after which a child is given to another tenant that waits: the first page that a new child
recognises takes half a second more."""
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_Arguments = TypeVarTuple("_Arguments")
_Result = TypeVar("_Result")

Reply: TypeAlias = Any

log = logging.getLogger(__name__)


class Pool:
    """Runs functions in child processes, one task at a time in each.

    A child that hangs, dies or is no longer waited for is killed, which costs its own task and nothing else.
    Children start when first needed and are replaced after `max_tasks`, or when they have grown too large.
    Each works for one tenant only (`workers.fair_semaphore.scheduled_for`); there are never more than
    `workers` of them. Callers beyond `workers` wait for their turn, see `workers.fair_semaphore`. A child
    works in a sandbox (`workers.sandbox`). Close the pool in the event loop that used it.

    niceness: by how much its children give way to other processes where processors are scarce, from 0 to 19.
    many_tenants: a task of which nobody has said for whom it is gets a child of its own. preload: functions
    that load libraries; with them, children are forked from a process that has called them.
    """

    def __init__(
        self,
        workers: int,
        *,
        max_tasks: int = 500,
        memory_bytes: int = MEMORY_BYTES,
        niceness: int = 0,
        many_tenants: bool = False,
        preload: Sequence[Preload] = (),
    ) -> None:
        self.workers = workers
        self._max_tasks = max_tasks
        options = ChildOptions(memory_bytes, niceness)
        self._launcher: Launcher = (
            TemplateLauncher(options, preload) if preload else SpawningLauncher(options)
        )
        self._many_tenants = many_tenants
        self._turns = FairSemaphore(workers)
        self._turns_taken = 0
        self._idle: list[_Child] = []  # the one that has waited longest first
        self._busy: set[_Child] = set()
        self._closed = False
        self._swept = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def run(
        self, function: Callable[[*_Arguments], _Result], *args: *_Arguments, limit_s: float
    ) -> _Result:
        """Run `function` in a child. It and its arguments are pickled: a module's function, paths, numbers.

        A file among the arguments is lent to the child, which gets a path of its own to it.

        limit_s: of processor time, of all threads and programs of the child together. By the clock, the task
        may take `CLOCK_FACTOR` times as long. The same time counts for the `TimeLimit`s around this call.

        Raises the function's own DocmillError; TimeLimitError after `limit_s`, CrashedError if
        the child died, TooLargeError if it ran out of memory, ServerError if its disk is full,
        MisconfiguredError if the system starts no child, InternalError for any other exception.
        Cancelling kills the work.
        """
        with charged() as charge:
            await self._turns.acquire()
            self._turns_taken += 1
            preferred: Hashable = None
            try:
                reply, preferred = await self._answer(function, args, TaskTimer(limit_s, charge))
            finally:
                self._turns_taken -= 1
                self._turns.release(preferred)
        if isinstance(reply, DocmillError):
            raise reply
        return reply

    @property
    def busy(self) -> int:
        """Number of running tasks."""
        return len(self._busy)

    @property
    def waiting(self) -> int:
        """Number of tasks that wait for their turn."""
        return self._turns.waiting

    async def _answer(
        self, function: object, args: tuple[object, ...], timer: TaskTimer
    ) -> tuple[Reply, Hashable]:
        """The reply, and the tenant that goes first again."""
        with room_in(SCRATCH), refusals_explained():
            child = await self._child(current_tenant())
        self._busy.add(child)
        started = time.monotonic()
        try:
            with room_in(SCRATCH):
                request = pickle.dumps((function, await child.lend(args)), protocol=5)
            reply = await child.ask(request, package_of(function), timer)
            is_fit = await asyncio.to_thread(child.tidy)
            timer.note(child.processor_s)
        except BaseException as error:
            await child.kill()
            if isinstance(error, (EOFError, OSError)):
                status = child.exit_status
                log.warning("a reading process died", extra={"exit_status": status})
                raise CrashedError(
                    f"the process reading this file died (status {status}); another attempt may succeed"
                ) from error
            raise
        finally:
            self._busy.discard(child)
        # After a lack of memory, what it holds is not given back, and the next task would miss it.
        is_worn = child.tasks >= self._max_tasks or isinstance(reply, OutOfMemoryError)
        is_nobodys = self._many_tenants and child.tenant is None
        if self._closed or is_worn or is_nobodys or not is_fit:
            await child.kill()
            return reply, None
        self._idle.append(child)
        child.turn_s += time.monotonic() - started
        if child.turn_s < TURN_S:
            return reply, child.tenant
        child.turn_s = 0.0
        return reply, None

    async def close(self) -> None:
        """Kill every child, now; tasks still running raise CrashedError."""
        self._closed = True
        await asyncio.gather(*(child.kill() for child in [*self._idle, *self._busy]))
        self._idle.clear()
        await asyncio.to_thread(self._launcher.close)

    async def _child(self, tenant: Hashable) -> "_Child":
        """An idle child of this tenant, or a new one in the place of another's."""
        if self._closed:
            raise RuntimeError("the pool is closed")
        while (child := self._idle_child_of(tenant)) is not None:
            self._idle.remove(child)
            if child.is_alive:
                return child
            await child.kill()
        if not self._swept:
            self._swept = True
            await asyncio.to_thread(remove_abandoned)
        while self._idle and len(self._idle) + self._turns_taken > self.workers:
            await self._idle.pop(0).kill()
        return await _Child.start(self._launcher, tenant)

    def _idle_child_of(self, tenant: Hashable) -> "_Child | None":
        return next((child for child in reversed(self._idle) if child.tenant == tenant), None)


class _Child:
    """A running `docmill.workers.child`, the socket to it and its scratch folder."""

    def __init__(
        self,
        tenant: Hashable,
        process: ChildProcess,
        scratch: ScratchFolder,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.tenant = tenant
        self.tasks = 0
        self.processor_s = 0.0
        """Processor time that it had used when it was last looked at."""
        self.turn_s = 0.0
        """Seconds of work since another tenant had a turn."""
        self._process = process
        self._scratch = scratch
        self._reader = reader
        self._writer = writer

    @classmethod
    async def start(cls, launcher: Launcher, tenant: Hashable) -> "_Child":
        ours, theirs = socket.socketpair()
        with theirs:
            # In a thread, since forking takes milliseconds; shielded, since a thread cannot be cancelled.
            starting = asyncio.ensure_future(asyncio.to_thread(_launch, launcher, theirs))
            try:
                process, scratch = await asyncio.shield(starting)
            except BaseException as error:
                ours.close()  # a child sees it and ends
                if isinstance(error, asyncio.CancelledError):
                    await asyncio.shield(asyncio.to_thread(_end, *await starting))
                raise
        reader, writer = await asyncio.open_connection(sock=ours)
        return cls(tenant, process, scratch, reader, writer)

    @property
    def is_alive(self) -> bool:
        return self._process.is_alive

    @property
    def exit_status(self) -> int | None:
        return self._process.exit_status

    async def lend(self, arguments: tuple[object, ...]) -> tuple[object, ...]:
        """The arguments, files among them lent."""
        if not any(isinstance(argument, Path) for argument in arguments):
            return arguments
        return await asyncio.to_thread(self._scratch.lend, arguments)

    async def ask(self, request: bytes, package: str, timer: TaskTimer) -> Reply:
        """The reply to a request, after its log records have been passed on.

        package: of the function, see `replies.loads`.
        Raises EOFError on death, TooLargeError if it writes too much, TimeLimitError.
        """
        self.tasks += 1
        timer.start(self.processor_s)
        answering = asyncio.ensure_future(self._answer(request, package))
        try:
            while not (await asyncio.wait({answering}, timeout=timer.look_after_s))[0]:
                if await asyncio.to_thread(self._look):
                    raise TooLargeError(OVERFULL)
                timer.note(self.processor_s)
                timer.check()
            return await answering
        finally:
            answering.cancel()

    async def _answer(self, request: bytes, package: str) -> Reply:
        self._writer.write(LENGTH.pack(len(request)) + request)
        await self._writer.drain()
        while True:
            (length,) = LENGTH.unpack(await self._reader.readexactly(LENGTH.size))
            if length > MAX_REPLY_BYTES:
                raise EOFError("the reply is too long to be meant")
            content = await self._reader.readexactly(length)
            try:
                kind, reply = loads(content, package)
            except ValueError as error:
                raise EOFError("the reply makes no sense") from error
            if kind != "log":
                return reply
            name, level, message, extra = reply
            logging.getLogger(name).log(level, "%s", message, extra=extra)

    def _look(self) -> bool:
        """Read its processor time; True if it has written too much."""
        self.processor_s = max(self.processor_s, processor_seconds(self._process.pid))
        return self._scratch.is_overfull()

    def tidy(self) -> bool:
        """Empty the work folder after a task; False if the child is not fit for another."""
        self.processor_s = max(self.processor_s, processor_seconds(self._process.pid))
        self._scratch.clear()
        process = Path("/proc", str(self._process.pid))
        try:
            resident = int((process / "statm").read_text().split()[1]) * _PAGE_BYTES
            left_behind = (process / "task" / process.name / "children").read_text()
        except OSError:  # it has just died, which the next task will see
            return True
        return resident <= MAX_RESIDENT_BYTES and not left_behind

    async def kill(self) -> None:
        """End it at once, and all it has started. Its work is lost; nothing it holds needs saving."""
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()
        await asyncio.shield(asyncio.to_thread(_end, self._process, self._scratch))


def _launch(launcher: Launcher, connection: socket.socket) -> tuple[ChildProcess, ScratchFolder]:
    scratch = ScratchFolder()
    try:
        return launcher.start(connection, scratch), scratch
    except BaseException:
        scratch.remove()
        raise


def _end(process: ChildProcess, scratch: ScratchFolder) -> None:
    process.end()
    scratch.remove()
