import asyncio
import pickle
from collections.abc import Iterator

import pytest

from docmill import errors
from docmill.errors import (
    AiQuotaError,
    BadModelOutputError,
    CrashedError,
    DocmillError,
    InternalError,
    NetworkError,
    RateLimitedError,
    ServerError,
    TimeLimitError,
    TransientError,
    retry_delay_s,
)


def _leaves(error: type[DocmillError] = DocmillError) -> Iterator[type[DocmillError]]:
    children = [child for child in error.__subclasses__() if child.__module__ == errors.__name__]
    if not children:
        yield error
    for child in children:
        yield from _leaves(child)


def test_every_error_has_a_code_of_its_own_and_stands_in_the_tree_of_the_docstring() -> None:
    codes = [leaf.code for leaf in _leaves()]

    assert len(set(codes)) == len(codes)
    assert all(f"── {leaf.__name__} " in (errors.__doc__ or "") for leaf in _leaves())
    assert all(leaf.code in (errors.__doc__ or "") for leaf in _leaves())


@pytest.mark.parametrize("leaf", list(_leaves()), ids=lambda leaf: leaf.code)
def test_an_error_crosses_processes_with_its_message(leaf: type[DocmillError]) -> None:
    error = leaf("what to do")
    error.step = "transcribe"

    again = pickle.loads(pickle.dumps(error))  # noqa: S301  our own bytes

    assert (type(again), again.message, again.step) == (leaf, "what to do", "transcribe")


@pytest.mark.parametrize(
    "kind", [NetworkError, TimeLimitError, CrashedError, ServerError, BadModelOutputError, InternalError]
)
def test_delays_grow_and_spread(kind: type[TransientError]) -> None:
    error = kind("away")

    assert [retry_delay_s(error, attempt=n, jitter=0) for n in (1, 2, 3, 4)] == [5, 60, 300, 300]
    assert retry_delay_s(error, attempt=1, jitter=0.5) == 6.25


@pytest.mark.parametrize("kind", [NetworkError, RateLimitedError, AiQuotaError, ServerError])
def test_the_other_side_may_say_when_to_come_back_within_the_hour(kind: type[TransientError]) -> None:
    asked_s = (-1, 0, 7, 3599, 3601, float("inf"))

    waits = [retry_delay_s(kind("slow", retry_after_s=each), attempt=2, jitter=0.9) for each in asked_s]

    assert waits == [0, 0, 7, 3599, 3600, 3600]


def test_a_limit_of_the_other_side_has_a_wait_of_its_own() -> None:
    assert [retry_delay_s(RateLimitedError("slow"), attempt=n, jitter=0.9) for n in (1, 2, 3)] == [30] * 3
    assert [retry_delay_s(AiQuotaError("used up"), attempt=n, jitter=0.9) for n in (1, 2, 3)] == [60] * 3


def test_the_codes_are_those_of_the_tree() -> None:
    assert errors.codes() == {leaf.code for leaf in _leaves()}


async def _fail_together(*failures: Exception) -> None:
    async def fail(error: Exception) -> None:
        raise error

    with errors.ungrouped(DocmillError):
        async with asyncio.TaskGroup() as tasks:
            for failure in failures:
                tasks.create_task(fail(failure))


async def test_the_first_error_of_a_task_group_comes_without_the_group() -> None:
    with pytest.raises(ServerError, match="away"):
        await _fail_together(ServerError("away"))
    with pytest.raises(ExceptionGroup):
        await _fail_together(ServerError("away"), KeyError("a fault is not hidden"))
