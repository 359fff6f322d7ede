"""The SQL of stage results and dead letters in PostgreSQL."""

from collections.abc import Mapping, Sequence
from datetime import UTC

from docmill.runs.states import DeadLetter, StageResult
from docmill.runs.stores.postgres_rows import key_of, keys_of, letter_from, metadata_of, text_from, text_of
from docmill.runs.stores.postgres_runs import find_run
from docmill.runs.stores.postgres_tables import PAGE, Connection


def keep_stages(conn: Connection, run_id: str, results: Sequence[StageResult]) -> None:
    """See `StateStore.keep_stages`."""
    with conn.cursor() as cursor:
        cursor.executemany(
            """
            INSERT INTO docmill_runs.stage_results (run_id, id, stage, content)
            SELECT run_id, id, %s, %b FROM docmill_runs.document_states WHERE run_id = %s AND key = %s
                ON CONFLICT (run_id, id, stage) DO UPDATE SET content = excluded.content
            """,
            [
                (text_of(result.stage), result.content, text_of(run_id), key_of(result.path))
                for result in results
            ],
        )


def stages(conn: Connection, run_id: str, path: str, prefix: str) -> Mapping[str, bytes]:
    """See `StateStore.stages`."""
    rows = conn.cursor(binary=True).execute(
        """
        SELECT r.stage, r.content FROM docmill_runs.stage_results AS r
          JOIN docmill_runs.document_states AS d USING (run_id, id)
         WHERE d.run_id = %s AND d.key = %s AND starts_with(r.stage, %s)
        """,
        (text_of(run_id), key_of(path), text_of(prefix)),
    )
    kept = {text_from(stage): bytes(content) for stage, content in rows}
    return {stage: kept[stage] for stage in sorted(kept)}


def remove_stages(conn: Connection, run_id: str, path: str, prefix: str) -> None:
    """See `StateStore.remove_stages`."""
    conn.execute(
        """
        DELETE FROM docmill_runs.stage_results AS r
         USING docmill_runs.document_states AS d
         WHERE d.run_id = %s AND d.key = %s AND r.run_id = d.run_id AND r.id = d.id
           AND starts_with(r.stage, %s)
        """,
        (text_of(run_id), key_of(path), text_of(prefix)),
    )


def dead_letters(conn: Connection, run_id: str, after: int) -> list[tuple[int, DeadLetter]]:
    """A page of `StateStore.dead_letters`, with their numbers. after: the last number of the page before."""
    find_run(conn, run_id)
    rows = conn.execute(
        """
        SELECT l.number, d.path, l.stage, l.error_type, l.code, l.message, l.traceback, l.attempts,
               l.failed_at, l.metadata
          FROM docmill_runs.dead_letters AS l
          JOIN docmill_runs.document_states AS d USING (run_id, id)
         WHERE l.run_id = %s AND l.number > %s ORDER BY l.number LIMIT %s
        """,
        (text_of(run_id), after, PAGE),
    )
    return [(row[0], letter_from(row[1:])) for row in rows]


def purge(conn: Connection, run_id: str, paths: Sequence[str] | None) -> int:
    """See `StateStore.purge`."""
    find_run(conn, run_id)
    return conn.execute(
        """
        DELETE FROM docmill_runs.dead_letters
         WHERE run_id = %(run_id)s
           AND (%(keys)s::bytea[] IS NULL
                OR id IN (SELECT id FROM docmill_runs.document_states
                           WHERE run_id = %(run_id)s AND key = ANY(%(keys)s::bytea[])))
        """,
        {"run_id": text_of(run_id), "keys": keys_of(paths)},
    ).rowcount


def keep_letters(conn: Connection, run_id: str, letters: Sequence[tuple[int, DeadLetter]]) -> None:
    """Keep the dead letters of documents that have none, with their ids. run_id: as it is stored."""
    if not letters:
        return
    with conn.cursor() as cursor:
        cursor.executemany(
            """
            INSERT INTO docmill_runs.dead_letters
                (run_id, id, stage, error_type, code, message, traceback, attempts, failed_at, metadata)
            VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
            """,
            [
                (
                    run_id,
                    number,
                    text_of(letter.stage),
                    text_of(letter.error_type),
                    text_of(letter.code),
                    text_of(letter.message),
                    text_of(letter.traceback),
                    letter.attempts,
                    letter.failed_at.astimezone(UTC),
                    metadata_of(letter.metadata),
                )
                for number, letter in letters
            ],
        )
