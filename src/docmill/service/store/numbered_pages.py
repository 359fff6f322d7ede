"""Documents by the number of a page, for programs that count pages; ours have cursors."""

from psycopg.rows import class_row

from docmill.service.store import documents
from docmill.service.store.database import Conn
from docmill.service.store.documents import DocumentRow


async def newest(conn: Conn, *, page: int, page_size: int) -> list[DocumentRow]:
    """The documents of a page, the newest first. page: from 1."""
    async with conn.cursor(row_factory=class_row(DocumentRow)) as cur:
        await cur.execute(
            documents.ROWS
            + """
             ORDER BY document.id DESC
             LIMIT %(page_size)s OFFSET %(offset)s
            """,
            {"page_size": page_size, "offset": (page - 1) * page_size},
        )
        return await cur.fetchall()
