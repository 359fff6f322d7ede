"""The decisions of the protocol of matching, by class of error and number of delivery."""

import pytest

from docmill.errors import (
    BadModelOutputError,
    ContextTooLongError,
    DocmillError,
    InternalError,
    RateLimitedError,
    ServerError,
    UnauthorizedError,
)
from docmill.service.protocol.claim_rules import ClaimLostError, MessageLostError
from docmill.service.protocol.matching_rules import (
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
    matching_settlement,
    unclaimed_matching,
)

DOWN, ODD, LONG, KEY, FAULT = (
    ServerError("down"),
    BadModelOutputError("odd"),
    ContextTooLongError("long"),
    UnauthorizedError("key"),
    InternalError("fault"),
)
OPEN = ServerError("not asked", attempted=False)
LATER = RateLimitedError("slow", retry_after_s=900)


@pytest.mark.parametrize(
    ("outcome", "attempt", "pause_s", "follows"),
    [
        (None, 1, 0.0, Discard()),
        (None, 3, 0.0, Discard()),
        (ClaimLostError(), 1, 0.0, Abandon()),
        (MessageLostError(), 3, 0.0, Resend()),
        (DOWN, 1, 0.0, Redeliver(DOWN, 300)),
        (DOWN, 2, 0.0, Redeliver(DOWN, 1800)),
        (DOWN, 3, 0.0, Fail(DOWN, keeps_message=True)),
        (ODD, 1, 0.0, Redeliver(ODD, 300)),
        (FAULT, 1, 0.0, Redeliver(FAULT, 300)),
        (LATER, 1, 0.0, Redeliver(LATER, 900)),
        (LATER, 2, 0.0, Redeliver(LATER, 1800)),
        (OPEN, 3, 0.0, Pause(OPEN, 300)),
        (LONG, 1, 0.0, Fail(LONG, keeps_message=False)),
        (LONG, 3, 0.0, Fail(LONG, keeps_message=False)),
        (KEY, 1, 60.0, Pause(KEY, 60)),
        (KEY, 3, 60.0, Pause(KEY, 60)),
        (KEY, 1, None, Fail(KEY, keeps_message=False)),
    ],
)
def test_what_follows_is_decided_by_class_and_delivery(
    outcome: DocmillError | ClaimLostError | None,
    attempt: int,
    pause_s: float | None,
    follows: MatchingSettlement,
) -> None:
    assert matching_settlement(outcome, attempt=attempt, pause_s=pause_s) == follows


def test_a_document_that_may_wait_no_longer_fails_and_leaves_no_dead_message() -> None:
    follows = matching_settlement(OPEN, attempt=1, pause_s=0.0, may_wait=False)

    assert follows == Fail(OPEN, keeps_message=False)


@pytest.mark.parametrize(
    ("obstacle", "follows"),
    [
        (None, Discard()),
        (MatchingObstacle(40, attempts_used_up=False), Postpone(40)),
        (MatchingObstacle(40, attempts_used_up=True), Postpone(40)),
        (MatchingObstacle(0, attempts_used_up=True), GiveUpDead()),
        (MatchingObstacle(0, attempts_used_up=False), Postpone(1)),
    ],
)
def test_a_message_without_a_claim_is_never_lost(obstacle: MatchingObstacle | None, follows: object) -> None:
    assert unclaimed_matching(obstacle) == follows
