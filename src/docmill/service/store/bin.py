"""The bin: deleted documents, which row-level security hides from every other query."""

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.store import dead_letters, matching_jobs, near_duplicates, reviewed_documents
from docmill.service.store.database import Conn

CANCELLED = "cancelled"
"""The error code of an ingestion whose document was deleted while it was under way."""

_CANCELLED_MESSAGE = "its document was deleted"


@dataclass(frozen=True, slots=True)
class BinRow:
    """A deleted document. parts: the number of its parts that went with it. removed_at: for good."""

    id: UUID
    title: str
    file_name: str
    byte_size: int
    document_type: str | None
    parts: int
    deleted_at: datetime
    removed_at: datetime


@dataclass(frozen=True, slots=True)
class RemovedDocument:
    """A document that was removed for good, and what its files are named after."""

    id: UUID
    file_path: str
    ingestion_ids: list[UUID]


@asynccontextmanager
async def showing_bin(conn: Conn) -> AsyncGenerator[None]:
    """Show deleted documents to the queries of the block. After an error the transaction is over anyway."""
    await conn.execute("SELECT set_config('docmill.bin', 'on', true)")
    yield
    await conn.execute("SELECT set_config('docmill.bin', 'off', true)")


async def with_parts(conn: Conn, document_id: UUID) -> list[UUID]:
    """The document, and its parts, at any depth, that came with it and stand in no other document."""
    family = [document_id]
    while True:
        cur = await conn.execute(
            """
            SELECT DISTINCT child.id
              FROM part
              JOIN document child ON child.id = part.child_id
             WHERE part.parent_id = ANY(%(family)s)
               AND child.id <> ALL(%(family)s)
               AND child.is_part
               AND NOT EXISTS (
                   SELECT FROM part other
                     JOIN document parent ON parent.id = other.parent_id
                    WHERE other.child_id = child.id AND parent.id <> ALL(%(family)s)
               )
            """,
            {"family": family},
        )
        found = [child_id for (child_id,) in await cur.fetchall()]
        if not found:
            return family
        family += found


async def put_in(
    conn: Conn, document_ids: Sequence[UUID], *, tenant_id: UUID, root_id: UUID, deleted_by: UUID
) -> None:
    """Delete documents, with one of them. What is under way ends. The caller has locked them."""
    ids = {"ids": list(document_ids)}
    await conn.execute(
        """
        UPDATE ingestion
           SET status = 'failed',
               completed_at = clock_timestamp(),
               progress_at = clock_timestamp(),
               fence = fence + 1,
               lease_until = NULL,
               next_attempt_at = NULL,
               claim_token = NULL,
               step = NULL,
               error_code = %(code)s,
               error_message = %(message)s
         WHERE document_id = ANY(%(ids)s) AND status = 'in-progress'
        """,
        {**ids, "code": CANCELLED, "message": _CANCELLED_MESSAGE},
    )
    for document_id in document_ids:
        await dead_letters.forget_document(conn, document_id)
    await matching_jobs.withdraw(conn, document_ids)
    await near_duplicates.forget_undecided(conn, document_ids, tenant_id=tenant_id)
    await reviewed_documents.renumber(conn, document_ids)
    async with showing_bin(conn):
        await conn.execute(
            """
            UPDATE document
               SET deleted_at = now(), deleted_by = %(deleted_by)s, deleted_with = %(root)s,
                   updated_at = clock_timestamp()
             WHERE id = ANY(%(ids)s) AND deleted_at IS NULL
            """,
            {**ids, "deleted_by": deleted_by, "root": root_id},
        )


async def restore(conn: Conn, document_id: UUID, *, tenant_id: UUID) -> tuple[list[UUID], list[UUID]]:
    """Take a document out of the bin, with the parts that went there with it.

    The ids of all of them, none if it is not in the bin; and the ingestions to be sent, which were under way.
    """
    async with showing_bin(conn):
        cur = await conn.execute(
            """
            WITH chosen AS (
                SELECT id
                  FROM document
                 WHERE deleted_at IS NOT NULL AND (id = %(id)s OR deleted_with = %(id)s)
                 ORDER BY id
                   FOR NO KEY UPDATE
            )
            UPDATE document
               SET deleted_at = NULL, deleted_by = NULL, deleted_with = NULL, updated_at = clock_timestamp()
              FROM chosen
             WHERE document.id = chosen.id
            RETURNING document.id
            """,
            {"id": document_id},
        )
        restored = [id_ for (id_,) in await cur.fetchall()]
    await reviewed_documents.renumber(conn, restored)
    for id_ in restored:
        await near_duplicates.compare_again(conn, id_, tenant_id=tenant_id)
    return restored, await _reopen(conn, restored)


