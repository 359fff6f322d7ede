"""The protocol with one mistake each. Every one of them has been made somewhere; none may go unnoticed."""

from collections.abc import Generator

from docmill.errors import DocmillError, ServerError
from docmill.resilience.attempts import GiveUp, Retry
from docmill.service.protocol.claim_rules import (
    ClaimLostError,
    Delete,
    GiveUpCrashed,
    Leave,
    Obstacle,
    SendAgain,
    Settlement,
    TurnedAway,
    Wait,
    settlement,
)
from docmill.service.protocol.pause import Passage
from simulation.kernel import DATABASE, QUEUE, Request, Steps
from simulation.queue import Delivery, Message, Queue, SqsQueue
from simulation.store import Claim, Row, Store, Unsent
from simulation.worker import PAUSE_S, Worker
from simulation.world import Intake, Variant

STALE_WRITE = "a stale owner wrote"
TAKEN = "taken from a living worker"
EARLY = "tried again too early"
DEADLY = "a document killed too many workers"
BLAMED = "blamed for the death of others"
UNUSED = "failed before its attempts were used up"
STUCK = "something is stuck"
NO_LETTER = "a failed document has no dead letter"
JOURNAL = "a stored transcription changed"
WAITED = "waiting used up a message"
OVERDUE = "a model was waited for too long"
HASTY = "ended without its model too early"
ALIVE = "a living worker was taken for dead"
UNREACHABLE = "the last message of an unfinished ingestion is gone"


class NoFence(Store):
    def holds(self, claim: Claim) -> bool:
        return claim.row.status == "in-progress"


class FenceNotRaised(Store):
    def next_fence(self, row: Row) -> None:
        pass


class FenceNotRaisedWhenGivenBack(Store):
    def set_back(
        self, claim: Claim, delay_s: int, *, counts: bool, error: DocmillError | None = None
    ) -> bool:
        held = super().set_back(claim, delay_s, counts=counts, error=error)
        if held:
            claim.row.fence -= 1
        return held


class ClaimsWhatIsLeased(Store):
    def may_claim(self, row: Row, *, alone: bool) -> bool:
        lease_until = row.lease_until
        if row.last and row.last.process.alive:
            row.lease_until = None
        may = super().may_claim(row, alone=alone)
        row.lease_until = lease_until
        return may


class ForgetsToWait(Store):
    """The delay is in the message alone; a duplicate has none."""

    def may_claim(self, row: Row, *, alone: bool) -> bool:
        waits_until, row.next_attempt_at = row.next_attempt_at, None
        may = super().may_claim(row, alone=alone)
        row.next_attempt_at = waits_until
        return may


class NoDeathsCounted(Store):
    def count_death(self, row: Row) -> None:
        super().count_death(row)
        row.deaths = 0


class DeathsCountAsAttempts(Store):
    """As it was: whoever is claimed when a worker dies loses an attempt."""

    def count_death(self, row: Row) -> None:
        super().count_death(row)
        row.deaths = 0
        row.attempt_count += 1


class SuspectsInCompany(Store):
    def may_claim(self, row: Row, *, alone: bool) -> bool:
        del alone
        return super().may_claim(row, alone=True)


class DoesNotWaitForTheOthers(Worker):
    def isolate(self, delivery: Delivery) -> Steps:
        yield from self.handle(delivery, alone=True)


class NothingIsRefunded(Store):
    def refund(self, row: Row) -> None:
        pass


class LeaseKeptWhenGivenBack(Store):
    def set_back(
        self, claim: Claim, delay_s: int, *, counts: bool, error: DocmillError | None = None
    ) -> bool:
        lease_until = claim.row.lease_until
        held = super().set_back(claim, delay_s, counts=counts, error=error)
        if held:
            claim.row.lease_until = lease_until
        return held


class GivesUpWhatIsLeased(Store):
    def may_give_up(self, row: Row) -> bool:
        is_open = row.status == "in-progress"
        return super().may_give_up(row) or (is_open and row.attempt_count >= self.max_attempts)


class GivesUpBeforeTheLeaseEnds(Worker):
    """Its statement checks no lease either; each of the two checks alone prevents the harm."""

    def turned_away(self, obstacle: Obstacle | None, *, alone: bool) -> TurnedAway:
        if obstacle and obstacle.status == "in-progress" and obstacle.attempts_used_up:
            return GiveUpCrashed()
        return super().turned_away(obstacle, alone=alone)


class NoDeadLetter(Store):
    """Written in a transaction of its own, which the worker's death prevents."""

    def give_up(self, row: Row) -> bool:
        letter = row.has_letter
        given_up = super().give_up(row)
        row.has_letter = letter
        return given_up


class JournalOverwritten(Store):
    def write_journal(self, row: Row, writer: int) -> None:
        row.journal = writer


class DeletesWhatIsClaimed(Worker):
    """As the pipeline docmill comes from did."""

    def turned_away(self, obstacle: Obstacle | None, *, alone: bool) -> TurnedAway:
        follows = super().turned_away(obstacle, alone=alone)
        return Delete() if isinstance(follows, Wait) else follows


