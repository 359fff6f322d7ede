"""Predicates of who may claim, write and give up an ingestion: the SQL of `store/claims.py` as functions.

`tests/service/store/test_claims_agree.py` compares both on generated rows, and `tests/simulation` tries these
against crashes, delays and duplicates.
"""

from typing import Protocol

from docmill.service.protocol.claim_rules import Obstacle


class IngestionState(Protocol):
    """The facts of an ingestion that claims depend on. Times are seconds on the clock of the rows."""

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