async def _reopen(conn: Conn, document_ids: Collection[UUID]) -> list[UUID]:
    """Begin cancelled ingestions of documents again, which are returned; failed ones get dead letters."""
    cur = await conn.execute(
        """
        SELECT DISTINCT ON (document_id) id, error_code, status
          FROM ingestion
         WHERE document_id = ANY(%(ids)s)
         ORDER BY document_id, ordinal DESC
        """,
        {"ids": list(document_ids)},
    )
    failed = [(id_, code) for id_, code, status in await cur.fetchall() if status == "failed"]
    for ingestion_id, code in failed:
        if code != CANCELLED:
            await dead_letters.write(conn, ingestion_id, receive_count=0)
    reopened = await dead_letters.reopen(conn, [id_ for id_, code in failed if code == CANCELLED])
    await conn.execute(
        "UPDATE ingestion SET error_code = NULL, error_message = NULL WHERE id = ANY(%(ids)s)",
        {"ids": reopened},
    )
    return reopened


async def page(conn: Conn, *, days: float, after: UUID | None, limit: int) -> list[BinRow]:
    """Up to `limit` deleted documents, the latest first, without the parts that went with them.

    days: for which they are kept. after: the last one before these.
    """
    async with showing_bin(conn), conn.cursor(row_factory=class_row(BinRow)) as cur:
        await cur.execute(
            """
            SELECT id, coalesce(title, file_name) AS title, file_name, byte_size, document_type,
                   (SELECT count(*) FROM document part
                     WHERE part.deleted_with = document.id AND part.id <> document.id
                       AND part.deleted_at IS NOT NULL) AS parts,
                   deleted_at, deleted_at + make_interval(secs => %(days)s * 86400) AS removed_at
              FROM document
             WHERE deleted_at IS NOT NULL
               AND deleted_with = id
               AND (%(after)s::uuid IS NULL
                    OR (deleted_at, id) < (SELECT before.deleted_at, before.id FROM document before
                                            WHERE before.id = %(after)s))
             ORDER BY deleted_at DESC, id DESC
             LIMIT %(limit)s
            """,
            {"days": days, "after": after, "limit": limit},
        )
        return await cur.fetchall()


async def count(conn: Conn) -> int:
    """The number of deleted documents, without the parts that went with them."""
    async with showing_bin(conn):
        cur = await conn.execute(
            "SELECT count(*) FROM document WHERE deleted_at IS NOT NULL AND deleted_with = id"
        )
        (number,) = await cur.fetchone() or (0,)
    return number


async def expired(conn: Conn, *, days: float, limit: int) -> list[UUID]:
    """Up to `limit` documents that were deleted more than `days` ago."""
    async with showing_bin(conn):
        cur = await conn.execute(
            """
            SELECT id FROM document
             WHERE deleted_at < now() - make_interval(secs => %(days)s * 86400)
             LIMIT %(limit)s
            """,
            {"days": days, "limit": limit},
        )
        return [id_ for (id_,) in await cur.fetchall()]


async def tenants_with_expired(conn: Conn, *, days: float) -> list[UUID]:
    """The tenants with documents that were deleted more than `days` ago. It may be asked across tenants."""
    cur = await conn.execute(
        "SELECT tenant_id FROM tenants_with_bin_before(now() - make_interval(secs => %(days)s * 86400))",
        {"days": days},
    )
    return [tenant_id for (tenant_id,) in await cur.fetchall()]


async def remove(conn: Conn, document_ids: Sequence[UUID]) -> list[RemovedDocument]:
    """Remove those of these documents for good that are in the bin, with the parts that went with them."""
    async with showing_bin(conn):
        async with conn.cursor(row_factory=class_row(RemovedDocument)) as cur:
            await cur.execute(
                """
                WITH chosen AS (
                    SELECT id, file_path
                      FROM document
                     WHERE deleted_at IS NOT NULL AND (id = ANY(%(ids)s) OR deleted_with = ANY(%(ids)s))
                     ORDER BY id
                       FOR UPDATE
                )
                SELECT id, file_path,
                       ARRAY(SELECT ingestion.id FROM ingestion WHERE document_id = chosen.id)
                           AS ingestion_ids
                  FROM chosen
                """,
                {"ids": list(document_ids)},
            )
            removed = await cur.fetchall()
        await conn.execute(
            "DELETE FROM document WHERE id = ANY(%(ids)s)", {"ids": [document.id for document in removed]}
        )
    return removed
