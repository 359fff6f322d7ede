"""The protocol of matching in the same world: documents are asked for, some again and again.

The decisions are the real ones. What `store/matching_jobs.py` does in SQL, `MatchingStore` does here.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from docmill.errors import DocmillError, ServerError, SetupError, TransientError
from docmill.service.protocol.claim_rules import ClaimLostError
from docmill.service.protocol.matching_rules import (
    MATCHING_TRIES,
    Abandon,
    Discard,
    Fail,
    GiveUpDead,
    MatchingObstacle,
    MatchingSettlement,
    Pause,
    Postpone,
    Redeliver,
    Resend,
    is_decided_again,
    matching_settlement,
    unclaimed_matching,
)
from docmill.service.protocol.pause import Passage
from simulation.kernel import (
    DATABASE,
    QUEUE,
    CancelledTaskError,
    FatalError,
    Kernel,
    Process,
    Steps,
    Violation,
)
from simulation.plan import ODD, Behaviour, Plan
from simulation.queue import Delivery, Queue, SqsQueue
from simulation.store import PATIENCE_S, Claim, Row, Store
from simulation.worker import Worker, id_of
from simulation.world import Intake, Variant, World

LEASE_S = 60
HEARTBEAT_S = 20
PART = "matching"
_SWEEP_S = 30
_RETRY_S = 5
_REQUESTS_UNTIL_S = 900


class MatchingRow(Row):
    """A document that is asked for. status: `in-progress` while it has a job, waiting or in work.

    requests: how often it was asked for; answered: those that the last end answered. attempt_count, kills:
    since the newest request. token: of the newest claim. told: how often people were told that it failed.
    """

    __slots__ = ("answered", "requests", "sent_at", "token", "told")

    def __init__(self, name: str, behaviours: tuple[Behaviour, ...]) -> None:
        super().__init__(name, behaviours)
        self.requests = 0
        self.answered = 0
        self.sent_at = 0
        self.told = 0
        self.token: object = None


@dataclass(slots=True, eq=False)
class MatchingClaim(Claim):
    """requests: those that it answers."""

    requests: int = 0


class MatchingStore(Store):
    """The jobs of all documents. Every method is one transaction."""

    __slots__ = ("fence", "intake")

    def __init__(self, kernel: Kernel, lease_s: int, max_attempts: int) -> None:
        super().__init__(kernel, lease_s, max_attempts)
        self.lease_s = LEASE_S
        self.fence = 0
        self.intake: Intake

    def insert(self, row: Row) -> bool:
        """Ask for the document. True if its message is to be sent."""
        assert isinstance(row, MatchingRow)
        now = self.kernel.now
        has_job = row.status == "in-progress"
        is_held = has_job and row.lease_until is not None and row.lease_until > now
        has_message = has_job and (is_held or (row.lease_until is None and row.next_attempt_at is None))
        if not has_job:
            row.fence = 0  # a new row
            row.forget_waiting()
        self.unfinished += row.status in {"completed", "failed"}
        self.kernel.note("{} is asked for", row.name)
        row.requests += 1
        row.status = "in-progress"
        row.has_letter = False
        row.next_attempt_at = None
        row.sent_at = now
        if not is_held:
            row.lease_until = None
            row.attempt_count = row.kills = 0
        return not has_message

    def idle(self) -> list[Row]:
        until = self.kernel.now - _SWEEP_S
        return [row for row in super().idle() if isinstance(row, MatchingRow) and row.sent_at <= until]

    def claim(self, row: MatchingRow, process: Process, token: object) -> MatchingClaim | None:
        now = self.kernel.now
        is_ours = row.token is token
        if row.status != "in-progress" or not (is_ours or self.is_free(row)):
            return None
        if not is_ours:
            self._check_takeover(row)
            self.check_patience(row)
            self.count_claim(row)
        row.token = token
        self.next_fence(row)
        row.lease_until, row.next_attempt_at = now + self.lease_s, None
        row.claims += 1
        row.entitled = row.claims
        attempt = row.attempt_count
        self.kernel.note("{} claims {} (attempt {}, fence {})", process.name, row.name, attempt, row.fence)
        row.last = claim = MatchingClaim(
            row,
            process,
            row.fence,
            attempt,
            row.claims,
            now + self.lease_s,
            self.waited_s(row),
            requests=row.requests,
        )
        return claim

    def is_free(self, row: Row) -> bool:
        now = self.kernel.now
        return (
            row.attempt_count < MATCHING_TRIES
            and (row.lease_until is None or row.lease_until <= now)
            and (row.next_attempt_at is None or row.next_attempt_at <= now)
        )

    def next_fence(self, row: Row) -> None:
        self.fence += 1
        row.fence = self.fence

    def matching_obstacle(self, row: Row) -> MatchingObstacle | None:
        if row.status != "in-progress":
            return None
        until = max(row.lease_until or 0, row.next_attempt_at or 0)
        return MatchingObstacle(max(0, until - self.kernel.now), row.attempt_count >= MATCHING_TRIES)

    def holds(self, claim: Claim) -> bool:
        return claim.row.status == "in-progress" and claim.row.fence == claim.fence

    def ends(self, claim: MatchingClaim) -> bool:
        """True if the job is over with the claim; else the document was asked for meanwhile."""
        assert isinstance(claim.row, MatchingRow)
        return claim.row.requests == claim.requests

    def write_meanwhile(self, claim: MatchingClaim) -> bool:
        """Links by rules, which others are to follow."""
        if not self.holds(claim):
            return False
        self.write(claim)
        return True

    def end(self, claim: MatchingClaim, status: str, *, in_vain: bool = False) -> str:
        """in_vain: whether a model was waited for that did not come back."""
        row = claim.row
        assert isinstance(row, MatchingRow)
        if not self.holds(claim):
            return "lost"
        self.write(claim)
        if in_vain:
            self.check_waited(row)
        if status == "completed":
            row.effects += 1
        if not self.ends(claim):
            self.begin_again(row)
            return "requested again"
        row.answered = claim.requests
        self._end(row, status)
        if status == "failed":
            self.tell(row)
        return "ended"

    def begin_again(self, row: MatchingRow) -> None:
        self.next_fence(row)
        row.lease_until = row.next_attempt_at = None
        row.entitled = row.attempt_count = row.kills = 0
        row.token = None
        self.send_again(row)

    def send_again(self, row: MatchingRow) -> None:
        self.intake.put(row)

    def tell(self, row: MatchingRow) -> None:
        row.has_letter = True
        row.told += 1

    def release(
        self, claim: MatchingClaim, delay_s: int, *, counts: bool, error: DocmillError | None = None
    ) -> str:
        row = claim.row
        assert isinstance(row, MatchingRow)
        if not self.holds(claim):
            return "lost"
        self.write(claim)
        if not self.ends(claim):
            self.begin_again(row)
            return "requested again"
        self.next_fence(row)
        row.lease_until, row.token, row.entitled = None, None, 0
        row.next_attempt_at = self.kernel.now + delay_s
        row.attempt_count -= not counts
        self.note_wait(row, waits=isinstance(error, TransientError) and not counts)
        return "ended"

    def give_up_dead(self, row: MatchingRow) -> bool:
        if row.status != "in-progress" or row.attempt_count < MATCHING_TRIES:
            return False
        if row.lease_until is not None and row.lease_until > self.kernel.now:
            return False
        self._check_takeover(row)
        row.answered = row.requests
        self.next_fence(row)
        self._end(row, "failed")
        self.tell(row)
        return True

    def note_death(self, row: Row) -> None:
        row.kills += 1
        if row.kills > MATCHING_TRIES:
            raise Violation("a document killed too many workers", row.name)


class MatchingWorker(Worker):
    """What one process does with the messages of matching."""

    store: MatchingStore  # pyright: ignore[reportIncompatibleVariableOverride]  a variant names both
    heartbeat_s: ClassVar[int] = HEARTBEAT_S

    def _job(self, delivery: Delivery) -> Steps:
        try:
            yield from self._begin(delivery)
        except ServerError:
            yield from self._leave(delivery)
        except (CancelledTaskError, ClaimLostError):
            return
        finally:
            self.handled -= 1

    def _leave(self, delivery: Delivery) -> Steps:
        self.kernel.note("{} leaves its message to be delivered again", self.process.name)
        try:
            yield (QUEUE, self.queue.release, (delivery, _RETRY_S))
        except (ServerError, CancelledTaskError):
            return

    def replace(self, delivery: Delivery, delay_s: int) -> Steps:
        yield (QUEUE, self.queue.send, (delivery.message.row, delay_s))
        yield (QUEUE, self.queue.delete, (delivery,))

    def _begin(self, delivery: Delivery) -> Steps:
        document = id_of(delivery.message.row)
        try:
            yield from self.handle(delivery, alone=False)
        finally:
            self.pauses.give_back(document)

    def handle(self, delivery: Delivery, *, alone: bool) -> Steps:
        del alone
        row, token = delivery.message.row, object()
        claim: MatchingClaim | None = None
        try:
            claim = yield (DATABASE, self.store.claim, (row, self.process, token))
        except ServerError:  # asked again, as one who may not have heard of the commit
            yield 1
            claim = yield (DATABASE, self.store.claim, (row, self.process, token))
        if claim is not None:
            yield from self._work(claim, delivery)
            return
        obstacle = yield (DATABASE, self.store.matching_obstacle, (row,))
        match unclaimed_matching(obstacle):
            case Discard():
                yield (QUEUE, self.queue.delete, (delivery,))
            case Postpone(delay_s=delay_s):
                yield (QUEUE, self.queue.postpone, (delivery, int(delay_s)))
            case GiveUpDead():
                if (yield (DATABASE, self.store.give_up_dead, (row,))):
                    yield (QUEUE, self.queue.delete, (delivery,))
                else:
                    yield (QUEUE, self.queue.postpone, (delivery, 0))

    def _attempt(self, claim: Claim, delivery: Delivery, passage: Passage) -> Steps:
        row = claim.row
        behaviour = row.behaviours[min(row.runs, len(row.behaviours) - 1)]
        row.runs += 1
        passage.enter(PART)
        yield behaviour.work_s[0]
        if behaviour.fatal:
            if isinstance(claim, MatchingClaim) and self.store.ends(claim):  # not of an earlier request
                self.store.note_death(row)
            raise FatalError
        yield behaviour.work_s[1]
        if isinstance(behaviour.error, SetupError):
            raise type(behaviour.error)(behaviour.error.message)  # a new one: it is told where it comes from
        if behaviour.error is not None:
            raise behaviour.error.with_traceback(None)
        missing = self.model_error(behaviour)
        if missing is not None:
            if not behaviour.by_rules:
                raise missing
            if self.asks_again(claim, missing):
                if not (yield (DATABASE, self.store.write_meanwhile, (claim,))):
                    raise ClaimLostError
                raise missing
        yield from self.store_result(claim, delivery, by_rules=missing is not None)

    def asks_again(self, claim: Claim, error: TransientError) -> bool:
        return is_decided_again(error, may_wait=self.may_wait(claim))

    def store_result(self, claim: Claim, delivery: Delivery, *, by_rules: bool = False) -> Steps:
        del delivery
        if (yield (DATABASE, partial(self.store.end, in_vain=by_rules), (claim, "completed"))) == "lost":
            raise ClaimLostError

    def conclude(
        self,
        claim: Claim,
        delivery: Delivery,
        outcome: DocmillError | ClaimLostError | None,
        passage: Passage,
    ) -> Steps:
        assert isinstance(claim, MatchingClaim)
        passage.leave(PART, outcome)
        follows = matching_settlement(
            outcome,
            attempt=claim.attempt,
            pause_s=passage.pause_s(outcome),
            may_wait=self.may_wait(claim),
        )
        yield from self.settle_matching(claim, delivery, follows)

    def settle_matching(self, claim: MatchingClaim, delivery: Delivery, follows: MatchingSettlement) -> Steps:
        match follows:
            case Discard():
                yield (QUEUE, self.queue.delete, (delivery,))
            case Abandon():
                self.kernel.note("{} has lost {}", self.process.name, claim.row.name)
            case Resend():
                release = partial(self.store.release, counts=False)
                if (yield (DATABASE, release, (claim, 0))) == "ended":
                    yield (QUEUE, self.queue.send, (delivery.message.row,))
            case Redeliver(delay_s=delay_s) | Pause(delay_s=delay_s):
                yield from self.set_back(claim, delivery, follows, int(delay_s))
            case Fail(error=error, keeps_message=keeps_message):
                end = partial(
                    self.store.end, in_vain=isinstance(error, TransientError) and not error.attempted
                )
                ending = yield (DATABASE, end, (claim, "failed"))
                if ending == "ended" and keeps_message:
                    yield (QUEUE, self.queue.release, (delivery, 0))
                elif ending != "lost":
                    yield (QUEUE, self.queue.delete, (delivery,))

    def set_back(
        self, claim: MatchingClaim, delivery: Delivery, follows: Redeliver | Pause, delay_s: int
    ) -> Steps:
        counts = isinstance(follows, Redeliver)
        release = partial(self.store.release, counts=counts, error=follows.error)
        ending = yield (DATABASE, release, (claim, delay_s))
        if ending == "requested again":
            yield (QUEUE, self.queue.delete, (delivery,))
        elif ending == "ended" and counts and delivery.message.received < self.queue.max_receives:
            yield (QUEUE, self.queue.release, (delivery, delay_s))
        elif ending == "ended":
            yield from self.replace(delivery, delay_s)

    def let_go(self, claim: Claim, delivery: Delivery) -> Steps:
        assert isinstance(claim, MatchingClaim)
        try:
            release = partial(self.store.release, counts=False)
            if (yield (DATABASE, release, (claim, 0))) != "lost":
                yield from self.replace(delivery, 0)
        except ServerError:
            self.kernel.note("{} could not give {} back", self.process.name, claim.row.name)


class MatchingQueue(Queue):
    """See `Queue`."""

    __slots__ = ()


class MatchingSqsQueue(SqsQueue):
    """See `SqsQueue`. What waits is not replaced: duplicates would become ever more."""

    __slots__ = ()

    def must_replace(self, delivery: Delivery) -> bool:
        del delivery
        return False

    @property
    def fewest_to_die(self) -> int:
        return 0


class MatchingWorld(World):
    """One schedule of documents that are asked for, some of them several times."""

    store: MatchingStore

    def prepare(self) -> None:
        self.queue.visibility_s = LEASE_S
        self.queue.max_receives = MATCHING_TRIES
        self.store.intake = self.intake

    def new_row(self, name: str, behaviours: tuple[Behaviour, ...]) -> Row:
        row = MatchingRow(name, behaviours)
        below = self.kernel.random.randrange
        # Once the odd one has failed, nobody gets through any more by whom it could be told to be odd.
        until_s = 2 * PATIENCE_S if self.plan.models_stay_away else _REQUESTS_UNTIL_S
        for _ in range(0 if ODD in behaviours else below(3)):
            self.kernel.spawn(self.init, self._client(row), delay_s=below(until_s))
        return row

    @property
    def sweeps(self) -> bool:
        return self.variant.sweeps

    def deadline_s(self, plan: Plan) -> int:
        del plan
        return 60_000

    def _quiet(self) -> bool:
        # Clients may still be about to ask. What is dead in the queue stays there.
        return not (
            self.store.unfinished
            or self.queue.messages
            or self.kernel.jobs
            or self.store.outbox
            or self.init.tasks
        )

    def _sweeping(self) -> Steps:
        """Send what has neither a worker nor a message. Dead messages stay where they are."""
        while True:
            try:
                idle: list[Row] = yield (DATABASE, self.store.idle, ())
                for row in idle:
                    if not (yield (QUEUE, self.queue.has_message, (row,))):
                        yield (QUEUE, self.queue.send, (row,))
            except ServerError:
                pass
            yield _SWEEP_S

    def check(self, row: Row) -> None:
        assert isinstance(row, MatchingRow)
        if row.has_letter != (row.status == "failed") or (row.status == "failed" and not row.told):
            raise Violation("a failed document has no dead letter", row.name)
        if row.answered != row.requests:
            raise Violation("a request was lost", row.name)
        if row.status == "completed" and not row.effects:
            raise Violation("completed without a result", row.name)


MATCHING = Variant(
    store=MatchingStore,
    queue=MatchingQueue,
    external_queue=MatchingSqsQueue,
    worker=MatchingWorker,
    world=MatchingWorld,
)
