"""Files that other programs have asked to be fetched, until they are taken or refused."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb
from pydantic import JsonValue

from docmill.service.store.arrivals import item_name
from docmill.service.store.database import Conn, storable, storable_values


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A file to be fetched. url: encrypted for `id`."""

    id: UUID
    item: str
    url: bytes = field(repr=False)
    file_name: str
    metadata: dict[str, Any]
    failures: int


async def add(
    conn: Conn,
    request: FetchRequest,
    *,
    tenant_id: UUID,
    source_id: UUID,
) -> bool:
    """Ask for a file; False if its item was asked for before, or has arrived."""
    cur = await conn.execute(
        """
        INSERT INTO fetch_request (id, tenant_id, doc_source_id, item, url, file_name, metadata)
        SELECT %(id)s, %(tenant_id)s, %(source_id)s, %(item)s, %(url)s, %(file_name)s, %(metadata)s
         WHERE NOT EXISTS (SELECT FROM arrival WHERE doc_source_id = %(source_id)s AND item = %(item)s)
            ON CONFLICT (doc_source_id, item) DO NOTHING
        """,
        {
            "id": request.id,
            "tenant_id": tenant_id,
            "source_id": source_id,
            "item": item_name(request.item),
            "url": request.url,
            "file_name": storable(request.file_name),
            "metadata": Jsonb(storable_values(dict[str, JsonValue](request.metadata))),
        },
    )
    return cur.rowcount == 1


async def due(conn: Conn, source_id: UUID, *, limit: int) -> list[FetchRequest]:
    """The files of a source that are to be fetched now, the longest due first."""
    async with conn.cursor(row_factory=class_row(FetchRequest)) as cur:
        await cur.execute(
            """
            SELECT id, item, url, file_name, metadata, failures
              FROM fetch_request
             WHERE doc_source_id = %(source_id)s AND next_attempt_at <= clock_timestamp()
             ORDER BY next_attempt_at
             LIMIT %(limit)s
            """,
            {"source_id": source_id, "limit": limit},
        )
        return await cur.fetchall()


async def put_off(conn: Conn, request_id: UUID, *, delay_s: float, counts: bool = True) -> None:
    """Have a file fetched again after a pause. counts: as one more failure."""
    await conn.execute(
        """
        UPDATE fetch_request
           SET failures = failures + %(failures)s,
               next_attempt_at = clock_timestamp() + make_interval(secs => %(delay_s)s)
         WHERE id = %(id)s
        """,
        {"id": request_id, "delay_s": delay_s, "failures": int(counts)},
    )


async def remove(conn: Conn, request_id: UUID) -> None:
    """Forget a file that was taken or refused."""
    await conn.execute("DELETE FROM fetch_request WHERE id = %(id)s", {"id": request_id})


async def remove_of_source(conn: Conn, source_id: UUID) -> None:
    """Forget all files of a source."""
    await conn.execute("DELETE FROM fetch_request WHERE doc_source_id = %(id)s", {"id": source_id})
