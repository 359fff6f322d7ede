"""The SQL of the state store in a SQLite file."""

import json
import sqlite3
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from docmill.errors import RunExistsError, UnknownRunError
from docmill.runs.states import (
    DONE,
    NO_METADATA,
    Added,
    DeadLetter,
    DocumentState,
    DocumentStatus,
    NewDocument,
    Run,
    RunStatus,
    Settlement,
    StageResult,
)

FORMAT = 1
PAGE = 1000
"""Rows that are held in memory at a time."""
_NANO = 1_000_000_000
TABLES = """
CREATE TABLE pipeline_runs (
    run_id TEXT PRIMARY KEY, started_at REAL NOT NULL, completed_at REAL, status TEXT NOT NULL,
    fingerprint TEXT NOT NULL, configuration TEXT, listing INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE document_states (
    id INTEGER PRIMARY KEY, run_id TEXT NOT NULL REFERENCES pipeline_runs ON DELETE CASCADE,
    path TEXT NOT NULL, name TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'pending', content_hash TEXT,
    error TEXT, attempts INTEGER NOT NULL DEFAULT 0, last_attempt REAL, completed_at REAL, metadata TEXT,
    version TEXT NOT NULL, is_uncertain INTEGER NOT NULL DEFAULT 0, done_as TEXT, timings_s TEXT,
    tokens INTEGER NOT NULL DEFAULT 0, nano_dollars INTEGER NOT NULL DEFAULT 0, listing INTEGER NOT NULL,
    owner TEXT, lease_ends REAL, due REAL NOT NULL DEFAULT 0, UNIQUE (run_id, path)
) STRICT;
CREATE INDEX document_states_waiting ON document_states (run_id, due, id) WHERE status = 'pending';
CREATE INDEX document_states_claimed ON document_states (run_id, lease_ends) WHERE status = 'in_progress';
CREATE INDEX document_states_failed ON document_states (run_id, id) WHERE status = 'failed';
CREATE TABLE stage_results (
    run_id TEXT NOT NULL, path TEXT NOT NULL, stage TEXT NOT NULL, content BLOB NOT NULL,
    PRIMARY KEY (run_id, path, stage),
    FOREIGN KEY (run_id, path) REFERENCES document_states (run_id, path) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE TABLE dead_letters (
    id INTEGER PRIMARY KEY, run_id TEXT NOT NULL, path TEXT NOT NULL, stage TEXT NOT NULL,
    error_type TEXT NOT NULL, code TEXT NOT NULL, message TEXT NOT NULL, traceback TEXT NOT NULL,
    attempts INTEGER NOT NULL, failed_at REAL NOT NULL, metadata TEXT, UNIQUE (run_id, path),
    FOREIGN KEY (run_id, path) REFERENCES document_states (run_id, path) ON DELETE CASCADE
) STRICT;
"""
_STATE_COLUMNS = """
    path, name, status, content_hash, error, attempts, last_attempt, completed_at, metadata, version,
    is_uncertain, done_as, timings_s, tokens, nano_dollars
"""


def prepare(db: sqlite3.Connection) -> bool:
    """Make the tables in a new file; False for a file of something else."""
    (stored,) = db.execute("PRAGMA user_version").fetchone()
    (tables,) = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if stored == 0 and not tables:
        for statement in TABLES.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {FORMAT}")
        return True
    return bool(stored == FORMAT)


def create_run(db: sqlite3.Connection, run: Run) -> None:
    """See `StateStore.create_run`."""
    try:
        db.execute(
            "INSERT INTO pipeline_runs (run_id, started_at, status, fingerprint, configuration)"
            " VALUES (?, ?, ?, ?, ?)",
            (
                run.run_id,
                run.started_at.timestamp(),
                run.status,
                run.fingerprint,
                None if run.configuration is None else json.dumps(run.configuration),
            ),
        )
    except sqlite3.IntegrityError:
        raise RunExistsError(
            f"there is a run {run.run_id!r} already; resume it, or choose another name"
        ) from None


def find_run(db: sqlite3.Connection, run_id: str) -> Run:
    """See `StateStore.find_run`."""
    row = db.execute(
        "SELECT run_id, started_at, fingerprint, status, completed_at, configuration, listing"
        " FROM pipeline_runs WHERE run_id = ?",
        (run_id,),
    ).fetchone()
    if row is None:
        raise UnknownRunError(f"there is no run {run_id!r}; `docmill runs list` names all")
    return _run_of(row)


def list_runs(db: sqlite3.Connection) -> Sequence[Run]:
    """See `StateStore.list_runs`."""
    rows = db.execute(
        "SELECT run_id, started_at, fingerprint, status, completed_at, configuration, listing"
        " FROM pipeline_runs ORDER BY started_at DESC"
    )
    return [_run_of(row) for row in rows]


