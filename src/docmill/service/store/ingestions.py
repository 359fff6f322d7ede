"""Ingestions: the requests to process a document, and their results."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb
from pydantic import JsonValue

from docmill.errors import EncryptedError
from docmill.service.store import result_columns
from docmill.service.store.database import DEFAULT_USER_ID, Conn, new_id, storable_values
from docmill.service.store.result_columns import ResultColumns


@dataclass(frozen=True, kw_only=True)
class IngestionRow(ResultColumns):
    """One request to process a document. status: `in-progress`, `completed` or `failed`."""

    id: UUID
    tenant_id: UUID
    document_id: UUID
    doc_source_id: UUID | None
    source_name: str | None
    source_kind: str | None
    uploaded_by: UUID | None
    status: str
    step: str | None
    progress_at: datetime
    attempt_count: int
    deaths: int
    started_at: datetime | None
    lease_until: datetime | None
    fence: int
    worker_id: str | None
    next_attempt_at: datetime | None
    source_metadata: dict[str, Any] | None
    error_code: str | None
    error_message: str | None
    failed_step: str | None
    created_at: datetime
    completed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Origin:
    """The cause of an ingestion: a person, or a source. Without either, the user of this machine did.

    metadata: what the source says about the item, such as sender and subject; of a part, also its place.
    """

    uploaded_by: UUID | None = None
    source_id: UUID | None = None
    metadata: Mapping[str, JsonValue] | None = None


_ROWS: LiteralString = f"""
            SELECT ingestion.id, ingestion.tenant_id, document_id, doc_source_id,
                   (SELECT name FROM doc_source WHERE id = doc_source_id) AS source_name,
                   (SELECT kind FROM doc_source WHERE id = doc_source_id) AS source_kind,
                   uploaded_by, status, step,
                   progress_at, attempt_count, deaths, started_at, lease_until, fence, worker_id,
                   next_attempt_at, source_metadata, {result_columns.NAMES},
                   error_code, error_message, failed_step, ingestion.created_at, completed_at
              FROM ingestion
              JOIN document ON document.id = document_id
"""  # noqa: S608  the names of columns are our own
"""Query for `IngestionRow`s, to which conditions are appended."""


async def of_document(conn: Conn, document_id: UUID) -> list[IngestionRow]:
    """The document's ingestions, newest first."""
    async with conn.cursor(row_factory=class_row(IngestionRow)) as cur:
        await cur.execute(
            _ROWS
            + """
             WHERE document_id = %(document_id)s
             ORDER BY ordinal DESC
            """,
            {"document_id": document_id},
        )
        return await cur.fetchall()


async def get(conn: Conn, ingestion_id: UUID) -> IngestionRow | None:
    """The ingestion, or None if this tenant has none of that id."""
    async with conn.cursor(row_factory=class_row(IngestionRow)) as cur:
        await cur.execute(_ROWS + " WHERE ingestion.id = %(ingestion_id)s", {"ingestion_id": ingestion_id})
        return await cur.fetchone()


async def page(
    conn: Conn,
    *,
    status: str | None = None,
    document_id: UUID | None = None,
    since: datetime | None = None,
    after: UUID | None = None,
    limit: int,
) -> list[IngestionRow]:
    """Up to `limit` ingestions, newest first. since: of their request. after: the last one before these."""
    async with conn.cursor(row_factory=class_row(IngestionRow)) as cur:
        await cur.execute(
            _ROWS
            + """
             WHERE (%(status)s::text IS NULL OR status = %(status)s)
               AND (%(document_id)s::uuid IS NULL OR document_id = %(document_id)s)
               AND (%(since)s::timestamptz IS NULL OR ingestion.created_at >= %(since)s)
               AND (%(after)s::uuid IS NULL OR ingestion.id < %(after)s)
             ORDER BY ingestion.id DESC
             LIMIT %(limit)s
            """,
            {"status": status, "document_id": document_id, "since": since, "after": after, "limit": limit},
        )
        return await cur.fetchall()


async def begin(
    conn: Conn,
    *,
    tenant_id: UUID,
    document_id: UUID,
    origin: Origin,
    traceparent: str | None = None,
    reread_of: UUID | None = None,
) -> UUID:
    """A new ingestion of the document. The caller has locked the document and seen that none is under way.

    traceparent: where its trace goes on from; the message itself carries nothing but the id. reread_of: an
    earlier ingestion of the document, whose transcription is taken over.
    """
    ingestion_id = new_id()
    uploaded_by = origin.uploaded_by or (DEFAULT_USER_ID if origin.source_id is None else None)
    await conn.execute(
        """
        INSERT INTO ingestion
            (id, tenant_id, document_id, doc_source_id, uploaded_by, source_metadata, traceparent,
             transcription_file_path, preprocessed_file_path)
        SELECT %(id)s, %(tenant_id)s, %(document_id)s, %(source_id)s, %(uploaded_by)s, %(source_metadata)s,
               %(traceparent)s, earlier.transcription_file_path, earlier.preprocessed_file_path
          FROM (SELECT %(reread_of)s::uuid AS id) reread
          LEFT JOIN ingestion earlier ON earlier.id = reread.id AND earlier.document_id = %(document_id)s
        """,
        {
            "id": ingestion_id,
            "tenant_id": tenant_id,
            "document_id": document_id,
            "source_id": origin.source_id,
            "uploaded_by": uploaded_by,
            "source_metadata": None
            if origin.metadata is None
            else Jsonb(storable_values(dict(origin.metadata))),
            "traceparent": traceparent,
            "reread_of": reread_of,
        },
    )
    return ingestion_id


