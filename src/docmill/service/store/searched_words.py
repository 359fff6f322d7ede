"""Documents that have the words of a query, or else its text in their names, or else words spelt like it."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from docmill.service.search.spelling import corrected_query, doubtful_words
from docmill.service.search.terms import tsquery_of
from docmill.service.store import tags
from docmill.service.store.database import Conn, storable

_SAMPLE, _COMMON = 500, 10
"""A query that finds so many of a sample of the newest documents is looked for in each document of the order:
a page of them comes soon. Others are looked for in the index on words, which reads all that it finds."""
_NAMES = 10_000
"""Documents in whose titles and file names a text is looked for that no document has as words, the newest."""
_SPELLED = 1000
"""Documents whose words a mistyped one is compared with; only a search that finds nothing pays for it."""


async def search_of(conn: Conn, query: str | None) -> tuple[dict[str, Any], str | None]:
    """The values to search by: `wanted` where the words of a query are found, else ids of names, `inside`.

    With it the corrected query, where that is looked for. is_common: see `_COMMON`.
    """
    if not query:
        return {}, None
    query, tag_names = storable(query), await tags.words(conn)
    wanted = tsquery_of(query, tag_names)
    if found := await _found_words(conn, wanted):
        return found, None
    inside = {"inside": await _inside_names(conn, query)}
    doubtful = doubtful_words(query) if wanted else []
    if not doubtful or inside["inside"]:
        return inside, None
    corrected = corrected_query(query, await _words_like(conn, doubtful))
    wanted = tsquery_of(corrected, tag_names) if corrected else ""
    if found := await _found_words(conn, wanted):
        return found, corrected
    return inside, None


async def _found_words(conn: Conn, wanted: str) -> dict[str, Any] | None:
    """The values to search by the words of a query; None if no document of the tenant has them."""
    if not wanted:
        return None
    cur = await conn.execute(
        """
        SELECT FROM (SELECT words FROM document ORDER BY id DESC LIMIT %(sample)s) AS newest
         WHERE words @@ %(wanted)s::tsquery
        """,
        {"sample": _SAMPLE, "wanted": wanted},
    )
    is_common = cur.rowcount >= _COMMON
    for most in (1, None):  # the one may be in the bin
        if not cur.rowcount:
            cur = await conn.execute(
                """
                SELECT FROM found_ids(%(wanted)s::tsquery, %(most)s) AS found (id)
                  JOIN document ON document.id = found.id
                 LIMIT 1
                """,
                {"wanted": wanted, "most": most},
            )
    return {"wanted": wanted, "is_common": is_common} if cur.rowcount else None


async def _inside_names(conn: Conn, query: str) -> list[UUID]:
    """The newest documents with a text inside their titles or file names."""
    cur = await conn.execute(
        """
        SELECT id
          FROM (SELECT id, title, file_name FROM document ORDER BY id DESC LIMIT %(names)s) AS newest
         WHERE strpos(lower(title), lower(%(query)s)) > 0 OR strpos(lower(file_name), lower(%(query)s)) > 0
        """,
        {"names": _NAMES, "query": query},
    )
    return [document_id for (document_id,) in await cur.fetchall()]


async def _words_like(conn: Conn, doubtful: Sequence[str]) -> list[tuple[str, int]]:
    """Words of the newest documents that are about as long as one of `doubtful`, with their numbers."""
    cur = await conn.execute(
        """
        SELECT word, count(*)
          FROM (SELECT words FROM document ORDER BY id DESC LIMIT %(documents)s) AS newest,
               unnest(words) AS lexeme (word, positions, weights)
         WHERE length(word) BETWEEN %(shortest)s AND %(longest)s AND word !~ '[^[:alpha:]]'
         GROUP BY word
        """,
        {
            "documents": _SPELLED,
            "shortest": min(map(len, doubtful)) - 2,
            "longest": max(map(len, doubtful)) + 2,
        },
    )
    return await cur.fetchall()
