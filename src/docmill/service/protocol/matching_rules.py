"""The protocol of matching as pure decisions: what can be matched, and what follows from each outcome.

The queue counts deliveries, and its dead messages take what failed for the third time. The SQL of
`store/matching_jobs.py` decides who may claim and write. docs/explanation/matching-protocol.md explains both.
"""

from dataclasses import dataclass
from typing import TypeAlias, get_args

from docmill.errors import DocmillError, SetupError, TransientError
from docmill.matching.match_record import Kind
from docmill.service.protocol.claim_rules import ClaimLostError, MessageLostError

PAYMENT: Kind = "payment"
BANK_STATEMENT = "bank_statement"

MATCHABLE_TYPES = (frozenset(get_args(Kind)) - {PAYMENT}) | {BANK_STATEMENT}
"""The types of documents that can be matched. Of a bank statement its payments are."""

MATCHING_TRIES = 3
"""The most deliveries of a document, and the most tries of a decision within one delivery."""

RETRY_DELAYS_S = (300.0, 1800.0)
"""The waits after the first and the second delivery that failed."""

DECISION_WAIT_S = 2.0
"""The first wait between the tries of a decision within one delivery; the second, the last, is twice that."""

BY_RULES_ALONE = "linked by rules alone, since a model was waited for in vain: "
"""What the stored error of a document begins with that is matched all the same. The model's error follows."""

_MOMENT_S = 1.0
"""Nothing stands in the way, so somebody is just changing the row."""


@dataclass(frozen=True, slots=True)
class MatchingObstacle:
    """The reason why a document could not be claimed.

    wait_s: how long another worker may hold it, at most, or how long it waits for its next delivery.
    """

    wait_s: float
    attempts_used_up: bool


@dataclass(frozen=True, slots=True)
class Discard:
    """Delete the message: nothing remains to be done for its document."""


@dataclass(frozen=True, slots=True)
class Postpone:
    """Give the message back, due after `delay_s`."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class GiveUpDead:
    """Fail the document: its workers died. Then delete the message."""


@dataclass(frozen=True, slots=True)
class Abandon:
    """Do nothing at all: the document and its message are somebody else's."""


@dataclass(frozen=True, slots=True)
class Redeliver:
    """Release the document and its message, due after `delay_s`."""

    error: DocmillError
    delay_s: float


@dataclass(frozen=True, slots=True)
class Pause:
    """Release the document, uncounted, and replace the message: what it needs is known not to work now."""

    error: DocmillError
    delay_s: float


@dataclass(frozen=True, slots=True)
class Resend:
    """Release the document if the claim still stands, uncounted, and send a message: this one is lost."""


@dataclass(frozen=True, slots=True)
class Fail:
    """Fail the document and tell people. keeps_message: for the queue's dead messages, else it is deleted."""

    error: DocmillError
    keeps_message: bool


UnclaimedMatching: TypeAlias = Discard | Postpone | GiveUpDead
MatchingSettlement: TypeAlias = Discard | Abandon | Resend | Redeliver | Pause | Fail


def unclaimed_matching(obstacle: MatchingObstacle | None) -> UnclaimedMatching:
    """The decision on a message whose document could not be claimed. obstacle: None if not asked for."""
    if obstacle is None:
        return Discard()
    if obstacle.wait_s > 0:
        return Postpone(obstacle.wait_s)
    return GiveUpDead() if obstacle.attempts_used_up else Postpone(_MOMENT_S)


def is_decided_again(error: TransientError | SetupError, *, may_wait: bool) -> bool:
    """True if another attempt follows, in which a model is asked again after rules have decided."""
    return isinstance(error, SetupError) or error.attempted or may_wait


def matching_settlement(
    outcome: DocmillError | ClaimLostError | None,
    *,
    attempt: int,
    pause_s: float | None,
    may_wait: bool = True,
) -> MatchingSettlement:
    """The decision after a delivery, by the class of its error. outcome: None for matches that are written.

    attempt: its number since the document was asked for, from 1. It is the receive count of the message, but
    for deliveries that came to nothing, and for messages that were sent anew. pause_s: how long a document
    with a setup error waits for the installation to be mended; None if others get past where it failed, so
    that the error is the document's own. may_wait: whether it may go on waiting for what fails and is left
    alone.
    """
    match outcome:
        case None:
            return Discard()
        case ClaimLostError():
            return Resend() if isinstance(outcome, MessageLostError) else Abandon()
        case SetupError() if pause_s is not None:
            return Pause(outcome, pause_s)
        case TransientError(attempted=False) if may_wait:
            return Pause(outcome, outcome.retry_after_s or RETRY_DELAYS_S[0])
        case TransientError(attempted=True) if attempt < MATCHING_TRIES:
            return Redeliver(outcome, max(RETRY_DELAYS_S[attempt - 1], outcome.retry_after_s or 0.0))
        case _:
            return Fail(outcome, keeps_message=isinstance(outcome, TransientError) and outcome.attempted)
