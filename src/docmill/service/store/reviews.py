"""Reviews of a document's values: all are kept, and the newest of a path counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb
from pydantic import JsonValue

from docmill.model.result import Classification
from docmill.service.store.database import Conn, new_id, storable, storable_values

Action = Literal["confirm", "correct", "clear", "remove", "reject", "undo"]
"""`remove` takes a row out of a list, and leaves `{}` in its place, so that the others keep their numbers."""

WHOLE = ""
"""The path of a review that speaks of the document; its value lists the checks that it lets pass."""

TYPE = ":document_type"
TITLE = ":title"
DATE = ":document_date"
SERIAL_NUMBER = ":archive_serial_number"
"""The paths of reviews that speak of the document itself. No field has such a path."""

PROPERTIES = frozenset({TYPE, TITLE, DATE, SERIAL_NUMBER})

REJECTION = ":rejection"
"""The path of a review by which a person rejects the document; its value is the reason."""

NOT_VALUES = PROPERTIES | {WHOLE, REJECTION}
"""The paths of reviews that speak of no value of a field."""


@dataclass(frozen=True, slots=True)
class ReviewRow:
    """One person's review of one value.

    number: grows with every review. before: the value that this one replaced. machine: what had been read
    there. undoes: the review that this one takes back; redoes: the undo that it takes back. reason: why the
    value was confirmed without a look at it, None if it was looked at.
    """

    id: UUID
    number: int
    ingestion_id: UUID
    path: str
    action: Action
    value: JsonValue
    before: JsonValue
    machine: JsonValue
    page: int | None
    box: list[float] | None
    evidence: dict[str, Any] | None
    undoes: UUID | None
    redoes: UUID | None
    reason: str | None
    reviewed_by: UUID
    at: datetime


@dataclass(frozen=True, slots=True)
class CurrentReview:
    """The review of a path that counts. read_now: the value that the newest ingestion has read there."""

    id: UUID
    ingestion_id: UUID
    path: str
    action: Action
    value: JsonValue
    before: JsonValue
    machine: JsonValue
    evidence: dict[str, Any] | None
    read_now: JsonValue
    reviewed_by: UUID
    at: datetime

    @property
    def is_contradicted(self) -> bool:
        """True if a machine has since read a new value that differs from the person's."""
        return self.path not in NOT_VALUES and self.read_now not in (self.machine, self.value)


@dataclass(frozen=True, slots=True)
class ReviewToStore:
    """A review to be kept. See `ReviewRow`."""

    path: str
    action: Action
    value: JsonValue
    before: JsonValue
    machine: JsonValue
    page: int | None = None
    box: Sequence[float] | None = None
    evidence: dict[str, Any] | None = None
    undoes: UUID | None = None
    redoes: UUID | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ReviewableResult:
    """The result that people review. machine: its data as read; data: with what people said.

    verdict: of the values with what people said, or of the ingestion while nobody has. read_verdict: of
    the ingestion. evidence: of what was read. suggestions: for fields that are null.
    archive_serial_number: of its label.
    """

    document_type: str | None
    file_name: str
    ingestion_id: UUID
    transcription_file_path: str | None
    classification: dict[str, Any] | None
    machine: dict[str, Any] | None
    data: dict[str, Any] | None
    evidence: dict[str, Any] | None
    suggestions: dict[str, Any] | None
    verdict: dict[str, Any] | None
    read_verdict: dict[str, Any] | None
    archive_serial_number: int | None = None


@dataclass(frozen=True, slots=True)
class ReviewedRow:
    """A document that a person has looked at, to learn from.

    ingestion_id: of its result. data: with what people said. evidence: where each value stands, likewise.
    paths: those that people confirmed, corrected or cleared, without what they confirmed unseen. is_settled:
    whether nothing is left to look at, and nothing was passed unseen, so that the other values have
    passed too. number: of the newest review that holds.
    """

    document_id: UUID
    ingestion_id: UUID
    file_name: str
    transcription_file_path: str
    data: dict[str, Any]
    evidence: dict[str, Any]
    paths: list[str]
    is_settled: bool
    number: int
    reviewed_at: datetime


async def add(
    conn: Conn,
    *,
    tenant_id: UUID,
    document_id: UUID,
    ingestion_id: UUID,
    reviewed_by: UUID,
    reviews: Sequence[ReviewToStore],
) -> None:
    """Keep reviews, in their order. The caller has locked the document."""
    async with conn.cursor() as cur:
        await cur.executemany(
            """
            INSERT INTO review
                (id, tenant_id, document_id, ingestion_id, path, action, value, before, machine, page, box,
                 evidence, undoes, redoes, reason, reviewed_by)
            VALUES
                (%(id)s, %(tenant_id)s, %(document_id)s, %(ingestion_id)s, %(path)s, %(action)s, %(value)s,
                 %(before)s, %(machine)s, %(page)s, %(box)s, %(evidence)s, %(undoes)s, %(redoes)s,
                 %(reason)s, %(reviewed_by)s)
            """,
            [
                {
                    "id": new_id(),
                    "tenant_id": tenant_id,
                    "document_id": document_id,
                    "ingestion_id": ingestion_id,
                    "path": review.path,
                    "action": review.action,
                    "value": Jsonb(storable_values(review.value)),
                    "before": Jsonb(review.before),
                    "machine": Jsonb(review.machine),
                    "page": review.page,
                    "box": None if review.box is None else list(review.box),
                    "evidence": None if review.evidence is None else Jsonb(review.evidence),
                    "undoes": review.undoes,
                    "redoes": review.redoes,
                    "reason": storable(review.reason),
                    "reviewed_by": reviewed_by,
                }
                for review in reviews
            ],
        )


