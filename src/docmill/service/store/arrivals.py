"""What has arrived from sources: each item of a source once, also one that could not be taken."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from docmill.errors import DocmillError
from docmill.service.store.database import Conn, new_id, storable, storable_values
from docmill.service.store.ingestions import Origin

LONGEST_ITEM = 200
"""Characters of an item's name that are kept as they are; of a longer one, a digest."""

_MOST_MAILS = 200_000


@dataclass(frozen=True, slots=True)
class ArrivalRow:
    """An item of a source. document_id: None if it was refused, or if the document is gone."""

    id: UUID
    doc_source_id: UUID
    source_name: str
    source_kind: str
    document_id: UUID | None
    metadata: dict[str, Any]
    error_code: str | None
    error_message: str | None
    arrived_at: datetime


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

    The last statement of its transaction: it locks the row of the source, whose counters it raises.
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
    await conn.execute(
        """
        UPDATE doc_source
           SET arrivals = arrivals + %(taken)s, refusals = refusals + %(refused)s
         WHERE id = %(source_id)s
        """,
        {"source_id": origin.source_id, "taken": int(error is None), "refused": int(error is not None)},
    )
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
    """How a document arrived, the newest first; none for one that was uploaded."""
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
            SELECT arrival.id, doc_source_id, name AS source_name, kind AS source_kind, document_id, metadata,
                   error_code, error_message, arrived_at
              FROM arrival
              JOIN doc_source ON doc_source.id = doc_source_id
             WHERE doc_source_id = %(source_id)s AND (error_code IS NOT NULL OR NOT %(refused_only)s)
             ORDER BY arrived_at DESC, arrival.id DESC
             LIMIT %(limit)s
            """,
            {"source_id": source_id, "refused_only": refused_only, "limit": limit},
        )
        return await cur.fetchall()


async def count_since(conn: Conn, source_id: UUID, *, hours: float) -> int:
    """The items of a source that were taken within the last hours."""
    cur = await conn.execute(
        """
        SELECT count(*)
          FROM arrival
         WHERE doc_source_id = %(source_id)s
           AND arrived_at > clock_timestamp() - make_interval(secs => %(hours)s * 3600)
           AND error_code IS NULL
        """,
        {"source_id": source_id, "hours": hours},
    )
    (count,) = await cur.fetchone() or (0,)
    return count
