"""The graph of linked documents: the same each time, and no label over another."""

from datetime import UTC, date, datetime
from itertools import combinations
from random import Random
from uuid import UUID

import pytest

from docmill.service.matches import MatchedRecord
from docmill.service.store.match_links import DocumentSummary, LinkRow
from docmill.web.view.match_graph import MOST_NODES, Graph, Node, match_graph

KINDS = ("quote", "purchase_order", "delivery_note", "invoice", "credit_note", "payment")
WIDEST_CHARACTER_PX = 6.2
"""On average in labels of 11 pixels."""


def record(number: int, kind: str) -> MatchedRecord:
    document = DocumentSummary(UUID(int=number), f"Document with a long title {number}", kind, None)
    return MatchedRecord(str(document.id), document, None, kind, f"NUMBER-{number:09}", date(2026, 1, 1))


def link(first: MatchedRecord, second: MatchedRecord, score: float = 0.95) -> LinkRow:
    return LinkRow(
        first.id, second.id, "related", "automatic", score, [], None, None, None, datetime.now(UTC)
    )


def drawn(links: list[LinkRow], records: list[MatchedRecord], own: str) -> Graph:
    graph = match_graph([own], links, {record.id: record for record in records})
    assert graph is not None
    return graph


def boxes(node: Node, radius: int) -> list[tuple[float, float, float, float]]:
    """The circle and both lines of the label."""
    lines = [
        (
            node.x - width / 2,
            node.y + radius + 3 + 13 * index,
            node.x + width / 2,
            node.y + radius + 14 + 13 * index,
        )
        for index, text in enumerate(node.label)
        for width in [len(text) * WIDEST_CHARACTER_PX]
    ]
    return [(node.x - radius, node.y - radius, node.x + radius, node.y + radius), *lines]


def overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


@pytest.mark.parametrize("seed", range(20))
def test_no_label_covers_another_or_leaves_the_drawing(seed: int) -> None:
    random = Random(seed)  # noqa: S311  an example, no secret
    count = random.randint(2, MOST_NODES)
    records = [record(number, random.choice(KINDS)) for number in range(count)]
    links = [link(records[random.randrange(number)], records[number]) for number in range(1, count)]

    graph = drawn(links, records, records[0].id)

    assert len(graph.nodes) == count
    for one, other in combinations(graph.nodes, 2):
        assert not any(
            overlap(left, right) for left in boxes(one, graph.radius) for right in boxes(other, graph.radius)
        )
    for node in graph.nodes:
        for x0, y0, x1, y1 in boxes(node, graph.radius):
            assert x0 >= 0
            assert y0 >= 0
            assert x1 <= graph.width
            assert y1 <= graph.height


def test_the_same_links_in_any_order_give_the_same_drawing() -> None:
    records = [record(number, KINDS[number % 6]) for number in range(12)]
    links = [link(records[number // 2], records[number]) for number in range(1, 12)]

    one, other = drawn(links, records, records[3].id), drawn(links[::-1], records[::-1], records[3].id)

    assert sorted(map(repr, one.nodes)) == sorted(map(repr, other.nodes))
    assert sorted(map(repr, one.edges)) == sorted(map(repr, other.edges))


def test_the_nearest_documents_are_drawn_and_the_others_counted() -> None:
    records = [record(number, "invoice") for number in range(40)]
    links = [link(records[number - 1], records[number]) for number in range(1, 40)]

    graph = drawn(links, records, records[0].id)

    assert {node.id for node in graph.nodes} == {record.id for record in records[:MOST_NODES]}
    assert graph.hidden == 40 - MOST_NODES


def test_the_surer_a_link_the_wider_it_is() -> None:
    records = [record(1, "purchase_order"), record(2, "invoice"), record(3, "payment")]

    graph = drawn(
        [link(records[0], records[1], 0.99), link(records[1], records[2], 0.4)], records, records[0].id
    )

    sure, doubtful = graph.edges
    assert sure.width > doubtful.width
    assert graph.edges[0].href.startswith("#match-")


def test_without_links_there_is_no_drawing() -> None:
    assert match_graph(["a"], [], {}) is None
