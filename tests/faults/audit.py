"""What must hold when all is over, told from the database, the queue and the files alone."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import psycopg
from psycopg import sql

from docmill.service.ports import Depth, Queue
from docmill.service.storage.blobs import Blobs


def open_books(database_url: str) -> None:
    """Have the database write down every end of an ingestion, beside and independent of docmill."""
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute(
            "CREATE TABLE ending (ingestion_id uuid, fence bigint, status text, holder text, writer text)"
        )
        conn.execute(
            """
            CREATE FUNCTION write_ending() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
            BEGIN
                INSERT INTO ending VALUES (
                    NEW.id, NEW.fence, NEW.status, NEW.worker_id, NEW.structured_data ->> 'number'
                );
                RETURN NULL;
            END
            $$
            """
        )
        conn.execute(
            """
            CREATE TRIGGER write_ending AFTER UPDATE ON ingestion
                FOR EACH ROW WHEN (NEW.status <> 'in-progress') EXECUTE FUNCTION write_ending()
            """
        )


@dataclass
class Findings:
    """What is wrong, and how much was right."""

    completed: int = 0
    failed: int = 0
    lost: list[UUID] = field(default_factory=list[UUID])
    unfinished: list[UUID] = field(default_factory=list[UUID])
    duplicated: list[UUID] = field(default_factory=list[UUID])
    written_by_strangers: list[UUID] = field(default_factory=list[UUID])
    left_over: list[str] = field(default_factory=list[str])

    @property
    def wrong(self) -> dict[str, list[UUID] | list[str]]:
        """Every kind of fault that was found."""
        kinds = {
            "lost": self.lost,
            "unfinished": self.unfinished,
            "duplicated": self.duplicated,
            "written by strangers": self.written_by_strangers,
            "left over": self.left_over,
        }
        return {kind: found for kind, found in kinds.items() if found}


async def examine(
    database_url: str, queue: Queue, blobs: Blobs, work: Path, accepted: Iterable[UUID]
) -> Findings:
    """Compare what was accepted (ingestion ids) with what became of it. work: where workers have folders."""
    findings = Findings()
    kept = await _kept(blobs)
    with psycopg.connect(database_url, autocommit=True) as conn:
        statuses: dict[UUID, str] = dict(conn.execute("SELECT id, status FROM ingestion").fetchall())
        endings = conn.execute("SELECT ingestion_id, holder, status, writer FROM ending").fetchall()
        count = Counter(row[0] for row in endings)
        findings.lost = [id_ for id_ in accepted if id_ not in statuses]
        findings.unfinished = [id_ for id_, status in statuses.items() if status == "in-progress"]
        findings.duplicated = [id_ for id_, times in count.items() if times > 1]
        findings.written_by_strangers = [
            id_
            for id_, holder, status, writer in endings
            if status == "completed" and f"-{writer}-" not in holder
        ]
        findings.completed = sum(status == "completed" for status in statuses.values())
        findings.failed = sum(status == "failed" for status in statuses.values())
        findings.left_over = [
            *_messages_left(await queue.depth()),
            *_rows_left(conn),
            *_files_left(conn, kept),
            *_places_left(work),
        ]
    return findings


def _messages_left(depth: Depth) -> list[str]:
    count = depth.due + depth.delayed + depth.in_flight
    return [f"{count} messages in the queue"] if count else []


def _rows_left(conn: psycopg.Connection) -> list[str]:
    left: list[str] = []
    for table in ("message", "dead_message", "outbox"):
        exists = conn.execute("SELECT to_regclass(%s)", [table]).fetchone()
        if exists == (None,):
            continue
        rows = conn.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))).fetchone()
        if rows != (0,):
            left.append(f"{rows} rows of {table}")
    return left


async def _kept(blobs: Blobs) -> dict[str, str]:
    """The hash of every stored file."""
    keys = [key for prefix in ("incoming", "documents", "ingestions") for key in await blobs.keys(prefix)]
    return {key: hashlib.sha256(await blobs.get(key)).hexdigest() for key in keys}


def _files_left(conn: psycopg.Connection, kept: dict[str, str]) -> list[str]:
    """Files that no row names, and files that a row names and that are not there, or others."""
    named = dict(conn.execute("SELECT file_path, content_hash FROM document").fetchall())
    ingestions = {str(row[0]) for row in conn.execute("SELECT id FROM ingestion").fetchall()}
    left = [f"the file {key} is gone" for key in named if key not in kept]
    for key, content_hash in kept.items():
        place, _, rest = key.partition("/")
        if key in named:
            if content_hash != named[key]:
                left.append(f"the file {key} is not what was stored")
        elif place != "ingestions" or rest.partition("/")[0] not in ingestions:
            left.append(f"nothing names the file {key}")
    return left


def _places_left(work: Path) -> list[str]:
    return [f"the place {path.name}" for path in work.glob("*") if path.name != "lock"]


async def is_quiet(database_url: str, queue: Queue) -> bool:
    """Whether nothing is under way."""
    messages = _messages_left(await queue.depth())
    with psycopg.connect(database_url, autocommit=True) as conn:
        row = conn.execute("SELECT count(*) FROM ingestion WHERE status = 'in-progress'").fetchone()
        rows = _rows_left(conn)
    return row == (0,) and not messages and not rows
