"""Lease of an ingestion during work on it: extended by heartbeats; the work is cancelled once it is lost."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from docmill.errors import DocmillError
from docmill.resilience.concurrency import BrokenWorkerError, cancel_and_wait
from docmill.resilience.spending import Spending
from docmill.service.ports import Message, Queue
from docmill.service.processing.claim_writer import ClaimWriter
from docmill.service.protocol.claim_rules import ClaimLostError, MessageLostError
from docmill.service.store.claims import Claim
from docmill.service.store.result_columns import StoredFindings, StoredResult

log = logging.getLogger(__name__)

Value = TypeVar("Value")

_RETRY_S = 5.0

LONG_WORK_S = 1.0
"""Findings are stored at once if the work on the document has taken longer than this."""


@dataclass(slots=True)
class Progress:
    """The progress of an attempt. step: the one under way, None before the first."""

    step: str | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """One claim and the message that led to it, kept together.

    since: when the claim was asked for, by our monotonic clock. note_begun: to be called when the document is
    begun. progress: told with each heartbeat.
    spending: of the document, in all its attempts. timings_s: of the steps that have ended.
    """

    claim_writer: ClaimWriter
    queue: Queue
    message: Message
    claim: Claim
    since: float
    lease_s: float
    heartbeat_s: float
    note_begun: Callable[[], None] = lambda: None
    progress: Progress = field(default_factory=Progress)
    spending: Spending = field(default_factory=Spending)
    timings_s: dict[str, float] = field(default_factory=dict[str, float])

    async def step_started(self, step: str) -> None:
        """See `Observer.step_started`."""
        self.progress.step = step
        self.claim_writer.step_started(self.claim, step)

    async def record(self, findings: StoredFindings) -> None:
        """Add findings of the document. After long work they are stored at once, so that a kill loses none.

        A database that fails does not stop the document: what is known is stored when it ends.
        """
        self.claim_writer.record(self.claim, findings)
        if time.monotonic() - self.since < LONG_WORK_S:
            return
        try:
            await self.claim_writer.store_findings()
        except DocmillError as error:
            log.warning("cannot store what is known so far", extra={"code": error.code})

    async def finish(self, result: StoredResult) -> None:
        """Complete the ingestion. Raises ClaimLostError if another worker holds it."""
        if not await self.claim_writer.finish(self.claim, result):
            raise ClaimLostError

    async def extend(self) -> None:
        """Keep message and claim for another `lease_s`. Raises ClaimLostError or MessageLostError."""
        if not await self.queue.extend(self.message, visibility_s=self.lease_s):
            raise MessageLostError
        if not await self.claim_writer.extend(self.claim, step=self.progress.step):
            raise ClaimLostError

    async def hold_during(self, work: Awaitable[Value]) -> Value:
        """See `hold_during`."""
        return await hold_during(self, work)


class ExtendableLease(Protocol):
    """A lease that heartbeats extend. See `Lease`."""

    @property
    def since(self) -> float: ...  # noqa: D102
    @property
    def lease_s(self) -> float: ...  # noqa: D102
    @property
    def heartbeat_s(self) -> float: ...  # noqa: D102
    async def extend(self) -> None:
        """Keep message and claim for another `lease_s`. Raises ClaimLostError or MessageLostError."""
        ...


async def hold_during(lease: ExtendableLease, work: Awaitable[Value]) -> Value:
    """Await `work` and extend the lease meanwhile; cancel it and raise ClaimLostError once that is lost.

    Raises MessageLostError if the message is lost, as far as is known; BrokenWorkerError, with `work`
    cancelled, if the heartbeats end by a fault of ours.
    """
    beats = _Heartbeats(lease)
    try:
        async with beats.lost:
            return await work
    except TimeoutError as error:
        if not beats.lost.expired():
            raise
        if beats.fault is not None:
            raise BrokenWorkerError("the heartbeats of a document have ended") from beats.fault
        raise beats.loss from error
    finally:
        await beats.end()


class _Heartbeats:
    """Extends a lease until it is lost. lost: a timeout around the work that expires at that moment.

    Most documents are done before the first heartbeat is due; until then there is no task, only a timer.
    """

    def __init__(self, lease: ExtendableLease) -> None:
        self.lost = asyncio.timeout(None)
        self.fault: Exception | None = None
        self.loss = ClaimLostError()
        self._lease = lease
        self._held_until = lease.since + lease.lease_s
        self._beating: asyncio.Task[None] | None = None
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(min(lease.heartbeat_s, lease.lease_s), self._start)

    async def end(self) -> None:
        """End the heartbeats."""
        self._timer.cancel()
        if self._beating is not None:
            await cancel_and_wait([self._beating])

    def _start(self) -> None:
        self._beating = asyncio.create_task(self._beat())

    async def _beat(self) -> None:
        """Extend the lease repeatedly until it is lost, or a fault of docmill ends this.

        After an error or refusal the lease still lasts until its end by our clock, and is tried again.
        """
        try:
            while (asked_at := time.monotonic()) < self._held_until:
                pause_s = self._lease.heartbeat_s
                try:
                    async with asyncio.timeout(self._held_until - asked_at):
                        await self._lease.extend()
                except (DocmillError, TimeoutError) as error:
                    log.warning("cannot extend the lease", extra={"reason": type(error).__name__})
                    pause_s = min(_RETRY_S, pause_s)
                else:
                    self._held_until = asked_at + self._lease.lease_s
                await asyncio.sleep(min(pause_s, max(0, self._held_until - time.monotonic())))
        except ClaimLostError as loss:
            self.loss = loss
        except Exception as error:
            log.exception("a fault in docmill: the heartbeats of a document have ended")
            self.fault = error
        self.lost.reschedule(asyncio.get_running_loop().time())
