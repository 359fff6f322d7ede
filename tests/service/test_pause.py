import logging

import pytest

from docmill.errors import CorruptError, DocmillError, MisconfiguredError, ServerError, UnauthorizedError
from docmill.service.pause import Cause, Pause
from docmill.service.protocol import ClaimLostError


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def told() -> list[tuple[str, float]]:
    return []


@pytest.fixture
def pause(clock: Clock, told: list[tuple[str, float]]) -> Pause:
    return Pause(60, told=lambda code, seconds: told.append((code, seconds)), clock=clock)


def at_step(error: DocmillError, step: str) -> DocmillError:
    error.step = step
    return error


def refused() -> DocmillError:
    return at_step(UnauthorizedError("the key is refused"), "extract")


def test_without_a_setup_error_nothing_is_paused(pause: Pause, clock: Clock) -> None:
    for outcome in (None, ServerError("down"), CorruptError("broken"), ClaimLostError()):
        pause.attempt_ended(outcome, began_at=clock.now)

    assert (pause.active, pause.wait_s, pause.most(8)) == (False, 0, 8)


def test_a_setup_error_pauses_and_says_what_a_person_must_mend(
    pause: Pause, clock: Clock, told: list[tuple[str, float]], caplog: pytest.LogCaptureFixture
) -> None:
    pause.attempt_ended(refused(), began_at=clock.now - 5)

    assert pause.cause == Cause("unauthorized", "extract", "the key is refused")
    assert (pause.active, pause.wait_s, pause.most(8)) == (True, 60, 1)
    assert told == [("unauthorized", 60)]
    (record,) = caplog.records
    assert (record.levelno, record.__dict__["code"], record.__dict__["step"]) == (
        logging.CRITICAL,
        "unauthorized",
        "extract",
    )


def test_what_began_before_the_probe_changes_nothing(
    pause: Pause, clock: Clock, told: list[tuple[str, float]]
) -> None:
    pause.attempt_ended(refused(), began_at=clock.now - 5)

    for outcome in (refused(), None, ServerError("down")):
        pause.attempt_ended(outcome, began_at=clock.now - 3)

    assert (pause.active, pause.wait_s, len(told)) == (True, 60, 1)


def test_the_wait_grows_with_each_probe_that_is_refused_up_to_a_longest(pause: Pause, clock: Clock) -> None:
    pause.attempt_ended(refused(), began_at=clock.now)
    waits: list[float] = []
    for _ in range(6):
        waits.append(pause.wait_s)
        clock.now += pause.wait_s
        pause.attempt_ended(refused(), began_at=clock.now)

    assert waits == [60, 120, 240, 480, 960, 960]


@pytest.mark.parametrize("outcome", [None, at_step(CorruptError("broken"), "extract")])
def test_a_probe_that_gets_past_the_step_ends_the_pause(
    pause: Pause, clock: Clock, outcome: DocmillError | None
) -> None:
    pause.attempt_ended(refused(), began_at=clock.now)
    clock.now += 60

    pause.attempt_ended(outcome, began_at=clock.now)

    assert (pause.active, pause.wait_s, pause.most(8)) == (False, 0, 8)


@pytest.mark.parametrize(
    "outcome",
    [
        at_step(CorruptError("broken"), "transcribe"),
        at_step(ServerError("down"), "extract"),
        ClaimLostError(),
    ],
)
def test_a_probe_that_proves_nothing_is_followed_by_another(
    pause: Pause, clock: Clock, outcome: DocmillError | ClaimLostError
) -> None:
    pause.attempt_ended(refused(), began_at=clock.now)
    clock.now += 60

    pause.attempt_ended(outcome, began_at=clock.now)

    assert (pause.active, pause.wait_s) == (True, 60)


def test_a_new_pause_begins_with_the_first_wait_and_may_have_another_cause(
    pause: Pause, clock: Clock
) -> None:
    for _ in range(2):
        pause.attempt_ended(refused(), began_at=clock.now)
        clock.now += pause.wait_s
    pause.attempt_ended(None, began_at=clock.now)

    pause.attempt_ended(MisconfiguredError("no model is named"), began_at=clock.now)

    assert pause.cause == Cause("misconfigured", None, "no model is named")
    assert pause.wait_s == 60


def test_a_pause_needs_nobody_to_tell(clock: Clock) -> None:
    pause = Pause(60, clock=clock)

    pause.attempt_ended(refused(), began_at=clock.now)

    assert pause.active
