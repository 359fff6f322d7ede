"""The SQL of runs in PostgreSQL. Each function runs in a transaction and may be repeated."""

from collections.abc import Sequence
from datetime import UTC, datetime

from docmill.errors import RunExistsError, UnknownRunError
from docmill.runs.states import Run, RunStatus
from docmill.runs.stores.postgres_rows import json_of, optional_text_of, run_from, text_of
from docmill.runs.stores.postgres_tables import Connection


def create_run(conn: Connection, run: Run) -> None:
    """See `StateStore.create_run`."""
    cursor = conn.execute(
        """
        INSERT INTO docmill_runs.pipeline_runs (run_id, started_at, status, fingerprint, configuration)
        VALUES (%s, %s, %s, %s, %s)
            ON CONFLICT DO NOTHING
        """,
        (
            text_of(run.run_id),
            run.started_at.astimezone(UTC),
            run.status,
            text_of(run.fingerprint),
            json_of(run.configuration),
        ),
    )
    if not cursor.rowcount:
        raise RunExistsError(f"there is a run {run.run_id!r} already; resume it, or choose another name")


def find_run(conn: Connection, run_id: str) -> Run:
    """See `StateStore.find_run`."""
    row = conn.execute(
        """
        SELECT run_id, started_at, fingerprint, status, completed_at, configuration, listing
          FROM docmill_runs.pipeline_runs WHERE run_id = %s
        """,
        [text_of(run_id)],
    ).fetchone()
    if row is None:
        raise UnknownRunError(f"there is no run {run_id!r}; `docmill runs list` names all")
    return run_from(row)


def list_runs(conn: Connection) -> Sequence[Run]:
    """See `StateStore.list_runs`."""
    rows = conn.execute(
        """
        SELECT run_id, started_at, fingerprint, status, completed_at, configuration, listing
          FROM docmill_runs.pipeline_runs ORDER BY started_at DESC
        """
    )
    return [run_from(row) for row in rows]


def update_run(
    conn: Connection,
    run_id: str,
    status: RunStatus,
    completed_at: datetime | None,
    fingerprint: str | None,
) -> None:
    """See `StateStore.update_run`."""
    find_run(conn, run_id)
    conn.execute(
        """
        UPDATE docmill_runs.pipeline_runs
           SET status = %s, completed_at = %s, fingerprint = coalesce(%s, fingerprint)
         WHERE run_id = %s
        """,
        (
            status,
            completed_at and completed_at.astimezone(UTC),
            optional_text_of(fingerprint),
            text_of(run_id),
        ),
    )


def remove_run(conn: Connection, run_id: str) -> None:
    """See `StateStore.remove_run`."""
    find_run(conn, run_id)
    conn.execute("DELETE FROM docmill_runs.pipeline_runs WHERE run_id = %s", [text_of(run_id)])


def begin_listing(conn: Connection, run_id: str) -> int:
    """See `StateStore.begin_listing`."""
    find_run(conn, run_id)
    (listing,) = conn.execute(
        "UPDATE docmill_runs.pipeline_runs SET listing = listing + 1 WHERE run_id = %s RETURNING listing",
        [text_of(run_id)],
    ).fetchone() or (1,)
    return int(listing)
