import logging
from uuid import UUID, uuid4

import pytest

from docmill.errors import (
    CorruptError,
    DocmillError,
    MisconfiguredError,
    RateLimitedError,
    ServerError,
    SetupError,
    UnauthorizedError,
)
from docmill.resilience.breaker import Breaker
from docmill.service.protocol.claim_rules import ClaimLostError
from docmill.service.protocol.pause import WHOLE, Cause, Pauses, guarded_part, paused_part

MODEL = "small model"


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
def pauses(clock: Clock, told: list[tuple[str, float]]) -> Pauses:
    return Pauses(
        60, on_pause=lambda code, seconds: told.append((code, seconds)), clock=clock, jitter=lambda: 0
    )


def refused() -> SetupError:
    return UnauthorizedError("the key is refused")


def attempt(
    pauses: Pauses,
    *parts: str,
    error: DocmillError | ClaimLostError | None = None,
    document: UUID | None = None,
) -> DocmillError | ClaimLostError | None:
    """What becomes of a document that needs these parts, the last of which raises `error`."""
    document = document or uuid4()
    passage = pauses.passage(document)
    try:
        for part in parts:
            passage.enter_step(part)
            passage.leave(part, error if part == parts[-1] else None)
    except SetupError as refusal:
        return refusal
    finally:
        pauses.give_back(document)
    return error


def test_without_a_setup_error_nothing_is_paused(pauses: Pauses) -> None:
    for error in (None, ServerError("down"), CorruptError("broken"), ClaimLostError()):
        attempt(pauses, "extract", error=error)

    assert (pauses.causes, pauses.retry_s("extract")) == ([], 0)


def test_a_setup_error_pauses_its_part_and_says_what_a_person_must_mend(
    pauses: Pauses, told: list[tuple[str, float]], caplog: pytest.LogCaptureFixture
) -> None:
    attempt(pauses, "extract", error=refused())

    assert pauses.causes == [Cause("extract", "extract", "unauthorized", "the key is refused")]
    assert told == [("unauthorized", 60)]
    (record,) = caplog.records
    assert (record.levelno, record.__dict__["code"], record.__dict__["part"]) == (
        logging.CRITICAL,
        "unauthorized",
        "extract",
    )


def test_what_does_not_need_a_paused_part_goes_on(pauses: Pauses) -> None:
    attempt(pauses, "read", "extract", error=refused())

    refusal = attempt(pauses, "read", "extract")

    assert attempt(pauses, "read", "transcribe") is None
    assert isinstance(refusal, UnauthorizedError)
    assert (refusal.message, refusal.part, refusal.step) == ("the key is refused", "extract", "extract")
    assert not refusal.attempted


def test_a_document_that_is_turned_back_waits_for_the_next_probe(pauses: Pauses, clock: Clock) -> None:
    attempt(pauses, "extract", error=refused())
    clock.now += 20
    waiting = uuid4()
    passage = pauses.passage(waiting)
    with pytest.raises(SetupError) as turned_back:
        passage.enter_step("extract")

    wait_s = passage.pause_s(turned_back.value)

    assert wait_s == 40
    assert pauses.may_begin_in_s(waiting) == 40
    assert pauses.may_begin_in_s(uuid4()) == 0


def test_of_those_that_wait_one_at_a_time_is_let_through(pauses: Pauses, clock: Clock) -> None:
    attempt(pauses, "extract", error=refused())
    first, second = uuid4(), uuid4()
    for each in (first, second):
        attempt(pauses, "extract", document=each)
    clock.now += 60

    probe = pauses.passage(first)
    assert pauses.may_begin_in_s(first) == 0
    assert pauses.may_begin_in_s(second) == 5
    assert isinstance(attempt(pauses, "extract"), UnauthorizedError)

    probe.enter_step("extract")
    probe.leave("extract", None)
    assert pauses.may_begin_in_s(second) == 0
    assert attempt(pauses, "extract") is None
    assert pauses.causes == []


def test_who_was_refused_by_the_part_itself_comes_after_the_others(pauses: Pauses) -> None:
    passage = pauses.passage(uuid4())
    passage.enter_step("extract")
    error = refused()
    passage.leave("extract", error)

    assert passage.pause_s(error) == 90


def test_the_wait_grows_with_each_probe_that_is_refused_up_to_a_longest(pauses: Pauses, clock: Clock) -> None:
    attempt(pauses, "extract", error=refused())
    waits: list[float] = []
    for _ in range(6):
        waits.append(pauses.retry_s("extract"))
        clock.now += waits[-1]
        attempt(pauses, "extract", error=refused())

    assert waits == [60, 120, 240, 480, 960, 960]


@pytest.mark.parametrize("outcome", [None, CorruptError("broken")])
def test_a_probe_that_gets_through_ends_the_pause(
    pauses: Pauses, clock: Clock, outcome: DocmillError | None
) -> None:
    attempt(pauses, "extract", error=refused())
    clock.now += 60

    attempt(pauses, "extract", error=outcome)

    assert (pauses.causes, pauses.retry_s("extract")) == ([], 0)


@pytest.mark.parametrize("outcome", [ServerError("down"), ClaimLostError()])
def test_a_probe_that_proves_nothing_is_followed_by_another(
    pauses: Pauses, clock: Clock, outcome: DocmillError | ClaimLostError
) -> None:
    attempt(pauses, "extract", error=refused())
    clock.now += 60

    attempt(pauses, "extract", error=outcome)

    assert len(pauses.causes) == 1
    assert pauses.retry_s("extract") == 60


