"""Documents as their owner sees them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.rows import class_row

from docmill.errors import OutdatedError
from docmill.model.result import Classification
from docmill.service.search.snippets import Snippet, snippet_of
from docmill.service.store.bin import showing_bin
from docmill.service.store.database import Conn, new_id, storable

STATES = ("processing", "stale", "needs_classification", "needs_review", "failed", "ready")
NOT_READ = "not_read"
"""What people are told instead of `ready` of a file that was kept, but not read."""
REJECTED = "rejected"
"""What people are told of a document that was read and that a person has rejected."""

_SEARCHED = 200_000
"""Characters of a document's text in which the place that was found is looked for."""
ROWS = """
            SELECT document.id, document.tenant_id, content_hash, media_type, byte_size, file_name, file_path,
                   readable_file_path, page_count, document_type, title, summary, document_date, language,
                   archive_serial_number, structured_data, verdict, rejection,
                   needs_human_review OR EXISTS (
                       SELECT FROM near_duplicate
                        WHERE near_duplicate.document_id = document.id AND is_duplicate IS NULL
                   ) AS needs_human_review,
                   state, step, error_code, error_message,
                   progress_at, is_waiting, next_attempt_at, ingestion_id, created_at, updated_at, version,
                   ARRAY(SELECT name FROM tag_assignment JOIN tag ON tag.id = tag_id
                          WHERE document_id = document.id AND NOT is_removed AND removed_at IS NULL
                          ORDER BY position NULLS LAST, assigned_at, name) AS tags
              FROM document
              JOIN document_state ON document_state.id = document.id
"""
"""Query for `DocumentRow`s, to which conditions are appended."""


@dataclass(frozen=True)
class DocumentRow:
    """A document, its state, and how far its newest ingestion is.

    readable_file_path: of the copy that is read where the original is protected by a password.
    verdict: of its values with what people said, once somebody has; else that of the ingestion counts.
    rejection: the reason for which a person has rejected it. tags: those of the machine in its order, then
    those that people added. version: grows with every change that a person can see.
    step, error_code, error_message, progress_at, next_attempt_at: of the newest ingestion. is_waiting: it is
    under way, and nobody works on it now.
    """

    id: UUID
    tenant_id: UUID
    content_hash: str
    media_type: str
    byte_size: int
    file_name: str
    file_path: str
    readable_file_path: str | None
    page_count: int | None
    document_type: str | None
    title: str | None
    summary: str | None
    document_date: date | None
    language: str | None
    archive_serial_number: int | None
    structured_data: dict[str, Any] | None
    verdict: dict[str, Any] | None
    rejection: str | None
    needs_human_review: bool
    state: str
    step: str | None
    error_code: str | None
    error_message: str | None
    progress_at: datetime | None
    is_waiting: bool
    next_attempt_at: datetime | None
    ingestion_id: UUID | None
    created_at: datetime
    updated_at: datetime
    version: int
    tags: list[str]

    @property
    def outcome(self) -> str:
        """The state as people are told it."""
        if self.rejection is not None and self.state in ("needs_classification", "needs_review", "ready"):
            return REJECTED
        return NOT_READ if self.state == "ready" and self.error_message else self.state


async def get(conn: Conn, document_id: UUID) -> DocumentRow | None:
    """The document, or None if this tenant has none of that id."""
    async with conn.cursor(row_factory=class_row(DocumentRow)) as cur:
        await cur.execute(
            ROWS
            + """
             WHERE document.id = %(document_id)s
            """,
            {"document_id": document_id},
        )
        return await cur.fetchone()


async def called(conn: Conn, name: str, *, limit: int) -> list[DocumentRow]:
    """Up to `limit` documents whose file name begins so, or whose id begins or ends so.

    Those of just this file name stand first, then the newest.
    """
    async with conn.cursor(row_factory=class_row(DocumentRow)) as cur:
        await cur.execute(
            ROWS
            + """
             WHERE starts_with(document.id::text, lower(%(name)s))
                OR right(document.id::text, length(%(name)s)) = lower(%(name)s)
                OR starts_with(lower(file_name), lower(%(name)s))
             ORDER BY lower(file_name) = lower(%(name)s) DESC, document.id DESC
             LIMIT %(limit)s
            """,
            {"name": storable(name), "limit": limit},
        )
        return await cur.fetchall()


async def snippets(conn: Conn, ids: Sequence[UUID], query: str) -> dict[UUID, Snippet]:
    """The place of each document's text that a query found, by document; without those it found by name."""
    cur = await conn.execute(
        "SELECT id, left(text, %(longest)s) FROM document WHERE id = ANY(%(ids)s) AND text IS NOT NULL",
        {"ids": list(ids), "longest": _SEARCHED},
    )
    found = {document_id: snippet_of(text, query) for document_id, text in await cur.fetchall()}
    return {document_id: snippet for document_id, snippet in found.items() if snippet is not None}


async def counts(conn: Conn) -> dict[str, int]:
    """The number of documents by `outcome`, 0 for those without any."""
    cur = await conn.execute(
        """
        SELECT CASE WHEN rejection IS NOT NULL AND state IN ('needs_classification', 'needs_review', 'ready')
                    THEN %(rejected)s
                    WHEN state = 'ready' AND error_message IS NOT NULL THEN %(not_read)s
                    ELSE state END AS outcome,
               count(*)
          FROM document_state
          JOIN document ON document.id = document_state.id
         GROUP BY outcome
        """,
        {"not_read": NOT_READ, "rejected": REJECTED},
    )
    return dict.fromkeys((*STATES, NOT_READ, REJECTED), 0) | dict(await cur.fetchall())