class ExtendsTheMessageOnly(Worker):
    def extend(self, claim: Claim, delivery: Delivery) -> Generator[Request, bool, bool]:
        del claim
        return (yield (QUEUE, self.queue.extend, (delivery, self.store.lease_s)))


class NoHeartbeat(Worker):
    def extend(self, claim: Claim, delivery: Delivery) -> Generator[Request, bool, bool]:
        del claim, delivery
        return (yield (QUEUE, bool, (1,)))


class DeletesBeforeItStores(Worker):
    def store_result(self, claim: Claim, delivery: Delivery, *, by_rules: bool = False) -> Steps:
        yield (QUEUE, self.queue.delete, (delivery,))
        yield from super().store_result(claim, delivery, by_rules=by_rules)


class DeletesBeforeItFails(Worker):
    def settle(self, claim: Claim, delivery: Delivery, follows: Settlement) -> Steps:
        if isinstance(follows, GiveUp):
            yield (QUEUE, self.queue.delete, (delivery,))
        yield from super().settle(claim, delivery, follows)


class TakesAnErrorForSuccess(Worker):
    def store_result(self, claim: Claim, delivery: Delivery, *, by_rules: bool = False) -> Steps:
        try:
            yield from super().store_result(claim, delivery, by_rules=by_rules)
        except ServerError:
            return


class TakesALostClaimForSuccess(Worker):
    def settle(self, claim: Claim, delivery: Delivery, follows: Settlement) -> Steps:
        if claim.row.status == "in-progress" and not isinstance(follows, Retry | GiveUp):
            yield (QUEUE, self.queue.delete, (delivery,))
        else:
            yield from super().settle(claim, delivery, follows)


class RetriesWithoutTheMessage(Worker):
    """The ingestion is given back; its message stays hidden for the rest of its time."""

    def retry(self, claim: Claim, delivery: Delivery, retry: Retry) -> Steps:
        del delivery
        yield (DATABASE, lambda: self.store.set_back(claim, int(retry.delay_s), counts=retry.counts), ())


class ReleasesBeforeItGivesBack(Worker):
    def retry(self, claim: Claim, delivery: Delivery, retry: Retry) -> Steps:
        yield (QUEUE, self.queue.release, (delivery, 0))
        yield (DATABASE, lambda: self.store.set_back(claim, int(retry.delay_s), counts=retry.counts), ())


class SetupErrorsCount(Worker):
    def settlement(
        self, claim: Claim, outcome: DocmillError | ClaimLostError | None, passage: Passage
    ) -> Settlement:
        del passage
        return settlement(
            outcome, attempt=claim.attempt, max_attempts=self.store.max_attempts, pause_s=None, jitter=0
        )


class OwnSetupErrorsNeverEnd(Worker):
    def settlement(
        self, claim: Claim, outcome: DocmillError | ClaimLostError | None, passage: Passage
    ) -> Settlement:
        pause_s = passage.pause_s(outcome)
        return settlement(
            outcome,
            attempt=claim.attempt,
            max_attempts=self.store.max_attempts,
            pause_s=PAUSE_S if pause_s is None else pause_s,
            jitter=0,
        )


class ShutdownCounts(Worker):
    """What runs at the end of the grace time is dropped and counted as an attempt."""

    def let_go(self, claim: Claim, delivery: Delivery) -> Steps:
        if (yield (DATABASE, lambda: self.store.set_back(claim, 0, counts=True), ())):
            claim.row.free += 1
            yield (QUEUE, self.queue.release, (delivery, 0))


class WaitsCountAsReceives(Queue):
    def refund(self, message: Message) -> None:
        pass


class WaitingMessagesAreNotReplaced(SqsQueue):
    def must_replace(self, delivery: Delivery) -> bool:
        del delivery
        return False


class LostMessagesAreLeftAlone(Worker):
    """The lease runs out, as if the worker had died."""

    def settlement(
        self, claim: Claim, outcome: DocmillError | ClaimLostError | None, passage: Passage
    ) -> Settlement:
        follows = super().settlement(claim, outcome, passage)
        return Leave() if isinstance(follows, SendAgain) else follows


class SendsAfterTheCommit(Intake):
    """No outbox: a crash between the two loses the message."""

    def accept(self, row: Row) -> Steps:
        if (yield (DATABASE, self.store.insert, (row,))):
            yield (QUEUE, self.queue.send, (row,))


class SendsBeforeTheCommit(Intake):
    """The message may come before its rows and is taken for one of nothing."""

    def accept(self, row: Row) -> Steps:
        yield (QUEUE, self.queue.send, (row,))
        yield (DATABASE, self.store.insert, (row,))


class EmptiesTheOutboxFirst(Intake):
    def pass_on(self, unsent: list[Unsent]) -> Steps:
        yield (DATABASE, self.store.delete_outbox, (unsent,))
        for each in unsent:
            yield (QUEUE, self.queue.send, (each.row,))


