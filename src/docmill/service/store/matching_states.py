"""How far the matching of a document is."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.store.database import Conn


@dataclass(frozen=True, slots=True)
class MatchingState:
    """How far the matching of a document is.

    attempts: deliveries since it was asked for. error: of the last one that failed, without text of the
    document. failed_at: when it was given up. waiting_since: the first time that a model could not be asked,
    while the document waits for it.
    """

    status: Literal["pending", "in-progress", "succeeded", "failed"]
    attempts: int
    error: str | None
    failed_at: datetime | None
    waiting_since: datetime | None = None


async def get(conn: Conn, document_id: UUID) -> MatchingState | None:
    """The state of a document; None for one that is not matched, such as a letter."""
    async with conn.cursor(row_factory=class_row(MatchingState)) as cur:
        await cur.execute(
            """
            SELECT matching_status AS status, matching_attempts AS attempts, matching_error AS error,
                   matching_failed_at AS failed_at, waiting_since
              FROM document
              LEFT JOIN matching_job ON document_id = id
             WHERE id = %(id)s AND matching_status IS NOT NULL
            """,
            {"id": document_id},
        )
        return await cur.fetchone()
