"""Dead letters: one for each message of a queue that failed for good and waits for a person.

A message names an ingestion or, in the queue of matching, a document.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from docmill.errors import DocmillError
from docmill.service.protocol.queues import INGESTION, MATCHING
from docmill.service.store.database import Conn, new_id, storable


@dataclass(frozen=True)
class DeadLetterRow:
    """A letter and the document it speaks of. body: of its message. step: of the pipeline that failed.

    ingestion_id: None if it was no ingestion that failed.
    """

    id: UUID
    queue: str
    body: UUID
    ingestion_id: UUID | None
    document_id: UUID
    file_name: str
    error_code: str
    error_message: str
    step: str | None
    attempts: int
    receive_count: int
    died_at: datetime


async def write(conn: Conn, ingestion_id: UUID, *, receive_count: int) -> None:
    """A letter about an ingestion that this transaction has failed."""
    await conn.execute(
        """
        INSERT INTO dead_letter
            (id, tenant_id, body, document_id, error_code, error_message, step, attempts, receive_count)
        SELECT %(id)s, tenant_id, id, document_id, error_code, error_message, failed_step,
               attempt_count + deaths, %(receive_count)s
          FROM ingestion
         WHERE id = %(ingestion_id)s
            ON CONFLICT (body) DO NOTHING
        """,
        {"id": new_id(), "ingestion_id": ingestion_id, "receive_count": receive_count},
    )


async def write_matching(
    conn: Conn, document_id: UUID, error: DocmillError, *, attempts: int, receive_count: int
) -> None:
    """A letter about a document that could not be matched."""
    await conn.execute(
        """
        INSERT INTO dead_letter
            (id, tenant_id, queue, body, document_id, error_code, error_message, step, attempts,
             receive_count)
        SELECT %(id)s, tenant_id, %(queue)s, id, id, %(code)s, %(message)s, 'match', %(attempts)s,
               %(receive_count)s
          FROM document
         WHERE id = %(document_id)s
            ON CONFLICT (body) DO NOTHING
        """,
        {
            "id": new_id(),
            "queue": MATCHING.name,
            "document_id": document_id,
            "code": error.code,
            "message": storable(error.message),
            "attempts": attempts,
            "receive_count": receive_count,
        },
    )


async def page(
    conn: Conn,
    *,
    code: str | None = None,
    step: str | None = None,
    after: UUID | None = None,
    limit: int,
) -> list[DeadLetterRow]:
    """Up to `limit` letters, newest first, that are older than letter `after`."""
    async with conn.cursor(row_factory=class_row(DeadLetterRow)) as cur:
        await cur.execute(
            """
            SELECT dead_letter.id, queue, body, ingestion.id AS ingestion_id, document.id AS document_id,
                   file_name,
                   dead_letter.error_code, dead_letter.error_message, dead_letter.step, attempts,
                   receive_count, died_at
              FROM dead_letter
              JOIN document ON document.id = dead_letter.document_id
              LEFT JOIN ingestion ON ingestion.id = body
             WHERE (%(code)s::text IS NULL OR dead_letter.error_code = %(code)s)
               AND (%(step)s::text IS NULL OR dead_letter.step = %(step)s)
               AND (%(after)s::uuid IS NULL OR dead_letter.id < %(after)s)
             ORDER BY dead_letter.id DESC
             LIMIT %(limit)s
            """,
            {"code": code, "step": storable(step), "after": after, "limit": limit},
        )
        return await cur.fetchall()


async def ids(
    conn: Conn, *, code: str | None, step: str | None = None, after: UUID | None, limit: int
) -> list[UUID]:
    """Up to `limit` letters, newest first, that are older than letter `after`."""
    cur = await conn.execute(
        """
        SELECT id
          FROM dead_letter
         WHERE (%(code)s::text IS NULL OR error_code = %(code)s)
           AND (%(step)s::text IS NULL OR step = %(step)s)
           AND (%(after)s::uuid IS NULL OR id < %(after)s)
         ORDER BY id DESC
         LIMIT %(limit)s
        """,
        {"code": code, "step": storable(step), "after": after, "limit": limit},
    )
    return [letter_id for (letter_id,) in await cur.fetchall()]


async def existing(conn: Conn, letter_ids: Sequence[UUID]) -> list[UUID]:
    """The ids of the letters that exist."""
    cur = await conn.execute("SELECT id FROM dead_letter WHERE id = ANY(%(ids)s)", {"ids": list(letter_ids)})
    return [letter_id for (letter_id,) in await cur.fetchall()]


async def lock_documents(conn: Conn, letter_ids: Sequence[UUID]) -> None:
    """Keep the documents of these letters for this transaction, always in one order."""
    await conn.execute(
        """
        SELECT FROM document
         WHERE id IN (
               SELECT document_id FROM dead_letter WHERE id = ANY(%(ids)s)
               )
         ORDER BY id
           FOR NO KEY UPDATE
        """,
        {"ids": list(letter_ids)},
    )


@dataclass(frozen=True, slots=True)
class RemovedLetters:
    """What letters spoke of that are forgotten. document_ids: of those that could not be matched."""

    ingestion_ids: list[UUID]
    document_ids: list[UUID]

    def __len__(self) -> int:
        return len(self.ingestion_ids) + len(self.document_ids)


async def remove(conn: Conn, letter_ids: Sequence[UUID]) -> RemovedLetters:
    """Forget letters; what they spoke of."""
    cur = await conn.execute(
        """
        DELETE FROM dead_letter
         WHERE id IN (
               -- Always in one order: two who remove the same letters cannot wait for each other.
               SELECT id FROM dead_letter WHERE id = ANY(%(ids)s) ORDER BY id FOR UPDATE
               )
        RETURNING queue, body
        """,
        {"ids": list(letter_ids)},
    )
    rows = await cur.fetchall()
    return RemovedLetters(
        [body for queue, body in rows if queue == INGESTION.name],
        [body for queue, body in rows if queue == MATCHING.name],
    )


async def forget_bodies(conn: Conn, bodies: Sequence[UUID]) -> None:
    """Forget the letters about messages with these bodies, which are to be sent again."""
    await conn.execute("DELETE FROM dead_letter WHERE body = ANY(%(bodies)s)", {"bodies": list(bodies)})


async def forget_document(conn: Conn, document_id: UUID) -> None:
    """Forget the letters of a document that is processed anew."""
    await conn.execute(
        "DELETE FROM dead_letter WHERE document_id = %(document_id)s", {"document_id": document_id}
    )


async def reopen(conn: Conn, ingestion_ids: Sequence[UUID]) -> list[UUID]:
    """Let failed ingestions be tried again from their first attempt; those for which that is possible.

    Not for one whose document has been processed anew since. The caller has locked the documents.
    """
    cur = await conn.execute(
        """
        UPDATE ingestion
           SET status = 'in-progress',
               completed_at = NULL,
               progress_at = clock_timestamp(),
               next_attempt_at = NULL,
               sent_at = NULL,
               attempt_count = 0,
               waiting_since = NULL,
               deaths = 0,
               claim_token = NULL,
               fence = fence + 1
         WHERE id = ANY(%(ids)s)
           AND status = 'failed'
           AND NOT EXISTS (
               SELECT FROM ingestion newer
                WHERE newer.document_id = ingestion.document_id
                  AND newer.ordinal > ingestion.ordinal
           )
        RETURNING id
        """,
        {"ids": list(ingestion_ids)},
    )
    return [ingestion_id for (ingestion_id,) in await cur.fetchall()]
