"""Items that arrived from sources: each item of a source once, also one that could not be taken."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from docmill.errors import DocmillError, ServerError
from docmill.service.store.database import Conn, new_id, storable, storable_values
from docmill.service.store.ingestions import IngestionRow, Origin

LONGEST_ITEM = 200
"""Characters of an item's name that are kept as they are; of a longer one, a digest."""

_MOST_MAILS = 200_000


@dataclass(frozen=True, slots=True)
class ArrivalRow:
    """An item of a source. document_id: None if it was refused, or if the document is gone.

    document_name: its title, or the name of its file; only in the items of a source.
    """

    id: UUID
    doc_source_id: UUID
    source_name: str
    source_kind: str
    document_id: UUID | None
    metadata: dict[str, Any]
    error_code: str | None
    error_message: str | None
    arrived_at: datetime
    document_name: str | None = None


def of_ingestions(history: Sequence[IngestionRow]) -> list[ArrivalRow]:
    """The arrivals of a document's ingestions: for a part, which is no item of its own."""
    return [
        ArrivalRow(
            id=row.id,
            doc_source_id=row.doc_source_id,
            source_name=row.source_name or "",
            source_kind=row.source_kind or "",
            document_id=row.document_id,
            metadata=row.source_metadata or {},
            error_code=None,
            error_message=None,
            arrived_at=row.created_at,
        )
        for row in history
        if row.doc_source_id is not None
    ]


def item_name(item: str) -> str:
    """The name under which an item is kept, however long what its source calls it."""
    item = storable(item)
    return item if len(item) <= LONGEST_ITEM else f"sha256:{hashlib.sha256(item.encode()).hexdigest()}"


async def known(conn: Conn, source_id: UUID, items: Sequence[str]) -> set[str]:
    """Those of the items that were taken or refused before."""
    names = {item_name(item): item for item in items}
    cur = await conn.execute(
        """
        SELECT item FROM arrival WHERE doc_source_id = %(source_id)s AND item = ANY(%(names)s)
        """,
        {"source_id": source_id, "names": list(names)},
    )
    return {names[name] for (name,) in await cur.fetchall()}


async def refused(conn: Conn, source_id: UUID, items: Sequence[str]) -> set[str]:
    """Those of the items that were refused."""
    names = {item_name(item): item for item in items}
    cur = await conn.execute(
        """
        SELECT item
          FROM arrival
         WHERE doc_source_id = %(source_id)s AND item = ANY(%(names)s) AND error_code IS NOT NULL
        """,
        {"source_id": source_id, "names": list(names)},
    )
    return {names[name] for (name,) in await cur.fetchall()}


async def taken_mails(conn: Conn, source_id: UUID) -> set[tuple[str, int]]:
    """Message id and size of the newest mails that were taken from a source whose metadata has both."""
    cur = await conn.execute(
        """
        SELECT metadata ->> 'message_id', (metadata ->> 'size')::bigint
          FROM arrival
         WHERE doc_source_id = %(source_id)s AND error_code IS NULL
           AND metadata ? 'message_id' AND jsonb_typeof(metadata -> 'size') = 'number'
         ORDER BY arrived_at DESC
         LIMIT %(limit)s
        """,
        {"source_id": source_id, "limit": _MOST_MAILS},
    )
    return {(message_id, size) for message_id, size in await cur.fetchall()}


async def add(
    conn: Conn,
    origin: Origin,
    item: str,
    *,
    tenant_id: UUID,
    document_id: UUID | None,
    error: DocmillError | None = None,
) -> bool:
    """Note that an item has arrived; False if that was known.

    The last statement of its transaction: it locks the row of the source, whose counters it raises. Raises
    ServerError if the source is paused or was removed.
    """
    cur = await conn.execute(
        """
        INSERT INTO arrival
            (id, tenant_id, doc_source_id, item, document_id, metadata, error_code, error_message)
        VALUES (%(id)s, %(tenant_id)s, %(source_id)s, %(item)s, %(document_id)s, %(metadata)s,
                %(error_code)s, %(error_message)s)
            ON CONFLICT (doc_source_id, item) DO NOTHING
        """,
        {
            "id": new_id(),
            "tenant_id": tenant_id,
            "source_id": origin.source_id,
            "item": item_name(item),
            "document_id": document_id,
            "metadata": Jsonb(storable_values(dict(origin.metadata or {}))),
            "error_code": error and error.code,
            "error_message": error and storable(error.message),
        },
    )
    if cur.rowcount == 0:
        return False
    cur = await conn.execute(
        """
        UPDATE doc_source
           SET arrivals = arrivals + %(taken)s, refusals = refusals + %(refused)s
         WHERE id = %(source_id)s AND state = 'active'
        """,
        {"source_id": origin.source_id, "taken": int(error is None), "refused": int(error is not None)},
    )
    if cur.rowcount == 0:  # meanwhile: a mail or a file may take minutes to arrive
        raise ServerError("the source is paused or was removed; nothing is taken from it now")
    return True


