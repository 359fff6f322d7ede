from dataclasses import dataclass

import pytest

from docmill.errors import (
    CorruptError,
    DocmillError,
    MisconfiguredError,
    NetworkError,
    RateLimitedError,
    ServerError,
)
from docmill.resilience.attempts import GiveUp, Retry
from docmill.service.protocol.claim_rules import (
    ClaimLostError,
    Delete,
    GiveUpCrashed,
    Isolate,
    Leave,
    MessageLostError,
    Obstacle,
    SendAgain,
    Settlement,
    TurnedAway,
    Wait,
    settlement,
    turned_away,
)
from support.claim_predicates import holds, may_claim, may_give_up, obstacle_of

DOWN, SLOW, BROKEN, NO_KEY = (
    ServerError("down"),
    RateLimitedError("slow"),
    CorruptError("broken"),
    MisconfiguredError("no key"),
)
ASKED = RateLimitedError("slow", retry_after_s=7)
OPEN = NetworkError("not asked", retry_after_s=9, attempted=False)


@dataclass
class Row:
    status: str = "in-progress"
    fence: int = 3
    attempt_count: int = 1
    deaths: int = 0
    lease_until: float | None = None
    next_attempt_at: float | None = None


@pytest.mark.parametrize(
    ("error", "attempt", "expected"),
    [
        (DOWN, 1, Retry(DOWN, 5)),
        (DOWN, 2, Retry(DOWN, 60)),
        (DOWN, 3, GiveUp(DOWN)),
        (ASKED, 1, Retry(ASKED, 7)),
        (SLOW, 2, Retry(SLOW, 30)),
        (BROKEN, 1, GiveUp(BROKEN)),
        (NO_KEY, 3, Retry(NO_KEY, 60, counts=False)),
        (OPEN, 3, Retry(OPEN, 9, counts=False)),
        (None, 1, Delete()),
        (ClaimLostError(), 1, Leave()),
        (MessageLostError(), 3, SendAgain()),
    ],
)
def test_the_class_of_an_outcome_decides(
    error: DocmillError | ClaimLostError | None, attempt: int, expected: Settlement
) -> None:
    assert settlement(error, attempt=attempt, max_attempts=3, pause_s=60, jitter=0) == expected


@pytest.mark.parametrize(
    ("obstacle", "expected"),
    [
        (None, Delete()),
        (Obstacle("completed", 0, attempts_used_up=False), Delete()),
        (Obstacle("failed", 0, attempts_used_up=True), Delete()),
        (Obstacle("in-progress", 12, attempts_used_up=True), Wait(12)),
        (Obstacle("in-progress", 0, attempts_used_up=True), GiveUpCrashed()),
        (Obstacle("in-progress", 0, attempts_used_up=False), Wait(1)),
        (Obstacle("in-progress", 0, attempts_used_up=False, suspect=True), Isolate()),
        (Obstacle("in-progress", 12, attempts_used_up=False, suspect=True), Wait(12)),
        (Obstacle("in-progress", 0, attempts_used_up=True, suspect=True), GiveUpCrashed()),
    ],
)
def test_a_message_is_deleted_only_when_nobody_may_need_it(
    obstacle: Obstacle | None, expected: TurnedAway
) -> None:
    assert turned_away(obstacle) == expected


def test_a_suspect_that_cannot_be_had_alone_either_is_just_being_changed() -> None:
    suspect = Obstacle("in-progress", 0, attempts_used_up=False, suspect=True)

    assert turned_away(suspect, alone=True) == Wait(1)


@pytest.mark.parametrize(
    ("row", "claimable", "hopeless", "obstacle"),
    [
        (Row(), True, False, Obstacle("in-progress", 0, attempts_used_up=False)),
        (Row(lease_until=101), False, False, Obstacle("in-progress", 1, attempts_used_up=False)),
        (
            Row(next_attempt_at=100),
            True,
            False,
            Obstacle("in-progress", 0, attempts_used_up=False),
        ),
        (
            Row(next_attempt_at=102),
            False,
            False,
            Obstacle("in-progress", 2, attempts_used_up=False),
        ),
        (Row(attempt_count=3), False, True, Obstacle("in-progress", 0, attempts_used_up=True)),
        (
            Row(attempt_count=3, lease_until=101),
            False,
            False,
            Obstacle("in-progress", 1, attempts_used_up=True),
        ),
        (Row(status="failed"), False, False, Obstacle("failed", 0, attempts_used_up=False)),
    ],
)
def test_only_an_unfinished_ingestion_that_nobody_holds_can_be_had(
    row: Row, *, claimable: bool, hopeless: bool, obstacle: Obstacle
) -> None:
    assert may_claim(row, 100, 3) is claimable
    assert may_give_up(row, 100, 3) is hopeless
    assert obstacle_of(row, 100, 3) == obstacle


@pytest.mark.parametrize(
    ("row", "beside_others", "alone", "hopeless"),
    [
        (Row(lease_until=100), False, True, False),
        (Row(deaths=1), False, True, False),
        (Row(deaths=3), False, True, False),
        (Row(deaths=3, lease_until=100), False, False, True),
        (Row(deaths=4), False, False, True),
        (Row(deaths=4, lease_until=101), False, False, False),
        (Row(attempt_count=3, lease_until=100), False, True, False),
        (Row(attempt_count=4, lease_until=100), False, False, True),
    ],
)
def test_what_a_worker_died_with_is_tried_alone_and_costs_no_attempt(
    row: Row, *, beside_others: bool, alone: bool, hopeless: bool
) -> None:
    assert may_claim(row, 100, 3) is beside_others
    assert may_claim(row, 100, 3, alone=True) is alone
    assert may_give_up(row, 100, 3) is hopeless


@pytest.mark.parametrize(
    ("row", "fence", "expected"),
    [
        (Row(lease_until=1), 3, True),
        (Row(), 2, False),
        (Row(status="completed"), 3, False),
    ],
)
def test_only_the_last_claim_of_an_unfinished_ingestion_writes(
    row: Row, fence: int, *, expected: bool
) -> None:
    assert holds(row, fence) is expected
