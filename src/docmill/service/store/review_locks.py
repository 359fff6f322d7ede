"""Locks of documents by the people who review them. A lock without a sign of life for two minutes is free."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.store.database import Conn


@dataclass(frozen=True, slots=True)
class ReviewLock:
    """A person reviews a document. taken_at: since when. seen_at: the last sign of life of their page."""

    document_id: UUID
    user_id: UUID
    taken_at: datetime
    seen_at: datetime


async def take(
    conn: Conn, document_id: UUID, *, tenant_id: UUID, user_id: UUID, by_force: bool = False
) -> ReviewLock:
    """Take the lock of a document, or renew it; that of another person is left to them and returned.

    by_force: take it from another person.
    """
    async with conn.cursor(row_factory=class_row(ReviewLock)) as cur:
        await cur.execute(
            """
            INSERT INTO review_lock AS held (tenant_id, document_id, user_id)
            VALUES (%(tenant_id)s, %(document_id)s, %(user_id)s)
            ON CONFLICT (document_id) DO UPDATE
               SET taken_at = CASE WHEN held.user_id = EXCLUDED.user_id
                                    AND held.seen_at > clock_timestamp() - interval '2 minutes'
                                   THEN held.taken_at ELSE EXCLUDED.taken_at END,
                   user_id = EXCLUDED.user_id,
                   seen_at = EXCLUDED.seen_at
             WHERE held.user_id = EXCLUDED.user_id
                OR held.seen_at <= clock_timestamp() - interval '2 minutes'
                OR %(by_force)s
            RETURNING document_id, user_id, taken_at, seen_at
            """,
            {
                "tenant_id": tenant_id,
                "document_id": document_id,
                "user_id": user_id,
                "by_force": by_force,
            },
        )
        lock = await cur.fetchone()
        if lock is None:
            await cur.execute(
                """
                SELECT document_id, user_id, taken_at, seen_at
                  FROM review_lock
                 WHERE document_id = %(id)s
                """,
                {"id": document_id},
            )
            lock = await cur.fetchone()
    assert lock is not None, "the row that stood in the way is locked until here"
    return lock


async def release(conn: Conn, document_id: UUID, *, user_id: UUID, seen_at: datetime | None = None) -> None:
    """Let go of a document that this person reviewed.

    seen_at: the last sign of life of the page that was left. If there was one after it, the person has the
    document open in another page, or has loaded this one again, and keeps it.
    """
    await conn.execute(
        """
        DELETE FROM review_lock
         WHERE document_id = %(document_id)s
           AND user_id = %(user_id)s
           AND seen_at <= COALESCE(%(seen_at)s::timestamptz, seen_at)
        """,
        {"document_id": document_id, "user_id": user_id, "seen_at": seen_at},
    )


async def of_others(conn: Conn, *, user_id: UUID) -> dict[UUID, ReviewLock]:
    """The documents that other people review now."""
    async with conn.cursor(row_factory=class_row(ReviewLock)) as cur:
        await cur.execute(
            """
            SELECT document_id, user_id, taken_at, seen_at
              FROM review_lock
             WHERE user_id <> %(user_id)s AND seen_at > clock_timestamp() - interval '2 minutes'
            """,
            {"user_id": user_id},
        )
        return {lock.document_id: lock for lock in await cur.fetchall()}