def update_run(
    db: sqlite3.Connection,
    run_id: str,
    status: RunStatus,
    completed_at: datetime | None,
    fingerprint: str | None,
) -> None:
    """See `StateStore.update_run`."""
    find_run(db, run_id)
    db.execute(
        "UPDATE pipeline_runs SET status = ?, completed_at = ?, fingerprint = coalesce(?, fingerprint)"
        " WHERE run_id = ?",
        (status, completed_at and completed_at.timestamp(), fingerprint, run_id),
    )


def remove_run(db: sqlite3.Connection, run_id: str) -> None:
    """See `StateStore.remove_run`."""
    find_run(db, run_id)
    db.execute("DELETE FROM pipeline_runs WHERE run_id = ?", (run_id,))


def begin_listing(db: sqlite3.Connection, run_id: str) -> int:
    """See `StateStore.begin_listing`."""
    find_run(db, run_id)
    row = db.execute(
        "UPDATE pipeline_runs SET listing = listing + 1 WHERE run_id = ? RETURNING listing", (run_id,)
    ).fetchone()
    return int(row[0])


def add(db: sqlite3.Connection, run_id: str, documents: Sequence[NewDocument], listing: int) -> Added:
    """See `StateStore.add`."""
    find_run(db, run_id)
    before = db.total_changes
    db.executemany(
        """
        INSERT INTO document_states (run_id, path, name, metadata, version, listing)
        VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT DO NOTHING
        """,
        [(run_id, new.path, new.name, _json_of(new.metadata), new.version, listing) for new in documents],
    )
    count = db.total_changes - before
    if count == len(documents):
        return Added(count, 0)
    before = db.total_changes
    db.executemany(
        """
        UPDATE document_states
           SET status = 'pending', due = 0, done_as = nullif(nullif(status, 'failed'), 'vanished')
         WHERE run_id = ?1 AND path = ?2 AND listing < ?4
           AND (status = 'vanished' OR version <> ?3 AND status = 'failed'
                OR (version <> ?3 OR ?3 = '') AND status IN ('completed', 'needs_review'))
        """,
        [(run_id, known.path, known.version, listing) for known in documents],
    )
    changed = db.total_changes - before
    db.executemany(
        """
        UPDATE document_states SET version = ?3, listing = ?4, metadata = coalesce(?5, metadata)
         WHERE run_id = ?1 AND path = ?2 AND listing < ?4
        """,
        [(run_id, known.path, known.version, listing, _json_of(known.metadata)) for known in documents],
    )
    return Added(count, changed)


def end_listing(db: sqlite3.Connection, run_id: str, listing: int) -> int:
    """See `StateStore.end_listing`."""
    find_run(db, run_id)
    return db.execute(
        """
        UPDATE document_states SET status = 'vanished'
         WHERE run_id = ? AND status IN ('pending', 'failed') AND listing < ?
        """,
        (run_id, listing),
    ).rowcount


def claim(
    db: sqlite3.Connection, run_id: str, owner: str, limit: int, lease_s: float
) -> Sequence[DocumentState]:
    """See `StateStore.claim`."""
    find_run(db, run_id)
    now = time.time()
    db.execute(
        """
        UPDATE document_states
           SET status = 'pending', due = 0, owner = NULL, lease_ends = NULL, is_uncertain = 1
         WHERE run_id = ? AND status = 'in_progress' AND lease_ends <= ?
        """,
        (run_id, now),
    )
    rows = db.execute(
        f"""
        UPDATE document_states SET status = 'in_progress', owner = ?, lease_ends = ?
         WHERE id IN (SELECT id FROM document_states
                       WHERE run_id = ? AND status = 'pending' AND due <= ?
                       ORDER BY due, id LIMIT ?)
        RETURNING due, id, {_STATE_COLUMNS}
        """,  # noqa: S608  the columns are a constant of this module
        (owner, now + lease_s, run_id, now, limit),
    ).fetchall()
    return [_state_of(row[2:]) for row in sorted(rows, key=lambda row: row[:2])]


