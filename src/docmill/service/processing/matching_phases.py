"""The three phases of matching one document, each a span of its trace and a line of the log with counts."""

import logging
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from typing import Any

import stamina

from docmill.errors import SetupError, TransientError
from docmill.resilience.time_limits import LimitedStep
from docmill.service.observe.tracing import NO_TRACER, Tracer, failure_code
from docmill.service.ports.matching import Counts, DocumentToMatch, Matcher
from docmill.service.processing.matching_claims import MatchingClaims
from docmill.service.protocol.matching_rules import (
    BY_RULES_ALONE,
    DECISION_WAIT_S,
    MATCHING_TRIES,
    is_decided_again,
)
from docmill.service.store.matching_jobs import MatchingClaim

log = logging.getLogger(__name__)


@dataclass
class _Phase:
    """A phase that is under way. counts: set when it is known what it had to do with."""

    counts: Counts = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class MatchingPhases:
    """Prepares, decides and writes. limit_s: for all three. patience_s: how long a model is waited for."""

    matcher: Matcher[Any]
    claims: MatchingClaims
    limit_s: float
    patience_s: float = inf
    tracer: Tracer = NO_TRACER

    async def match(self, claim: MatchingClaim) -> None:
        """Match the document of a claim. Raises as `Matcher` and `MatchingClaims.write`.

        While a model cannot be asked, links by rules are written; if it was waited for in vain, they count.
        """
        document = DocumentToMatch(claim.document_id, claim.tenant_id)
        async with LimitedStep("match", self.limit_s):
            with self._phase("prepare") as phase:
                phase.counts = await self.matcher.prepare(document)
            missing: str | None = None
            try:
                with self._phase("decide") as phase:
                    decision = await self._decide(document)
                    phase.counts = self.matcher.counts(decision)
            except (TransientError, SetupError) as error:
                decision = await self.matcher.decide_by_rules(document)
                if decision is None:
                    raise
                if is_decided_again(error, may_wait=claim.waited_s < self.patience_s):
                    await self.claims.write_meanwhile(claim, decision)
                    raise
                missing = f"{BY_RULES_ALONE}{error.message}"
                log.warning("a model was waited for in vain: rules decide", extra={"code": error.code})
            with self._phase("write") as phase:
                phase.counts = await self.claims.write(claim, decision, missing=missing)

    async def _decide(self, document: DocumentToMatch) -> Any:  # noqa: ANN401  see `Decision`
        """The decision, tried again where that may help."""
        async for attempt in stamina.retry_context(
            on=_may_pass_soon,
            attempts=MATCHING_TRIES,
            timeout=None,
            wait_initial=DECISION_WAIT_S,
            wait_max=2 * DECISION_WAIT_S,
            wait_jitter=0,
        ):
            with attempt:
                return await self.matcher.decide(document)
        raise AssertionError  # the last attempt raises

    @contextmanager
    def _phase(self, name: str) -> Generator[_Phase]:
        """Trace and log a phase. A failure is a warning, whatever follows from it."""
        phase, started = _Phase(), time.monotonic()
        code: str | None = None
        try:
            with self.tracer.span(name) as span:
                yield phase
                span.describe({f"docmill.{what}": count for what, count in phase.counts.items()})
        except BaseException as error:
            code = failure_code(error)
            raise
        finally:
            extra = {"step": name, "duration_ms": round((time.monotonic() - started) * 1000)}
            if code is None:
                log.debug("matching phase ended", extra={**extra, "counts": dict(phase.counts)})
            else:
                log.warning("matching phase failed", extra={**extra, "code": code})


def _may_pass_soon(error: Exception) -> bool:
    """True for an error after which a decision is tried again at once."""
    return isinstance(error, TransientError) and error.attempted
