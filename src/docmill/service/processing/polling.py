"""Receives messages of a queue, and has each handled in a task of its own."""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from docmill.errors import DocmillError
from docmill.resilience.concurrency import cancel_and_wait
from docmill.service.ports import Message, Queue
from docmill.service.processing.job import LETTING_GO_S, Isolation

log = logging.getLogger(__name__)

_POLL_RETRY_S = 5.0
_BATCHES_PER_POLL = 5
_MOST_POLLS = 4


class Handler(Protocol):
    """Handles the messages of a queue."""

    async def handle(self, message: Message) -> None:
        """Handle a message to its end. If cancelled, it first gives everything back."""
        ...

    async def give_back(self, message: Message, *, delay_s: float = 0) -> None:
        """Have a message delivered again that nothing was done with."""
        ...


@dataclass(frozen=True, slots=True)
class PollingLimits:
    """The limits of a poller; times in seconds. See `WorkerSettings`."""

    concurrency: int
    batch: int
    wait_s: float
    grace_s: float


class Poller:
    """Receives messages and starts a task for each. At the end it lets these finish, or stops them.

    isolation: holds the tasks. receiver: who receives, for the queue. most: how many more may be asked for
    now, where the concurrency is not the only limit. It is asked again after `wake`.
    """

    def __init__(
        self,
        queue: Queue,
        receiver: str,
        handler: Handler,
        limits: PollingLimits,
        isolation: Isolation,
        *,
        most: Callable[[], int] | None = None,
    ) -> None:
        self._queue = queue
        self._receiver = receiver
        self._handler = handler
        self._limits = limits
        self._isolation = isolation
        self._most = most or (lambda: limits.concurrency)
        self._asked_for = 0
        self._room = asyncio.Event()
        isolation.on_open = self.wake

    def wake(self) -> None:
        """Look again whether more may be asked for."""
        self._room.set()

    async def run(self, stop: asyncio.Event, abort: asyncio.Event) -> None:
        """Work until `stop` is set and the tasks are done, or stopped after the grace time or on `abort`."""
        try:
            async with asyncio.TaskGroup() as group:
                polling = asyncio.create_task(self._poll_all(group))
                try:
                    await _wait_for_first(polling, stop)
                    log.info("worker stopping", extra={"running": len(self._isolation.jobs)})
                    await _wait_for_first(asyncio.create_task(cancel_and_wait([polling])), abort)
                    await self._drain(abort)
                except asyncio.CancelledError:  # a job of ours has broken the worker, or it is cancelled
                    await cancel_and_wait([polling])
                    raise
            if polling.done() and not polling.cancelled():
                polling.result()  # a fault of ours ended it
        finally:
            # Messages of jobs that were stopped before they could give them back.
            with suppress(DocmillError, TimeoutError):
                async with asyncio.timeout(LETTING_GO_S):
                    await self._queue.release_received(self._receiver)

    async def _poll_all(self, group: asyncio.TaskGroup) -> None:
        """Several polls at a time where one, with its ten messages, could not keep the jobs supplied."""
        polls = max(1, min(_MOST_POLLS, self._limits.concurrency // (_BATCHES_PER_POLL * self._limits.batch)))
        async with asyncio.TaskGroup() as polling:  # ends with the last of them, which may give messages back
            for _ in range(polls):
                polling.create_task(self._poll(group))

    async def _poll(self, group: asyncio.TaskGroup) -> None:
        while True:
            free = min(self._free, self._most()) - self._asked_for
            if free <= 0:
                self._room.clear()
                await self._room.wait()
                continue
            limit = min(self._limits.batch, free)
            self._asked_for += limit  # until they are taken: another poll must not ask for the same room
            try:
                messages = await self._queue.receive(
                    limit=limit, wait_s=self._limits.wait_s, receiver=self._receiver
                )
                for message in messages:  # given back if nothing more may be begun since they were asked for
                    work = (
                        self._handler.handle(message) if self._free > 0 else self._handler.give_back(message)
                    )
                    job = group.create_task(work)
                    self._isolation.add(job)
                    job.add_done_callback(lambda _: self._room.set())
            except DocmillError as error:
                log.warning("cannot receive messages", extra={"code": error.code})
                await asyncio.sleep(_POLL_RETRY_S)
            finally:
                self._asked_for -= limit
                self._room.set()

    @property
    def _free(self) -> int:
        """The number of documents that may be taken now."""
        return 0 if self._isolation.closed else self._limits.concurrency - len(self._isolation.jobs)

    async def _drain(self, abort: asyncio.Event) -> None:
        """Let the jobs finish; at the end of the grace time, or at once on `abort`, stop them."""
        aborting = asyncio.ensure_future(abort.wait())
        deadline = time.monotonic() + self._limits.grace_s
        while self._isolation.jobs and not aborting.done() and (left_s := deadline - time.monotonic()) > 0:
            await asyncio.wait(
                {*self._isolation.jobs, aborting}, timeout=left_s, return_when=asyncio.FIRST_COMPLETED
            )
        aborting.cancel()
        await cancel_and_wait(list(self._isolation.jobs), again_s=LETTING_GO_S)


async def _wait_for_first(task: asyncio.Task[None], event: asyncio.Event) -> None:
    """Return when `task` has ended or `event` is set; the task goes on."""
    waiting = asyncio.create_task(event.wait())
    try:
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
