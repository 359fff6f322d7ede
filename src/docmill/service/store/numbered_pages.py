"""Documents for programs that count pages and know documents by numbers; ours have cursors and ids."""

from docmill.service.store import document_list, documents
from docmill.service.store.database import Conn
from docmill.service.store.document_list import DocumentFilters
from docmill.service.store.documents import DocumentRow


async def newest(conn: Conn, filters: DocumentFilters, *, page: int, page_size: int) -> list[DocumentRow]:
    """The documents of a page of those that the filters find, the newest first. page: from 1."""
    ids = await document_list.newest_ids(conn, filters, limit=page_size, offset=(page - 1) * page_size)
    return await document_list.rows_of(conn, ids)


async def of_number(conn: Conn, number: int) -> list[DocumentRow]:
    """The documents whose ids end in these 31 bits: mostly one, and never more than two of them."""
    cur = await conn.execute(
        """
        SELECT id
          FROM document
         WHERE ('x' || right(id::text, 8))::bit(32)::bigint & 2147483647 = %(number)s
         LIMIT 2
        """,
        {"number": number},
    )
    rows = [await documents.get(conn, document_id) for (document_id,) in await cur.fetchall()]
    return [row for row in rows if row is not None]