def test_a_probe_that_never_comes_to_the_part_is_followed_by_another(pauses: Pauses, clock: Clock) -> None:
    waiting = uuid4()
    attempt(pauses, "extract", error=refused())
    attempt(pauses, "extract", document=waiting)
    clock.now += 60

    assert pauses.may_begin_in_s(waiting) == 0
    attempt(pauses, "read", error=ServerError("down"), document=waiting)
    clock.now += 60

    assert attempt(pauses, "extract") is None


def test_what_began_before_the_pause_changes_nothing(
    pauses: Pauses, clock: Clock, told: list[tuple[str, float]]
) -> None:
    others = [pauses.passage(uuid4()) for _ in range(3)]
    for each in others:
        each.enter_step("extract")
    clock.now += 1
    attempt(pauses, "extract", error=refused())

    for each, outcome in zip(others, (refused(), None, ServerError("down")), strict=True):
        each.leave("extract", outcome)

    assert pauses.retry_s("extract") == 60
    assert len(told) == 1


def test_a_late_refusal_of_before_the_mending_begins_no_new_pause(pauses: Pauses, clock: Clock) -> None:
    late = pauses.passage(uuid4())
    late.enter_step("extract")
    clock.now += 1
    attempt(pauses, "extract", error=refused())
    clock.now += 60
    attempt(pauses, "extract")

    late.leave("extract", refused())

    assert pauses.causes == []


def test_a_new_pause_begins_with_the_first_wait_and_may_have_another_cause(
    pauses: Pauses, clock: Clock
) -> None:
    for _ in range(2):
        attempt(pauses, "extract", error=refused())
        clock.now += pauses.retry_s("extract")
    attempt(pauses, "extract")

    attempt(pauses, "extract", error=MisconfiguredError("no model is named"))

    assert pauses.causes == [Cause("extract", "extract", "misconfigured", "no model is named")]
    assert pauses.retry_s("extract") == 60


def test_an_error_that_others_do_not_have_is_the_documents_own(pauses: Pauses, clock: Clock) -> None:
    odd = uuid4()
    attempt(pauses, "extract", error=refused(), document=odd)
    clock.now += 60
    attempt(pauses, "extract")
    clock.now += 1

    for _ in range(3):
        passage, error = pauses.passage(odd), refused()
        passage.enter_step("extract")
        passage.leave("extract", error)
        assert error.is_own
        assert passage.pause_s(error) is None

    assert pauses.causes == []


def test_who_passed_before_the_refusal_makes_no_error_a_documents_own(pauses: Pauses, clock: Clock) -> None:
    odd, early = uuid4(), pauses.passage(uuid4())
    early.enter_step("extract")
    clock.now += 1
    attempt(pauses, "extract", error=refused(), document=odd)
    early.leave("extract", None)
    clock.now += 60

    passage, error = pauses.passage(odd), refused()
    passage.enter_step("extract")
    passage.leave("extract", error)

    assert not error.is_own
    assert passage.pause_s(error) is not None
    assert pauses.retry_s("extract") == 120


async def test_a_part_within_a_step_is_paused_and_the_step_is_not(pauses: Pauses) -> None:
    passage = pauses.passage(uuid4())
    passage.enter_step("extract")
    with passage.under_way(), pytest.raises(UnauthorizedError) as raised:
        async with guarded_part(Breaker(MODEL)):
            raise refused()
    passage.leave("extract", raised.value)

    assert pauses.causes == [Cause(MODEL, "extract", "unauthorized", "the key is refused")]
    other = pauses.passage(uuid4())
    other.enter_step("extract")
    with other.under_way(), pytest.raises(UnauthorizedError, match="the key is refused"):
        async with paused_part(MODEL):
            pytest.fail("a part that is paused is not called")


async def test_a_part_that_works_again_is_known_by_its_first_call(pauses: Pauses, clock: Clock) -> None:
    with pauses.passage(uuid4()).under_way(), pytest.raises(UnauthorizedError):
        async with paused_part(MODEL):
            raise refused()
    clock.now += 60

    with pauses.passage(uuid4()).under_way():
        async with paused_part(MODEL):
            pass

    assert pauses.causes == []


async def test_outside_of_a_worker_no_part_is_paused() -> None:
    for _ in range(2):
        with pytest.raises(UnauthorizedError, match="the key is refused"):
            async with paused_part(MODEL):
                raise refused()
    async with paused_part(MODEL):
        pass


def test_errors_outside_of_any_step_pause_the_whole(pauses: Pauses) -> None:
    passage = pauses.passage(uuid4())
    passage.enter(WHOLE)

    passage.leave(WHOLE, refused())

    assert [cause.part for cause in pauses.causes] == [WHOLE]


def test_other_errors_wait_by_their_own_rules(pauses: Pauses) -> None:
    assert pauses.passage(uuid4()).pause_s(RateLimitedError("slow down")) == 0


def test_an_error_of_a_part_that_nobody_knows_waits_for_the_first_time(pauses: Pauses) -> None:
    assert pauses.passage(uuid4()).pause_s(refused()) == 60


def test_only_so_many_documents_are_remembered(
    pauses: Pauses, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr("docmill.service.protocol.pause._REMEMBERED", 2)
    first = uuid4()
    attempt(pauses, "extract", error=refused(), document=first)
    for _ in range(2):
        clock.now += pauses.retry_s("extract")
        attempt(pauses, "extract", error=refused())

    assert pauses.may_begin_in_s(first) == 0