def settle(
    db: sqlite3.Connection, run_id: str, settlements: Sequence[Settlement], owner: str
) -> Collection[str]:
    """See `StateStore.settle`."""
    owned = {
        path
        for (path,) in db.execute(
            """
            SELECT path FROM document_states
             WHERE run_id = ? AND status = 'in_progress' AND owner = ?
               AND path IN (SELECT value FROM json_each(?))
            """,
            (run_id, owner, json.dumps([end.path for end in settlements])),
        )
    }
    kept = [end for end in settlements if end.path in owned]
    db.executemany(
        """
        UPDATE document_states
           SET status = ?3, attempts = ?4, last_attempt = ?5, completed_at = ?6,
               content_hash = coalesce(?7, content_hash), error = ?8, due = ?9, timings_s = ?10,
               tokens = tokens + ?11, nano_dollars = nano_dollars + ?12, owner = NULL, lease_ends = NULL,
               done_as = CASE WHEN ?6 IS NULL THEN done_as END,
               is_uncertain = CASE WHEN ?6 IS NULL THEN is_uncertain ELSE 0 END
         WHERE run_id = ?1 AND path = ?2
        """,
        [_settled_row(run_id, end) for end in kept if not end.is_unchanged],
    )
    db.executemany(
        """
        UPDATE document_states
           SET status = ?3, owner = NULL, lease_ends = NULL, done_as = NULL, is_uncertain = 0
         WHERE run_id = ?1 AND path = ?2
        """,
        [(run_id, end.path, end.status) for end in kept if end.is_unchanged],
    )
    done = [(run_id, end.path) for end in kept if end.status in DONE]
    db.executemany("DELETE FROM stage_results WHERE run_id = ? AND path = ?", done)
    db.executemany("DELETE FROM dead_letters WHERE run_id = ? AND path = ?", done)
    db.executemany(
        """
        INSERT OR REPLACE INTO dead_letters
            (run_id, path, stage, error_type, code, message, traceback, attempts, failed_at, metadata)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        [_letter_row(run_id, end.dead_letter) for end in kept if end.dead_letter is not None],
    )
    return [end.path for end in settlements if end.path not in owned]


def renew(db: sqlite3.Connection, run_id: str, owner: str, lease_s: float) -> None:
    """See `StateStore.renew`."""
    db.execute(
        "UPDATE document_states SET lease_ends = ? WHERE run_id = ? AND status = 'in_progress' AND owner = ?",
        (time.time() + lease_s, run_id, owner),
    )


def release(db: sqlite3.Connection, run_id: str, owner: str) -> None:
    """See `StateStore.release`."""
    db.execute(
        """
        UPDATE document_states
           SET status = 'pending', due = 0, owner = NULL, lease_ends = NULL, is_uncertain = 1
         WHERE run_id = ? AND status = 'in_progress' AND owner = ?
        """,
        (run_id, owner),
    )


def next_due_s(db: sqlite3.Connection, run_id: str) -> float | None:
    """See `StateStore.next_due_s`."""
    (due,) = db.execute(
        """
        SELECT min(moment) FROM (
            SELECT min(due) AS moment FROM document_states WHERE run_id = ?1 AND status = 'pending'
             UNION ALL
            SELECT min(lease_ends) FROM document_states WHERE run_id = ?1 AND status = 'in_progress')
        """,
        (run_id,),
    ).fetchone()
    return None if due is None else max(0.0, due - time.time())


def count(db: sqlite3.Connection, run_id: str) -> Mapping[DocumentStatus, int]:
    """See `StateStore.count`."""
    find_run(db, run_id)
    return dict(
        db.execute(
            "SELECT status, count(*) FROM document_states WHERE run_id = ? GROUP BY status", (run_id,)
        ).fetchall()
    )


def page(
    db: sqlite3.Connection, run_id: str, status: DocumentStatus | None, after: int
) -> list[tuple[int, DocumentState]]:
    """A page of `StateStore.documents`, with their ids. after: the last id of the page before."""
    find_run(db, run_id)
    rows = db.execute(
        f"""
        SELECT id, {_STATE_COLUMNS} FROM document_states
         WHERE run_id = ? AND id > ? AND (? IS NULL OR status = ?) ORDER BY id LIMIT ?
        """,  # noqa: S608  the columns are a constant of this module
        (run_id, after, status, status, PAGE),
    )
    return [(row[0], _state_of(row[1:])) for row in rows]


def find_document(db: sqlite3.Connection, run_id: str, path: str) -> DocumentState | None:
    """See `StateStore.find_document`."""
    row = db.execute(
        f"SELECT {_STATE_COLUMNS} FROM document_states WHERE run_id = ? AND path = ?",  # noqa: S608
        (run_id, path),
    ).fetchone()
    return None if row is None else _state_of(row)


def requeue(db: sqlite3.Connection, run_id: str, paths: Sequence[str] | None) -> int:
    """See `StateStore.requeue`."""
    find_run(db, run_id)
    return db.execute(
        """
        UPDATE document_states SET status = 'pending', due = 0, attempts = 0
         WHERE run_id = ?1 AND status = 'failed'
           AND (?2 IS NULL OR path IN (SELECT value FROM json_each(?2)))
        """,
        (run_id, None if paths is None else json.dumps(list(paths))),
    ).rowcount


def keep_stages(db: sqlite3.Connection, run_id: str, results: Iterable[StageResult]) -> None:
    """See `StateStore.keep_stages`."""
    db.executemany(
        "INSERT OR REPLACE INTO stage_results (run_id, path, stage, content) VALUES (?, ?, ?, ?)",
        [(run_id, *result) for result in results],
    )


def stages(db: sqlite3.Connection, run_id: str, path: str, prefix: str) -> Mapping[str, bytes]:
    """See `StateStore.stages`."""
    return dict(
        db.execute(
            """
            SELECT stage, content FROM stage_results
             WHERE run_id = ?1 AND path = ?2 AND substr(stage, 1, length(?3)) = ?3 ORDER BY stage
            """,
            (run_id, path, prefix),
        ).fetchall()
    )


def remove_stages(db: sqlite3.Connection, run_id: str, path: str, prefix: str) -> None:
    """See `StateStore.remove_stages`."""
    db.execute(
        """
        DELETE FROM stage_results
         WHERE run_id = ?1 AND path = ?2 AND substr(stage, 1, length(?3)) = ?3
        """,
        (run_id, path, prefix),
    )


def dead_letters(db: sqlite3.Connection, run_id: str, after: int) -> list[tuple[int, DeadLetter]]:
    """A page of `StateStore.dead_letters`, with their ids. after: the last id of the page before."""
    find_run(db, run_id)
    rows = db.execute(
        """
        SELECT id, path, stage, error_type, code, message, traceback, attempts, failed_at, metadata
          FROM dead_letters WHERE run_id = ? AND id > ? ORDER BY id LIMIT ?
        """,
        (run_id, after, PAGE),
    )
    return [(row[0], _letter_of(row[1:])) for row in rows]


def purge(db: sqlite3.Connection, run_id: str, paths: Sequence[str] | None) -> int:
    """See `StateStore.purge`."""
    find_run(db, run_id)
    return db.execute(
        """
        DELETE FROM dead_letters
         WHERE run_id = ?1 AND (?2 IS NULL OR path IN (SELECT value FROM json_each(?2)))
        """,
        (run_id, None if paths is None else json.dumps(list(paths))),
    ).rowcount


def _json_of(value: Mapping[str, Any]) -> str | None:
    return json.dumps(dict(value)) if value else None


def _printable(text: str) -> str:
    """The text with halves of surrogate pairs, which UTF-8 does not have, written out."""
    return text.encode("utf-8", "backslashreplace").decode()


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _run_of(row: tuple[Any, ...]) -> Run:
    run_id, started_at, fingerprint, status, completed_at, configuration, listing = row
    return Run(
        run_id=run_id,
        started_at=_moment(started_at),
        fingerprint=fingerprint,
        status=status,
        completed_at=None if completed_at is None else _moment(completed_at),
        configuration=None if configuration is None else json.loads(configuration),
        listing=listing,
    )


def _state_of(row: Sequence[Any]) -> DocumentState:
    (path, name, status, content_hash, error, attempts, last_attempt, completed_at, metadata, version) = row[
        :10
    ]
    is_uncertain, done_as, timings_s, tokens, cost = row[10:]
    return DocumentState(
        path=path,
        name=name,
        status=status,
        content_hash=content_hash,
        error=error,
        attempts=attempts,
        last_attempt=None if last_attempt is None else _moment(last_attempt),
        completed_at=None if completed_at is None else _moment(completed_at),
        metadata=json.loads(metadata) if metadata else NO_METADATA,
        version=version,
        is_uncertain=bool(is_uncertain),
        done_as=done_as,
        timings_s=json.loads(timings_s) if timings_s else {},
        tokens=tokens,
        cost=Decimal(cost) / _NANO,
    )


def _settled_row(run_id: str, end: Settlement) -> tuple[object, ...]:
    at = end.at.timestamp()
    return (
        run_id,
        end.path,
        end.status,
        end.attempts,
        at,
        at if end.status in DONE else None,
        end.content_hash,
        None if end.error is None else _printable(end.error),
        end.retry_at.timestamp() if end.retry_at else 0.0,
        json.dumps({stage: round(seconds, 4) for stage, seconds in end.timings_s.items()}),
        end.tokens,
        int(end.cost * _NANO),
    )


def _letter_row(run_id: str, letter: DeadLetter) -> tuple[object, ...]:
    return (
        run_id,
        letter.path,
        letter.stage,
        letter.error_type,
        letter.code,
        _printable(letter.message),
        _printable(letter.traceback),
        letter.attempts,
        letter.failed_at.timestamp(),
        _json_of(letter.metadata),
    )


def _letter_of(row: tuple[Any, ...]) -> DeadLetter:
    path, stage, error_type, code, message, traceback, attempts, failed_at, metadata = row
    return DeadLetter(
        path=path,
        stage=stage,
        error_type=error_type,
        code=code,
        message=message,
        traceback=traceback,
        attempts=attempts,
        failed_at=_moment(failed_at),
        metadata=json.loads(metadata) if metadata else NO_METADATA,
    )
