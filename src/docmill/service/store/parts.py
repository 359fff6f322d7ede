"""Links between documents and the parts they hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from psycopg.rows import class_row

from docmill.model.document import Part
from docmill.service.store.claims import Claim
from docmill.service.store.database import Conn, storable
from docmill.service.store.ingestions import Origin

if TYPE_CHECKING:
    from pydantic import JsonValue

RESERVED = "it has not been taken out yet"
"""Problem of a part that is counted and not stored yet."""


@dataclass(frozen=True, slots=True)
class Root:
    """The upload or arrival with which a document came, and how many documents it stands in there.

    metadata: what its source says about it.
    """

    ingestion_id: UUID
    depth: int
    uploaded_by: UUID | None
    source_id: UUID | None
    metadata: dict[str, Any]

    def origin_of_part(self, whole_id: UUID) -> Origin:
        """The origin of a part of the document `whole_id` that came with this."""
        place: dict[str, JsonValue] = {
            "part_of": str(whole_id),
            "root_ingestion_id": str(self.ingestion_id),
            "depth": self.depth + 1,
        }
        return Origin(self.uploaded_by, self.source_id, {**self.metadata, **place})


@dataclass(frozen=True)
class PartRow:
    """A part of a document.

    problem: why it is not to be had; there is no document then, or it is
    in the bin. title, state, error_message: of the document.
    """

    parent_id: UUID
    position: int
    kind: str
    name: str
    first_page: int | None
    last_page: int | None
    problem: str | None
    child_id: UUID | None
    state: str | None
    title: str | None
    document_type: str | None
    error_message: str | None


@dataclass(frozen=True)
class WholeRow:
    """A document that holds another, and the other's place in it."""

    parent_id: UUID
    parent_title: str
    kind: str
    name: str
    first_page: int | None
    last_page: int | None


@dataclass(frozen=True)
class Links:
    """The links of a document: its parts, and the documents that hold it."""

    parts: list[PartRow]
    wholes: list[WholeRow]


async def links(conn: Conn, document_id: UUID) -> Links:
    """The document's links, both ways."""
    return Links(await of_document(conn, document_id), await wholes_of(conn, document_id))


async def of_document(conn: Conn, document_id: UUID) -> list[PartRow]:
    """The parts of a document, in order."""
    async with conn.cursor(row_factory=class_row(PartRow)) as cur:
        await cur.execute(
            """
            SELECT part.parent_id, position, kind, name, first_page, last_page,
                   CASE WHEN child_id IS NOT NULL AND document.id IS NULL THEN 'it is in the bin'
                        ELSE problem END AS problem,
                   document.id AS child_id, state, title, document_type, error_message
              FROM part
              LEFT JOIN document ON document.id = child_id
              LEFT JOIN document_state ON document_state.id = child_id
             WHERE part.parent_id = %(document_id)s
             ORDER BY position
            """,
            {"document_id": document_id},
        )
        return await cur.fetchall()


async def first_wholes(conn: Conn, document_ids: Sequence[UUID]) -> dict[UUID, WholeRow]:
    """The first document that held each of these, for those that are parts."""
    cur = await conn.execute(
        """
        SELECT DISTINCT ON (child_id)
               child_id, parent_id, coalesce(title, file_name), kind, name, first_page, last_page
          FROM part
          JOIN document ON document.id = parent_id
         WHERE child_id = ANY(%(ids)s)
         ORDER BY child_id, part.created_at, parent_id, position
        """,
        {"ids": list(document_ids)},
    )
    return {child_id: WholeRow(*facts) for child_id, *facts in await cur.fetchall()}


async def wholes_of(conn: Conn, document_id: UUID, *, limit: int = 50) -> list[WholeRow]:
    """The documents that hold this one, the first that did first."""
    async with conn.cursor(row_factory=class_row(WholeRow)) as cur:
        await cur.execute(
            """
            SELECT parent_id, coalesce(title, file_name) AS parent_title, kind, name, first_page, last_page
              FROM part
              JOIN document ON document.id = parent_id
             WHERE child_id = %(document_id)s
             ORDER BY part.created_at, parent_id, position
             LIMIT %(limit)s
            """,
            {"document_id": document_id, "limit": limit},
        )
        return await cur.fetchall()


async def wholes_with_values(conn: Conn, document_ids: Sequence[UUID]) -> dict[UUID, list[dict[str, Any]]]:
    """The values of the documents to which these are attached, by id; none of those in the bin."""
    cur = await conn.execute(
        """
        SELECT part.child_id, parent.structured_data
          FROM part
          JOIN document parent ON parent.id = part.parent_id
         WHERE part.child_id = ANY(%(ids)s)
           AND part.kind = 'attachment'
           AND parent.structured_data IS NOT NULL
        """,
        {"ids": list(document_ids)},
    )
    values: dict[UUID, list[dict[str, Any]]] = {}
    for child_id, data in await cur.fetchall():
        values.setdefault(child_id, []).append(data)
    return values