async def history(conn: Conn, document_id: UUID) -> list[ReviewRow]:
    """All reviews of the document, newest first."""
    async with conn.cursor(row_factory=class_row(ReviewRow)) as cur:
        await cur.execute(
            """
            SELECT id, number, ingestion_id, path, action, value, before, machine, page, box, evidence,
                   undoes, redoes, reason, reviewed_by, at
              FROM review
             WHERE document_id = %(document_id)s
             ORDER BY number DESC
            """,
            {"document_id": document_id},
        )
        return await cur.fetchall()


async def current(conn: Conn, document_id: UUID) -> dict[str, CurrentReview]:
    """The review that counts, for each path that has one."""
    async with conn.cursor(row_factory=class_row(CurrentReview)) as cur:
        await cur.execute(
            """
            SELECT review.id, ingestion_id, path, action, value, before, machine, review.evidence,
                   coalesce(result.structured_data #> path_steps(path), 'null') AS read_now, reviewed_by, at
              FROM current_review review
              JOIN document ON document.id = review.document_id
              LEFT JOIN ingestion result ON result.id = document.result_ingestion_id
             WHERE review.document_id = %(document_id)s
             ORDER BY number
            """,
            {"document_id": document_id},
        )
        return {row.path: row for row in await cur.fetchall()}


async def reviewable_result(conn: Conn, document_id: UUID) -> ReviewableResult | None:
    """The result to review; None if nothing has been read, or this tenant has no such document."""
    async with conn.cursor(row_factory=class_row(ReviewableResult)) as cur:
        await cur.execute(
            """
            SELECT document_type, file_name, result.id AS ingestion_id, result.transcription_file_path,
                   result.classification, result.structured_data AS machine,
                   with_reviews(result.structured_data, document.id) AS data,
                   result.evidence, result.suggestions, coalesce(document.verdict, result.verdict) AS verdict,
                   result.verdict AS read_verdict, result.archive_serial_number
              FROM document
              JOIN ingestion result ON result.id = result_ingestion_id
             WHERE document.id = %(document_id)s
            """,
            {"document_id": document_id},
        )
        return await cur.fetchone()


async def settle(
    conn: Conn,
    document_id: UUID,
    *,
    data: dict[str, Any] | None,
    failures: Sequence[JsonValue],
    accepted: Sequence[JsonValue],
    description: Classification,
    has_reviewed_values: bool,
    rejection: str | None,
) -> None:
    """Give the document its values as reviewed, with title, summary, tags and date as they follow from them.

    data: the values as reviewed. failures: what a person must still look at. rejection: why a person has
    rejected the document.
    """
    await conn.execute(
        """
        UPDATE document
           SET structured_data = %(data)s,
               verdict = %(verdict)s,
               needs_human_review = %(is_open)s,
               review_due = false,
               rejection = %(rejection)s,
               title = coalesce(%(title)s, result.classification ->> 'title'),
               summary = %(summary)s,
               tags = %(tags)s,
               document_date = coalesce(reviewed_date(document.id), %(date)s),
               updated_at = clock_timestamp()
          FROM ingestion result
         WHERE document.id = %(document_id)s AND result.id = document.result_ingestion_id
        """,
        {
            "document_id": document_id,
            "data": Jsonb(data),
            "verdict": Jsonb({"failures": list(failures), "accepted": list(accepted)}),
            "is_open": bool(failures),
            "title": storable(description.title),
            "summary": storable(description.summary),
            "tags": Jsonb(storable_values(list(description.tags))) if has_reviewed_values else None,
            "date": description.document_date,
            "rejection": storable(rejection),
        },
    )


async def reviewed(
    conn: Conn, schema_name: str, *, limit: int, only: Sequence[UUID] | None = None
) -> list[ReviewedRow]:
    """Up to `limit` documents of this tenant and type that people reviewed, the latest reviewed first.

    only: those of them that are wanted.
    """
    async with conn.cursor(row_factory=class_row(ReviewedRow)) as cur:
        await cur.execute(
            """
            WITH said AS (
                SELECT document_id,
                       array_agg(path ORDER BY number) FILTER (WHERE reason IS NULL) AS paths,
                       bool_or(reason IS NOT NULL) AS is_unseen,
                       max(at) AS reviewed_at,
                       max(number) AS number,
                       coalesce(jsonb_object_agg(path, evidence) FILTER (WHERE evidence IS NOT NULL), '{}')
                           AS places,
                       array_agg(path) FILTER (WHERE action <> 'confirm') AS changed
                  FROM current_review
                 WHERE path NOT IN ('', ':document_type', ':title', ':document_date',
                                    ':archive_serial_number', ':rejection')
                   AND (%(only)s::uuid[] IS NULL OR document_id = ANY(%(only)s))
                 GROUP BY document_id
                HAVING bool_or(reason IS NULL)
            )
            SELECT document.id AS document_id, result.id AS ingestion_id, file_name,
                   result.transcription_file_path,
                   document.structured_data AS data,
                   (coalesce(result.evidence, '{}') - coalesce(changed, '{}')) || places AS evidence,
                   paths, NOT needs_human_review AND NOT is_unseen AS is_settled, said.number, reviewed_at
              FROM said
              JOIN document ON document.id = said.document_id
              JOIN ingestion result ON result.id = document.result_ingestion_id
             WHERE document_type = %(schema_name)s
               AND document.structured_data IS NOT NULL
               AND result.transcription_file_path IS NOT NULL
             ORDER BY said.number DESC
             LIMIT %(limit)s
            """,
            {"schema_name": schema_name, "limit": limit, "only": None if only is None else list(only)},
        )
        return await cur.fetchall()
