"""The list of documents: filters, orders, and pages by cursor."""

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, LiteralString
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.search.spelling import corrected_query, doubtful_words
from docmill.service.search.terms import fold, tsquery_of
from docmill.service.store import tags
from docmill.service.store.database import Conn, storable
from docmill.service.store.documents import ROWS, DocumentRow

SOURCES = ("upload", "part")
_RANKED = 2000
"""Of documents that a query finds, so many of the newest are ranked; ranking reads the words of each."""
_SPELLED = 1000
"""Documents whose words a mistyped one is compared with; only a search that finds nothing pays for it."""
_RANK = re.compile(r"[0-9]{1,6}(\.[0-9]{1,20})?(e-[0-9]{1,2})?")
_HIGHEST = 9 * 10**17
"""Hundredths; no amount of a document is higher."""


@dataclass(frozen=True, slots=True)
class _Order:
    """An order of the list. key: what is compared before the id; kind: its type in SQL."""

    key: LiteralString
    after: LiteralString
    by: LiteralString


_DESCENDING: LiteralString = " ORDER BY key DESC, id DESC LIMIT %(limit)s"
_ORDERS: Mapping[str, _Order] = {
    "newest": _Order("document.id", "id < %(id)s", " ORDER BY id DESC LIMIT %(limit)s"),
    "date": _Order(
        "coalesce(document_date, '-infinity')", "(key, id) < (%(key)s::date, %(id)s)", _DESCENDING
    ),
    "amount": _Order(
        "coalesce(amount_hundredths, -9223372036854775807)",
        "(key, id) < (%(key)s::bigint, %(id)s)",
        _DESCENDING,
    ),
    "counterparty": _Order(
        "counterparty_key",
        """
        ((key = ''), key) >= (%(key)s = '', %(key)s)
        AND (((key = ''), key) > (%(key)s = '', %(key)s) OR id < %(id)s)
        """,
        " ORDER BY (key = ''), key, id DESC LIMIT %(limit)s",
    ),
    "relevance": _Order(
        "ts_rank(words, %(wanted)s::tsquery)", "(key, id) < (%(key)s::real, %(id)s)", _DESCENDING
    ),
}
SORTS = tuple(_ORDERS)

_CONDITIONS: Mapping[str, LiteralString] = {
    "state": """
        AND CASE WHEN rejection IS NOT NULL AND state IN ('needs_classification', 'needs_review', 'ready')
                 THEN 'rejected'
                 WHEN state = 'ready' AND error_message IS NOT NULL THEN 'not_read'
                 ELSE state END = %(state)s
    """,
    "document_type": "AND document_type = %(document_type)s",
    "counterparty": "AND strpos(counterparty_key, %(counterparty)s) > 0",
    "date_from": "AND document_date >= %(date_from)s",
    "date_to": "AND document_date <= %(date_to)s",
    "amount_from": "AND amount_hundredths >= %(amount_from)s",
    "amount_to": "AND amount_hundredths <= %(amount_to)s",
    "tag_ids": """
        AND document.id IN (SELECT document_id FROM tag_assignment
                             WHERE tag_id = ANY(%(tag_ids)s) AND NOT is_removed
                             GROUP BY document_id HAVING count(*) = %(tags)s)
    """,
    "ids": "AND document.id = ANY(%(ids)s)",
    "inside": """
        AND (strpos(lower(title), lower(%(inside)s)) > 0 OR strpos(lower(file_name), lower(%(inside)s)) > 0)
    """,
}
_SOURCE_CONDITIONS: Mapping[str, LiteralString] = {
    "upload": "AND NOT EXISTS (SELECT FROM part WHERE child_id = document.id)",
    "part": "AND EXISTS (SELECT FROM part WHERE child_id = document.id)",
}
_STATE_CANDIDATES: Mapping[str, LiteralString] = {
    "processing": "AND document.id IN (SELECT document_id FROM ingestion WHERE status = 'in-progress')",
    "stale": "AND document.id IN (SELECT document_id FROM ingestion WHERE status = 'in-progress')",
    "failed": "AND document.id IN (SELECT document_id FROM ingestion WHERE status = 'failed')",
    "needs_classification": "AND title IS NULL",
    "needs_review": """
        AND document.id IN (SELECT id FROM document AS doubted WHERE needs_human_review
                            UNION ALL SELECT document_id FROM near_duplicate WHERE is_duplicate IS NULL)
    """,
    "not_read": """
        AND document.id IN (SELECT document_id FROM ingestion
                             WHERE status = 'completed' AND error_message IS NOT NULL)
    """,
    "rejected": "AND rejection IS NOT NULL",
}
"""Conditions that every document in a state fulfils and that an index answers. The state itself is computed
for the rows that are left."""