@dataclass(frozen=True, slots=True)
class NewestIngestion:
    """A document's newest ingestion. root_id: the upload's with which it came; its own, if it came alone."""

    status: str
    error_code: str | None
    pipeline_fingerprint: str | None
    root_id: UUID

    def has_result(self, fingerprint: str) -> bool:
        """True if it was completed by the pipeline of this fingerprint."""
        return self.status == "completed" and self.pipeline_fingerprint == fingerprint

    @property
    def is_locked(self) -> bool:
        """True if it failed for want of a password."""
        return self.status == "failed" and self.error_code == EncryptedError.code


async def newest(conn: Conn, document_id: UUID) -> NewestIngestion | None:
    """The document's newest ingestion; None if it has none."""
    async with conn.cursor(row_factory=class_row(NewestIngestion)) as cur:
        await cur.execute(
            """
            SELECT status, error_code, pipeline_fingerprint,
                   coalesce((source_metadata ->> 'root_ingestion_id')::uuid, id) AS root_id
              FROM ingestion
             WHERE document_id = %(document_id)s
             ORDER BY ordinal DESC
             LIMIT 1
            """,
            {"document_id": document_id},
        )
        return await cur.fetchone()


async def newest_id(conn: Conn, document_id: UUID) -> UUID:
    """The id of the newest ingestion of a document that has one."""
    cur = await conn.execute(
        "SELECT id FROM ingestion WHERE document_id = %(document_id)s ORDER BY ordinal DESC LIMIT 1",
        {"document_id": document_id},
    )
    row = await cur.fetchone()
    assert row is not None, "the caller knows of one"
    return row[0]


async def live_id(conn: Conn, document_id: UUID) -> UUID | None:
    """The ingestion of the document that is under way."""
    cur = await conn.execute(
        "SELECT id FROM ingestion WHERE document_id = %(document_id)s AND status = 'in-progress'",
        {"document_id": document_id},
    )
    row = await cur.fetchone()
    return row[0] if row else None


async def revive(conn: Conn, ingestion_id: UUID) -> bool:
    """Make a `stale` ingestion that nobody works on due at once; False for any other.

    The 10 minutes are those of the view `document_state`; what waits for so long is started again, too. One
    whose row is locked is being ended, by a worker who waits for its document: not waiting for that worker is
    what keeps the two from waiting for ever.
    """
    cur = await conn.execute(
        """
        UPDATE ingestion
           SET progress_at = clock_timestamp(), next_attempt_at = NULL
         WHERE id = (
               SELECT id
                 FROM ingestion
                WHERE id = %(ingestion_id)s
                  AND status = 'in-progress'
                  AND progress_at < clock_timestamp() - interval '10 minutes'
                  AND (lease_until IS NULL OR lease_until < clock_timestamp())
                  FOR UPDATE SKIP LOCKED
           )
        """,
        {"ingestion_id": ingestion_id},
    )
    return cur.rowcount == 1


async def is_free(conn: Conn, ingestion_id: UUID) -> bool:
    """True if a live ingestion could be claimed now."""
    cur = await conn.execute(
        """
        SELECT (lease_until IS NULL OR lease_until <= clock_timestamp())
               AND (next_attempt_at IS NULL OR next_attempt_at <= clock_timestamp())
          FROM ingestion
         WHERE id = %(ingestion_id)s AND status = 'in-progress'
        """,
        {"ingestion_id": ingestion_id},
    )
    row = await cur.fetchone()
    return bool(row and row[0])


async def recall(conn: Conn, ingestion_id: UUID) -> None:
    """Take a live ingestion from its worker, to be begun again from its first attempt at once.

    The caller has locked the document. Who holds the ingestion's own row without that lock waits for nothing
    of ours, so waiting for it cannot be a circle.
    """
    await conn.execute(
        """
        UPDATE ingestion
           SET fence = fence + 1,
               lease_until = NULL,
               next_attempt_at = NULL,
               attempt_count = 0,
               waiting_since = NULL,
               deaths = 0,
               claim_token = NULL,
               step = NULL,
               progress_at = clock_timestamp()
         WHERE id = %(ingestion_id)s AND status = 'in-progress'
        """,
        {"ingestion_id": ingestion_id},
    )
