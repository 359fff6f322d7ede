"""The tags that a tenant's documents bear."""

from uuid import UUID

from docmill.service.store.database import Conn


async def in_use(conn: Conn, *, documents: int, limit: int) -> list[str]:
    """Those of the tenant's newest `documents`, the most used first, `limit` of them."""
    cur = await conn.execute(
        """
        SELECT tag
          FROM (SELECT ingestion.classification -> 'tags' AS tags
                  FROM document JOIN ingestion ON ingestion.id = document.result_ingestion_id
                 ORDER BY document.id DESC
                 LIMIT %(documents)s) newest,
               jsonb_array_elements_text(
                   CASE WHEN jsonb_typeof(tags) = 'array' THEN tags ELSE '[]' END) tag
         GROUP BY tag
         ORDER BY count(*) DESC, tag
         LIMIT %(limit)s
        """,
        {"documents": documents, "limit": limit},
    )
    return [tag for (tag,) in await cur.fetchall()]


DEFAULT_TENANT_ID = UUID("00000000-0000-7000-8000-000000000001")
"""The tenant that the first migration makes, for an installation that serves one organisation."""

DEFAULT_USER_ID = UUID("00000000-0000-7000-8000-000000000002")
"""Who uploaded a document where nobody signs in."""
