"""Uploads that arrive in pieces: how far each is, and where its pieces are stored."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.store.database import Conn, new_id, storable

Outcome = Literal["accepted", "already_here", "restored"]


@dataclass(frozen=True, slots=True)
class PartialUpload:
    """An upload. byte_offset: how much of it is stored. document_id, outcome: None until it is complete.

    metadata: as the client gave it. api_key_id: the key that began it; None for the person themselves.
    """

    id: UUID
    tenant_id: UUID
    user_id: UUID
    byte_length: int
    byte_offset: int
    file_name: str
    metadata: str
    document_id: UUID | None
    outcome: Outcome | None
    expires_at: datetime
    api_key_id: UUID | None


@dataclass(frozen=True, slots=True)
class Uploader:
    """Whose an upload is: a person's in any of their sessions, or of one of their API keys alone."""

    tenant_id: UUID
    user_id: UUID
    api_key_id: UUID | None = None


async def add(
    conn: Conn, uploader: Uploader, *, byte_length: int, file_name: str, metadata: str
) -> PartialUpload:
    """Begin an upload. It expires after 24 hours."""
    async with conn.cursor(row_factory=class_row(PartialUpload)) as cur:
        await cur.execute(
            """
            INSERT INTO partial_upload
                   (id, tenant_id, user_id, api_key_id, byte_length, file_name, metadata, expires_at)
            VALUES (%(id)s, %(tenant_id)s, %(user_id)s, %(api_key_id)s, %(byte_length)s, %(file_name)s,
                    %(metadata)s, now() + interval '24 hours')
            RETURNING *
            """,
            {
                "id": new_id(),
                **asdict(uploader),
                "byte_length": byte_length,
                "file_name": storable(file_name),
                "metadata": metadata,
            },
        )
        added = await cur.fetchone()
    assert added is not None, "it was inserted"
    return added


async def count_open(conn: Conn, uploader: Uploader) -> int:
    """The uploads of this person or key that are not complete and have not expired."""
    cur = await conn.execute(
        """
        SELECT count(*)
          FROM partial_upload
         WHERE user_id = %(user_id)s AND api_key_id IS NOT DISTINCT FROM %(api_key_id)s
           AND document_id IS NULL AND expires_at > now()
        """,
        asdict(uploader),
    )
    (count,) = await cur.fetchone() or (0,)
    return count


async def get(conn: Conn, upload_id: UUID, uploader: Uploader) -> PartialUpload | None:
    """The upload of this person or key that has not expired, or None."""
    async with conn.cursor(row_factory=class_row(PartialUpload)) as cur:
        await cur.execute(
            """
            SELECT * FROM partial_upload
             WHERE id = %(id)s
               AND user_id = %(user_id)s
               AND api_key_id IS NOT DISTINCT FROM %(api_key_id)s
               AND expires_at >= now()
            """,
            {"id": upload_id, **asdict(uploader)},
        )
        return await cur.fetchone()


async def add_piece(conn: Conn, upload: PartialUpload, key: str, *, byte_size: int) -> bool:
    """Count the piece that follows what is stored. Returns False if the upload is elsewhere by now."""
    cur = await conn.execute(
        """
        WITH moved AS (
            UPDATE partial_upload
               SET byte_offset = byte_offset + %(byte_size)s
             WHERE id = %(id)s AND byte_offset = %(start)s
            RETURNING id, tenant_id
        )
        INSERT INTO partial_upload_piece (upload_id, tenant_id, start, key)
        SELECT id, tenant_id, %(start)s, %(key)s FROM moved
        """,
        {"id": upload.id, "start": upload.byte_offset, "byte_size": byte_size, "key": key},
    )
    return cur.rowcount == 1


async def finish(conn: Conn, upload: PartialUpload, document_id: UUID, outcome: Outcome) -> bool:
    """Note the document that the upload became. Returns False if the upload is elsewhere by now."""
    cur = await conn.execute(
        """
        UPDATE partial_upload
           SET byte_offset = byte_length, document_id = %(document_id)s, outcome = %(outcome)s
         WHERE id = %(id)s AND byte_offset = %(start)s
        """,
        {"id": upload.id, "start": upload.byte_offset, "document_id": document_id, "outcome": outcome},
    )
    return cur.rowcount == 1


async def piece_keys(conn: Conn, upload_id: UUID) -> list[str]:
    """The keys of the stored pieces in their order."""
    cur = await conn.execute(
        "SELECT key FROM partial_upload_piece WHERE upload_id = %(id)s ORDER BY start", {"id": upload_id}
    )
    return [key for (key,) in await cur.fetchall()]


async def forget_pieces(conn: Conn, upload_id: UUID) -> None:
    """Forget the pieces of an upload that is complete."""
    await conn.execute("DELETE FROM partial_upload_piece WHERE upload_id = %(id)s", {"id": upload_id})


async def remove(conn: Conn, upload_id: UUID) -> list[str]:
    """Remove an upload; the keys of its pieces, which are still stored."""
    keys = await piece_keys(conn, upload_id)
    await conn.execute("DELETE FROM partial_upload WHERE id = %(id)s", {"id": upload_id})
    return keys


async def expired(conn: Conn, *, limit: int) -> list[UUID]:
    """Uploads past their time, up to `limit`."""
    cur = await conn.execute(
        "SELECT id FROM partial_upload WHERE expires_at < now() LIMIT %(limit)s", {"limit": limit}
    )
    return [upload_id for (upload_id,) in await cur.fetchall()]


async def tenants_with_expired(conn: Conn) -> list[UUID]:
    """The tenants with uploads past their time. It may be asked across tenants."""
    cur = await conn.execute("SELECT tenant_id FROM tenants_with_expired_uploads()")
    return [tenant_id for (tenant_id,) in await cur.fetchall()]