async def document_of(conn: Conn, source_id: UUID, item: str) -> UUID | None:
    """The document that an item has become; None for one that was refused, is unknown, or is gone."""
    cur = await conn.execute(
        "SELECT document_id FROM arrival WHERE doc_source_id = %(source_id)s AND item = %(item)s",
        {"source_id": source_id, "item": item_name(item)},
    )
    row = await cur.fetchone()
    return row[0] if row else None


async def of_document(conn: Conn, document_id: UUID) -> list[ArrivalRow]:
    """The arrivals of a document, the newest first; none for one that was uploaded."""
    async with conn.cursor(row_factory=class_row(ArrivalRow)) as cur:
        await cur.execute(
            """
            SELECT arrival.id, doc_source_id, name AS source_name, kind AS source_kind, document_id, metadata,
                   error_code, error_message, arrived_at
              FROM arrival
              JOIN doc_source ON doc_source.id = doc_source_id
             WHERE document_id = %(document_id)s
             ORDER BY arrived_at DESC, arrival.id DESC
             LIMIT 100
            """,
            {"document_id": document_id},
        )
        return await cur.fetchall()


async def of_source(
    conn: Conn, source_id: UUID, *, refused_only: bool = False, limit: int
) -> list[ArrivalRow]:
    """The newest items of a source."""
    async with conn.cursor(row_factory=class_row(ArrivalRow)) as cur:
        await cur.execute(
            """
            SELECT arrival.id, doc_source_id, doc_source.name AS source_name,
                   doc_source.kind AS source_kind, document_id, metadata, error_code, error_message,
                   arrived_at, coalesce(document.title, document.file_name) AS document_name
              FROM arrival
              JOIN doc_source ON doc_source.id = doc_source_id
              LEFT JOIN document ON document.id = document_id
             WHERE doc_source_id = %(source_id)s AND (error_code IS NOT NULL OR NOT %(refused_only)s)
             ORDER BY arrived_at DESC, arrival.id DESC
             LIMIT %(limit)s
            """,
            {"source_id": source_id, "refused_only": refused_only, "limit": limit},
        )
        return await cur.fetchall()


async def day_ends(conn: Conn, source_id: UUID | None, *, most: int) -> float | None:
    """Seconds until less than `most` items were taken within 24 hours; None if it is so now.

    source_id: None for all sources of the tenant.
    """
    of_source: LiteralString = (
        "doc_source_id = %(source_id)s" if source_id else "tenant_id = current_tenant()"
    )
    cur = await conn.execute(
        """
        SELECT extract(epoch FROM arrived_at + interval '24 hours' - clock_timestamp())::float8
          FROM arrival
         WHERE """  # noqa: S608  a literal
        + of_source
        + """
           AND arrived_at > clock_timestamp() - interval '24 hours'
           AND error_code IS NULL
         ORDER BY arrived_at DESC
        OFFSET %(most)s - 1
         LIMIT 1
        """,
        {"source_id": source_id, "most": most},
    )
    row = await cur.fetchone()
    return None if row is None else max(row[0], 0.0)


async def forget(conn: Conn, source_id: UUID, arrival_id: UUID) -> bool:
    """Forget an item that was refused, so that it can be taken; False if there is none."""
    cur = await conn.execute(
        """
        DELETE FROM arrival
         WHERE id = %(id)s AND doc_source_id = %(source_id)s AND error_code IS NOT NULL
        """,
        {"id": arrival_id, "source_id": source_id},
    )
    return cur.rowcount == 1


async def refused_by_source(conn: Conn) -> dict[UUID, int]:
    """The numbers of items that were refused and not forgotten, of the sources that have some."""
    cur = await conn.execute(
        """
        SELECT doc_source_id, count(*) FROM arrival WHERE error_code IS NOT NULL GROUP BY doc_source_id
        """
    )
    return dict(await cur.fetchall())
