"""The list of documents: filters, orders, and pages by cursor."""

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any, Literal, LiteralString
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.search.terms import fold
from docmill.service.store import embeddings, tags
from docmill.service.store.database import Conn, storable
from docmill.service.store.documents import ROWS, DocumentRow
from docmill.service.store.embeddings import Near
from docmill.service.store.searched_words import search_of

SOURCES = ("upload", "part")
_RANKED, _RANKED_COMMON = 2000, 300
"""Of documents that a query finds, so many of the newest are ranked: that reads the words of each. Fewer of
those that a common query finds, see `searched_words`."""
_NEAR, _BY_WORDS = 50, 100
"""Documents that go into a search by meaning: of those near to a vector, and of those that have the words."""
_FUSION = 60
"""The constant of the fusion, as its authors give it: it keeps the first ranks from deciding alone."""
_WEIGHT_OF_WORDS = 2
"""The weight of a rank by words: up to about rank 60, it counts more than the first rank by meaning."""
_RANK = re.compile(r"[0-9]{1,6}(\.[0-9]{1,20})?(e-[0-9]{1,2})?")
_HIGHEST = 9 * 10**17
"""Hundredths; no amount of a document is higher."""


@dataclass(frozen=True, slots=True)
class _Order:
    """An order of the list. key: what is compared before the id; kind: its type in SQL."""

    key: LiteralString
    after: LiteralString
    by: LiteralString


