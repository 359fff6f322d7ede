from collections.abc import Callable

import pytest

from docmill.model.document import Document
from docmill.understanding.page.context import ABOVE, HEADER, Contexts, ValueContext
from docmill.understanding.page.layout import Layout, Segment
from docmill.understanding.vocabulary import Concept

MakeDocument = Callable[..., Document]

PAGE = """\
Invoice date: 14.10.2026         Due date:     31.10.2026
Net          Tax          Total
Halden       4711         4712
100.00       19.00        119.00
"""


@pytest.fixture
def layout(make_document: MakeDocument) -> Layout:
    return Layout(make_document(PAGE))


def segment_of(layout: Layout, text: str) -> Segment:
    return next(segment for segment in layout.segments if segment.text == text)


def test_a_label_before_a_value_in_its_segment_names_it(layout: Layout) -> None:
    context = ValueContext(Contexts(layout), segment_of(layout, "Invoice date: 14.10.2026"), 14, kind="date")

    assert context.clues[Concept.INVOICE_DATE] == 1
    assert context.texts.before == "Invoice date:"


def test_a_label_left_of_a_value_on_its_line_names_it(layout: Layout) -> None:
    context = ValueContext(Contexts(layout), segment_of(layout, "31.10.2026"), 0, kind="date")

    assert context.clues[Concept.DUE_DATE] == 1
    assert (context.texts.before, context.texts.left) == ("", "Due date:")


def test_labels_of_the_value_before_do_not_name_the_next_one(make_document: MakeDocument) -> None:
    layout = Layout(make_document("Net 100.00 Total 119.00"))
    (segment,) = layout.segments

    context = ValueContext(Contexts(layout), segment, 17, kind="money", begin=10)

    assert Concept.TOTAL in context.clues
    assert Concept.NET not in context.clues


def test_a_column_is_named_by_its_header_over_other_values(layout: Layout) -> None:
    contexts = Contexts(layout)

    beside_header = ValueContext(contexts, segment_of(layout, "4711"), 0, kind="money")
    farther = ValueContext(contexts, segment_of(layout, "19.00"), 0, kind="money")

    assert beside_header.clues[Concept.TAX] == ABOVE
    assert farther.clues[Concept.TAX] == HEADER
    assert farther.texts.head == "Tax"
    assert farther.texts.row == "100.00"


def test_ignored_headings_name_nothing(layout: Layout) -> None:
    heading, value = segment_of(layout, "Total"), segment_of(layout, "4712")

    context = ValueContext(Contexts(layout), value, 0, kind="money", ignored=frozenset({heading.index}))

    assert Concept.TOTAL not in context.clues
