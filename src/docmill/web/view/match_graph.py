"""A graph of linked documents as SVG, laid out on the server with one column for each kind."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from docmill.model.result import percent_text
from docmill.service.matches import MatchedRecord
from docmill.service.store.match_links import LinkRow
from docmill.web.languages import amount_text
from docmill.web.view.match_words import end_details, end_name, kind_name, reason_words, relation_name

MOST_NODES = 25

_COLUMN, _ROW = 100, 72
_RADIUS = 14
_MARGIN_TOP, _MARGIN_BOTTOM = 24, 46
_LONGEST_LABEL = 15
"""Characters of a label's line: more of them would reach the next column."""
_BEND = 30
"""How far an edge between two records of one column bends to the right."""
_MOST_COLUMNS_SCALED = 4
_KINDS = (
    ("quote", "contract"),
    ("purchase_order",),
    ("delivery_note",),
    ("invoice", "reminder"),
    ("credit_note", "receipt"),
    ("payment",),
)
"""The kinds of each column; others stand in the first."""
_COLUMN_OF = {kind: index for index, kinds in enumerate(_KINDS) for kind in kinds}


@dataclass(frozen=True, slots=True)
class Node:
    """A document or payment. label: its lines below the circle. name: for who cannot see the drawing."""

    id: str
    x: float
    y: float
    label: tuple[str, str]
    name: str
    href: str
    is_own: bool


@dataclass(frozen=True, slots=True)
class Edge:
    """A link. status: for its look. href: of its entry in the list, which has its reasons, too."""

    path: str
    width: float
    status: str
    title: str
    href: str


@dataclass(frozen=True, slots=True)
class Graph:
    """The drawing. hidden: the number of records that have no place in it."""

    width: int
    height: int
    nodes: Sequence[Node]
    edges: Sequence[Edge]
    radius: int = _RADIUS
    hidden: int = 0

    @property
    def is_wide(self) -> bool:
        """Whether it is scrolled rather than scaled where there is less room."""
        return self.width > _MOST_COLUMNS_SCALED * _COLUMN


def match_graph(
    own_ids: Sequence[str], links: Sequence[LinkRow], records: Mapping[str, MatchedRecord]
) -> Graph | None:
    """Draw links and the records at their ends, those nearest to a document's own records first.

    None without links. The same links give the same drawing. No two labels overlap: each has its own cell.
    """
    wanted = _nearest(own_ids, links)
    shown = wanted[:MOST_NODES]
    drawn = [link for link in links if link.first_id in shown and link.second_id in shown]
    if not drawn:
        return None
    columns = _ordered(_columns(shown, records), drawn)
    places = _places(columns)
    rows = max(len(column) + index % 2 / 2 for index, column in enumerate(columns))
    return Graph(
        width=len(columns) * _COLUMN,
        height=round((rows - 1) * _ROW) + _MARGIN_TOP + _MARGIN_BOTTOM,
        nodes=[_node(id_, places[id_], records[id_], is_own=id_ in own_ids) for id_ in places],
        edges=[_edge(link, places) for link in drawn],
        hidden=len(wanted) - len(shown),
    )


def _nearest(own_ids: Sequence[str], links: Sequence[LinkRow]) -> list[str]:
    """The ids of linked records, by their distance in links from a document's own ones."""
    partners: defaultdict[str, list[str]] = defaultdict(list)
    for link in links:
        partners[link.first_id].append(link.second_id)
        partners[link.second_id].append(link.first_id)
    found = [id_ for id_ in own_ids if id_ in partners]
    for id_ in found:  # grows meanwhile
        found.extend(other for other in dict.fromkeys(partners[id_]) if other not in found)
    return found


def _columns(ids: Sequence[str], records: Mapping[str, MatchedRecord]) -> list[list[str]]:
    by_column: defaultdict[int, list[str]] = defaultdict(list)
    for id_ in sorted(ids, key=lambda each: (str(records[each].day or ""), each)):
        by_column[_COLUMN_OF.get(records[id_].kind or "", 0)].append(id_)
    return [by_column[index] for index in sorted(by_column)]


def _ordered(columns: list[list[str]], links: Sequence[LinkRow]) -> list[list[str]]:
    """The columns, each in the order of the middle of its partners, so that few edges cross."""
    partners: defaultdict[str, list[str]] = defaultdict(list)
    for link in links:
        partners[link.first_id].append(link.second_id)
        partners[link.second_id].append(link.first_id)
    ordered = [list(column) for column in columns]
    for before, after in [*pairwise(range(len(columns))), *pairwise(reversed(range(len(columns))))]:
        place_of = {id_: place for place, id_ in enumerate(ordered[before])}
        middle_of: dict[str, tuple[float, int]] = {}
        for place, id_ in enumerate(ordered[after]):
            near = [place_of[other] for other in partners[id_] if other in place_of]
            middle_of[id_] = (sum(near) / len(near) if near else place, place)
        ordered[after].sort(key=middle_of.__getitem__)
    return ordered


def _places(columns: Sequence[Sequence[str]]) -> dict[str, tuple[float, float]]:
    """The centre of each node. Every other column is lower by half a row: edges pass between its nodes."""
    tallest = max(len(column) for column in columns)
    return {
        id_: (
            (index + 0.5) * _COLUMN,
            _MARGIN_TOP + ((tallest - len(column)) // 2 + place + index % 2 / 2) * _ROW,
        )
        for index, column in enumerate(columns)
        for place, id_ in enumerate(column)
    }


def _node(id_: str, place: tuple[float, float], record: MatchedRecord, *, is_own: bool) -> Node:
    name = end_name(record)
    details = end_details(record)
    return Node(
        id_,
        *place,
        (_shortened(kind_name(record)), _shortened(_short_name(record))),
        f"{name} · {details}" if details else name,
        f"/docs/{record.document.id}?tab=matches",
        is_own,
    )


def _edge(link: LinkRow, places: Mapping[str, tuple[float, float]]) -> Edge:
    (x0, y0), (x1, y1) = places[link.first_id], places[link.second_id]
    if x0 == x1:
        path = f"M{x0:g} {y0:g}Q{x0 + 2 * _BEND:g} {(y0 + y1) / 2:g} {x1:g} {y1:g}"
    else:
        path = f"M{x0:g} {y0:g}L{x1:g} {y1:g}"
    score = 1.0 if link.score is None or link.decision == "confirmed" else link.score
    told = [relation_name(link.relation)]
    if link.score is not None and link.decision != "confirmed":
        told.append(percent_text(link.score))
    title = " · ".join([*told, *(reason_words(reason) for reason in link.link.reasons if reason.weight > 0)])
    return Edge(path, round(1 + 4 * score, 1), link.status, title, f"#match-{link.pair.id}")


def _short_name(record: MatchedRecord) -> str:
    """What tells a record from others of its kind: the number, of a payment the amount, else the title."""
    if record.number:
        return record.number
    if record.payment is not None and record.amount is not None:
        return f"{amount_text(record.amount)} {record.currency}"
    return record.document.title


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 1].rstrip() + "…"