_KEY_CHECKS: Mapping[str, Callable[[str], bool]] = {
    "newest": lambda key: not key or bool(UUID(key)),
    "date": lambda key: key == "-infinity" or date.fromisoformat(key).isoformat() == key,
    "amount": lambda key: str(int(key)) == key and abs(int(key)) < 2**63,
    "counterparty": lambda key: key == storable(key),
    "relevance": lambda key: bool(_RANK.fullmatch(key)),
}
"""Checks of a cursor's key, by order: cursors come from outside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFilters:
    """What documents of a list have in common; None and empty for whatever.

    state: one of `documents.STATES`, or `NOT_READ` or `REJECTED`; those are not among the others. query:
    what a person typed, see `search_terms`. tags: names, all of which a document has. counterparty: a part
    of its name.
    source: `upload`, or `part` of another document. parts: False leaves out documents that another one holds.
    ids: only these documents.
    """

    query: str | None = None
    state: str | None = None
    document_type: str | None = None
    tags: tuple[str, ...] = ()
    counterparty: str | None = None
    date_from: date | None = None
    date_to: date | None = None
    amount_from: Decimal | None = None
    amount_to: Decimal | None = None
    source: str | None = None
    parts: bool = True
    ids: tuple[UUID, ...] | None = None


@dataclass(frozen=True, slots=True)
class Cursor:
    """The place in a list behind a document: the value by which it is ordered, and the document's id."""

    sort: str
    key: str
    id: UUID

    @property
    def text(self) -> str:
        """For an address."""
        return base64.urlsafe_b64encode(json.dumps([self.sort, self.key, self.id.hex]).encode()).decode()

    @classmethod
    def parse(cls, text: str) -> "Cursor | None":
        """The cursor of an address, None for what is none. The id of a document alone is one by age."""
        try:
            if len(text) in (32, 36):
                return cls("newest", "", UUID(text))
            sort, key, document_id = json.loads(base64.urlsafe_b64decode(text.encode()))
            cursor = cls(str(sort), str(key), UUID(document_id))
            is_sound = _KEY_CHECKS[cursor.sort](cursor.key)
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
            return None
        return cursor if is_sound else None


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """Documents of a list, in its order.

    follow: the place behind the last one, None at the end. corrected: the query that was searched for
    instead, where the words of the given one find nothing and some of them are probably mistyped.
    """

    rows: list[DocumentRow]
    follow: Cursor | None = None
    corrected: str | None = None


async def page(
    conn: Conn,
    filters: DocumentFilters = DocumentFilters(),
    *,
    sort: str | None = None,
    after: Cursor | None = None,
    limit: int = 24,
) -> DocumentPage:
    """Up to `limit` documents.

    sort: one of `SORTS`; by relevance unless given where there is a query, else the newest first. after: the
    place behind which they stand; one of another order is not heeded. Where the words of a query find
    nothing, it is looked for inside titles and file names.
    """
    search, corrected = await _search_of(conn, filters.query)
    is_ranked = search.get("wanted") is not None
    sort = sort if sort and (sort != "relevance" or is_ranked) else "relevance" if is_ranked else "newest"
    after = after if after is not None and after.sort == sort else None
    values = await _values(conn, filters) | search
    values |= {"limit": limit + 1, "ranked": _RANKED}
    statement = _statement(filters, values, sort, is_after=after is not None)
    if after is not None:
        values |= {"key": after.key, "id": after.id}
    cur = await conn.execute(statement, values)
    keys: list[tuple[UUID, str]] = await cur.fetchall()
    rows = await _rows(conn, [document_id for document_id, _ in keys[:limit]])
    last = keys[limit - 1] if len(keys) > limit else None
    return DocumentPage(rows, last and Cursor(sort, last[1], last[0]), corrected)


async def newest_ids(conn: Conn, filters: DocumentFilters, *, limit: int) -> list[UUID]:
    """The ids of up to `limit` documents that the filters find, the newest."""
    search, _ = await _search_of(conn, filters.query)
    values = await _values(conn, filters) | search | {"limit": limit}
    cur = await conn.execute(_statement(filters, values, "newest", is_after=False), values)
    return [document_id for document_id, _ in await cur.fetchall()]


async def number(conn: Conn, filters: DocumentFilters) -> int:
    """The number of documents that the filters find."""
    search, _ = await _search_of(conn, filters.query)
    values = await _values(conn, filters) | search
    cur = await conn.execute("SELECT count(*)" + _found(filters, values), values)
    (found,) = await cur.fetchone() or (0,)
    return found


async def types(conn: Conn, filters: DocumentFilters) -> list[str]:
    """The types of the documents that the filters find, in the order of the alphabet."""
    search, _ = await _search_of(conn, filters.query)
    values = await _values(conn, filters) | search
    cur = await conn.execute(
        "SELECT DISTINCT document_type"
        + _found(filters, values)
        + " AND document_type IS NOT NULL ORDER BY document_type",
        values,
    )
    return [document_type for (document_type,) in await cur.fetchall()]


