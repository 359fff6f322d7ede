"""The worker's protocol as pure decisions: the consequences of refused claims and of outcomes.

The worker does what they answer, and `tests/simulation` tries them against crashes, delays and duplicates.
The SQL of `store/claims.py` decides who may claim and write. docs/explanation/protocol.md explains both.
"""

from dataclasses import dataclass
from typing import TypeAlias

from docmill.errors import DocmillError
from docmill.resilience.attempts import GiveUp, Retry, after_failure

_MOMENT_S = 1.0
"""Nothing stands in the way, so somebody is just changing the row. Who does that may be stopped in the middle
for a minute; asked all the time, the message would be received too often by then, and die."""


class ClaimLostError(Exception):
    """Another worker has the ingestion, or it is gone. Whoever sees this writes nothing and deletes nothing.

    Not a `DocmillError`: nothing is wrong with the document, and no step of the pipeline may handle it.
    """


class MessageLostError(ClaimLostError):
    """The message is gone, or in other hands; the claim may still stand. The work on it ends all the same.

    Without a message nobody would take over if this worker died, and with two there may be two at work.
    """


@dataclass(frozen=True, slots=True)
class Obstacle:
    """The reason why an ingestion could not be claimed.

    wait_s: how long another worker may hold it, at most, or how long it waits for its next attempt. suspect:
    whether a worker died while it held this ingestion.
    """

    status: str
    wait_s: float
    attempts_used_up: bool
    suspect: bool = False


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete the message: nothing remains to be done for its ingestion."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Give the message back, due after `delay_s`. It brings the ingestion back if its worker dies."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class Isolate:
    """Finish everything else that this worker has in work, and claim the ingestion alone."""


@dataclass(frozen=True, slots=True)
class GiveUpCrashed:
    """Fail the ingestion: its worker died too often while it was worked on alone. Then delete the message."""


@dataclass(frozen=True, slots=True)
class Leave:
    """Do nothing at all: the ingestion and its message are somebody else's."""


@dataclass(frozen=True, slots=True)
class SendAgain:
    """Give the claim back if it still stands, uncounted, and send another message: the first one is lost."""


TurnedAway: TypeAlias = Delete | Wait | Isolate | GiveUpCrashed
Settlement: TypeAlias = Delete | Leave | SendAgain | Retry | GiveUp


def turned_away(obstacle: Obstacle | None, *, alone: bool = False) -> TurnedAway:
    """The decision on a message whose ingestion could not be claimed.

    obstacle: None if it does not exist. alone: whether its worker asked for it with nothing else in work.
    """
    if obstacle is None or obstacle.status != "in-progress":
        return Delete()
    if obstacle.wait_s > 0:
        return Wait(obstacle.wait_s)
    if obstacle.attempts_used_up:
        return GiveUpCrashed()
    if obstacle.suspect and not alone:
        return Isolate()
    return Wait(_MOMENT_S)


def settlement(
    outcome: DocmillError | ClaimLostError | None,
    *,
    attempt: int,
    max_attempts: int,
    pause_s: float | None,
    jitter: float,
    may_wait: bool = True,
) -> Settlement:
    """The decision after attempt number `attempt` (from 1). outcome: its error; None for a stored result.

    pause_s: how long a document with a setup error waits for the installation to be mended; None if others
    get past where it failed, so that the error is the document's own and counts. may_wait: see
    `after_failure`.
    """
    match outcome:
        case None:
            return Delete()
        case MessageLostError():
            return SendAgain()
        case ClaimLostError():
            return Leave()
        case _:
            return after_failure(
                outcome,
                attempt=attempt,
                max_attempts=max_attempts,
                jitter=jitter,
                pause_s=pause_s,
                may_wait=may_wait,
            )