async def root_of(conn: Conn, ingestion_id: UUID) -> Root:
    """With which upload an ingestion came: its own, unless it processes a part."""
    async with conn.cursor(row_factory=class_row(Root)) as cur:
        await cur.execute(
            """
            SELECT coalesce((source_metadata ->> 'root_ingestion_id')::uuid, id) AS ingestion_id,
                   coalesce((source_metadata ->> 'depth')::integer, 0) AS depth,
                   uploaded_by, doc_source_id AS source_id,
                   coalesce(source_metadata, '{}') - '{part_of,root_ingestion_id,depth}'::text[] AS metadata
              FROM ingestion
             WHERE id = %(ingestion_id)s
            """,
            {"ingestion_id": ingestion_id},
        )
        root = await cur.fetchone()
    assert root is not None  # the caller holds it
    return root


async def lock_root(conn: Conn, root_ingestion_id: UUID) -> None:
    """Wait until no other transaction counts or reserves parts of an upload; until this one ends."""
    await conn.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('parts of ' || %(root)s::text, 0))",
        {"root": root_ingestion_id},
    )


async def count_of_others(conn: Conn, document_id: UUID, root_ingestion_id: UUID) -> int:
    """The number of parts that other documents of an upload have brought so far, at any depth."""
    cur = await conn.execute(
        "SELECT count(*) FROM part WHERE root_ingestion_id = %(root)s AND parent_id <> %(document_id)s",
        {"root": root_ingestion_id, "document_id": document_id},
    )
    (count,) = await cur.fetchone() or (0,)
    return count


async def taken_before(conn: Conn, document_id: UUID, root_ingestion_id: UUID) -> dict[int, str]:
    """The contents of those parts, by position, that were linked since the upload began."""
    cur = await conn.execute(
        """
        SELECT position, content_hash
          FROM part
          JOIN document ON document.id = child_id
         WHERE parent_id = %(document_id)s AND root_ingestion_id = %(root)s
        """,
        {"document_id": document_id, "root": root_ingestion_id},
    )
    return dict(await cur.fetchall())


async def still_held(conn: Conn, claim: Claim) -> bool:
    """True if the claim is not lost; it is kept until this transaction ends."""
    cur = await conn.execute(
        """
        SELECT FROM ingestion
         WHERE id = %(id)s AND fence = %(fence)s AND status = 'in-progress'
           FOR SHARE
        """,
        {"id": claim.ingestion_id, "fence": claim.fence},
    )
    return cur.rowcount == 1


async def is_linked(conn: Conn, parent_id: UUID, child_id: UUID) -> bool:
    """True if the one document is a part of the other."""
    cur = await conn.execute(
        "SELECT FROM part WHERE parent_id = %(parent_id)s AND child_id = %(child_id)s LIMIT 1",
        {"parent_id": parent_id, "child_id": child_id},
    )
    return cur.rowcount == 1


async def link(
    conn: Conn, claim: Claim, position: int, part: Part, *, child_id: UUID | None, root: Root
) -> None:
    """Store the part at a position (from 1) of the claimed document. child_id: None if it has a problem."""
    await conn.execute(
        """
        INSERT INTO part (tenant_id, parent_id, position, child_id, kind, name, first_page, last_page,
                          problem, root_ingestion_id)
        VALUES (%(tenant_id)s, %(parent_id)s, %(position)s, %(child_id)s, %(kind)s, %(name)s, %(first_page)s,
                %(last_page)s, %(problem)s, %(root)s)
        ON CONFLICT (parent_id, position) DO UPDATE
           SET child_id = excluded.child_id,
               kind = excluded.kind,
               name = excluded.name,
               first_page = excluded.first_page,
               last_page = excluded.last_page,
               problem = excluded.problem,
               root_ingestion_id = excluded.root_ingestion_id
        """,
        {
            "tenant_id": claim.tenant_id,
            "parent_id": claim.document_id,
            "position": position,
            "child_id": child_id,
            "kind": part.kind,
            "name": storable(part.name),
            "first_page": part.first_page,
            "last_page": part.last_page,
            "problem": storable(part.problem),
            "root": root.ingestion_id,
        },
    )


async def reserve(conn: Conn, claim: Claim, part_list: Sequence[Part], *, root: Root) -> None:
    """Count the parts of the claimed document before they are stored: each has a problem until it is.

    Parts of an earlier reading stay as they are.
    """
    await conn.execute(
        """
        INSERT INTO part (tenant_id, parent_id, position, kind, name, first_page, last_page, problem,
                          root_ingestion_id)
        SELECT %(tenant_id)s, %(parent_id)s, position, kind, name, first_page, last_page, %(problem)s,
               %(root)s
          FROM unnest(%(kinds)s::text[], %(names)s::text[], %(first_pages)s::integer[],
                      %(last_pages)s::integer[])
               WITH ORDINALITY AS part (kind, name, first_page, last_page, position)
            ON CONFLICT (parent_id, position) DO NOTHING
        """,
        {
            "tenant_id": claim.tenant_id,
            "parent_id": claim.document_id,
            "kinds": [part.kind for part in part_list],
            "names": [storable(part.name) for part in part_list],
            "first_pages": [part.first_page for part in part_list],
            "last_pages": [part.last_page for part in part_list],
            "problem": RESERVED,
            "root": root.ingestion_id,
        },
    )


async def unlink_after(conn: Conn, claim: Claim, position: int) -> None:
    """Remove the links of an earlier reading behind a position of the claimed document."""
    await conn.execute(
        "DELETE FROM part WHERE parent_id = %(parent_id)s AND position > %(position)s",
        {"parent_id": claim.document_id, "position": position},
    )
