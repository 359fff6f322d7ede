"""Tags of a tenant: their names and colours, and the documents that have them.

A tag that the classification assigned goes with the classification; one that a person added or took off a
document stays as the person left it, whatever is read later.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.store.database import Conn, storable

COLORS = ("blue", "green", "amber", "red", "purple", "teal", "pink", "grey")


@dataclass(frozen=True, slots=True)
class TagRow:
    """A tag. documents: that have it. removed_at: None unless it can only be restored."""

    id: UUID
    name: str
    color: str | None
    documents: int
    created_at: datetime
    removed_at: datetime | None


@dataclass(frozen=True, slots=True)
class AssignedTag:
    """A tag of one document. origin: `machine` or `person`."""

    id: UUID
    name: str
    color: str | None
    origin: str


async def every(conn: Conn) -> list[TagRow]:
    """All tags by name, those that were removed at the end."""
    async with conn.cursor(row_factory=class_row(TagRow)) as cur:
        await cur.execute(
            """
            SELECT id, name, color, coalesce(documents, 0) AS documents, created_at, removed_at
              FROM tag
              LEFT JOIN (SELECT tag_id, count(*) AS documents
                           FROM tag_assignment JOIN document ON document.id = document_id  -- none in the bin
                          WHERE NOT is_removed GROUP BY tag_id) AS uses
                ON uses.tag_id = tag.id
             ORDER BY removed_at IS NOT NULL, lower(name), id
            """
        )
        return await cur.fetchall()


async def get(conn: Conn, tag_id: UUID) -> TagRow | None:
    """The tag, or None if this tenant has none of that id."""
    async with conn.cursor(row_factory=class_row(TagRow)) as cur:
        await cur.execute(
            """
            SELECT id, name, color, created_at, removed_at,
                   (SELECT count(*) FROM tag_assignment JOIN document ON document.id = document_id
                     WHERE tag_id = tag.id AND NOT is_removed) AS documents
              FROM tag
             WHERE id = %(tag_id)s
            """,
            {"tag_id": tag_id},
        )
        return await cur.fetchone()


async def resolve(conn: Conn, names: Sequence[str]) -> list[UUID | None]:
    """The tag of each name, None for a name that no tag has that can be seen."""
    cur = await conn.execute(
        """
        SELECT tag.id
          FROM unnest(%(names)s::text[]) WITH ORDINALITY AS given (name, number)
          LEFT JOIN tag_spelling ON key = tag_key(given.name)
          LEFT JOIN tag ON tag.id = tag_id AND removed_at IS NULL
         ORDER BY number
        """,
        {"names": [storable(name) for name in names]},
    )
    return [tag_id for (tag_id,) in await cur.fetchall()]


async def named(conn: Conn, names: Sequence[str]) -> list[UUID]:
    """The tags of these names that can be seen; names without one are left out."""
    return [tag_id for tag_id in await resolve(conn, names) if tag_id is not None]


async def named_or_new(conn: Conn, names: Sequence[str], *, tenant_id: UUID) -> list[UUID]:
    """The tags of these names; new ones are made. A removed one begins anew, without its documents."""
    cur = await conn.execute(
        """
        SELECT tag_named(%(tenant_id)s, name)
          FROM unnest(%(names)s::text[]) AS name
         ORDER BY tag_key(name)
        """,
        {"tenant_id": tenant_id, "names": [storable(name) for name in names]},
    )
    ids = [tag_id for (tag_id,) in await cur.fetchall()]
    await conn.execute(
        """
        WITH revived AS (
            UPDATE tag SET removed_at = NULL WHERE id = ANY(%(ids)s) AND removed_at IS NOT NULL RETURNING id
        )
        DELETE FROM tag_assignment USING revived WHERE tag_id = revived.id
        """,
        {"ids": ids},
    )
    return ids


async def is_free(conn: Conn, name: str, tag_id: UUID) -> bool:
    """False if another tag has this name now, be it removed. Names of the past are free."""
    cur = await conn.execute(
        "SELECT FROM tag WHERE id <> %(tag_id)s AND tag_key(name) = tag_key(%(name)s) LIMIT 1",
        {"tag_id": tag_id, "name": storable(name)},
    )
    return cur.rowcount == 0


async def rename(conn: Conn, tag_id: UUID, name: str) -> None:
    """Give the tag a name that is free; what has the old name is meant by it, too."""
    await conn.execute(
        """
        WITH renamed AS (
            UPDATE tag SET name = %(name)s WHERE id = %(tag_id)s RETURNING tenant_id, id
        )
        INSERT INTO tag_spelling (tenant_id, key, tag_id)
        SELECT tenant_id, tag_key(%(name)s), id FROM renamed
            ON CONFLICT (tenant_id, key) DO UPDATE SET tag_id = excluded.tag_id
        """,
        {"tag_id": tag_id, "name": storable(name)},
    )


async def recolor(conn: Conn, tag_id: UUID, color: str | None) -> None:
    """Give the tag one of `COLORS`, or none."""
    await conn.execute(
        "UPDATE tag SET color = %(color)s WHERE id = %(tag_id)s", {"tag_id": tag_id, "color": color}
    )


async def set_removed(conn: Conn, tag_id: UUID, *, is_removed: bool) -> None:
    """Remove the tag from sight with all its assignments, or restore it with them."""
    await conn.execute(
        """
        UPDATE tag SET removed_at = CASE WHEN %(is_removed)s THEN clock_timestamp() END
         WHERE id = %(tag_id)s
        """,
        {"tag_id": tag_id, "is_removed": is_removed},
    )


async def merge(conn: Conn, tag_id: UUID, into: UUID) -> None:
    """Give the documents of a tag another one in its place; what has its name is the other one from now on.

    What a person did about either of the two tags of a document wins over what the machine assigned.
    """
    await conn.execute(
        """
        INSERT INTO tag_assignment (document_id, tag_id, tenant_id, origin, is_removed, position, assigned_by,
                                    assigned_at)
        SELECT document_id, %(into)s, tenant_id, origin, is_removed, position, assigned_by, assigned_at
          FROM tag_assignment
         WHERE tag_id = %(tag_id)s
            ON CONFLICT (document_id, tag_id) DO UPDATE
           SET origin = 'person', is_removed = false, position = NULL, assigned_by = excluded.assigned_by,
               assigned_at = excluded.assigned_at
         WHERE excluded.origin = 'person' AND NOT excluded.is_removed
        """,
        {"tag_id": tag_id, "into": into},
    )
    await conn.execute("DELETE FROM tag_assignment WHERE tag_id = %(tag_id)s", {"tag_id": tag_id})
    await conn.execute(
        "UPDATE tag_spelling SET tag_id = %(into)s WHERE tag_id = %(tag_id)s",
        {"tag_id": tag_id, "into": into},
    )
    await conn.execute("DELETE FROM tag WHERE id = %(tag_id)s", {"tag_id": tag_id})


async def assign(
    conn: Conn,
    document_ids: Sequence[UUID],
    *,
    add: Sequence[UUID],
    remove: Sequence[UUID],
    assigned_by: UUID,
) -> int:
    """Add and take off tags by hand, no tag both; the number of documents that this changed.

    Documents that this tenant does not have are left out. Their rows are locked until the transaction ends,
    in the order of their ids. Tags that are added together have one time, so that they are listed by name.
    """
    cur = await conn.execute(
        """
        SELECT id FROM document WHERE id = ANY(%(documents)s) ORDER BY id FOR NO KEY UPDATE
        """,
        {"documents": list(document_ids)},
    )
    documents = [document_id for (document_id,) in await cur.fetchall()]
    cur = await conn.execute(
        """
        WITH added AS (
            INSERT INTO tag_assignment (document_id, tag_id, tenant_id, origin, assigned_by, assigned_at)
            SELECT document.id, tag.id, document.tenant_id, 'person', %(assigned_by)s, statement_timestamp()
              FROM document, tag
             WHERE document.id = ANY(%(documents)s) AND tag.id = ANY(%(add)s)
                ON CONFLICT (document_id, tag_id) DO UPDATE
               SET origin = 'person', is_removed = false, assigned_by = excluded.assigned_by,
                   assigned_at = statement_timestamp()
             WHERE tag_assignment.origin = 'machine' OR tag_assignment.is_removed
            RETURNING document_id
        ), taken_off AS (
            UPDATE tag_assignment
               SET origin = 'person', is_removed = true, position = NULL, assigned_by = %(assigned_by)s,
                   assigned_at = statement_timestamp()
             WHERE document_id = ANY(%(documents)s) AND tag_id = ANY(%(remove)s) AND NOT is_removed
            RETURNING document_id
        ), changed AS (
            SELECT document_id FROM added UNION SELECT document_id FROM taken_off
        )
        SELECT count(*) FROM changed
        """,
        {"documents": documents, "add": list(add), "remove": list(remove), "assigned_by": assigned_by},
    )
    (number,) = await cur.fetchone() or (0,)
    return number


async def of_document(conn: Conn, document_id: UUID) -> list[AssignedTag]:
    """The tags of a document: those of the machine in its order, then those that people added."""
    async with conn.cursor(row_factory=class_row(AssignedTag)) as cur:
        await cur.execute(
            """
            SELECT tag.id, name, color, origin
              FROM tag_assignment JOIN tag ON tag.id = tag_id
             WHERE document_id = %(document_id)s AND NOT is_removed AND removed_at IS NULL
             ORDER BY position NULLS LAST, assigned_at, name
            """,
            {"document_id": document_id},
        )
        return await cur.fetchall()


async def taken_off(conn: Conn, document_id: UUID) -> list[str]:
    """The names of the tags that a person took off a document."""
    cur = await conn.execute(
        """
        SELECT name
          FROM tag_assignment JOIN tag ON tag.id = tag_id
         WHERE document_id = %(document_id)s AND is_removed
        """,
        {"document_id": document_id},
    )
    return [name for (name,) in await cur.fetchall()]


async def names(conn: Conn, *, limit: int) -> list[str]:
    """Up to `limit` names, in their order, for a list to choose from."""
    cur = await conn.execute(
        "SELECT name FROM tag WHERE removed_at IS NULL ORDER BY lower(name), id LIMIT %(limit)s",
        {"limit": limit},
    )
    return [name for (name,) in await cur.fetchall()]


async def colors(conn: Conn) -> Mapping[str, str]:
    """The colour of each tag that has one, by its name."""
    cur = await conn.execute("SELECT name, color FROM tag WHERE color IS NOT NULL AND removed_at IS NULL")
    return dict(await cur.fetchall())


async def in_use(conn: Conn, *, documents: int, limit: int) -> list[str]:
    """Up to `limit` tags of the tenant's newest `documents`, the most used first.

    By an array of ids: joined with the documents, it took 270 ms instead of 1 until the tables were analysed.
    """
    cur = await conn.execute(
        """
        SELECT name
          FROM (SELECT tag_id, count(*) AS uses
                  FROM tag_assignment
                 WHERE document_id = ANY(ARRAY(SELECT id FROM document ORDER BY id DESC LIMIT %(documents)s))
                   AND NOT is_removed
                 GROUP BY tag_id) AS used
          JOIN tag ON tag.id = tag_id AND removed_at IS NULL
         ORDER BY uses DESC, name
         LIMIT %(limit)s
        """,
        {"documents": documents, "limit": limit},
    )
    return [name for (name,) in await cur.fetchall()]


async def words(conn: Conn) -> Mapping[str, str]:
    """The names of the tags that documents have, by the word that the search index has for each."""
    cur = await conn.execute("SELECT tag_word(id), name FROM tag WHERE removed_at IS NULL")
    return dict(await cur.fetchall())
