"""Corrections of scores that were fitted to the decisions of a tenant, and the decisions themselves."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from psycopg.rows import class_row

from docmill.matching.calibration import Correction, Label, Trial
from docmill.service.store.database import Conn, new_id

_MOST = 2_000
"""Decisions that a correction is fitted to, the newest."""


@dataclass(frozen=True, slots=True)
class CalibrationRow:
    """What was tried, or undone by a person (`reset`). Losses: mean log loss on decisions it has not seen."""

    version: int
    outcome: Literal["promoted", "rejected", "withdrawn", "reset"]
    confirmed: int
    declined: int
    shipped_loss: float | None
    corrected_loss: float | None
    slope: float | None
    intercept: float | None
    may_raise: bool
    may_lower: bool
    made_at: datetime


async def labels(conn: Conn, *, tenant_id: UUID) -> list[Label]:
    """The decisions about links that the matcher had found, but for duplicates, since the last reset."""
    cur = await conn.execute(
        """
        SELECT score_when_decided, decision = 'confirmed'
          FROM match_decision
         WHERE tenant_id = %(tenant_id)s AND score_when_decided IS NOT NULL AND relation <> 'duplicate'
           AND decided_at > coalesce(
                   (SELECT max(made_at) FROM match_calibration
                     WHERE tenant_id = %(tenant_id)s AND outcome = 'reset'),
                   '-infinity'
               )
         ORDER BY decided_at DESC, id
         LIMIT %(most)s
        """,
        {"tenant_id": tenant_id, "most": _MOST},
    )
    return [Label(score, is_right) for score, is_right in await cur.fetchall()]


async def current(conn: Conn, *, tenant_id: UUID) -> Correction | None:
    """The correction in use."""
    cur = await conn.execute(
        """
        SELECT outcome, slope, intercept, may_raise, may_lower
          FROM match_calibration
         WHERE tenant_id = %(tenant_id)s AND outcome <> 'rejected'
         ORDER BY version DESC
         LIMIT 1
        """,
        {"tenant_id": tenant_id},
    )
    row = await cur.fetchone()
    if row is None or row[0] != "promoted":
        return None
    return Correction(row[1], row[2], may_raise=row[3], may_lower=row[4])


async def add(conn: Conn, trial: Trial, *, tenant_id: UUID) -> None:
    """Record a trial, which takes effect if it was promoted or withdrawn."""
    await conn.execute(
        """
        INSERT INTO match_calibration (id, tenant_id, version, outcome, confirmed, declined, shipped_loss,
                                       corrected_loss, slope, intercept, may_raise, may_lower)
        SELECT %(id)s, %(tenant_id)s, coalesce(max(version), 0) + 1, %(outcome)s, %(confirmed)s, %(declined)s,
               %(shipped_loss)s, %(corrected_loss)s, %(slope)s, %(intercept)s, %(may_raise)s, %(may_lower)s
          FROM match_calibration
         WHERE tenant_id = %(tenant_id)s
        """,
        {
            "id": new_id(),
            "tenant_id": tenant_id,
            "outcome": trial.outcome,
            "confirmed": trial.confirmed,
            "declined": trial.declined,
            "shipped_loss": trial.shipped_loss,
            "corrected_loss": trial.corrected_loss,
            "slope": trial.correction.slope,
            "intercept": trial.correction.offset,
            "may_raise": trial.correction.may_raise,
            "may_lower": trial.correction.may_lower,
        },
    )


async def reset(conn: Conn, *, tenant_id: UUID) -> None:
    """Go back to the shipped scores; only decisions from now on count for the next correction."""
    await conn.execute(
        """
        INSERT INTO match_calibration (id, tenant_id, version, outcome, confirmed, declined)
        SELECT %(id)s, %(tenant_id)s, coalesce(max(version), 0) + 1, 'reset', 0, 0
          FROM match_calibration
         WHERE tenant_id = %(tenant_id)s
        """,
        {"id": new_id(), "tenant_id": tenant_id},
    )


async def history(conn: Conn, *, tenant_id: UUID, limit: int) -> list[CalibrationRow]:
    """What was tried, the newest first."""
    async with conn.cursor(row_factory=class_row(CalibrationRow)) as cur:
        await cur.execute(
            """
            SELECT version, outcome, confirmed, declined, shipped_loss, corrected_loss, slope, intercept,
                   may_raise, may_lower, made_at
              FROM match_calibration
             WHERE tenant_id = %(tenant_id)s
             ORDER BY version DESC
             LIMIT %(limit)s
            """,
            {"tenant_id": tenant_id, "limit": limit},
        )
        return await cur.fetchall()


async def documents_with_links(conn: Conn, *, tenant_id: UUID, limit: int) -> list[UUID]:
    """Up to `limit` documents whose links have a score, the newest."""
    cur = await conn.execute(
        """
        WITH linked AS (
            SELECT first_id, second_id
              FROM match_edge
             WHERE tenant_id = %(tenant_id)s AND state IN ('automatic', 'suggested')
        )
        SELECT document_id
          FROM (SELECT first_id FROM linked UNION SELECT second_id FROM linked) AS side (id)
          JOIN match_record USING (id)
         WHERE tenant_id = %(tenant_id)s
         GROUP BY document_id
         ORDER BY document_id DESC
         LIMIT %(limit)s
        """,
        {"tenant_id": tenant_id, "limit": limit},
    )
    return [document_id for (document_id,) in await cur.fetchall()]
