"""Figures about the processing of one tenant's documents."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from psycopg.rows import class_row

from docmill.service.store import matching_jobs
from docmill.service.store.bin import CANCELLED
from docmill.service.store.database import Conn
from docmill.service.store.matching_jobs import MatchingFigures


@dataclass(frozen=True, slots=True)
class HourRow:
    """Ingestions that ended in one hour, from `start` on."""

    start: datetime
    completed: int
    failed: int


@dataclass(frozen=True, slots=True)
class StepRow:
    """The time that a step took in completed ingestions, in seconds."""

    step: str
    count: int
    p50_s: float
    p95_s: float


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker that holds documents of the tenant now. progress_at: its last sign of progress."""

    worker_id: str
    documents: int
    steps: list[str]
    progress_at: datetime


@dataclass(frozen=True, slots=True)
class SpendRow:
    """The cost of one model, in US dollars."""

    model: str
    documents: int
    input_tokens: int
    output_tokens: int
    cost: Decimal


@dataclass(frozen=True, slots=True)
class FailureRow:
    """Dead letters of one error code and step. message: of the latest."""

    error_code: str
    step: str | None
    count: int
    message: str
    latest_at: datetime


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """Ingestions that no worker holds now. oldest_at: the request of the oldest; None without any."""

    waiting: int
    in_work: int
    oldest_at: datetime | None


async def waiting(conn: Conn) -> WaitingRow:
    """The ingestions under way."""
    async with conn.cursor(row_factory=class_row(WaitingRow)) as cur:
        await cur.execute(
            """
            SELECT count(*) FILTER (WHERE lease_until IS NULL) AS waiting,
                   count(*) FILTER (WHERE lease_until IS NOT NULL) AS in_work,
                   min(created_at) FILTER (WHERE lease_until IS NULL) AS oldest_at
              FROM ingestion
             WHERE status = 'in-progress'
            """
        )
        row = await cur.fetchone()
    assert row is not None, "an aggregate has a row"
    return row


@dataclass(frozen=True, slots=True)
class QueueRow:
    """The documents of the tenant in a queue. oldest_age_s: since the oldest fell due; 0 when none is due."""

    due: int
    delayed: int
    in_flight: int
    oldest_age_s: float


async def queue(conn: Conn) -> QueueRow:
    """The documents that wait to be processed, or are being processed."""
    async with conn.cursor(row_factory=class_row(QueueRow)) as cur:
        await cur.execute(
            """
            SELECT count(*) FILTER (WHERE lease_until IS NULL AND due_at <= now()) AS due,
                   count(*) FILTER (WHERE lease_until IS NULL AND due_at > now()) AS delayed,
                   count(*) FILTER (WHERE lease_until IS NOT NULL) AS in_flight,
                   greatest(coalesce(extract(epoch FROM now()
                            - min(due_at) FILTER (WHERE lease_until IS NULL)), 0), 0)::float8 AS oldest_age_s
              FROM (SELECT lease_until, coalesce(next_attempt_at, created_at) AS due_at
                      FROM ingestion
                     WHERE status = 'in-progress') AS waiting
            """
        )
        row = await cur.fetchone()
    assert row is not None, "an aggregate has a row"
    return row


async def matching_queue(conn: Conn) -> QueueRow:
    """The documents that wait to be matched, or are being matched."""
    async with conn.cursor(row_factory=class_row(QueueRow)) as cur:
        await cur.execute(
            """
            SELECT count(*) FILTER (WHERE lease_until IS NULL AND due_at <= now()) AS due,
                   count(*) FILTER (WHERE lease_until IS NULL AND due_at > now()) AS delayed,
                   count(*) FILTER (WHERE lease_until IS NOT NULL) AS in_flight,
                   greatest(coalesce(extract(epoch FROM now()
                            - min(due_at) FILTER (WHERE lease_until IS NULL)), 0), 0)::float8 AS oldest_age_s
              FROM (SELECT lease_until, coalesce(next_attempt_at, requested_at) AS due_at
                      FROM matching_job
                     WHERE tenant_id = (SELECT current_tenant())) AS waiting
            """
        )
        row = await cur.fetchone()
    assert row is not None, "an aggregate has a row"
    return row


async def hours(conn: Conn, *, last: int) -> list[HourRow]:
    """The ingestions that ended in each of the `last` hours, the oldest first, with hours without any."""
    async with conn.cursor(row_factory=class_row(HourRow)) as cur:
        await cur.execute(
            """
            SELECT hour AS start,
                   count(ingestion.id) FILTER (WHERE status = 'completed') AS completed,
                   count(ingestion.id) FILTER (WHERE status = 'failed') AS failed
              FROM generate_series(date_trunc('hour', now()) - make_interval(hours => %(last)s - 1),
                                   date_trunc('hour', now()), interval '1 hour') AS hour
              LEFT JOIN ingestion ON completed_at >= hour
                                 AND completed_at < hour + interval '1 hour'
                                 AND error_code IS DISTINCT FROM %(cancelled)s
             GROUP BY hour
             ORDER BY hour
            """,
            {"last": last, "cancelled": CANCELLED},
        )
        return await cur.fetchall()


