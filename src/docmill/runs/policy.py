"""How a run goes about its work: how much at a time, how long a stage may take, when it is tried again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from docmill.errors import LONGEST_DELAY_S, AiQuotaError, RateLimitedError, SetupError, TransientError

StageName = Literal["read", "convert", "classify", "extract", "export"]
STAGES: tuple[StageName, ...] = ("read", "convert", "classify", "extract", "export")
DEFAULT_LIMITS_S: Mapping[StageName, float] = {
    "read": 60.0,
    "convert": 600.0,
    "classify": 420.0,
    "extract": 420.0,
    "export": 60.0,
}


@dataclass(frozen=True, kw_only=True)
class RunPolicy:
    """Concurrency, time limits and retries of a run.

    concurrency: documents at work at the same time, from reading to export. stage_concurrency: of these, how
    many may be in a stage; a document waits before it in a queue that `concurrency` bounds. limits_s: seconds
    that a stage may take. max_retries: attempts after the first one. backoff_base: the wait after attempt n
    is `backoff_base ** n` seconds, half as much again at random, and what the other side asks for where it
    does. breaker_failures: after so many failures in a row, of which those of calls that were under way
    together count as one, a stage is left alone for `breaker_s`. lease_s: after so long without a sign of
    life a runner counts as dead, and others take over its documents.
    """

    concurrency: int = 5
    stage_concurrency: Mapping[StageName, int] = field(default_factory=dict[StageName, int])
    limits_s: Mapping[StageName, float] = field(default_factory=dict[StageName, float])
    max_retries: int = 3
    backoff_base: float = 2.0
    breaker_failures: int = 5
    breaker_s: float = 30.0
    lease_s: float = 60.0

    def limit_s(self, stage: StageName) -> float:
        """Seconds that a stage may take."""
        return self.limits_s.get(stage, DEFAULT_LIMITS_S[stage])

    def delay_s(self, error: TransientError | SetupError, *, attempt: int, jitter: float) -> float:
        """Seconds to wait after failed attempt number `attempt`, from 1. jitter: in [0, 1)."""
        if error.retry_after_s is not None:
            return min(max(0.0, error.retry_after_s), LONGEST_DELAY_S)
        if isinstance(error, RateLimitedError | AiQuotaError):  # these say how long they take to recover
            return error.delays_s[0]
        return min(self.backoff_base**attempt, LONGEST_DELAY_S) * (1 + jitter / 2)
