"""The worker's protocol as pure decisions: claims, writes, and the consequences of outcomes.

Pure functions; the SQL of `store/claims.py` says the same, the worker does what they answer, and
`tests/simulation` tries them against crashes, delays and duplicates.
docs/explanation/protocol.md explains them.
"""

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from docmill.errors import DocmillError
from docmill.resilience.attempts import GiveUp, Retry, after_failure

_MOMENT_S = 1.0
"""Nothing stands in the way, so somebody is just changing the row. Who does that may be stopped in the middle
for a minute; asked all the time, the message would be received too often by then, and die."""


class ClaimLostError(Exception):
    """Another worker has the ingestion, or it is gone. Whoever sees this writes nothing and deletes nothing.

    Not a `DocmillError`: nothing is wrong with the document, and no step of the pipeline may handle it.
    """


class IngestionState(Protocol):
    """The facts of an ingestion that decisions need. Times are seconds on the clock of the rows."""

    @property
    def status(self) -> str:
        """`in-progress`, `completed` or `failed`."""
        ...

    @property
    def fence(self) -> int:
        """Grows with every claim and with every end of one that did not end the ingestion."""
        ...

    @property
    def attempt_count(self) -> int:
        """The number of its claims, less the attempts that could not count."""
        ...

    @property
    def deaths(self) -> int:
        """The number of earlier claims that ended with their worker's death, or with their lease."""
        ...

    @property
    def lease_until(self) -> float | None:
        """Until when its claim is good, None while nobody has one."""
        ...

    @property
    def next_attempt_at(self) -> float | None:
        """The time from which it may be claimed again; None if at once."""
        ...


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


TurnedAway: TypeAlias = Delete | Wait | Isolate | GiveUpCrashed
Settlement: TypeAlias = Delete | Leave | Retry | GiveUp


def may_claim(row: IngestionState, now: float, max_attempts: int, *, alone: bool = False) -> bool:
    """True if a worker may claim the ingestion: unfinished, held by nobody, due, with an attempt left.

    A suspect is only for a worker that has nothing else in work (`alone`). The time counts whatever message
    leads here: a duplicate must not use up attempts that were to wait.
    """
    return (
        row.status == "in-progress"
        and not is_leased(row, now)
        and not is_used_up(row, now, max_attempts)
        and (alone or deaths_of(row, now) == 0)
        and (row.next_attempt_at is None or row.next_attempt_at <= now)
    )


def may_give_up(row: IngestionState, now: float, max_attempts: int) -> bool:
    """True if the ingestion is used up and nobody holds it, so that it must be failed from outside."""
    return row.status == "in-progress" and is_used_up(row, now, max_attempts) and not is_leased(row, now)


def is_used_up(row: IngestionState, now: float, max_attempts: int) -> bool:
    """True if no attempt is left, or too many workers died of it: one beside other work, the rest alone."""
    return attempts_of(row, now) >= max_attempts or deaths_of(row, now) > max_attempts


def attempts_of(row: IngestionState, now: float) -> int:
    """The attempts that count. One that ended with its worker, for whatever reason, is given back."""
    return row.attempt_count - was_lost(row, now)


def deaths_of(row: IngestionState, now: float) -> int:
    """The number of workers that died, or were cut off until their lease ran out, holding the ingestion."""
    return row.deaths + was_lost(row, now)


def was_lost(row: IngestionState, now: float) -> bool:
    """True if the last lease ran out without an end of the claim. The next statement on the row counts it."""
    return row.lease_until is not None and row.lease_until <= now


def is_leased(row: IngestionState, now: float) -> bool:
    """True while a lease lasts."""
    return row.lease_until is not None and row.lease_until > now


def holds(row: IngestionState, fence: int) -> bool:
    """True if the claim with `fence` may still write, also after its lease if nobody has taken it."""
    return row.status == "in-progress" and row.fence == fence


def has_completed(row: IngestionState, fence: int) -> bool:
    """True if the claim with `fence` has stored its result; asked when it did not hear of the commit."""
    return row.status == "completed" and row.fence == fence


def has_failed(row: IngestionState, fence: int) -> bool:
    """True if the claim with `fence` has failed the ingestion; see `has_completed`."""
    return row.status == "failed" and row.fence == fence


def obstacle_of(row: IngestionState, now: float, max_attempts: int) -> Obstacle:
    """The obstacle to a claim on the ingestion."""
    times = [at for at in (row.lease_until, row.next_attempt_at) if at is not None]
    wait_s = max([0.0, *(at - now for at in times)])
    used_up = is_used_up(row, now, max_attempts)
    return Obstacle(row.status, wait_s, used_up, suspect=deaths_of(row, now) > 0)


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
) -> Settlement:
    """The decision after attempt number `attempt` (from 1). outcome: its error; None for a stored result.

    pause_s: how long a document with a setup error waits for the installation to be mended; None if others
    get past where it failed, so that the error is the document's own and counts.
    """
    match outcome:
        case None:
            return Delete()
        case ClaimLostError():
            return Leave()
        case _:
            return after_failure(
                outcome, attempt=attempt, max_attempts=max_attempts, jitter=jitter, pause_s=pause_s
            )