async def steps(conn: Conn, *, hours: int) -> list[StepRow]:
    """The time of each step in the ingestions that completed in the last `hours`, the slowest step first."""
    async with conn.cursor(row_factory=class_row(StepRow)) as cur:
        await cur.execute(
            """
            SELECT step, count(*) AS count,
                   percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds::float8) AS p50_s,
                   percentile_cont(0.95) WITHIN GROUP (ORDER BY seconds::float8) AS p95_s
              FROM (SELECT timings_s
                      FROM ingestion
                     WHERE completed_at >= now() - make_interval(hours => %(hours)s)
                       AND timings_s IS NOT NULL
                     ORDER BY completed_at DESC
                     LIMIT 10000) AS latest,
                   jsonb_each_text(timings_s) AS timing (step, seconds)
             GROUP BY step
             ORDER BY p95_s DESC
            """,
            {"hours": hours},
        )
        return await cur.fetchall()


async def workers(conn: Conn) -> list[WorkerRow]:
    """The workers that hold documents now."""
    async with conn.cursor(row_factory=class_row(WorkerRow)) as cur:
        await cur.execute(
            """
            SELECT worker_id, count(*) AS documents,
                   array_agg(DISTINCT coalesce(step, 'process')) AS steps, max(progress_at) AS progress_at
              FROM ingestion
             WHERE status = 'in-progress' AND lease_until > now() AND worker_id IS NOT NULL
             GROUP BY worker_id
             ORDER BY worker_id
            """
        )
        return await cur.fetchall()


async def spend(conn: Conn, *, days: int) -> list[SpendRow]:
    """The cost of each model in the last `days`, the dearest first."""
    async with conn.cursor(row_factory=class_row(SpendRow)) as cur:
        await cur.execute(
            """
            SELECT coalesce(extraction_model, 'unknown') AS model, count(*) AS documents,
                   coalesce(sum(extraction_input_tokens), 0)::bigint AS input_tokens,
                   coalesce(sum(extraction_output_tokens), 0)::bigint AS output_tokens,
                   coalesce(sum(cost), 0) AS cost
              FROM ingestion
             WHERE completed_at >= now() - make_interval(days => %(days)s)
               AND (extraction_input_tokens > 0 OR cost > 0)
             GROUP BY 1
             ORDER BY cost DESC
            """,
            {"days": days},
        )
        return await cur.fetchall()


async def failures(conn: Conn) -> list[FailureRow]:
    """The dead letters, grouped by error code and step, the most first."""
    async with conn.cursor(row_factory=class_row(FailureRow)) as cur:
        await cur.execute(
            """
            SELECT error_code, step, count(*) AS count,
                   (array_agg(error_message ORDER BY died_at DESC))[1] AS message, max(died_at) AS latest_at
              FROM dead_letter
             GROUP BY error_code, step
             ORDER BY count DESC, error_code, step
            """
        )
        return await cur.fetchall()


async def count_letters(conn: Conn, *, code: str | None, step: str | None) -> int:
    """The number of dead letters with this error code and step."""
    cur = await conn.execute(
        """
        SELECT count(*) FROM dead_letter
         WHERE (%(code)s::text IS NULL OR error_code = %(code)s)
           AND (%(step)s::text IS NULL OR step = %(step)s)
        """,
        {"code": code, "step": step},
    )
    (number,) = await cur.fetchone() or (0,)
    return number


@dataclass(frozen=True, slots=True)
class Operations:
    """All figures of the operations page."""

    waiting: WaitingRow
    matching: MatchingFigures
    hours: Sequence[HourRow]
    steps: Sequence[StepRow]
    workers: Sequence[WorkerRow]
    spend: Sequence[SpendRow]
    failures: Sequence[FailureRow]

    @property
    def completed(self) -> int:
        """Ingestions that completed in all hours."""
        return sum(hour.completed for hour in self.hours)

    @property
    def failed(self) -> int:
        """Ingestions that failed in all hours."""
        return sum(hour.failed for hour in self.hours)

    @property
    def failure_rate(self) -> float | None:
        """The share of ended ingestions that failed; None without any."""
        ended = self.completed + self.failed
        return self.failed / ended if ended else None


HOURS = 24
DAYS = 30


async def operations(conn: Conn) -> Operations:
    """The figures of the last 24 hours, and the spend of the last 30 days."""
    return Operations(
        await waiting(conn),
        await matching_jobs.figures_of_tenant(conn),
        await hours(conn, last=HOURS),
        await steps(conn, hours=HOURS),
        await workers(conn),
        await spend(conn, days=DAYS),
        await failures(conn),
    )
