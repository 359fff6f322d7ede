"""Processes that do the CPU's work and open untrusted files, with a limit on time and memory."""

import asyncio
import contextlib
import io
import logging
import os
import pickle
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeAlias, TypeVar, TypeVarTuple

from docmill.errors import CrashedError, DocmillError, TimeLimitError
from docmill.limits import waiting_for_a_turn
from docmill.reading.child import LENGTH
from docmill.reading.memory import OutOfMemoryError

MEMORY_BYTES = 1_200_000_000
"""What a child may allocate; with the code it maps and its parent it stays below 1.5 GB."""
MAX_REPLY_BYTES = 512_000_000
MALFORMED = (
    pickle.UnpicklingError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    TypeError,
    ValueError,
)
"""What unpickling raises on a reply that was made to harm."""

_Arguments = TypeVarTuple("_Arguments")
_Result = TypeVar("_Result")

Reply: TypeAlias = Any

log = logging.getLogger(__name__)


class Pool:
    """Runs functions in child processes, one task at a time in each.

    A child that hangs, dies or is no longer waited for is killed, which costs its own task and nothing else.
    Children start when first needed and are replaced after `max_tasks`. Callers beyond `workers` wait
    their turn in order. Close the pool in the event loop that used it.
    """

    def __init__(self, workers: int, *, max_tasks: int = 500, memory_bytes: int = MEMORY_BYTES) -> None:
        self.workers = workers
        self._max_tasks = max_tasks
        self._memory_bytes = memory_bytes
        self._turns = asyncio.Semaphore(workers)
        self._idle: list[_Child] = []
        self._busy: set[_Child] = set()
        self._waiting = 0
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def run(
        self, function: Callable[[*_Arguments], _Result], *args: *_Arguments, limit_s: float
    ) -> _Result:
        """What `function` returns. It and its arguments are pickled: a module's function, paths, numbers.

        Raises the function's own DocmillError; TimeLimitError after `limit_s` of running, CrashedError if
        the child died, TooLargeError if it ran out of memory, InternalError for any other exception.
        Cancelling kills the work.
        """
        request = pickle.dumps((function, args), protocol=5)
        await self._turn()
        try:
            reply = await self._answer(request, limit_s)
        finally:
            self._turns.release()
        if isinstance(reply, DocmillError):
            raise reply
        return reply

    @property
    def busy(self) -> int:
        """How many tasks run now."""
        return len(self._busy)

    @property
    def waiting(self) -> int:
        """How many tasks wait for their turn."""
        return self._waiting

    async def _turn(self) -> None:
        self._waiting += 1
        try:
            with waiting_for_a_turn():
                await self._turns.acquire()
        finally:
            self._waiting -= 1

    async def _answer(self, request: bytes, limit_s: float) -> Any:  # noqa: ANN401  the function's result
        child = await self._child()
        self._busy.add(child)
        try:
            async with asyncio.timeout(limit_s):
                reply = await child.ask(request)
        except BaseException as error:
            await child.kill()
            raise _explained(error, child, limit_s) from error
        finally:
            self._busy.discard(child)
        if isinstance(reply, OutOfMemoryError):
            await child.kill()  # what it holds is not given back, and the next task would miss it
        else:
            await self._put_back(child)
        return reply

    async def close(self) -> None:
        """Kill every child, now; tasks still running raise CrashedError."""
        self._closed = True
        await asyncio.gather(*(child.kill() for child in [*self._idle, *self._busy]))
        self._idle.clear()

    async def _child(self) -> "_Child":
        if self._closed:
            raise RuntimeError("the pool is closed")
        while self._idle:
            child = self._idle.pop()
            if child.alive:
                return child
            await child.kill()
        return await _Child.start(self._memory_bytes)

    async def _put_back(self, child: "_Child") -> None:
        if self._closed or child.tasks >= self._max_tasks:
            await child.kill()
        else:
            self._idle.append(child)


