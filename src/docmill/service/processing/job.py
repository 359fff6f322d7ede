"""Handles one message: claims its ingestion, processes it, and settles the outcome."""

import asyncio
import logging
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

import stamina
from structlog.contextvars import bind_contextvars

from docmill.errors import CrashedError, DocmillError
from docmill.model.result import Result
from docmill.resilience.attempts import GiveUp, Retry, internal_error
from docmill.resilience.concurrency import Batches, BrokenWorkerError, see_through, wait_until_ended
from docmill.resilience.spending import Spending
from docmill.service.config.settings import WorkerSettings
from docmill.service.observe.metrics import Metrics, Outcome
from docmill.service.observe.tracing import NO_ATTRIBUTES, NO_TRACER, PROCESSING, Tracer, document_attributes
from docmill.service.ports import Message, Queue
from docmill.service.processing.attempt_report import AttemptReports
from docmill.service.processing.claim_writer import ClaimRefusal, ClaimWriter
from docmill.service.processing.lease import Lease
from docmill.service.protocol.claim_rules import (
    ClaimLostError,
    Delete,
    GiveUpCrashed,
    Isolate,
    Leave,
    SendAgain,
    Wait,
    settlement,
    turned_away,
)
from docmill.service.protocol.pause import WHOLE, Pauses
from docmill.service.store.claims import Claim

log = logging.getLogger(__name__)

LETTING_GO_S = 10.0
"""Time limit of a stopped job for returning its document; after that its lease must expire."""

_AGAIN_S = 5.0

ALONE_S = 60.0
"""How long a suspect is alone. Others need not wait for the end of a long scan: those that begin beside it
after this and die with it become suspects themselves, and are blamed for nothing until they die alone."""

_RELEASE_AGAIN_S = 0.1

Value = TypeVar("Value")

Attempt = Callable[[Lease], Awaitable[Result | None]]
"""Processes the lease's document and finishes it through the lease; its result, for the metrics."""


