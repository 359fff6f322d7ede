import asyncio

import pytest

from docmill.errors import (
    LONGEST_DELAY_S,
    AiQuotaError,
    BadModelOutputError,
    DocmillError,
    NetworkError,
    RateLimitedError,
    ServerError,
    TimeLimitError,
    TransientError,
    UnauthorizedError,
)
from docmill.resilience.breaker import (
    Breaker,
    Ticket,
    guarded,
)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker("reader.example", threshold=3, recovery_s=30, longest_s=100, clock=clock, jitter=lambda: 0)


async def call(breaker: Breaker, error: Exception | None = None) -> None:
    async with guarded(breaker):
        if error is not None:
            raise error


async def fail(breaker: Breaker, error: DocmillError, *, times: int = 1) -> None:
    for _ in range(times):
        with pytest.raises(type(error)):
            await call(breaker, error)


@pytest.mark.parametrize("kind", [NetworkError, TimeLimitError, RateLimitedError, AiQuotaError, ServerError])
async def test_failures_in_a_row_open_it(breaker: Breaker, kind: type[TransientError]) -> None:
    await fail(breaker, kind("down"), times=2)
    assert breaker.state == "closed"

    await fail(breaker, kind("down"))

    assert breaker.state == "open"
    with pytest.raises(kind) as refused:
        breaker.admit()
    assert (refused.value.attempted, refused.value.retry_after_s) == (False, 30)


@pytest.mark.parametrize("answer", [None, BadModelOutputError("odd"), UnauthorizedError("no key")])
async def test_any_answer_ends_a_row_of_failures(breaker: Breaker, answer: DocmillError | None) -> None:
    await fail(breaker, ServerError("down"), times=2)
    if answer is None:
        await call(breaker)
    else:
        await fail(breaker, answer)

    await fail(breaker, ServerError("down"), times=2)

    assert breaker.state == "closed"


async def test_after_the_recovery_time_one_call_goes_and_closes_it(breaker: Breaker, clock: Clock) -> None:
    await fail(breaker, ServerError("down"), times=3)
    clock.now += 30
    assert breaker.state == "half-open"

    async with guarded(breaker):
        with pytest.raises(ServerError, match="left alone"):
            breaker.admit()

    assert breaker.state == "closed"
    await fail(breaker, ServerError("down"), times=2)
    assert breaker.state == "closed"


async def test_a_probe_that_fails_is_no_attempt_and_doubles_the_wait_up_to_the_longest(
    breaker: Breaker, clock: Clock
) -> None:
    await fail(breaker, ServerError("down"), times=3)
    waits: list[float | None] = []
    for _ in range(3):
        clock.now += 100
        with pytest.raises(ServerError) as refused:
            await call(breaker, ServerError("down"))
        assert not refused.value.attempted
        waits.append(refused.value.retry_after_s)

    assert waits == [60, 100, 100]


async def test_it_stays_open_for_as_long_as_the_provider_asks(breaker: Breaker, clock: Clock) -> None:
    await fail(breaker, RateLimitedError("slow down", retry_after_s=200), times=3)

    clock.now += 199
    assert breaker.state == "open"

    clock.now += 1
    assert breaker.state == "half-open"


@pytest.mark.parametrize("absurd", [1e9, float("inf")])
async def test_a_provider_that_asks_to_be_left_alone_for_years_is_tried_again_the_same_day(
    absurd: float, breaker: Breaker, clock: Clock
) -> None:
    for _ in range(3):
        breaker.note_end(breaker.admit(), RateLimitedError("slow down", retry_after_s=absurd))

    clock.now += LONGEST_DELAY_S

    assert breaker.state == "half-open"


async def test_a_cancelled_probe_gives_its_turn_to_another(breaker: Breaker, clock: Clock) -> None:
    await fail(breaker, ServerError("down"), times=3)
    clock.now += 30

    with pytest.raises(asyncio.CancelledError):
        async with guarded(breaker):
            raise asyncio.CancelledError

    assert breaker.admit().is_probe


async def test_a_cancelled_call_says_nothing(breaker: Breaker) -> None:
    await fail(breaker, ServerError("down"), times=2)

    with pytest.raises(ZeroDivisionError):
        await call(breaker, ZeroDivisionError())
    await fail(breaker, ServerError("down"))

    assert breaker.state == "open"


async def test_what_was_asked_before_it_opened_proves_nothing(breaker: Breaker) -> None:
    before = breaker.admit()
    await fail(breaker, ServerError("down"), times=3)

    breaker.note_end(before, None)
    breaker.note_end(before, ServerError("down"))
    breaker.note_abandoned(before)

    assert breaker.state == "open"
    assert before == Ticket(0)


async def test_a_call_that_is_never_answered_counts_as_a_failure(breaker: Breaker) -> None:
    with pytest.raises(TimeLimitError, match="did not answer"):
        async with guarded(breaker, limit_s=0.001):
            await asyncio.Event().wait()
    await fail(breaker, ServerError("down"), times=2)

    assert breaker.state == "open"


async def test_a_time_limit_of_somebody_else_is_not_taken_for_the_provider(breaker: Breaker) -> None:
    with pytest.raises(TimeoutError):
        await call(breaker, TimeoutError())

    assert breaker.state == "closed"


async def test_all_that_ask_a_provider_share_its_breaker(breaker: Breaker) -> None:
    for _ in range(3):
        with pytest.raises(ServerError):
            async with guarded(breaker):
                raise ServerError("down")

    assert breaker.state == "open"
