"""A worker, request by request as `service/worker.py` makes them, asking the real protocol what follows."""

from collections.abc import Generator
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar
from uuid import NAMESPACE_OID, UUID, uuid5

from docmill.errors import DocmillError, NetworkError, ServerError, SetupError, TransientError
from docmill.resilience.attempts import GiveUp, Retry, is_asked_again
from docmill.service.protocol import claim_rules
from docmill.service.protocol.claim_rules import (
    ClaimLostError,
    Delete,
    GiveUpCrashed,
    Isolate,
    Leave,
    MessageLostError,
    SendAgain,
    Settlement,
    TurnedAway,
    Wait,
)
from docmill.service.protocol.pause import Passage, Pauses
from simulation.kernel import (
    DATABASE,
    FILES,
    MODEL,
    QUEUE,
    CancelledTaskError,
    FatalError,
    Kernel,
    Process,
    Request,
    Steps,
    Task,
)
from simulation.queue import Delivery, Queue
from simulation.store import PATIENCE_S, Behaviour, Claim, Row, Store

HEARTBEAT_S = 60
GRACE_S = 60
PAUSE_S = 60
BATCH = 2
_RETRY_S = 5
_PAUSED_STEP = "extract"
_POLL_RETRY_S = 15
_CLOSED_S = 5
_LEFT_ALONE_S = 120
_PROBES = 0.1


def id_of(row: Row) -> UUID:
    """As the name of an ingestion."""
    return uuid5(NAMESPACE_OID, row.name)


