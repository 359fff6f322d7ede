import asyncio

import pytest

from docmill.resilience.time_limits import TimeLimit, inner_limit, waiting_for_a_turn


async def test_work_over_its_limit_is_cancelled() -> None:
    limit = TimeLimit(0.01)

    with pytest.raises(TimeoutError):
        async with limit:
            await asyncio.Event().wait()

    assert limit.expired


async def test_waiting_for_a_turn_does_not_count() -> None:
    async with TimeLimit(60) as limit:
        with waiting_for_a_turn():
            assert not limit.running
        assert limit.running

    assert not limit.expired


async def test_what_was_left_is_left_after_waiting() -> None:
    async def wait_and_work() -> None:
        async with TimeLimit(0.01):
            with waiting_for_a_turn():
                await asyncio.sleep(0)
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await wait_and_work()


async def test_the_clock_stands_until_the_last_part_has_its_turn() -> None:
    async with TimeLimit(60) as limit:
        with waiting_for_a_turn():
            with waiting_for_a_turn():
                assert not limit.running
            assert not limit.running
        assert limit.running


async def test_every_limit_around_the_wait_stands() -> None:
    async with TimeLimit(60) as outer, TimeLimit(30) as inner:
        with waiting_for_a_turn():
            assert not outer.running
            assert not inner.running
        assert outer.running
        assert inner.running


async def test_work_without_limit_may_wait_too() -> None:
    async with TimeLimit(None) as limit:
        with waiting_for_a_turn():
            pass

        assert not limit.running


async def test_a_task_that_outlives_the_block_does_not_start_its_clock_again() -> None:
    turn = asyncio.Event()

    async def waiting() -> None:
        with waiting_for_a_turn():
            await turn.wait()

    async with TimeLimit(60) as limit:
        task = asyncio.create_task(waiting())
        await asyncio.sleep(0)
    turn.set()
    await task

    assert not limit.running


async def test_an_inner_limit_expires_before_every_limit_around_it() -> None:
    async with TimeLimit(2) as outer:  # long enough for what is between the two on a busy machine
        with pytest.raises(TimeoutError):
            async with inner_limit(600):
                await asyncio.Event().wait()

        assert not outer.expired
        assert outer.left_s


async def test_an_inner_limit_takes_the_shortest_of_those_around_it() -> None:
    async with TimeLimit(600), TimeLimit(1000), TimeLimit(None):
        longest, own = inner_limit(None).left_s, inner_limit(7).left_s

    assert longest is not None
    assert 580 < longest <= 590
    assert own == 7
    assert inner_limit(None).left_s is None


async def test_what_is_left_stands_while_its_work_waits_for_a_turn_and_is_nothing_in_the_end() -> None:
    async with TimeLimit(60) as limit:
        with waiting_for_a_turn():
            first, second = limit.left_s, limit.left_s

    assert first == second
    with pytest.raises(TimeoutError):
        async with TimeLimit(0.01) as limit:
            await asyncio.Event().wait()
    assert limit.left_s == 0


async def test_a_limit_that_is_prolonged_expires_later() -> None:
    async with TimeLimit(0.0) as limit:
        limit.prolong(60)
        with waiting_for_a_turn():
            limit.prolong(60)
        assert limit.left_s is not None
        assert 119 < limit.left_s <= 120
        await asyncio.sleep(0)

    assert not limit.expired


async def test_work_without_limit_is_not_limited_by_prolonging() -> None:
    async with TimeLimit(None) as limit:
        limit.prolong(0)
        assert not limit.running
