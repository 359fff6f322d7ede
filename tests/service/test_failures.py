import pytest

from docmill.errors import CorruptError, DocmillError, MisconfiguredError, RateLimitedError, ServerError
from docmill.service.failures import GiveUp, Retry, decide


@pytest.mark.parametrize(
    ("error", "attempt", "expected"),
    [
        (ServerError("down"), 1, Retry(5)),
        (ServerError("down"), 2, Retry(10)),
        (ServerError("down"), 3, GiveUp()),
        (RateLimitedError("slow", retry_after_s=7), 1, Retry(7)),
        (RateLimitedError("slow"), 2, Retry(30)),
        (CorruptError("broken"), 1, GiveUp()),
        (MisconfiguredError("no key"), 3, Retry(60, counts=False, pauses_intake=True)),
    ],
)
def test_the_class_of_an_error_decides(error: DocmillError, attempt: int, expected: Retry | GiveUp) -> None:
    assert decide(error, attempt=attempt, max_attempts=3, pause_s=60, jitter=0) == expected
