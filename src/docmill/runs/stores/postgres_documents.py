"""The SQL of documents in PostgreSQL. Each function runs in a transaction and may be repeated."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from docmill.runs.states import (
    DONE,
    Added,
    DocumentState,
    DocumentStatus,
    NewDocument,
    Settlement,
)
from docmill.runs.stores.postgres_results import keep_letters
from docmill.runs.stores.postgres_rows import (
    json_of,
    key_of,
    keys_of,
    metadata_of,
    optional_text_of,
    state_from,
    text_of,
)
from docmill.runs.stores.postgres_runs import find_run
from docmill.runs.stores.postgres_tables import PAGE, Connection

_STATE: Final = """
    d.path, d.name, d.status, d.content_hash, d.error, d.attempts, d.last_attempt, d.completed_at, d.metadata,
    d.version, d.is_uncertain, d.done_as, d.timings_s, d.tokens, d.cost
"""


def add(conn: Connection, run_id: str, documents: Sequence[NewDocument], listing: int) -> Added:
    """See `StateStore.add`."""
    find_run(conn, run_id)
    _take_turns(conn, run_id)
    columns = {
        "run_id": text_of(run_id),
        "listing": listing,
        "keys": [key_of(document.path) for document in documents],
        "paths": [text_of(document.path) for document in documents],
        "names": [text_of(document.name) for document in documents],
        "metadata": [metadata_of(document.metadata) for document in documents],
        "versions": [text_of(document.version) for document in documents],
    }
    new = conn.execute(
        """
        INSERT INTO docmill_runs.document_states (run_id, key, path, name, metadata, version, listing)
        SELECT %(run_id)s, key, path, name, metadata::json, version, %(listing)s
          FROM unnest(%(keys)s::bytea[], %(paths)s::text[], %(names)s::text[], %(metadata)s::text[],
                      %(versions)s::text[]) WITH ORDINALITY
               AS listed (key, path, name, metadata, version, place)
         ORDER BY place
            ON CONFLICT DO NOTHING
        """,
        columns,
    ).rowcount
    if new == len(documents):
        return Added(new, 0)
    (changed,) = conn.execute(
        """
        WITH known AS (
            SELECT d.id, listed.version, listed.metadata,
                   d.status = 'vanished' OR d.version <> listed.version AND d.status = 'failed'
                   OR (d.version <> listed.version OR listed.version = '')
                      AND d.status IN ('completed', 'needs_review') AS is_again
              FROM unnest(%(keys)s::bytea[], %(metadata)s::text[], %(versions)s::text[])
                   AS listed (key, metadata, version)
              JOIN docmill_runs.document_states AS d ON d.run_id = %(run_id)s AND d.key = listed.key
             WHERE d.listing < %(listing)s
             ORDER BY d.id
               FOR UPDATE OF d),
        updated AS (
            UPDATE docmill_runs.document_states AS d
               SET status = CASE WHEN is_again THEN 'pending' ELSE d.status END,
                   due = CASE WHEN is_again THEN 'epoch' ELSE d.due END,
                   done_as = CASE WHEN NOT is_again THEN d.done_as
                                  WHEN d.status IN ('completed', 'needs_review') THEN d.status END,
                   version = known.version, listing = %(listing)s,
                   metadata = coalesce(known.metadata::json, d.metadata)
              FROM known
             WHERE d.run_id = %(run_id)s AND d.id = known.id
            RETURNING is_again)
        SELECT count(*) FROM updated WHERE is_again
        """,
        columns,
    ).fetchone() or (0,)
    return Added(new, changed)


def end_listing(conn: Connection, run_id: str, listing: int) -> int:
    """See `StateStore.end_listing`."""
    find_run(conn, run_id)
    _take_turns(conn, run_id)
    return conn.execute(
        """
        UPDATE docmill_runs.document_states SET status = 'vanished'
         WHERE run_id = %s AND status IN ('pending', 'failed') AND listing < %s
        """,
        (text_of(run_id), listing),
    ).rowcount


def _take_turns(conn: Connection, run_id: str) -> None:
    # Two runners that add the same documents in different orders would wait for each other.
    conn.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('docmill_runs listing ' || %s, 0))", [text_of(run_id)]
    )


def claim(conn: Connection, run_id: str, owner: str, limit: int, lease_s: float) -> Sequence[DocumentState]:
    """See `StateStore.claim`."""
    find_run(conn, run_id)
    values = {"run_id": text_of(run_id), "owner": text_of(owner), "limit": limit, "lease_s": lease_s}
    conn.execute(
        """
        WITH expired AS (
            SELECT id FROM docmill_runs.document_states
             WHERE run_id = %(run_id)s AND status = 'in_progress' AND lease_ends <= now()
               FOR UPDATE SKIP LOCKED)
        UPDATE docmill_runs.document_states AS d
           SET status = 'pending', due = 'epoch', owner = NULL, lease_ends = NULL, is_uncertain = true
          FROM expired
         WHERE d.run_id = %(run_id)s AND d.id = expired.id
        """,
        values,
    )
    rows = conn.execute(
        # What another runner is claiming at this moment is passed over; `now()`, unlike
        # `clock_timestamp()`, lets the index end the search.
        """
        WITH chosen AS (
            SELECT id, due FROM docmill_runs.document_states
             WHERE run_id = %(run_id)s AND status = 'pending' AND due <= now()
             ORDER BY due, id
             LIMIT %(limit)s
               FOR UPDATE SKIP LOCKED),
        d AS (
            UPDATE docmill_runs.document_states AS d
               SET status = 'in_progress', owner = %(owner)s,
                   lease_ends = clock_timestamp() + %(lease_s)s * interval '1 second'
              FROM chosen
             WHERE d.run_id = %(run_id)s AND d.id = chosen.id
            RETURNING chosen.due AS was_due, d.*)
        SELECT """  # noqa: S608  the columns are a constant of this module
        + _STATE
        + "FROM d ORDER BY was_due, id",
        values,
    )
    return [state_from(row) for row in rows]


def settle(conn: Connection, run_id: str, settlements: Sequence[Settlement], owner: str) -> Collection[str]:
    """See `StateStore.settle`."""
    run_id = text_of(run_id)
    ids: dict[bytes, int] = dict(
        conn.execute(
            """
            SELECT key, id FROM docmill_runs.document_states
             WHERE run_id = %s AND key = ANY(%s::bytea[]) AND status = 'in_progress' AND owner = %s
             ORDER BY id
               FOR UPDATE
            """,
            (run_id, [key_of(end.path) for end in settlements], text_of(owner)),
        ).fetchall()
    )
    kept = [(ids[key], end) for end in settlements if (key := key_of(end.path)) in ids]
    _settle_changed(conn, run_id, [(number, end) for number, end in kept if not end.is_unchanged])
    _settle_unchanged(conn, run_id, [(number, end) for number, end in kept if end.is_unchanged])
    if done := [number for number, end in kept if end.status in DONE]:
        conn.execute(
            "DELETE FROM docmill_runs.stage_results WHERE run_id = %s AND id = ANY(%s)", (run_id, done)
        )
    letters = [(number, end.dead_letter) for number, end in kept if end.dead_letter is not None]
    if outdated := [*done, *(number for number, _ in letters)]:
        conn.execute(
            "DELETE FROM docmill_runs.dead_letters WHERE run_id = %s AND id = ANY(%s)", (run_id, outdated)
        )
    keep_letters(conn, run_id, letters)
    return [end.path for end in settlements if key_of(end.path) not in ids]


def _settle_changed(conn: Connection, run_id: str, ends: Sequence[tuple[int, Settlement]]) -> None:
    if not ends:
        return
    # Clocks of machines differ: the wait counts, from this moment.
    now = datetime.now(UTC)
    conn.execute(
        """
        UPDATE docmill_runs.document_states AS d
           SET status = ended.status, attempts = ended.attempts, last_attempt = ended.at,
               completed_at = CASE WHEN is_done THEN ended.at END, error = ended.error,
               content_hash = coalesce(ended.content_hash, d.content_hash), timings_s = ended.timings_s::json,
               due = coalesce(now() + wait_s * interval '1 second', 'epoch'),
               tokens = d.tokens + ended.tokens, cost = d.cost + ended.cost, owner = NULL, lease_ends = NULL,
               done_as = CASE WHEN NOT is_done THEN d.done_as END,
               is_uncertain = d.is_uncertain AND NOT is_done
          FROM unnest(%s::bigint[], %s::text[], %s::boolean[], %s::integer[], %s::timestamptz[], %s::text[],
                      %s::text[], %s::float8[], %s::text[], %s::bigint[], %s::numeric[])
               AS ended (id, status, is_done, attempts, at, content_hash, error, wait_s, timings_s, tokens,
                         cost)
         WHERE d.run_id = %s AND d.id = ended.id
        """,
        (
            [number for number, _ in ends],
            [end.status for _, end in ends],
            [end.status in DONE for _, end in ends],
            [end.attempts for _, end in ends],
            [end.at.astimezone(UTC) for _, end in ends],
            [end.content_hash for _, end in ends],
            [optional_text_of(end.error) for _, end in ends],
            [None if end.retry_at is None else (end.retry_at - now).total_seconds() for _, end in ends],
            [json_of({stage: round(s, 4) for stage, s in end.timings_s.items()}) for _, end in ends],
            [end.tokens for _, end in ends],
            [end.cost for _, end in ends],
            run_id,
        ),
    )


def _settle_unchanged(conn: Connection, run_id: str, ends: Sequence[tuple[int, Settlement]]) -> None:
    if not ends:
        return
    conn.execute(
        """
        UPDATE docmill_runs.document_states AS d
           SET status = ended.status, owner = NULL, lease_ends = NULL, done_as = NULL, is_uncertain = false
          FROM unnest(%s::bigint[], %s::text[]) AS ended (id, status)
         WHERE d.run_id = %s AND d.id = ended.id
        """,
        ([number for number, _ in ends], [end.status for _, end in ends], run_id),
    )


def renew(conn: Connection, run_id: str, owner: str, lease_s: float) -> None:
    """See `StateStore.renew`."""
    conn.execute(
        """
        UPDATE docmill_runs.document_states
           SET lease_ends = clock_timestamp() + %s * interval '1 second'
         WHERE run_id = %s AND status = 'in_progress' AND owner = %s
        """,
        (lease_s, text_of(run_id), text_of(owner)),
    )


def release(conn: Connection, run_id: str, owner: str) -> None:
    """See `StateStore.release`."""
    conn.execute(
        """
        UPDATE docmill_runs.document_states
           SET status = 'pending', due = 'epoch', owner = NULL, lease_ends = NULL, is_uncertain = true
         WHERE run_id = %s AND status = 'in_progress' AND owner = %s
        """,
        (text_of(run_id), text_of(owner)),
    )


def next_due_s(conn: Connection, run_id: str) -> float | None:
    """See `StateStore.next_due_s`."""
    (due_s,) = conn.execute(
        """
        SELECT extract(epoch FROM least(
            (SELECT min(due) FROM docmill_runs.document_states
              WHERE run_id = %(run_id)s AND status = 'pending'),
            (SELECT min(lease_ends) FROM docmill_runs.document_states
              WHERE run_id = %(run_id)s AND status = 'in_progress')) - clock_timestamp())::float8
        """,
        {"run_id": text_of(run_id)},
    ).fetchone() or (None,)
    return None if due_s is None else max(0.0, due_s)


def count(conn: Connection, run_id: str) -> Mapping[DocumentStatus, int]:
    """See `StateStore.count`."""
    find_run(conn, run_id)
    rows = conn.execute(
        "SELECT status, count(*) FROM docmill_runs.document_states WHERE run_id = %s GROUP BY status",
        [text_of(run_id)],
    )
    return dict(rows.fetchall())


def page(
    conn: Connection, run_id: str, status: DocumentStatus | None, after: int
) -> list[tuple[int, DocumentState]]:
    """A page of `StateStore.documents`, with their ids. after: the last id of the page before."""
    find_run(conn, run_id)
    rows = conn.execute(
        "SELECT d.id, "  # noqa: S608  the columns are a constant of this module
        + _STATE
        + """
          FROM docmill_runs.document_states AS d
         WHERE d.run_id = %(run_id)s AND d.id > %(after)s
           AND (%(status)s::text IS NULL OR d.status = %(status)s)
         ORDER BY d.id LIMIT %(limit)s
        """,
        {"run_id": text_of(run_id), "after": after, "status": status, "limit": PAGE},
    )
    return [(row[0], state_from(row[1:])) for row in rows]


def find_document(conn: Connection, run_id: str, path: str) -> DocumentState | None:
    """See `StateStore.find_document`."""
    row = conn.execute(
        "SELECT " + _STATE + "FROM docmill_runs.document_states AS d WHERE d.run_id = %s AND d.key = %s",
        (text_of(run_id), key_of(path)),
    ).fetchone()
    return None if row is None else state_from(row)


def requeue(conn: Connection, run_id: str, paths: Sequence[str] | None) -> int:
    """See `StateStore.requeue`."""
    find_run(conn, run_id)
    return conn.execute(
        """
        UPDATE docmill_runs.document_states SET status = 'pending', due = 'epoch', attempts = 0
         WHERE run_id = %(run_id)s AND status = 'failed'
           AND (%(keys)s::bytea[] IS NULL OR key = ANY(%(keys)s::bytea[]))
        """,
        {"run_id": text_of(run_id), "keys": keys_of(paths)},
    ).rowcount
