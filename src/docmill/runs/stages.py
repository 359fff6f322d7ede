"""A stage of a pipeline: one component, called where its kind of work belongs, within its limits."""

import asyncio
import inspect
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from docmill.errors import DocmillError, TimeLimitError
from docmill.resilience.breaker import Breaker
from docmill.runs.context import CurrentDocument, StageClock
from docmill.runs.failures import as_docmill_error
from docmill.runs.policy import RunPolicy, StageName
from docmill.runs.processes import Processes
from docmill.runs.threads import Threads

if TYPE_CHECKING:
    from docmill.runs.states import NewDocument

Place = Literal["loop", "thread", "process"]
Value = TypeVar("Value")
OnStageEnd: TypeAlias = Callable[[str, float, DocmillError | None], None]


class Work:
    """One attempt at a document, as far as it has come.

    task: in which it is made. on_stage_end: is told of each stage that has ended, with its seconds and what
    ended it; None if nobody is. stage: the one it is in. deadline: when that stage must be over, by
    `time.monotonic`; 0 between stages. is_late: it was cancelled because of that. parts: documents within
    this one, to be processed as documents of their own.
    """

    __slots__ = ("deadline", "document", "is_late", "on_stage_end", "parts", "stage", "task", "timings_s")

    def __init__(
        self, task: "asyncio.Task[Any]", document: CurrentDocument, on_stage_end: OnStageEnd | None
    ) -> None:
        self.task = task
        self.document = document
        self.on_stage_end = on_stage_end
        self.stage: StageName = "read"
        self.deadline = 0.0
        self.is_late = False
        self.timings_s: dict[str, float] = {}
        self.parts: Sequence[NewDocument] = ()


def place_of(component: object, method: Callable[..., Any]) -> Place:
    """Where a component's method is called: on the event loop if it is async, else as its class says."""
    if inspect.iscoroutinefunction(method):
        return "loop"
    runs_in = getattr(component, "runs_in", "thread")
    return "process" if runs_in == "process" else "thread"


class Stage:
    """One stage. method: of its component."""

    def __init__(
        self,
        name: StageName,
        method: Callable[..., Any],
        *,
        place: Place,
        policy: RunPolicy,
        threads: Threads,
        processes: Processes | None = None,
    ) -> None:
        self.name: StageName = name
        self._method = method
        self._place: Place = place
        self._limit_s = policy.limit_s(name)
        self._threads = threads
        self._processes = processes
        assert place != "process" or processes is not None
        slots = policy.stage_concurrency.get(name)
        self._slots = None if slots is None else asyncio.Semaphore(slots)
        # Calls that are under way together fail together: they say no more than one.
        threshold = policy.breaker_failures + policy.concurrency - 1
        self._breaker = Breaker(name, threshold=threshold, recovery_s=policy.breaker_s)

    async def run(self, work: Work, *args: object) -> object:
        """Call the component for a document. Raises DocmillError, whatever the component raised."""
        if self._slots is None:
            return await self._run(work, args)
        async with self._slots:
            return await self._run(work, args)

    async def _run(self, work: Work, args: tuple[object, ...]) -> object:
        work.stage = self.name
        work.document.extra_s = 0.0
        ticket = self._breaker.admit()
        started = time.monotonic()
        work.deadline = started + self._limit_s
        try:
            if self._place == "loop":
                async with StageClock(work.document):
                    result = await self._method(*args)
            elif self._place == "thread":
                result = await self._threads.call(self._method, *args)
                if inspect.isawaitable(result):  # a plain function that returns a coroutine
                    result = await result
            else:
                assert self._processes is not None
                result = await self._processes.call(work.document, self._method, *args)
        except asyncio.CancelledError:
            if self._place == "thread":
                self._threads.replace_one()
            if work.is_late:
                self._end(work, started, error := late(work))
                self._breaker.note_end(ticket, error)
            else:
                self._breaker.note_abandoned(ticket)
            raise
        except Exception as raised:
            error = as_docmill_error(raised, self.name)
            self._end(work, started, error)
            self._breaker.note_end(ticket, error)
            if error is raised:
                raise
            raise error from raised
        finally:
            work.deadline = 0.0
        self._end(work, started, None)
        self._breaker.note_end(ticket, None)
        return result

    def _end(self, work: Work, started: float, error: DocmillError | None) -> None:
        seconds = time.monotonic() - started
        work.timings_s[self.name] = seconds
        if work.on_stage_end is not None:
            work.on_stage_end(self.name, seconds, error)


def late(work: Work) -> TimeLimitError:
    """The error of a document whose stage took too long."""
    error = TimeLimitError(f"{work.stage} took longer than its limit and was cancelled")
    error.step = work.stage
    return error


@asynccontextmanager
async def opened(component: object, context: object) -> AsyncGenerator[None]:
    """Call the component's `open` before and its `close` after, if it has them."""
    await call_if_there(component, "open", context)
    try:
        yield
    finally:
        await call_if_there(component, "close")


async def call_if_there(component: object, name: str, *args: object) -> None:
    """Call a method that a component need not have; in a thread unless it is async."""
    method = getattr(component, name, None)
    if method is not None:
        await call_anywhere(method, *args)


async def call_anywhere(method: Callable[..., Awaitable[Value] | Value], *args: object) -> Value:
    """What a method returns; it is called in a thread unless it is async."""
    if inspect.iscoroutinefunction(method):
        return await method(*args)
    result: Any = await asyncio.to_thread(method, *args)
    return await result if inspect.isawaitable(result) else result