class WaitsWithoutEnd(Worker):
    def may_wait(self, claim: Claim) -> bool:
        del claim
        return True


class WaitsForNothing(Worker):
    def may_wait(self, claim: Claim) -> bool:
        del claim
        return False


class WaitsAnew(Store):
    """Each attempt begins the time anew, as if it had found the model there."""

    def begin_waiting(self, row: Row) -> None:
        row.waiting_since = self.kernel.now


class WaitsFromTheBeginning(Store):
    """The time begins with the document, which may have waited for a person before."""

    def waited_s(self, row: Row) -> int:
        del row
        return self.kernel.now


NOBODY_SWEEPS = Variant(sweeps=False)

MUTATIONS: dict[str, tuple[Variant, str]] = {
    "no fence": (Variant(store=NoFence), STALE_WRITE),
    "a claim does not raise the fence": (Variant(store=FenceNotRaised), STALE_WRITE),
    "giving back does not raise the fence": (Variant(store=FenceNotRaisedWhenGivenBack), STALE_WRITE),
    "what is leased is claimed": (Variant(store=ClaimsWhatIsLeased), TAKEN),
    "the delay of a retry is in the message alone": (Variant(store=ForgetsToWait), EARLY),
    "deaths of workers are not counted": (Variant(store=NoDeathsCounted), DEADLY),
    "deaths of workers count as attempts": (Variant(store=DeathsCountAsAttempts), UNUSED),
    "suspects are claimed beside other work": (Variant(store=SuspectsInCompany), BLAMED),
    "a suspect does not wait for other work": (Variant(worker=DoesNotWaitForTheOthers), BLAMED),
    "setup errors and shutdowns burn attempts": (Variant(store=NothingIsRefunded), UNUSED),
    "setup errors count as attempts": (Variant(worker=SetupErrorsCount), UNUSED),
    "an error that one document alone has is never its own": (
        Variant(worker=OwnSetupErrorsNeverEnd),
        STUCK,
    ),
    "a shutdown counts as an attempt": (Variant(worker=ShutdownCounts), UNUSED),
    "waits are counted as receives": (Variant(queue=WaitsCountAsReceives), WAITED),
    "a message that waits in SQS is never replaced": (
        Variant(external_queue=WaitingMessagesAreNotReplaced),
        WAITED,
    ),
    "a model is waited for without end": (Variant(worker=WaitsWithoutEnd), OVERDUE),
    "each attempt begins the time of waiting anew": (Variant(store=WaitsAnew), OVERDUE),
    "no model is waited for": (Variant(worker=WaitsForNothing), HASTY),
    "the time of waiting begins with the document": (Variant(store=WaitsFromTheBeginning), HASTY),
    "a lost message is taken for a lost claim": (Variant(worker=LostMessagesAreLeftAlone), ALIVE),
    "the lease is kept when the claim is given back": (Variant(store=LeaseKeptWhenGivenBack), STUCK),
    "a document is given up while its last attempt runs": (
        Variant(store=GivesUpWhatIsLeased, worker=GivesUpBeforeTheLeaseEnds),
        TAKEN,
    ),
    "the dead letter is written after the commit": (Variant(store=NoDeadLetter), NO_LETTER),
    "the journal is overwritten": (Variant(store=JournalOverwritten), JOURNAL),
    "the message of a claimed ingestion is deleted": (Variant(worker=DeletesWhatIsClaimed), UNREACHABLE),
    "the heartbeat extends the message and not the lease": (Variant(worker=ExtendsTheMessageOnly), TAKEN),
    "the heartbeat extends nothing": (Variant(worker=NoHeartbeat), TAKEN),
    "the message is deleted before the result is stored": (
        Variant(worker=DeletesBeforeItStores),
        UNREACHABLE,
    ),
    "the message is deleted before the failure is stored": (
        Variant(worker=DeletesBeforeItFails),
        UNREACHABLE,
    ),
    "an error at the commit is taken for success": (Variant(worker=TakesAnErrorForSuccess), UNREACHABLE),
    "a lost claim is taken for success": (Variant(worker=TakesALostClaimForSuccess), UNREACHABLE),
    "a retry leaves its message hidden": (Variant(worker=RetriesWithoutTheMessage), STUCK),
    "a retry releases its message before its claim": (Variant(worker=ReleasesBeforeItGivesBack), STUCK),
    "the message is sent after the commit, without an outbox": (
        Variant(intake=SendsAfterTheCommit, sweeps=False),
        STUCK,
    ),
    "the message is sent before the commit": (Variant(intake=SendsBeforeTheCommit), UNREACHABLE),
    "the outbox is emptied before its messages are sent": (
        Variant(intake=EmptiesTheOutboxFirst, sweeps=False),
        STUCK,
    ),
    "nobody sweeps": (NOBODY_SWEEPS, STUCK),
}