async def _search_of(conn: Conn, query: str | None) -> tuple[dict[str, Any], str | None]:
    """How a query is looked for: as `wanted` where its words are found, else `inside` names.

    With it the corrected query, where that is looked for.
    """
    if not query:
        return {}, None
    query, tag_names = storable(query), await tags.words(conn)
    wanted = tsquery_of(query, tag_names)
    if wanted and await _finds(conn, wanted):
        return {"wanted": wanted}, None
    inside = {"inside": query}
    doubtful = doubtful_words(query) if wanted else []
    if not doubtful or await _is_inside(conn, inside):
        return inside, None
    corrected = corrected_query(query, await _words_like(conn, doubtful))
    wanted = tsquery_of(corrected, tag_names) if corrected else ""
    if wanted and await _finds(conn, wanted):
        return {"wanted": wanted}, corrected
    return inside, None


async def _finds(conn: Conn, wanted: str) -> bool:
    """Whether a query finds any document of the tenant."""
    cur = await conn.execute("SELECT FROM found_ids(%(wanted)s::tsquery) LIMIT 1", {"wanted": wanted})
    return cur.rowcount == 1


async def _is_inside(conn: Conn, inside: dict[str, Any]) -> bool:
    """True if a text stands inside the title or file name of any document of the tenant."""
    cur = await conn.execute(
        "SELECT FROM document WHERE true" + _CONDITIONS["inside"] + "LIMIT 1",
        inside,
    )
    return cur.rowcount == 1


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


async def _values(conn: Conn, filters: DocumentFilters) -> dict[str, Any]:
    """The values of the filters that are set, by the name of their condition."""
    values: dict[str, Any] = {
        "state": storable(filters.state),
        "document_type": storable(filters.document_type),
        "counterparty": storable(fold(filters.counterparty)[:200]) if filters.counterparty else None,
        "date_from": filters.date_from,
        "date_to": filters.date_to,
        "amount_from": _hundredths(filters.amount_from),
        "amount_to": _hundredths(filters.amount_to),
        "ids": None if filters.ids is None else list(filters.ids),
    }
    if filters.tags:
        ids = await tags.resolve(conn, filters.tags)
        wanted = {tag_id for tag_id in ids if tag_id is not None}
        # Of a name that no tag has there is no document: none has -1 tags.
        values |= {"tag_ids": list(wanted), "tags": -1 if None in ids else len(wanted)}
    return {name: value for name, value in values.items() if value is not None}


def _hundredths(amount: Decimal | None) -> int | None:
    """The amount as it is stored; one that no document has is cut to the highest that is possible."""
    if amount is None or not amount.is_finite():
        return None
    return int(max(min(amount * 100, Decimal(_HIGHEST)), Decimal(-_HIGHEST)))


def _statement(
    filters: DocumentFilters, values: Mapping[str, Any], sort: str, *, is_after: bool
) -> LiteralString:
    """The query for ids and keys, with the conditions that are set and no others."""
    order = _ORDERS[sort]
    found = _found(filters, values)
    if sort == "relevance":
        found = (
            " FROM document WHERE id IN (SELECT document.id"
            + found
            + " ORDER BY document.id DESC LIMIT %(ranked)s)"
        )
    return (
        "SELECT id, key::text AS place FROM (SELECT document.id, "  # noqa: S608  all pieces are literals of this module
        + order.key
        + " AS key"
        + found
        + ") AS listed"
        + (" WHERE " + order.after if is_after else "")
        + order.by
    )


def _found(filters: DocumentFilters, values: Mapping[str, Any]) -> LiteralString:
    """The tables and conditions of a query for the documents that the filters find."""
    conditions: list[LiteralString] = [condition for name, condition in _CONDITIONS.items() if name in values]
    if filters.state is not None:
        conditions.append(_STATE_CANDIDATES.get(filters.state, ""))
    if filters.source is not None:
        conditions.append(_SOURCE_CONDITIONS[filters.source])
    if not filters.parts:
        conditions.append(_SOURCE_CONDITIONS["upload"])
    joins: LiteralString = " FROM document"
    if "state" in values:
        joins += " JOIN document_state ON document_state.id = document.id"
    if "wanted" in values:
        joins += " JOIN found_ids(%(wanted)s::tsquery) AS found (id) ON found.id = document.id"
    return joins + " WHERE true " + " ".join(conditions)


async def _rows(conn: Conn, ids: list[UUID]) -> list[DocumentRow]:
    """The documents in this order; those that went meanwhile are left out."""
    async with conn.cursor(row_factory=class_row(DocumentRow)) as cur:
        await cur.execute(
            ROWS
            + """
             WHERE document.id = ANY(%(ids)s)
            """,
            {"ids": ids},
        )
        found = {row.id: row for row in await cur.fetchall()}
    return [found[document_id] for document_id in ids if document_id in found]
