"""What becomes of an ingestion whose attempt failed. Decided here and by the error's class alone."""

from dataclasses import dataclass

from docmill.errors import DocmillError, SetupError, TransientError, retry_delay_s


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again after `delay_s`; `counts` unless the attempt could not have worked.

    pauses_intake: nothing else will work either until a person acts.
    """

    delay_s: float
    counts: bool = True
    pauses_intake: bool = False


@dataclass(frozen=True, slots=True)
class GiveUp:
    """It has failed; a person must look."""


def decide(
    error: DocmillError, *, attempt: int, max_attempts: int, pause_s: float, jitter: float
) -> Retry | GiveUp:
    """What follows from `error` in attempt number `attempt` (from 1). jitter: in [0, 1)."""
    match error:
        case SetupError():
            return Retry(pause_s, counts=False, pauses_intake=True)
        case TransientError() if attempt < max_attempts:
            return Retry(retry_delay_s(error, attempt=attempt, jitter=jitter))
        case _:
            return GiveUp()