class Isolation:
    """Counts a worker's jobs, and lets one at a time wait until it is the only one.

    jobs: those under way. on_open: called when the worker may begin other jobs again.
    """

    def __init__(self) -> None:
        self.jobs: set[asyncio.Task[Any]] = set()
        self.on_open: Callable[[], None] = lambda: None
        self._reservation: object | None = None
        self._ended = asyncio.Event()

    @property
    def closed(self) -> bool:
        """True while a job is alone or waits to be; the worker then begins nothing new."""
        return self._reservation is not None

    def add(self, job: asyncio.Task[Any]) -> None:
        """Count a job, which may not have begun yet, until it has ended."""
        self.jobs.add(job)
        job.add_done_callback(self._remove)

    def _remove(self, job: asyncio.Task[Any]) -> None:
        self.jobs.discard(job)
        self._ended.set()

    @asynccontextmanager
    async def reserved(self) -> AsyncGenerator["Reservation | None"]:
        """Reserve the worker for a job during the block. None if another job has reserved it."""
        if self.closed:
            yield None
            return
        reservation = Reservation(self)
        self._reservation = reservation
        try:
            yield reservation
        finally:
            reservation.end()

    def end(self, reservation: "Reservation") -> None:
        """Let the worker begin others again, unless another job has reserved it meanwhile."""
        if self._reservation is reservation:
            self._reservation = None
            self.on_open()

    async def is_alone(self, *, within_s: float) -> bool:
        """Wait until every other job has ended; False if that takes longer than `within_s`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while len(self.jobs) > 1:
                    self._ended.clear()
                    await self._ended.wait()
        return len(self.jobs) <= 1


class Reservation:
    """The right of a job to run alone in its worker."""

    def __init__(self, isolation: Isolation) -> None:
        self._isolation = isolation
        self._timer: asyncio.TimerHandle | None = None

    def end_after(self, seconds: float) -> None:
        """Let other jobs begin beside this one after that time."""
        self._timer = asyncio.get_running_loop().call_later(seconds, self.end)

    def end(self) -> None:
        """Let other jobs begin; this one may continue."""
        if self._timer is not None:
            self._timer.cancel()
        self._isolation.end(self)


class Jobs:
    """Handles a worker's messages, each in a task of its own.

    announce: called when a person can see a change. pauses: of parts that are out of use, such as a provider.
    """

    def __init__(
        self,
        queue: Queue,
        claim_writer: ClaimWriter,
        attempt: Attempt,
        settings: WorkerSettings,
        metrics: Metrics,
        *,
        announce: Callable[[], None],
        pauses: Pauses,
        tracer: Tracer = NO_TRACER,
    ) -> None:
        self._queue = queue
        self._claim_writer = claim_writer
        self._attempt = attempt
        self._settings = settings
        self._metrics = metrics
        self._reports = AttemptReports(metrics, tracer)
        self._tracer = tracer
        self._announce = announce
        self._pauses = pauses
        self._deletions = Batches(self._delete_all)
        self.isolation = Isolation()
        """The tasks that `handle` runs in; the starter of one adds it."""
        self.begun: set[UUID] = set()
        """The ingestions in work that have been begun, and do not wait to be."""
        self.on_begun: Callable[[], None] = lambda: None

    async def handle(self, message: Message) -> None:
        """Handle a message to its end, in a task of its own. If cancelled, it first gives everything back."""
        try:
            await self._handle(message)
        except Exception as error:  # noqa: BLE001  it is logged where it is one of ours
            reason = type(outcome_of(error)).__name__
            log.warning("message left to be delivered again", extra={"reason": reason})
            await self.give_back(message, delay_s=_AGAIN_S, counts=True)

    async def give_back(self, message: Message, *, delay_s: float = 0, counts: bool = False) -> None:
        """Release a message, tried again until that is done or its time must be over: it would be hidden.

        counts: see `Queue.release`.
        """
        with suppress(DocmillError):
            async for attempt in stamina.retry_context(
                on=DocmillError,
                attempts=None,
                wait_initial=_RELEASE_AGAIN_S,
                wait_max=_AGAIN_S,
                timeout=self._settings.lease_s,
            ):
                with attempt:
                    await see_through(self._queue.release(message, delay_s=delay_s, counts=counts))

    async def _handle(self, message: Message) -> None:
        try:
            ingestion_id = UUID(message.body)
        except ValueError:
            log.error("message is not an ingestion id", extra={"message_id": message.id})  # noqa: TRY400  its text may be anything
            await self._deletions.ask(message)
            return
        bind_contextvars(ingestion_id=str(ingestion_id))  # until this task ends
        try:
            # What it waits for is still paused: nothing of it is done over again meanwhile.
            if (wait_s := self._pauses.may_begin_in_s(ingestion_id)) > 0:
                await self._queue.release(message, delay_s=wait_s, counts=False)
            else:
                await self._claim_and_work(ingestion_id, message, alone=False)
        finally:
            self._pauses.give_back(ingestion_id)

    async def _claim_and_work(self, ingestion_id: UUID, message: Message, *, alone: bool) -> None:
        since = time.monotonic()
        answer = await self._claim(ingestion_id, message, alone=alone)
        if isinstance(answer, ClaimRefusal):
            await self._turn_away(ingestion_id, answer, message, alone=alone)
            return
        try:
            await self._work(self._lease(message, answer, since))
        finally:
            self.begun.discard(answer.ingestion_id)

    async def _claim(self, ingestion_id: UUID, message: Message, *, alone: bool) -> Claim | ClaimRefusal:
        since = time.monotonic()
        claiming = self._claim_writer.claim(ingestion_id, alone=alone)
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            await asyncio.wait({claiming}, timeout=LETTING_GO_S)
            if claiming.done() and not claiming.exception() and isinstance(claim := claiming.result(), Claim):
                await self._let_go(self._lease(message, claim, since))
            else:
                await self._give_back_soon(message)
            raise

    def _lease(self, message: Message, claim: Claim, since: float) -> Lease:
        return Lease(
            self._claim_writer,
            self._queue,
            message,
            claim,
            since,
            lease_s=self._settings.lease_s,
            heartbeat_s=self._settings.heartbeat_s,
            note_begun=partial(self._note_begun, claim.ingestion_id),
            spending=Spending(claim.spent, changed=partial(self._claim_writer.spent, claim)),
        )

    def _note_begun(self, ingestion_id: UUID) -> None:
        self.begun.add(ingestion_id)
        self.on_begun()

    async def _turn_away(
        self, ingestion_id: UUID, refusal: ClaimRefusal, message: Message, *, alone: bool
    ) -> None:
        """Handle a message whose ingestion could not be claimed."""
        match turned_away(refusal.obstacle, alone=alone):
            case Delete():
                await self._deletions.ask(message)
            case Wait(delay_s=delay_s):
                await self.give_back(message, delay_s=delay_s)
            case Isolate():
                # Once all else is done here; another worker takes it if one is waiting here already.
                async with self.isolation.reserved() as reservation:
                    if reservation is not None and await self._is_alone(message):
                        reservation.end_after(ALONE_S)
                        log.info("working alone on a document whose worker died")
                        await self._claim_and_work(ingestion_id, message, alone=True)
                        return
                await self.give_back(message)
            case GiveUpCrashed():
                assert refusal.tenant_id  # who has an obstacle exists
                assert refusal.obstacle
                await self._give_up_crashed(
                    ingestion_id, refusal.tenant_id, message, suspect=refusal.obstacle.suspect
                )

    async def _is_alone(self, message: Message) -> bool:
        """Wait until nothing else is in work, and keep the message meanwhile. False if it is lost."""
        try:
            while not await self.isolation.is_alone(within_s=self._settings.heartbeat_s):
                if not await self._queue.extend(message, visibility_s=self._settings.lease_s):
                    return False
        except asyncio.CancelledError:
            await self._give_back_soon(message)
            raise
        return True

    async def _give_back_soon(self, message: Message) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(LETTING_GO_S):
                await self.give_back(message)

    async def _give_up_crashed(
        self, ingestion_id: UUID, tenant_id: UUID, message: Message, *, suspect: bool
    ) -> None:
        most = self._settings.max_attempts
        # Without a death, the limit was lowered, or another release counted the attempts.
        error = CrashedError(
            f"its worker died {most} times with nothing else in work; the file may be harmful"
            if suspect
            else f"it was begun {most} times or more and never finished; Retry begins anew"
        )
        if await self._claim_writer.give_up(
            ingestion_id, tenant_id, error, receive_count=message.receive_count
        ):
            log.error(
                "ingestion failed",
                extra={"code": error.code, "status": "failed", "tenant_id": str(tenant_id)},
            )
            self._metrics.documents_failed(error.code)
            self._announce()
            await self._deletions.ask(message)
        else:
            await self.give_back(message)

    async def _work(self, lease: Lease) -> None:
        claim = lease.claim
        passage = self._pauses.passage(claim.ingestion_id)
        bind_contextvars(
            document_id=str(claim.document_id), tenant_id=str(claim.tenant_id), attempt=claim.attempt
        )
        attributes = NO_ATTRIBUTES
        if self._tracer.enabled:
            ids = document_attributes(claim.tenant_id, claim.document_id, claim.ingestion_id)
            attributes = {**PROCESSING, **ids, "messaging.message.id": lease.message.id}
        with self._reports.attempt(claim.attempt, attributes=attributes, parent=claim.traceparent) as report:
            try:
                try:
                    with passage.under_way():
                        passage.enter(WHOLE)
                        report.result = await lease.hold_during(self._attempt(lease))
                except Exception as error:  # noqa: BLE001  it is logged where it is one of ours
                    report.error = outcome_of(error)
                finally:
                    report.usage = lease.spending.attempt
                passage.leave(WHOLE, report.error)
                report.outcome = await self._settle(
                    lease, report.error, pause_s=passage.pause_s(report.error)
                )
            except (asyncio.CancelledError, BrokenWorkerError):
                letting_go = asyncio.create_task(self._let_go(lease))
                await wait_until_ended(
                    letting_go
                )  # in its own time, also if another broken job cancels this one
                if letting_go.result():
                    report.outcome = "released"
                raise
            self._announce()

    async def _settle(
        self, lease: Lease, error: DocmillError | ClaimLostError | None, *, pause_s: float | None
    ) -> Outcome:
        """Carry out the decision on an attempt; its outcome, for the log."""
        follows = settlement(
            error,
            attempt=lease.claim.attempt,
            max_attempts=self._settings.max_attempts,
            pause_s=pause_s,
            jitter=random.random(),  # noqa: S311  spreads load, guards nothing
            may_wait=lease.claim.waited_s < self._settings.patience_s,
        )
        match follows:
            case Delete():
                await self._deletions.ask(lease.message)
                return "completed"
            case Leave():
                log.warning("claim lost: nothing is written or deleted")
                return "lost"
            case SendAgain():
                return await self._send_again(lease)
            case Retry():
                return await self._retry(lease, follows)
            case GiveUp(error=reason):
                log.error("ingestion failed", extra={"code": reason.code, "step": reason.step})
                receive_count = lease.message.receive_count
                if not await self._claim_writer.fail(lease.claim, reason, receive_count=receive_count):
                    return "lost"
                await self._deletions.ask(lease.message)
                return "failed"

    async def _retry(self, lease: Lease, retry: Retry) -> Outcome:
        """Give the claim back, and then its message, for a later attempt."""
        reason, delay_s, counts = retry.error, retry.delay_s, retry.counts
        level = logging.WARNING if counts else logging.INFO
        log.log(level, "attempt failed", extra={"code": reason.code, "step": reason.step})
        if not await self._claim_writer.set_back(lease.claim, error=reason, delay_s=delay_s, counts=counts):
            return "lost"
        await self.give_back(lease.message, delay_s=delay_s, counts=counts)
        return "retried"

    async def _send_again(self, lease: Lease) -> Outcome:
        """Give back the claim whose message is lost. A message that cannot be sent is sent by the sweeper."""
        if not await self._claim_writer.set_back(lease.claim, error=None, delay_s=0, counts=False):
            log.warning("claim lost: nothing is written or deleted")
            return "lost"
        log.warning("message lost: the document is given back and sent again")
        await self._queue.send([lease.message.body], tenant_ids=[lease.claim.tenant_id])
        return "released"

    async def _let_go(self, lease: Lease) -> bool:
        """Give the document back, so that another worker can take it at once; the attempt does not count.

        False if there was nothing left to give back, or if it failed.
        """
        held = False
        try:
            async with asyncio.timeout(LETTING_GO_S):
                held = await self._claim_writer.set_back(lease.claim, error=None, delay_s=0, counts=False)
                if held:
                    await self._queue.release(lease.message, counts=False)
        except (DocmillError, TimeoutError) as error:
            log.warning("could not give the document back", extra={"reason": type(error).__name__})
        return held

    async def _delete_all(self, messages: Sequence[Message]) -> list[None]:
        await self._queue.delete(messages)
        return [None] * len(messages)


def outcome_of(error: Exception) -> DocmillError | ClaimLostError:
    """The error that ended an attempt; a fault in docmill is logged and becomes an InternalError."""
    if isinstance(error, (DocmillError, ClaimLostError)):
        return error
    log.error("a fault in docmill", exc_info=error)
    return internal_error(error)
