import pickle
from collections.abc import Iterator

import pytest

from docmill import errors
from docmill.errors import DocmillError, NetworkError, RateLimitedError, retry_delay_s


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


def test_delays_double_and_spread() -> None:
    error = NetworkError("away")

    assert [retry_delay_s(error, attempt=n, jitter=0) for n in (1, 2, 3)] == [5, 10, 20]
    assert retry_delay_s(error, attempt=1, jitter=0.5) == 6.25


def test_the_other_side_may_say_when_to_come_back() -> None:
    assert retry_delay_s(RateLimitedError("slow down", retry_after_s=7), attempt=2, jitter=0.9) == 7
    assert retry_delay_s(RateLimitedError("slow down"), attempt=2, jitter=0.9) == 30


def test_the_codes_are_those_of_the_tree() -> None:
    assert errors.codes() == {leaf.code for leaf in _leaves()}
