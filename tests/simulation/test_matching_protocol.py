"""The protocol of matching against everything that may happen to it, and with one mistake each."""

from dataclasses import replace
from functools import partial

import pytest

from simulation.explorer import explore
from simulation.kernel import DATABASE, QUEUE, Steps
from simulation.matching import MATCHING, MatchingClaim, MatchingRow, MatchingStore, MatchingWorker
from simulation.mutations import DEADLY, HASTY, NO_LETTER, OVERDUE, STALE_WRITE, STUCK, TAKEN, UNREACHABLE
from simulation.queue import Delivery
from simulation.store import Claim, Row
from simulation.world import Variant

ENOUGH = 4_000
ENOUGH_FOR_MISTAKES = 20_000
"""One of them shows in one schedule of some thousands."""
LOST = "a request was lost"


class NoFence(MatchingStore):
    def holds(self, claim: Claim) -> bool:
        return claim.row.status == "in-progress"


class FenceOfEachJob(MatchingStore):
    def next_fence(self, row: Row) -> None:
        row.fence += 1


class RequestsAreNotCompared(MatchingStore):
    def end(self, claim: MatchingClaim, status: str, *, in_vain: bool = False) -> str:
        assert isinstance(claim.row, MatchingRow)
        asked_for, claim.row.requests = claim.row.requests, claim.requests
        ending = super().end(claim, status, in_vain=in_vain)
        claim.row.requests = asked_for
        return ending


class AttemptsAreNotCounted(MatchingStore):
    def count_claim(self, row: Row) -> None:
        row.attempt_count = 1


class LeasesAreNotLookedAt(MatchingStore):
    def is_free(self, row: Row) -> bool:
        row.lease_until = None
        return super().is_free(row)


class NobodyIsTold(MatchingStore):
    def tell(self, row: MatchingRow) -> None:
        pass


class NoMessageForAnotherRequest(MatchingStore):
    def send_again(self, row: MatchingRow) -> None:
        pass


class DeletesBeforeTheCommit(MatchingWorker):
    def store_result(self, claim: Claim, delivery: Delivery, *, by_rules: bool = False) -> Steps:
        yield (QUEUE, self.queue.delete, (delivery,))
        yield (DATABASE, partial(self.store.end, in_vain=by_rules), (claim, "completed"))


class DeletesBeforeItReplaces(MatchingWorker):
    def replace(self, delivery: Delivery, delay_s: int) -> Steps:
        yield (QUEUE, self.queue.delete, (delivery,))
        yield (QUEUE, self.queue.send, (delivery.message.row, delay_s))


class WaitsWithoutEnd(MatchingWorker):
    def may_wait(self, claim: Claim) -> bool:
        del claim
        return True


class WaitsForNothing(MatchingWorker):
    def may_wait(self, claim: Claim) -> bool:
        del claim
        return False


class WaitsAnew(MatchingStore):
    def begin_waiting(self, row: Row) -> None:
        row.waiting_since = self.kernel.now


class WaitingIsRemembered(MatchingStore):
    """A new job counts on from where an earlier one waited."""

    def insert(self, row: Row) -> bool:
        since = row.waiting_since
        to_send = super().insert(row)
        row.waiting_since = since
        return to_send


MISTAKES: dict[str, tuple[Variant, str]] = {
    "there is no fence": (replace(MATCHING, store=NoFence), STALE_WRITE),
    "the fence begins anew with each job": (replace(MATCHING, store=FenceOfEachJob), STALE_WRITE),
    "requests are not compared at the end": (replace(MATCHING, store=RequestsAreNotCompared), LOST),
    "attempts are not counted": (replace(MATCHING, store=AttemptsAreNotCounted), DEADLY),
    "a leased document is claimed": (replace(MATCHING, store=LeasesAreNotLookedAt), TAKEN),
    "nobody is told of a failure": (replace(MATCHING, store=NobodyIsTold), NO_LETTER),
    "another request has no message": (replace(MATCHING, store=NoMessageForAnotherRequest), UNREACHABLE),
    "the message is deleted before the commit": (
        replace(MATCHING, worker=DeletesBeforeTheCommit),
        UNREACHABLE,
    ),
    "the message is deleted before its replacement is sent": (
        replace(MATCHING, worker=DeletesBeforeItReplaces),
        UNREACHABLE,
    ),
    "a model is waited for without end": (replace(MATCHING, worker=WaitsWithoutEnd), OVERDUE),
    "each attempt begins the time of waiting anew": (replace(MATCHING, store=WaitsAnew), OVERDUE),
    "no model is waited for": (replace(MATCHING, worker=WaitsForNothing), HASTY),
    "an earlier job's time of waiting counts": (replace(MATCHING, store=WaitingIsRemembered), HASTY),
    "nobody sweeps": (replace(MATCHING, sweeps=False), STUCK),
}


def test_no_schedule_breaks_a_promise() -> None:
    assert explore(ENOUGH, variant=MATCHING) is None


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_is_found(mistake: str) -> None:
    variant, kind = MISTAKES[mistake]

    finding = explore(ENOUGH_FOR_MISTAKES, variant=variant, kind=kind)

    assert finding is not None
