"""Corrections in the database, table `lesson`: one for each reviewed document, made from it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from docmill.service.store.database import Conn


@dataclass(frozen=True, slots=True)
class Version:
    """Changes whenever a review is made or taken back, or a correction is made, made anew or dropped."""

    review: int | None
    lesson: int | None
    count: int


@dataclass(frozen=True, slots=True)
class ReviewedDocument:
    """A document that people reviewed. correction: the number of its correction; None if not made yet."""

    document_id: UUID
    reviewed: int
    correction: int | None


@dataclass(frozen=True, slots=True)
class StoredCorrection:
    """A correction. content: as JSON."""

    document_id: UUID
    number: int
    content: str


@dataclass(frozen=True, slots=True)
class NewCorrection:
    """A correction to be kept. content: None where nothing can be learned from the document."""

    document_id: UUID
    ingestion_id: UUID
    reviewed: int
    content: dict[str, Any] | None


async def version(conn: Conn, schema_name: str, *, made_by: str) -> Version:
    """The version of this tenant's corrections of a schema, in one look at two indexes."""
    async with conn.cursor(row_factory=class_row(Version)) as cur:
        await cur.execute(
            """
            SELECT (SELECT number FROM review ORDER BY number DESC LIMIT 1) AS review,
                   max(number) AS lesson, count(*) AS count
              FROM lesson
             WHERE schema_name = %(schema_name)s AND made_by = %(made_by)s
            """,
            {"schema_name": schema_name, "made_by": made_by},
        )
        row = await cur.fetchone()
    assert row is not None, "an aggregate has a row"
    return row


async def reviewed_documents(
    conn: Conn, schema_name: str, *, made_by: str, limit: int
) -> list[ReviewedDocument]:
    """The documents of this type that people reviewed, the latest review first."""
    async with conn.cursor(row_factory=class_row(ReviewedDocument)) as cur:
        await cur.execute(
            """
            WITH latest AS (
                SELECT document_id, max(number) AS number
                  FROM current_review
                 WHERE path NOT IN ('', ':document_type', ':title', ':document_date',
                                    ':archive_serial_number', ':rejection')
                 GROUP BY document_id
                HAVING bool_or(reason IS NULL) -- nothing is learned from what was confirmed unseen
            )
            SELECT document.id AS document_id, latest.number AS reviewed, lesson.number AS correction
              FROM latest
              JOIN document ON document.id = latest.document_id
              JOIN ingestion result ON result.id = document.result_ingestion_id
              LEFT JOIN lesson ON lesson.document_id = document.id
                              AND lesson.schema_name = %(schema_name)s
                              AND lesson.ingestion_id = result.id
                              AND lesson.reviewed = latest.number
                              AND lesson.made_by = %(made_by)s
             WHERE document_type = %(schema_name)s
               AND document.structured_data IS NOT NULL
               AND result.transcription_file_path IS NOT NULL
             ORDER BY latest.number DESC
             LIMIT %(limit)s
            """,
            {"schema_name": schema_name, "made_by": made_by, "limit": limit},
        )
        return await cur.fetchall()


async def keep(
    conn: Conn, corrections: Sequence[NewCorrection], *, tenant_id: UUID, schema_name: str, made_by: str
) -> None:
    """Keep corrections, in place of those that the documents had before."""
    async with conn.cursor() as cur:
        await cur.executemany(
            """
            INSERT INTO lesson
                (document_id, tenant_id, schema_name, ingestion_id, reviewed, made_by, content)
            SELECT id, %(tenant_id)s, %(schema_name)s, %(ingestion_id)s, %(reviewed)s, %(made_by)s,
                   %(content)s
              FROM document
             WHERE id = %(document_id)s
            ON CONFLICT (document_id, made_by) DO UPDATE
               SET number = DEFAULT,
                   made_at = DEFAULT,
                   schema_name = EXCLUDED.schema_name,
                   ingestion_id = EXCLUDED.ingestion_id,
                   reviewed = EXCLUDED.reviewed,
                   content = EXCLUDED.content
            """,
            [
                {
                    "document_id": correction.document_id,
                    "tenant_id": tenant_id,
                    "schema_name": schema_name,
                    "ingestion_id": correction.ingestion_id,
                    "reviewed": correction.reviewed,
                    "made_by": made_by,
                    "content": None if correction.content is None else Jsonb(correction.content),
                }
                for correction in corrections
            ],
        )


async def delete_others(
    conn: Conn, schema_name: str, document_ids: Collection[UUID], *, made_by: str
) -> None:
    """Delete the corrections of all other documents: their reviews were taken back, or are long ago.

    Those of other makers go when they are old: until then, workers of another release may need them. Those of
    documents in the bin stay, for they may be restored.
    """
    await conn.execute(
        """
        DELETE FROM lesson
         WHERE schema_name = %(schema_name)s
           AND EXISTS (SELECT FROM document WHERE document.id = lesson.document_id)
           AND CASE made_by
               WHEN %(made_by)s THEN document_id <> ALL(%(ids)s)
               ELSE made_at < clock_timestamp() - interval '7 days'
               END
        """,
        {"schema_name": schema_name, "made_by": made_by, "ids": list(document_ids)},
    )


async def delete(conn: Conn, document_id: UUID) -> None:
    """Delete the correction of a document that is read anew."""
    await conn.execute("DELETE FROM lesson WHERE document_id = %(id)s", {"id": document_id})


async def renumber(conn: Conn, document_ids: Sequence[UUID]) -> None:
    """Have the corrections of these documents looked up anew: they were deleted, or restored."""
    await conn.execute(
        "UPDATE lesson SET number = DEFAULT WHERE document_id = ANY(%(ids)s)", {"ids": list(document_ids)}
    )


async def read(conn: Conn, numbers: Collection[int]) -> list[StoredCorrection]:
    """The corrections of these numbers from which something can be learned."""
    async with conn.cursor(row_factory=class_row(StoredCorrection)) as cur:
        await cur.execute(
            """
            SELECT document_id, number, content::text AS content
              FROM lesson
             WHERE number = ANY(%(numbers)s) AND content IS NOT NULL
            """,
            {"numbers": list(numbers)},
        )
        return await cur.fetchall()
