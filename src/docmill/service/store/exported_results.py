"""Results and reviews for the records of exported documents, of many documents at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.store.database import Conn


@dataclass(frozen=True, slots=True)
class ExportedResult:
    """The result of a document, and how far its newest ingestion came.

    reviews: the whole history, oldest first, as JSON. parts: what it holds, in order, as JSON.
    """

    document_id: UUID
    attempts: int | None
    failed_step: str | None
    evidence: dict[str, Any] | None
    suggestions: dict[str, Any] | None
    verdict: dict[str, Any] | None
    extraction_reason: str | None
    extraction_model: str | None
    extraction_input_tokens: int | None
    extraction_output_tokens: int | None
    cost: Decimal | None
    reviews: list[dict[str, Any]]
    parts: list[dict[str, Any]]


async def of_documents(conn: Conn, ids: Sequence[UUID]) -> dict[UUID, ExportedResult]:
    """The results of these documents, by document."""
    async with conn.cursor(row_factory=class_row(ExportedResult)) as cur:
        await cur.execute(
            """
            SELECT document.id AS document_id, newest.attempt_count AS attempts, newest.failed_step,
                   result.evidence, result.suggestions, result.verdict, result.extraction_reason,
                   result.extraction_model, result.extraction_input_tokens, result.extraction_output_tokens,
                   result.cost,
                   coalesce(reviewed.reviews, '[]') AS reviews, coalesce(held.parts, '[]') AS parts
              FROM document
              LEFT JOIN ingestion result ON result.id = document.result_ingestion_id
              LEFT JOIN LATERAL (
                   SELECT attempt_count, failed_step
                     FROM ingestion
                    WHERE ingestion.document_id = document.id
                    ORDER BY ordinal DESC
                    LIMIT 1
              ) newest ON true
              LEFT JOIN LATERAL (
                   SELECT jsonb_agg(jsonb_build_object(
                              'id', review.id, 'path', path, 'action', action, 'value', value,
                              'before', before, 'machine', machine, 'page', page, 'box', box,
                              'evidence', review.evidence, 'undoes', undoes, 'ingestion_id', ingestion_id,
                              'reviewed_by', reviewed_by, 'at', at) ORDER BY number) AS reviews
                     FROM review
                    WHERE review.document_id = document.id
              ) reviewed ON true
              LEFT JOIN LATERAL (
                   SELECT jsonb_agg(jsonb_build_object(
                              'document_id', child_id, 'name', name, 'kind', kind, 'first_page', first_page,
                              'last_page', last_page, 'problem', problem) ORDER BY position) AS parts
                     FROM part
                    WHERE part.parent_id = document.id
              ) held ON true
             WHERE document.id = ANY(%(ids)s)
            """,
            {"ids": list(ids)},
        )
        return {row.document_id: row for row in await cur.fetchall()}
