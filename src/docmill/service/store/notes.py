"""Notes on documents: written by people here, or brought along by an importer."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.store.database import Conn, new_id, storable


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A note. author: the name of who wrote it, then."""

    id: UUID
    text: str
    author: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ImportedNote:
    """A note of another program. source_key: the same for the same note of a document."""

    source_key: str
    text: str
    author: str
    created_at: datetime


async def of_document(conn: Conn, document_id: UUID) -> list[NoteRow]:
    """The notes of a document, oldest first."""
    async with conn.cursor(row_factory=class_row(NoteRow)) as cur:
        await cur.execute(
            """
            SELECT id, text, author, created_at
              FROM document_note
             WHERE document_id = %(document_id)s AND deleted_at IS NULL
             ORDER BY created_at, id
            """,
            {"document_id": document_id},
        )
        return await cur.fetchall()


async def add(
    conn: Conn, document_id: UUID, text: str, *, tenant_id: UUID, author: str, author_id: UUID
) -> UUID:
    """Add a note to a document of the tenant; its id."""
    note_id = new_id()
    await conn.execute(
        """
        INSERT INTO document_note (id, tenant_id, document_id, text, author, author_id)
        VALUES (%(id)s, %(tenant_id)s, %(document_id)s, %(text)s, %(author)s, %(author_id)s)
        """,
        {
            "id": note_id,
            "tenant_id": tenant_id,
            "document_id": document_id,
            "text": storable(text),
            "author": storable(author),
            "author_id": author_id,
        },
    )
    return note_id


async def bring(conn: Conn, document_id: UUID, notes: Sequence[ImportedNote], *, tenant_id: UUID) -> int:
    """Add the notes that were never brought to this document; the number of them."""
    added = 0
    for note in notes:
        cur = await conn.execute(
            """
            INSERT INTO document_note (id, tenant_id, document_id, text, author, created_at, source_key)
            VALUES (%(id)s, %(tenant_id)s, %(document_id)s, %(text)s, %(author)s, %(created_at)s,
                    %(source_key)s)
                ON CONFLICT (document_id, source_key) DO NOTHING
            """,
            {
                "id": new_id(),
                "tenant_id": tenant_id,
                "document_id": document_id,
                "text": storable(note.text),
                "author": storable(note.author),
                "created_at": note.created_at,
                "source_key": note.source_key,
            },
        )
        added += cur.rowcount
    return added


async def was_brought(conn: Conn, document_id: UUID, source_key: str) -> bool:
    """True if a note of this key was brought to the document, also if it was deleted since."""
    cur = await conn.execute(
        "SELECT FROM document_note WHERE document_id = %(document_id)s AND source_key = %(source_key)s",
        {"document_id": document_id, "source_key": source_key},
    )
    return cur.rowcount == 1


async def delete(conn: Conn, document_id: UUID, note_id: UUID) -> bool:
    """Delete a note of a document; False if it has none of that id."""
    place = {"document_id": document_id, "note_id": note_id}
    cur = await conn.execute(
        """
        UPDATE document_note SET text = '', author = '', deleted_at = clock_timestamp()
         WHERE document_id = %(document_id)s AND id = %(note_id)s AND source_key IS NOT NULL
           AND deleted_at IS NULL
        """,
        place,
    )
    if cur.rowcount == 1:
        return True
    cur = await conn.execute(
        """
        DELETE FROM document_note
         WHERE document_id = %(document_id)s AND id = %(note_id)s AND source_key IS NULL
        """,
        place,
    )
    return cur.rowcount == 1
