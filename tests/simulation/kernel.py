"""Time, processes and requests, all decided by one seed.

A process has tasks; a task is a generator that yields seconds to sleep, or a request: what to call, on which
service. A request takes time to arrive and its reply to come back; it may fail before it has an effect, or
after. A process that dies takes its tasks along, but a request on its way may still arrive. A process that is
suspended does nothing until it is resumed, while its requests on the way arrive and its timers run.
"""

from collections.abc import Callable, Generator
from heapq import heappop, heappush
from random import Random
from typing import Any, TypeAlias

from docmill.errors import ServerError

DATABASE, QUEUE, FILES, MODEL = 0, 1, 2, 3
Request: TypeAlias = tuple[int, Callable[..., Any], tuple[Any, ...]]
Steps: TypeAlias = Generator[int | Request, Any, None]

_MOST_EVENTS = 20_000


class Violation(Exception):  # noqa: N818  it is a finding
    """The protocol broke a promise. kind: which one, the same for every schedule that breaks it."""

    def __init__(self, kind: str, detail: str = "") -> None:
        super().__init__(f"{kind}: {detail}" if detail else kind)
        self.kind = kind


class CancelledTaskError(Exception):
    """The process was told to stop, and its grace time is over."""


class FatalError(Exception):
    """The process dies of what this task does."""


class Process:
    """A process of the operating system. holding: to be ended when it dies."""

    __slots__ = ("alive", "at_death", "name", "stopping", "suspended_until", "tasks")

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True
        self.stopping = False
        self.suspended_until = 0
        self.tasks: list[Task] = []
        self.at_death: Callable[[], None] | None = None


class Task:
    """A line of work in a process. turn: events of earlier turns are void."""

    __slots__ = ("done", "is_job", "process", "steps", "turn")

    def __init__(self, process: Process, steps: Steps, *, is_job: bool) -> None:
        self.process = process
        self.steps = steps
        self.turn = 0
        self.done = False
        self.is_job = is_job


class Kernel:
    """The machine room. trouble: how likely a request fails, in each of two ways; stalls: or takes long."""

    def __init__(self, random: Random, *, trouble: float, stalls: float, trace: list[str] | None) -> None:
        self.now = 0
        self.jobs = 0
        self.events = 0
        self.trouble = trouble
        self.stalls = stalls
        self.random = random
        self.roll = random.random
        self.out_until = [0, 0, 0, 0]
        self.current: Task
        self._trace = trace
        self._heap: list[tuple[int, float, Task, int, Any]] = []

    def note(self, text: str, *values: object) -> None:
        """A line of the trace, if one is wanted."""
        if self._trace is not None:
            self._trace.append(f"{self.now:>6} s  {text.format(*values)}")

    def spawn(self, process: Process, steps: Steps, *, is_job: bool = False, delay_s: int = 0) -> Task:
        """A new task of `process`."""
        task = Task(process, steps, is_job=is_job)
        process.tasks.append(task)
        self.jobs += is_job
        heappush(self._heap, (self.now + delay_s, self.roll(), task, 0, None))
        return task

    def kill(self, process: Process) -> None:
        """SIGKILL."""
        if not process.alive:
            return
        process.alive = False
        for task in process.tasks.copy():
            self._end(task)
        process.tasks.clear()
        if process.at_death is not None:
            process.at_death()

    def cancel(self, task: Task, reason: Exception) -> None:
        """Raise `reason` in the task at its next turn. A request on its way may still have its effect."""
        if not task.done:
            task.turn += 1
            heappush(self._heap, (self.now, self.roll(), task, task.turn, reason))

    def wake(self, task: Task) -> None:
        """End the task's sleep."""
        if not task.done:
            task.turn += 1
            heappush(self._heap, (self.now, self.roll(), task, task.turn, None))

    def end(self, task: Task) -> None:
        """Drop a task of a living process."""
        if not task.done:
            self._end(task)
            task.process.tasks.remove(task)

    def _end(self, task: Task) -> None:
        if not task.done:
            task.done = True
            self.jobs -= task.is_job
            task.steps.close()

    def run(self, quiet: Callable[[], bool], *, deadline: int) -> None:
        """Go on until `quiet`. Raises Violation if that takes beyond `deadline`."""
        heap = self._heap
        while heap:
            at, order, task, turn, value = heappop(heap)
            self.now = at
            if type(value) is _Flight:
                self._arrive(task, turn, value)
            elif task.done or task.turn != turn:
                continue
            elif task.process.suspended_until > at:
                heappush(heap, (task.process.suspended_until, order, task, turn, value))
                continue
            else:
                self._resume(task, value)
            self.events += 1
            if quiet():
                return
            if at > deadline or self.events > _MOST_EVENTS:
                raise Violation("something is stuck", f"after {at} s and {self.events} events")
        raise Violation("something is stuck", "nothing is going on any more")

    def _resume(self, task: Task, value: Any) -> None:  # noqa: ANN401  a reply is what was asked for
        """Let the task go on until it waits."""
        steps, roll = task.steps, self.roll
        self.current = task
        while True:
            try:
                wish = steps.throw(value) if isinstance(value, Exception) else steps.send(value)
            except StopIteration:
                if not task.done:
                    task.done = True
                    self.jobs -= task.is_job
                    task.process.tasks.remove(task)
                return
            except FatalError:
                self.note("{} is killed by the document", task.process.name)
                self.kill(task.process)
                return
            if isinstance(wish, int):
                heappush(self._heap, (self.now + wish, roll(), task, task.turn, None))
                return
            chance = roll()
            if chance < 0.5:
                value = self._effect(wish)
                if chance < 0.35:
                    continue
                heappush(self._heap, (self.now + int(chance * 10 - 3.5), roll(), task, task.turn, value))
                return
            delay_s = int(self.roll() * 600) if roll() < self.stalls else int(chance * 4 - 2)
            heappush(self._heap, (self.now + delay_s, roll(), task, task.turn, _Flight(wish)))
            return

    def _arrive(self, task: Task, turn: int, flight: "_Flight") -> None:
        forgotten = task.done or task.turn != turn
        if forgotten and self.roll() < 0.5:
            return
        value = self._effect(flight.request)
        if not forgotten:
            heappush(self._heap, (self.now + int(self.roll() * 2), self.roll(), task, turn, value))

    def _effect(self, request: Request) -> Any:  # noqa: ANN401  see `Request`
        """The reply, which may be an error before or after the effect."""
        service, call, arguments = request
        if self.out_until[service] > self.now:
            return ServerError("cannot be reached")
        if self.trouble and (chance := self.roll()) < self.trouble:
            if chance * 2 < self.trouble:
                call(*arguments)
                self.note("(its reply is lost)")
            return ServerError("cannot be reached")
        return call(*arguments)


class _Flight:
    """A request on its way."""

    __slots__ = ("request",)

    def __init__(self, request: Request) -> None:
        self.request = request