# No coalesce: conditions with it use no index under row-level security.
_DATE: LiteralString = "(CASE WHEN document_date IS NULL THEN '-infinity' ELSE document_date END)"
_AMOUNT: LiteralString = (
    "(CASE WHEN amount_hundredths IS NULL THEN -9223372036854775807 ELSE amount_hundredths END)"
)
_DESCENDING: LiteralString = " ORDER BY key DESC, id DESC LIMIT %(limit)s"
_ORDERS: Mapping[str, _Order] = {
    "newest": _Order("document.id", "id < %(id)s", " ORDER BY id DESC LIMIT %(limit)s"),
    "date": _Order(_DATE, "(key, id) < (%(key)s::date, %(id)s)", _DESCENDING),
    "amount": _Order(_AMOUNT, "(key, id) < (%(key)s::bigint, %(id)s)", _DESCENDING),
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
    "date_from": "AND " + _DATE + " >= %(date_from)s::date",
    "date_to": "AND document_date IS NOT NULL AND " + _DATE + " <= %(date_to)s::date",
    "amount_from": "AND " + _AMOUNT + " >= %(amount_from)s::bigint",
    "amount_to": "AND amount_hundredths IS NOT NULL AND " + _AMOUNT + " <= %(amount_to)s::bigint",
    # A comparison with an integer can use the index under row-level security.
    "asn_from": "AND archive_serial_number >= %(asn_from)s::bigint",
    "asn_to": "AND archive_serial_number <= %(asn_to)s::bigint",
    "has_asn": "AND (archive_serial_number IS NOT NULL) = %(has_asn)s",
    "tag_ids": """
        AND document.id IN (SELECT document_id FROM tag_assignment
                             WHERE tag_id = ANY(%(tag_ids)s) AND NOT is_removed
                             GROUP BY document_id HAVING count(*) = %(tags)s)
    """,
    "from_source": """
        AND document.id IN (SELECT document_id FROM arrival WHERE doc_source_id = %(from_source)s
                            UNION SELECT document_id FROM ingestion WHERE doc_source_id = %(from_source)s)
    """,
    "ids": "AND document.id = ANY(%(ids)s)",
    "inside": "AND document.id = ANY(%(inside)s)",
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
    of its name. asn_from, asn_to: the lowest and highest archive serial number. has_asn: whether it has one.
    source: `upload`, or `part` of another document. from_source: the source from which they arrived.
    parts: False leaves out documents that another one holds.
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
    asn_from: int | None = None
    asn_to: int | None = None
    has_asn: bool | None = None
    source: str | None = None
    from_source: UUID | None = None
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
    instead, where the words of the given one find nothing and some of them are probably mistyped. by_meaning:
    the documents that were found by their meaning, and not by words.
    """

    rows: list[DocumentRow]
    follow: Cursor | None = None
    corrected: str | None = None
    by_meaning: frozenset[UUID] = frozenset()


async def page(
    conn: Conn,
    filters: DocumentFilters = DocumentFilters(),
    *,
    sort: str | None = None,
    after: Cursor | None = None,
    limit: int = 24,
    near: Near | None = None,
    mode: Literal["meaning", "both"] = "both",
) -> DocumentPage:
    """Up to `limit` documents.

    near: what they are to be near to instead of having the words of the query, or besides, as `mode` says;
    the best few hundred are found then.

    sort: one of `SORTS`; by relevance unless given where there is a query, else the newest first. after: the
    place behind which they stand; one of another order is not heeded. Where the words of a query find
    nothing, it is looked for inside titles and file names.
    """
    if near is not None:
        return await _page_near(conn, filters, near, mode, sort=sort, after=after, limit=limit)
    search, corrected = await search_of(conn, filters.query)
    return await _page_of(conn, filters, search, corrected, sort=sort, after=after, limit=limit)


async def _page_of(
    conn: Conn,
    filters: DocumentFilters,
    search: Mapping[str, Any],
    corrected: str | None,
    *,
    sort: str | None,
    after: Cursor | None,
    limit: int,
) -> DocumentPage:
    """See `page`. search: see `search_of`."""
    is_ranked = "wanted" in search
    sort = sort if sort and (sort != "relevance" or is_ranked) else "relevance" if is_ranked else "newest"
    after = after if after is not None and after.sort == sort else None
    keys = await _keys(conn, filters, search, sort, limit + 1, after=after)
    rows = await rows_of(conn, [document_id for document_id, _ in keys[:limit]])
    last = keys[limit - 1] if len(keys) > limit else None
    return DocumentPage(rows, last and Cursor(sort, last[1], last[0]), corrected)


async def _keys(
    conn: Conn,
    filters: DocumentFilters,
    search: Mapping[str, Any],
    sort: str,
    limit: int,
    *,
    after: Cursor | None = None,
) -> list[tuple[UUID, str]]:
    """Ids in their order, each with what it is ordered by."""
    if sort == "relevance" and "wanted" not in search:
        sort = "newest"
    ranked = _RANKED_COMMON if search.get("is_common") else _RANKED
    values = await _values(conn, filters) | dict(search) | {"limit": limit, "ranked": ranked}
    statement = _statement(filters, values, sort, is_after=after is not None)
    if after is not None:
        values |= {"key": after.key, "id": after.id}
    cur = await conn.execute(statement, values)
    return await cur.fetchall()


async def _page_near(
    conn: Conn,
    filters: DocumentFilters,
    near: Near,
    mode: Literal["meaning", "both"],
    *,
    sort: str | None,
    after: Cursor | None,
    limit: int,
) -> DocumentPage:
    """See `page`. Ranks are fused, not scores: those of words and of vectors have nothing in common."""
    search, corrected, by_text = await _by_words(conn, filters, mode)
    if by_text is None:
        return await _page_of(conn, filters, search, corrected, sort=sort, after=after, limit=limit)
    others = replace(filters, query=None)
    ids = await _near_ids(conn, others, near, by_text)
    if sort not in (None, "relevance"):
        listed = await page(conn, replace(others, ids=tuple(ids)), sort=sort, after=after, limit=limit)
        return replace(listed, corrected=corrected, by_meaning=frozenset(ids) - frozenset(by_text))
    is_here = after is not None and after.sort == "relevance" and after.key.isdecimal()
    start = int(after.key) if after is not None and is_here else 0
    shown = ids[start : start + limit]
    follow = None
    if shown and start + limit < len(ids):
        follow = Cursor("relevance", str(start + limit), shown[-1])
    return DocumentPage(await rows_of(conn, shown), follow, corrected, frozenset(shown) - frozenset(by_text))


async def with_meaning(
    conn: Conn, filters: DocumentFilters, near: Near, mode: Literal["meaning", "both"]
) -> DocumentFilters:
    """Filters of all documents that such a search finds, by their ids. See `page` for near and mode."""
    _, _, by_text = await _by_words(conn, filters, mode)
    if by_text is None:
        return filters
    others = replace(filters, query=None)
    return replace(others, ids=tuple(await _near_ids(conn, others, near, by_text)))


async def _by_words(
    conn: Conn, filters: DocumentFilters, mode: Literal["meaning", "both"]
) -> tuple[dict[str, Any], str | None, list[UUID] | None]:
    """The values to search by, the corrected query, and the documents that have its words, best first.

    The latter is None where words find enough: whoever looks for all gets all.
    """
    if mode == "meaning":
        return {}, None, []
    search, corrected = await search_of(conn, filters.query)
    if search.get("is_common"):
        return search, corrected, None
    keys = await _keys(conn, filters, search, "relevance", _BY_WORDS + 1)
    by_text = None if len(keys) > _BY_WORDS else [document_id for document_id, _ in keys]
    return search, corrected, by_text


async def _near_ids(conn: Conn, filters: DocumentFilters, near: Near, by_text: Sequence[UUID]) -> list[UUID]:
    """The documents that have the words, or are near by their text or a tag, best first."""
    values = await _values(conn, filters)
    found = _found(filters, values)
    by_vector = await embeddings.nearest_documents(conn, near, found, values, limit=_NEAR)
    by_tag = await embeddings.documents_of_near_tags(conn, near, found, values)
    return _fused([(by_text, _WEIGHT_OF_WORDS), (by_tag, 1), (by_vector, 1)])


def _fused(rankings: Sequence[tuple[Sequence[UUID], float]]) -> list[UUID]:
    """All that is in weighted rankings, by reciprocal rank fusion: Cormack, Clarke, Büttcher, SIGIR 2009."""
    scores: dict[UUID, float] = {}
    for ranking, weight in rankings:
        for rank, document_id in enumerate(ranking, 1):
            scores[document_id] = scores.get(document_id, 0) + weight / (_FUSION + rank)
    return sorted(scores, key=lambda document_id: (-scores[document_id], -document_id.int))


async def newest_ids(conn: Conn, filters: DocumentFilters, *, limit: int, offset: int = 0) -> list[UUID]:
    """The ids of up to `limit` documents that the filters find, the newest behind the first `offset`."""
    search, _ = await search_of(conn, filters.query)
    values = await _values(conn, filters) | search | {"limit": limit, "offset": offset}
    statement = _statement(filters, values, "newest", is_after=False) + " OFFSET %(offset)s"
    cur = await conn.execute(statement, values)
    return [document_id for document_id, _ in await cur.fetchall()]


async def number(conn: Conn, filters: DocumentFilters) -> int:
    """The number of documents that the filters find."""
    search, _ = await search_of(conn, filters.query)
    values = await _values(conn, filters) | search
    cur = await conn.execute("SELECT count(*)" + _found(filters, values), values)
    (found,) = await cur.fetchone() or (0,)
    return found


async def types(conn: Conn, filters: DocumentFilters) -> list[str]:
    """The types of the documents that the filters find, in the order of the alphabet."""
    search, _ = await search_of(conn, filters.query)
    values = await _values(conn, filters) | search
    cur = await conn.execute(
        "SELECT DISTINCT document_type"
        + _found(filters, values)
        + " AND document_type IS NOT NULL ORDER BY document_type",
        values,
    )
    return [document_type for (document_type,) in await cur.fetchall()]


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
        "asn_from": filters.asn_from,
        "asn_to": filters.asn_to,
        "has_asn": filters.has_asn,
        "from_source": filters.from_source,
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
            " FROM (SELECT document.id, words"
            + found
            + " ORDER BY document.id DESC LIMIT %(ranked)s) AS document"
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
    if "wanted" in values and not values["is_common"]:
        joins += " JOIN found_ids(%(wanted)s::tsquery, NULL) AS found (id) ON found.id = document.id"
    elif "wanted" in values:
        conditions.append("AND words @@ %(wanted)s::tsquery")
    return joins + " WHERE true " + " ".join(conditions)


async def rows_of(conn: Conn, ids: list[UUID]) -> list[DocumentRow]:
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