async def of_content(conn: Conn, content_hash: str) -> UUID | None:
    """The document of this content, also one in the bin; None if the tenant has none."""
    async with showing_bin(conn):
        cur = await conn.execute(
            "SELECT id FROM document WHERE content_hash = %(content_hash)s", {"content_hash": content_hash}
        )
        row = await cur.fetchone()
    return None if row is None else row[0]


async def number(conn: Conn) -> int:
    """The number of all documents."""
    cur = await conn.execute("SELECT count(*) FROM document")
    (number_of_rows,) = await cur.fetchone() or (0,)
    return number_of_rows


class EnteredDocument(NamedTuple):
    """The document of an uploaded content. is_deleted: it is in the bin."""

    id: UUID
    is_new: bool
    is_deleted: bool


async def upsert(
    conn: Conn,
    *,
    tenant_id: UUID,
    content_hash: str,
    byte_size: int,
    file_name: str,
    file_path: str,
    is_part: bool = False,
) -> EnteredDocument:
    """The document of this content. Its row is locked until the transaction ends.

    is_part: it comes as a part of another one now. One that came by itself is no part ever after.
    """
    new = new_id()
    async with showing_bin(conn):
        cur = await conn.execute(
            """
            INSERT INTO document (id, tenant_id, content_hash, byte_size, file_name, file_path, is_part)
            VALUES (%(id)s, %(tenant_id)s, %(content_hash)s, %(byte_size)s, %(file_name)s, %(file_path)s,
                    %(is_part)s)
            ON CONFLICT (tenant_id, content_hash) DO UPDATE
               SET updated_at = clock_timestamp(), is_part = document.is_part AND excluded.is_part
            RETURNING id, deleted_at IS NOT NULL
            """,
            {
                "id": new,
                "tenant_id": tenant_id,
                "content_hash": content_hash,
                "byte_size": byte_size,
                "file_name": file_name,
                "file_path": file_path,
                "is_part": is_part,
            },
        )
        row = await cur.fetchone()
    assert row is not None  # the conflict updates, so there is always a row
    document_id, is_deleted = row
    return EnteredDocument(document_id, document_id == new, is_deleted)


async def lock(conn: Conn, document_id: UUID, *, versions: Collection[int] | None = None) -> bool:
    """Keep the document's row for this transaction; False if this tenant has none of that id.

    versions: of the document, one of which the caller saw. Raises OutdatedError if it has another.
    """
    cur = await conn.execute(
        "SELECT FROM document WHERE id = %(document_id)s FOR NO KEY UPDATE", {"document_id": document_id}
    )
    if cur.rowcount == 0:
        return False
    if versions is not None:
        cur = await conn.execute(
            "SELECT version FROM document_state WHERE id = %(document_id)s", {"document_id": document_id}
        )
        row = await cur.fetchone()
        if row is None or row[0] not in versions:
            raise OutdatedError("The document was changed meanwhile. Look at it as it is now.")
    return True


async def apply_edits(conn: Conn, document_id: UUID) -> None:
    """Give the document the title and date of people's edits, which a trigger puts in their place."""
    await conn.execute(
        """
        UPDATE document
           SET title = title, document_date = document_date, updated_at = clock_timestamp()
         WHERE id = %(document_id)s
        """,
        {"document_id": document_id},
    )


async def describe(conn: Conn, document_id: UUID, described: Classification | None) -> None:
    """Give the document the title and date that follow from its values; those that a person gave it stay.

    described: None for what was found when it was read last.
    """
    await conn.execute(
        """
        UPDATE document
           SET title = CASE WHEN %(is_described)s THEN %(title)s ELSE latest.classification ->> 'title' END,
               document_date = coalesce(
                   reviewed_date(document.id),
                   CASE WHEN %(is_described)s THEN %(date)s
                        ELSE (latest.classification ->> 'document_date')::date END
               ),
               updated_at = clock_timestamp()
          FROM (SELECT) AS one
          LEFT JOIN LATERAL (
               SELECT classification
                 FROM ingestion
                WHERE document_id = %(document_id)s AND classification IS NOT NULL
                ORDER BY ordinal DESC
                LIMIT 1
          ) AS latest ON true
         WHERE document.id = %(document_id)s
        """,
        {
            "document_id": document_id,
            "is_described": described is not None,
            "title": storable(described.title) if described else None,
            "date": described.document_date if described else None,
        },
    )


async def set_readable(conn: Conn, document_id: UUID, readable_file_path: str) -> bool:
    """Have the document read from this copy; False if it is already."""
    cur = await conn.execute(
        """
        UPDATE document
           SET readable_file_path = %(readable_file_path)s, updated_at = clock_timestamp()
         WHERE id = %(document_id)s AND readable_file_path IS DISTINCT FROM %(readable_file_path)s
        """,
        {"document_id": document_id, "readable_file_path": readable_file_path},
    )
    return cur.rowcount == 1
