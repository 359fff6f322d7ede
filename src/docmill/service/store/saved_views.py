"""Saved views: filters and order of the list of documents under a name, each of one user."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.store.database import Conn, new_id, storable

LONGEST_NAME = 80
MOST = 100


@dataclass(frozen=True, slots=True)
class SavedView:
    """A view. query: as in the address of the documents page."""

    id: UUID
    name: str
    query: str
    created_at: datetime


async def of_user(conn: Conn, *, user_id: UUID) -> list[SavedView]:
    """The views of a user by name."""
    async with conn.cursor(row_factory=class_row(SavedView)) as cur:
        await cur.execute(
            """
            SELECT id, name, query, created_at
              FROM saved_view
             WHERE user_id = %(user_id)s
             ORDER BY lower(name), id
             LIMIT %(most)s
            """,
            {"user_id": user_id, "most": MOST},
        )
        return await cur.fetchall()


async def save(conn: Conn, *, tenant_id: UUID, user_id: UUID, name: str, query: str) -> SavedView:
    """Save a view; one of the same name is replaced."""
    async with conn.cursor(row_factory=class_row(SavedView)) as cur:
        await cur.execute(
            """
            INSERT INTO saved_view (id, tenant_id, user_id, name, query)
            VALUES (%(id)s, %(tenant_id)s, %(user_id)s, %(name)s, %(query)s)
                ON CONFLICT (tenant_id, user_id, name) DO UPDATE SET query = excluded.query
            RETURNING id, name, query, created_at
            """,
            {
                "id": new_id(),
                "tenant_id": tenant_id,
                "user_id": user_id,
                "name": storable(name),
                "query": storable(query),
            },
        )
        row = await cur.fetchone()
    assert row is not None  # the conflict updates, so there is always a row
    return row


async def delete(conn: Conn, view_id: UUID, *, user_id: UUID) -> bool:
    """Delete a view of the user; False if there is none of that id."""
    cur = await conn.execute(
        "DELETE FROM saved_view WHERE id = %(id)s AND user_id = %(user_id)s",
        {"id": view_id, "user_id": user_id},
    )
    return cur.rowcount == 1
