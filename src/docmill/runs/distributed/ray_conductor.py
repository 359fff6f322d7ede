"""The actor that gives tickets to the runners of a run through Ray Data, and hears of them."""

import asyncio
import logging
from typing import Any

from docmill.runs.components.libraries import required
from docmill.runs.distributed.assignment import Assignment
from docmill.runs.distributed.ray_runner import RayRunner
from docmill.runs.events import Event

NEWS_S = 0.5
"""Who asks for events waits at most so long for some."""


MAX_RESTARTS = 20
"""A runner whose process has died so often is not started again, and the run ends: something kills it."""


class RayConductor:
    """Owner of the runners of a run: when it ends, Ray ends them.

    A ticket is a runner's work on the run until no document is left; there are as many as runners. If a node
    is lost, Ray gives its tickets to others, as soon as there is a place for them.
    """

    def __init__(self, assignment: Assignment, runners: int) -> None:
        self._assignment = assignment
        self._runners = runners
        self._stop = asyncio.Event()
        self._events: list[Event] = []
        self._has_news = asyncio.Event()
        self._nodes: dict[int, str] = {}
        self._has_begun = False
        self._errors: list[bytes] = []

    async def work(self) -> int:
        """Have all tickets worked on; the number of those that were."""
        ray: Any = required("ray", "ray")
        handle = ray.get_runtime_context().current_actor
        return await asyncio.to_thread(self._work, handle)

    async def begin(self, ticket: int, node: str) -> None:
        """Hear that a runner has begun to work on a ticket."""
        self._nodes[ticket] = node
        self._has_begun = True

    async def end(self, ticket: int, error: bytes | None) -> None:
        """Hear that a runner has ended. error: why it could not go on; then all others stop, too."""
        self._nodes.pop(ticket, None)
        if error is not None:
            self._errors.append(error)
            self._stop.set()

    async def tell(self, events: list[Event]) -> None:
        """Hear of events of a runner."""
        self._events += events
        self._has_news.set()

    async def news(self) -> list[Event]:
        """Events since the last call."""
        try:
            async with asyncio.timeout(NEWS_S):
                await self._has_news.wait()
        except TimeoutError:
            pass
        self._has_news.clear()
        events, self._events = self._events, []
        return events

    async def has_begun(self) -> bool:
        """Whether a runner has begun, ever."""
        return self._has_begun

    async def busy_nodes(self) -> list[str]:
        """The nodes of the runners that have begun, and have not ended."""
        return list(self._nodes.values())

    async def errors(self) -> list[bytes]:
        """What ended runners, as pickled instances of DocmillError."""
        return self._errors

    async def stop(self) -> None:
        """Stop all runners in good order."""
        self._stop.set()

    async def wait_for_stop(self) -> None:
        """Return when runners are to stop."""
        await self._stop.wait()

    def _work(self, handle: Any) -> int:  # noqa: ANN401  Ray tells no types
        data: Any = required("ray.data", "ray")
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        data.DataContext.get_current().enable_progress_bars = False
        tickets = data.from_items(
            [{"ticket": number} for number in range(self._runners)], override_num_blocks=self._runners
        ).map_batches(
            RayRunner,
            fn_constructor_kwargs={"assignment": self._assignment, "conductor": handle},
            batch_size=1,
            compute=data.ActorPoolStrategy(size=self._runners, max_tasks_in_flight_per_actor=1),
            num_cpus=1,
            scheduling_strategy="SPREAD",
            max_restarts=MAX_RESTARTS,
        )
        return sum(1 for _ in tickets.iter_rows())
