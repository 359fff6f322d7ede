"""Drafts: texts that a person has typed into the fields of a document and not saved yet."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.store.database import Conn, storable


@dataclass(frozen=True, slots=True)
class Draft:
    """A text that is not saved. seen: the value of the field when the person began to type."""

    path: str
    typed: str
    seen: str
    saved_at: datetime


async def of_document(conn: Conn, document_id: UUID, *, user_id: UUID) -> dict[str, Draft]:
    """A person's drafts in a document, by path."""
    async with conn.cursor(row_factory=class_row(Draft)) as cur:
        await cur.execute(
            """
            SELECT path, typed, seen, saved_at
              FROM review_draft
             WHERE document_id = %(document_id)s AND user_id = %(user_id)s
            """,
            {"document_id": document_id, "user_id": user_id},
        )
        return {draft.path: draft for draft in await cur.fetchall()}


async def keep(
    conn: Conn, document_id: UUID, *, tenant_id: UUID, user_id: UUID, path: str, typed: str, seen: str
) -> None:
    """Keep a draft; an earlier one of the field keeps the value that was seen then."""
    await conn.execute(
        """
        INSERT INTO review_draft (tenant_id, document_id, user_id, path, typed, seen)
        VALUES (%(tenant_id)s, %(document_id)s, %(user_id)s, %(path)s, %(typed)s, %(seen)s)
        ON CONFLICT (document_id, user_id, path) DO UPDATE
           SET typed = EXCLUDED.typed, saved_at = EXCLUDED.saved_at
        """,
        {
            "tenant_id": tenant_id,
            "document_id": document_id,
            "user_id": user_id,
            "path": storable(path),
            "typed": storable(typed),
            "seen": storable(seen),
        },
    )


async def drop(conn: Conn, document_id: UUID, *, user_id: UUID, path: str | None = None) -> None:
    """Drop a person's draft of a field; of all fields without a path."""
    await conn.execute(
        """
        DELETE FROM review_draft
         WHERE document_id = %(document_id)s AND user_id = %(user_id)s
           AND (%(path)s::text IS NULL OR path = %(path)s)
        """,
        {"document_id": document_id, "user_id": user_id, "path": storable(path)},
    )