@dataclass(slots=True, eq=False)
class Worker:
    """What one process does."""

    kernel: Kernel
    store: Store
    queue: Queue
    process: Process
    jobs: list[Task] = field(default_factory=list[Task])
    handled: int = 0
    closed: bool = False
    working: list[Claim] = field(default_factory=list[Claim])
    pauses: Pauses = field(init=False)
    heartbeat_s: ClassVar[int] = HEARTBEAT_S

    def __post_init__(self) -> None:
        self.pauses = Pauses(PAUSE_S, clock=lambda: self.kernel.now, jitter=self.kernel.roll)

    def poll(self) -> Steps:
        kernel, queue = self.kernel, self.queue
        while True:
            if self.closed and not self.process.stopping:
                yield _CLOSED_S
                continue
            if (due_s := queue.next_due()) > 0 and not self.process.stopping:
                waiting = kernel.current
                queue.waiting.append(waiting)
                yield due_s
                if waiting in queue.waiting:
                    queue.waiting.remove(waiting)
                continue
            try:
                deliveries: list[Delivery] = yield (QUEUE, queue.receive, (BATCH,))
            except ServerError:
                yield _POLL_RETRY_S
                continue
            for delivery in deliveries:
                if self.process.stopping or self.closed:
                    kernel.spawn(self.process, self._return(delivery))
                else:
                    self._start(delivery)
            if self.process.stopping:
                return

    def _return(self, delivery: Delivery) -> Steps:
        try:
            yield from self.postpone(delivery, 0)
        except ServerError:
            return

    def postpone(self, delivery: Delivery, delay_s: int) -> Steps:
        """Give a message back uncounted."""
        if self.queue.must_replace(delivery):
            delivery.message.waits += 1
            yield (QUEUE, self.queue.send, (delivery.message.row, delay_s))
            yield (QUEUE, self.queue.delete, (delivery,))
        else:
            yield (QUEUE, self.queue.postpone, (delivery, delay_s))

    def _start(self, delivery: Delivery) -> None:
        self.handled += 1
        self.jobs = [job for job in self.jobs if not job.done]
        self.jobs.append(self.kernel.spawn(self.process, self._job(delivery), is_job=True))

    def stop(self) -> Steps:
        """SIGTERM: let the jobs finish; at the end of the grace time, stop them."""
        self.process.stopping = True
        self.queue.wake()
        deadline = self.kernel.now + GRACE_S
        while self.kernel.now < deadline and any(not job.done for job in self.jobs):
            yield 20
        for job in self.jobs:
            self.kernel.cancel(job, CancelledTaskError())

    def _job(self, delivery: Delivery) -> Steps:
        try:
            yield from self._begin(delivery)
        except ServerError:
            self.kernel.note("{} leaves its message to be delivered again", self.process.name)
        except (CancelledTaskError, ClaimLostError):
            return
        finally:
            self.handled -= 1

    def _begin(self, delivery: Delivery) -> Steps:
        document = id_of(delivery.message.row)
        try:
            if (wait_s := self.pauses.may_begin_in_s(document)) > 0:
                yield from self.postpone(delivery, int(wait_s))
            else:
                yield from self.handle(delivery, alone=False)
        finally:
            self.pauses.give_back(document)

    def handle(self, delivery: Delivery, *, alone: bool) -> Steps:
        row = delivery.message.row
        take = partial(self.store.take, alone=alone)
        claim: Claim | None = yield (DATABASE, take, (row, self.process))
        if claim is not None:
            yield from self._work(claim, delivery)
            return
        obstacle = yield (DATABASE, self.store.obstacle, (row,))
        match self.turned_away(obstacle, alone=alone):
            case Delete():
                yield (QUEUE, self.queue.delete, (delivery,))
            case Wait(delay_s=delay_s):
                yield from self.postpone(delivery, int(delay_s))
            case Isolate():
                yield from self.isolate(delivery)
            case GiveUpCrashed():
                ended = yield (DATABASE, self.store.give_up, (row,))
                if ended:
                    yield (QUEUE, self.queue.delete, (delivery,))
                else:
                    yield from self.postpone(delivery, 0)

    def turned_away(self, obstacle: claim_rules.Obstacle | None, *, alone: bool) -> TurnedAway:
        return claim_rules.turned_away(obstacle, alone=alone)

    def isolate(self, delivery: Delivery) -> Steps:
        """Work on a suspect once all else is done, or leave it to another worker if one is waiting here."""
        if not self.closed:
            self.closed = True
            try:
                while self.handled > 1:
                    yield _CLOSED_S
                    if not (yield (QUEUE, self.queue.extend, (delivery, self.store.lease_s))):
                        return
                yield from self.handle(delivery, alone=True)
            finally:
                self.closed = False
            return
        yield from self.postpone(delivery, 0)

    def _work(self, claim: Claim, delivery: Delivery) -> Steps:
        passage = self.pauses.passage(id_of(claim.row))
        beat = self._beat(claim, delivery, self.kernel.current)
        beating = self.kernel.spawn(self.process, beat, delay_s=self.heartbeat_s)
        outcome: DocmillError | ClaimLostError | None = None
        claim.in_company = bool(self.working)
        for other in self.working:
            other.in_company = True
        self.working.append(claim)
        try:
            try:
                yield from self._attempt(claim, delivery, passage)
            except (DocmillError, ClaimLostError) as error:
                outcome = error
            finally:
                self.kernel.end(beating)
                claim.working = False
                self.working.remove(claim)
            yield from self.conclude(claim, delivery, outcome, passage)
        except CancelledTaskError:
            yield from self.let_go(claim, delivery)

    def conclude(
        self,
        claim: Claim,
        delivery: Delivery,
        outcome: DocmillError | ClaimLostError | None,
        passage: Passage,
    ) -> Steps:
        """Settle what came of an attempt."""
        claim.is_free = _is_free(outcome, passage)
        claim.message_lost = isinstance(outcome, MessageLostError)
        yield from self.settle(claim, delivery, self.settlement(claim, outcome, passage))

    def _attempt(self, claim: Claim, delivery: Delivery, passage: Passage) -> Steps:
        row = claim.row
        behaviour = row.behaviours[min(row.runs, len(row.behaviours) - 1)]
        row.runs += 1
        first_s, then_s = behaviour.work_s
        yield from self._step(claim)
        if not (yield (FILES, self.store.get_journal, (row,))):
            yield first_s
            if behaviour.fatal:
                self.store.note_death(row)
                raise FatalError
            yield (FILES, self.store.put_journal, (row, claim.number))
        yield from self._step(claim)
        passage.enter_step(_PAUSED_STEP)
        yield then_s
        if isinstance(behaviour.error, SetupError):
            error = type(behaviour.error)(
                behaviour.error.message
            )  # a new one: it is told where it comes from
            passage.leave(_PAUSED_STEP, error)
            raise error
        if behaviour.error is not None:
            raise behaviour.error.with_traceback(None)
        passage.leave(_PAUSED_STEP, None)
        if (missing := self.model_error(behaviour)) is None:
            yield from self.store_result(claim, delivery)
        elif not behaviour.by_rules or self.asks_again(claim, missing):
            raise missing
        else:
            yield from self.store_result(claim, delivery, by_rules=True)

    def model_error(self, behaviour: Behaviour) -> TransientError | None:
        """The error of the model if it is asked and stays away, which some find out and others are told."""
        if not behaviour.asks_model or self.kernel.out_until[MODEL] <= self.kernel.now:
            return None
        if self.kernel.roll() < _PROBES:
            return NetworkError("no answer")
        return NetworkError("left alone", retry_after_s=_LEFT_ALONE_S, attempted=False)

    def asks_again(self, claim: Claim, error: TransientError) -> bool:
        is_last = claim.attempt >= self.store.max_attempts
        return is_asked_again(error, is_last=is_last, may_wait=self.may_wait(claim))

    def may_wait(self, claim: Claim) -> bool:
        return claim.waited_s < PATIENCE_S

    def _step(self, claim: Claim) -> Steps:
        if not (yield (DATABASE, self.store.progress, (claim,))):
            raise ClaimLostError

    def store_result(self, claim: Claim, delivery: Delivery, *, by_rules: bool = False) -> Steps:
        del delivery
        if not (yield (DATABASE, partial(self.store.finish, by_rules=by_rules), (claim,))):
            raise ClaimLostError

    def settlement(
        self, claim: Claim, outcome: DocmillError | ClaimLostError | None, passage: Passage
    ) -> Settlement:
        return claim_rules.settlement(
            outcome,
            attempt=claim.attempt,
            max_attempts=self.store.max_attempts,
            pause_s=passage.pause_s(outcome),
            jitter=self.kernel.roll(),
            may_wait=self.may_wait(claim),
        )

    def settle(self, claim: Claim, delivery: Delivery, follows: Settlement) -> Steps:
        match follows:
            case Delete():
                yield (QUEUE, self.queue.delete, (delivery,))
            case Leave():
                self.kernel.note("{} has lost {}", self.process.name, claim.row.name)
            case Retry():
                yield from self.retry(claim, delivery, follows)
            case SendAgain():
                yield from self.send_again(claim, delivery)
            case GiveUp(error=error):
                if (yield (DATABASE, self.store.fail, (claim, error))):
                    yield (QUEUE, self.queue.delete, (delivery,))

    def retry(self, claim: Claim, delivery: Delivery, retry: Retry) -> Steps:
        delay_s = int(retry.delay_s)
        self.kernel.note("{} failed {}: {}", self.process.name, claim.row.name, retry.error.code)
        set_back = partial(self.store.set_back, counts=retry.counts, error=retry.error)
        if (yield (DATABASE, set_back, (claim, delay_s))):
            if retry.counts:
                yield (QUEUE, self.queue.release, (delivery, delay_s))
            else:
                yield from self.postpone(delivery, delay_s)

    def send_again(self, claim: Claim, delivery: Delivery) -> Steps:
        """Give back a claim whose message is lost."""
        claim.message_lost = False
        if (yield (DATABASE, partial(self.store.set_back, counts=False), (claim, 0))):
            yield (QUEUE, self.queue.send, (delivery.message.row,))

    def let_go(self, claim: Claim, delivery: Delivery) -> Steps:
        try:
            if (yield (DATABASE, partial(self.store.set_back, counts=False), (claim, 0))):
                yield from self.postpone(delivery, 0)
        except ServerError:
            self.kernel.note("{} could not give {} back", self.process.name, claim.row.name)

    def _beat(self, claim: Claim, delivery: Delivery, job: Task) -> Steps:
        while True:
            asked_at = self.kernel.now
            left_s = claim.believed_until - asked_at
            if left_s <= 0:
                self.kernel.cancel(job, ClaimLostError())
                return
            try:
                held = yield from self.extend(claim, delivery)
            except MessageLostError as loss:
                self.kernel.cancel(job, loss)
                return
            except ServerError:
                yield max(0, min(_RETRY_S, claim.believed_until - self.kernel.now))
                continue
            if not held:
                self.kernel.cancel(job, ClaimLostError())
                return
            claim.believed_until = asked_at + self.store.lease_s
            yield self.heartbeat_s

    def extend(self, claim: Claim, delivery: Delivery) -> Generator[Request, bool, bool]:
        if not (yield (QUEUE, self.queue.extend, (delivery, self.store.lease_s))):
            raise MessageLostError
        return (yield (DATABASE, self.store.extend, (claim,)))


def _is_free(outcome: DocmillError | ClaimLostError | None, passage: Passage) -> bool:
    """Whether this is no attempt, whatever the protocol makes of it."""
    match outcome:
        case SetupError():
            return passage.pause_s(outcome) is not None
        case TransientError():
            return not outcome.attempted
        case _:
            return False