def _explained(error: BaseException, child: "_Child", limit_s: float) -> BaseException:
    if isinstance(error, TimeoutError):
        return TimeLimitError(
            f"reading took longer than {limit_s:g} s and was stopped; it will be tried again"
        )
    if isinstance(error, (EOFError, OSError)):
        log.warning("a reading process died", extra={"exit_status": child.exit_status})
        return CrashedError(
            f"the process reading this file died (status {child.exit_status}); it will be tried again"
        )
    return error


class _Child:
    """A running `docmill.reading.child` and the socket to it."""

    def __init__(
        self, process: subprocess.Popen[bytes], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.tasks = 0
        self._process = process
        self._reader = reader
        self._writer = writer

    @classmethod
    async def start(cls, memory_bytes: int) -> "_Child":
        ours, theirs = socket.socketpair()
        with theirs:
            # In a thread, since forking takes milliseconds; shielded, since a thread cannot be cancelled.
            starting = asyncio.ensure_future(asyncio.to_thread(_launch, theirs, memory_bytes))
            try:
                process = await asyncio.shield(starting)
            except asyncio.CancelledError:
                ours.close()  # the child sees it and ends
                await _reap(await starting)
                raise
        reader, writer = await asyncio.open_connection(sock=ours)
        return cls(process, reader, writer)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def exit_status(self) -> int | None:
        return self._process.poll()

    async def ask(self, request: bytes) -> Reply:
        """The reply to a request, after its log records have been passed on. Raises EOFError on death."""
        self.tasks += 1
        self._writer.write(LENGTH.pack(len(request)) + request)
        await self._writer.drain()
        while True:
            kind, content = await self._message()
            if kind != "log":
                return content
            name, level, message, extra = content
            logging.getLogger(name).log(level, "%s", message, extra=extra)

    async def _message(self) -> tuple[str, Reply]:
        (length,) = LENGTH.unpack(await self._reader.readexactly(LENGTH.size))
        if length > MAX_REPLY_BYTES:
            raise EOFError("the reply is too long to be meant")
        content = await self._reader.readexactly(length)
        try:
            kind, reply = _Unpickler(io.BytesIO(content)).load()
        except MALFORMED as error:
            raise EOFError("the reply makes no sense") from error
        return kind, reply

    async def kill(self) -> None:
        """End it at once. Its work is lost; nothing it holds needs saving."""
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()
        await _reap(self._process)


async def _reap(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    await asyncio.shield(asyncio.to_thread(process.wait))


def _launch(connection: socket.socket, memory_bytes: int) -> subprocess.Popen[bytes]:
    """A child that inherits no environment, hence no secrets, and no terminal, hence no Ctrl-C.

    -P: the current folder, which anyone may have written to, is no place to import from.
    """
    environment = {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "TMPDIR": tempfile.gettempdir(),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "OMP_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "2",
    }
    return subprocess.Popen(  # noqa: S603 - our own program, no shell
        [sys.executable, "-P", "-m", "docmill.reading.child", str(memory_bytes)],
        stdin=connection.fileno(),
        stdout=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
    )


class _Unpickler(pickle.Unpickler):
    """Builds only what readers return: a child taken over by a hostile file must not take over its parent."""

    _OURS = ("docmill.model", "docmill.errors", "docmill.reading.")
    _NUMPY = frozenset(
        {
            ("numpy", "dtype"),
            ("numpy", "ndarray"),
            ("numpy._core.multiarray", "_reconstruct"),
            ("numpy._core.numeric", "_frombuffer"),
        }
    )

    def find_class(self, module_name: str, global_name: str, /) -> type:
        if (module_name, global_name) in self._NUMPY:
            return super().find_class(module_name, global_name)
        if module_name.startswith(self._OURS) and "." not in global_name:
            found = super().find_class(module_name, global_name)
            if isinstance(found, type) and found.__module__ == module_name:
                return found
        raise pickle.UnpicklingError(f"{module_name}.{global_name} is not a reader's result")
