"""Handles one message of the queue of matching: claims its document, matches it, and settles the outcome."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import Any
from uuid import UUID

import stamina
from structlog.contextvars import bind_contextvars

from docmill.errors import CrashedError, DocmillError
from docmill.resilience.concurrency import BrokenWorkerError, see_through, wait_until_ended
from docmill.resilience.spending import Spending
from docmill.service.config.settings import MatchingSettings
from docmill.service.observe.metrics import MatchingOutcome, Metrics
from docmill.service.observe.tracing import (
    MATCHING_DOCUMENT,
    NO_TRACER,
    Tracer,
    TraceSpan,
    document_attributes,
)
from docmill.service.ports import Message, Queue
from docmill.service.ports.matching import MatchingStep
from docmill.service.processing.job import LETTING_GO_S, outcome_of
from docmill.service.processing.lease import hold_during
from docmill.service.processing.matching_claims import MatchingClaims
from docmill.service.processing.matching_phases import MatchingPhases
from docmill.service.protocol.claim_rules import ClaimLostError, MessageLostError
from docmill.service.protocol.matching_rules import (
    MATCHING_TRIES,
    Abandon,
    Discard,
    Fail,
    GiveUpDead,
    MatchingObstacle,
    Pause,
    Postpone,
    Redeliver,
    Resend,
    matching_settlement,
    unclaimed_matching,
)
from docmill.service.protocol.pause import Pauses
from docmill.service.protocol.queues import MATCHING
from docmill.service.store.matching_jobs import MatchingClaim

log = logging.getLogger(__name__)

PART = "matching"
"""The part that stands for all of a delivery: of setup errors that no other part has claimed."""

_AGAIN_S = 5.0
_FIRST_WAIT_S = 0.1


@dataclass(frozen=True, slots=True)
class MatchingLease:
    """A claim and the message that led to it, kept together. See `Lease`."""

    claims: MatchingClaims
    queue: Queue
    message: Message
    claim: MatchingClaim
    since: float
    lease_s: float
    heartbeat_s: float

    async def extend(self) -> None:
        """Keep message and claim for another `lease_s`. Raises ClaimLostError or MessageLostError."""
        if not await self.queue.extend(self.message, visibility_s=self.lease_s):
            raise MessageLostError
        if not await self.claims.extend(self.claim):
            raise ClaimLostError


class MatchingHandler:
    """Handles a worker's messages, each in a task of its own. announce: called when people can see new links.

    patience_s: how long a document waits for what fails and is left alone.

    The queue counts the deliveries of a message, and takes it away after the third. Where an attempt does not
    count, its delivery must not: the message is replaced by a new one. Only the holder of a claim does that:
    were duplicates replaced, too, they would become ever more.
    """

    def __init__(
        self,
        matching: MatchingStep,
        claims: MatchingClaims,
        settings: MatchingSettings,
        metrics: Metrics,
        *,
        pauses: Pauses,
        patience_s: float = inf,
        announce: Callable[[], None] = lambda: None,
        tracer: Tracer = NO_TRACER,
    ) -> None:
        self._matching = matching
        self._queue = matching.queue
        self._claims = claims
        self._settings = settings
        self._metrics = metrics
        self._pauses = pauses
        self._announce = announce
        self._tracer = tracer
        self._patience_s = patience_s
        self._phases = MatchingPhases(matching.matcher, claims, settings.limit_s, patience_s, tracer)

    async def handle(self, message: Message) -> None:
        """Handle a message to its end. If cancelled, it first gives everything back."""
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
        await self._persistently(lambda: self._queue.release(message, delay_s=delay_s, counts=counts))

    async def _persistently(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        with suppress(DocmillError):
            async for attempt in stamina.retry_context(
                on=DocmillError,
                attempts=None,
                wait_initial=_FIRST_WAIT_S,
                wait_max=_AGAIN_S,
                timeout=self._settings.lease_s,
            ):
                with attempt:
                    await see_through(work())

    async def _replace(self, message: Message, claim: MatchingClaim, *, delay_s: float) -> None:
        await self._queue.send([message.body], delay_s=delay_s, tenant_ids=[claim.tenant_id])
        await self._queue.delete([message])

    async def _handle(self, message: Message) -> None:
        try:
            document_id = UUID(message.body)
        except ValueError:
            log.error("message is not a document id", extra={"message_id": message.id})  # noqa: TRY400  its text may be anything
            await self._queue.delete([message])
            return
        bind_contextvars(document_id=str(document_id))  # until this task ends
        try:
            await self._claim_and_work(document_id, message)
        finally:
            self._pauses.give_back(document_id)

    async def _claim_and_work(self, document_id: UUID, message: Message) -> None:
        since = time.monotonic()
        claiming = self._claims.claim(document_id)
        try:
            answer = await asyncio.shield(claiming)
        except asyncio.CancelledError:
            await asyncio.wait({claiming}, timeout=LETTING_GO_S)
            is_answered = claiming.done() and not claiming.cancelled() and not claiming.exception()
            await self._let_go(message, claiming.result() if is_answered else None)
            raise
        if isinstance(answer, MatchingClaim):
            ids = document_attributes(answer.tenant_id, document_id)
            attributes = {**MATCHING_DOCUMENT, **ids, "docmill.attempt": answer.attempt}
            with self._tracer.span("process matching", kind="consumer", attributes=attributes) as span:
                await self._work(self._lease(message, answer, since), span)
            return
        match unclaimed_matching(answer):
            case Discard():
                await self._queue.delete([message])
            case Postpone(delay_s=delay_s):
                await self.give_back(message, delay_s=delay_s)
            case GiveUpDead():
                await self._give_up_dead(document_id, message)

    def _lease(self, message: Message, claim: MatchingClaim, since: float) -> MatchingLease:
        if claim.is_taken_over:
            log.warning("taken over from a worker whose lease was over", extra={"attempt": claim.attempt})
        return MatchingLease(
            self._claims,
            self._queue,
            message,
            claim,
            since,
            lease_s=self._settings.lease_s,
            heartbeat_s=self._settings.heartbeat_s,
        )

    async def _give_up_dead(self, document_id: UUID, message: Message) -> None:
        error = CrashedError(
            f"its worker died {MATCHING_TRIES} times while it was matched; Retry begins anew"
        )
        if await self._claims.give_up(document_id, error, receive_count=message.receive_count):
            log.error("matching failed", extra={"code": error.code})
            self._metrics.matching_ended("failed", code=error.code)
            await self._queue.delete([message])
        else:
            await self.give_back(message)

    async def _work(self, lease: MatchingLease, span: TraceSpan) -> None:
        claim, started = lease.claim, time.monotonic()
        if traceparent := self._tracer.traceparent():
            bind_contextvars(trace_id=traceparent.split("-")[1])  # until this task ends
        bind_contextvars(tenant_id=str(claim.tenant_id), attempt=claim.attempt)
        passage = self._pauses.passage(claim.document_id)
        error: DocmillError | ClaimLostError | None = None
        outcome: MatchingOutcome = "unsettled"
        spending = Spending()
        try:
            try:
                with passage.under_way(), spending.counting():
                    passage.enter(PART)
                    await hold_during(lease, self._phases.match(claim))
            except Exception as raised:  # noqa: BLE001  it is logged where it is one of ours
                error = outcome_of(raised)
            passage.leave(PART, error)
            outcome = await self._settle(lease, error, pause_s=passage.pause_s(error))
        except (asyncio.CancelledError, BrokenWorkerError):
            letting_go = asyncio.create_task(self._let_go(lease.message, claim))
            await wait_until_ended(letting_go)
            outcome = "released" if letting_go.result() else "unsettled"
            raise
        finally:
            code = error.code if isinstance(error, DocmillError) else ""
            duration_s = time.monotonic() - started
            self._metrics.matching_ended(outcome, code=code, duration_s=duration_s, usage=spending.attempt)
            extra = {"status": outcome, "code": code or None, "duration_ms": round(duration_s * 1000)}
            log.info("matching ended", extra=extra)
            span.describe({"docmill.outcome": outcome})
            if code:
                span.fail(code)

    async def _settle(
        self, lease: MatchingLease, error: DocmillError | ClaimLostError | None, *, pause_s: float | None
    ) -> MatchingOutcome:
        """Carry out the decision on a delivery; its outcome, for the log."""
        claim, message = lease.claim, lease.message
        may_wait = claim.waited_s < self._patience_s
        follows = matching_settlement(error, attempt=claim.attempt, pause_s=pause_s, may_wait=may_wait)
        match follows:
            case Discard():
                self._announce()
                await self._queue.delete([message])
                return "succeeded"
            case Abandon():
                log.warning("claim lost: nothing is written or deleted")
                return "lost"
            case Resend():
                return await self._send_again(claim)
            case Pause(error=reason, delay_s=delay_s) | Redeliver(error=reason, delay_s=delay_s):
                return await self._set_back(
                    lease, reason, delay_s=delay_s, counts=isinstance(follows, Redeliver)
                )
            case Fail(error=reason, keeps_message=keeps_message):
                ending = await self._claims.fail(claim, reason, receive_count=message.receive_count)
                if ending == "lost":
                    return "lost"
                if ending == "ended":
                    log.error("matching failed", extra={"code": reason.code, "step": reason.step})
                if ending == "ended" and keeps_message:
                    await self._queue.release(message)  # the next receipt is one too many
                else:
                    await self._queue.delete([message])
                return "failed" if ending == "ended" else "retried"

    async def _set_back(
        self, lease: MatchingLease, error: DocmillError, *, delay_s: float, counts: bool
    ) -> MatchingOutcome:
        """Release the document, and then its message, or replace it if this delivery is not to count."""
        level = logging.WARNING if counts else logging.INFO
        log.log(level, "attempt failed", extra={"code": error.code, "step": error.step})
        ending = await self._claims.set_back(lease.claim, error=error, delay_s=delay_s, counts=counts)
        if ending == "lost":
            return "lost"
        if ending == "requested again":  # its message is sent
            await self._queue.delete([lease.message])
        elif counts and lease.message.receive_count < MATCHING.max_receives:
            await self.give_back(lease.message, delay_s=delay_s, counts=True)
        else:
            await self._persistently(lambda: self._replace(lease.message, lease.claim, delay_s=delay_s))
        return "retried"

    async def _send_again(self, claim: MatchingClaim) -> MatchingOutcome:
        """Give back the claim whose message is lost. A message that cannot be sent is sent by the sweeper."""
        ending = await self._claims.set_back(claim, error=None, delay_s=0, counts=False)
        if ending == "lost":
            log.warning("claim lost: nothing is written or deleted")
            return "lost"
        log.warning("message lost: the document is given back and sent again")
        if ending == "ended":  # requested again, its message is sent
            await self._queue.send([str(claim.document_id)], tenant_ids=[claim.tenant_id])
        return "released"

    async def _let_go(self, message: Message, claim: MatchingClaim | MatchingObstacle | None) -> bool:
        """Give a document back, so that another worker can take it at once; the attempt does not count.

        False if that failed, or another one has it.
        """
        try:
            async with asyncio.timeout(LETTING_GO_S):
                if isinstance(claim, MatchingClaim):
                    ending = await self._claims.set_back(claim, error=None, delay_s=0, counts=False)
                    if ending == "lost":
                        return False
                    await self._replace(message, claim, delay_s=0)
                else:
                    await self.give_back(message)
        except (DocmillError, TimeoutError) as error:
            log.warning("could not give the document back", extra={"reason": type(error).__name__})
            return False
        return True
