from collections.abc import Callable

import pytest

from docmill.model.document import Document
from docmill.understanding.page.layout import Layout, Segment, Sheet, Span, spans_reading, text_runs

MakeDocument = Callable[..., Document]

LETTER = """\
Halden Freight GmbH         Invoice number:    2026-104
Dock Street 4               Date: 14.10.2026
20457 Hamburg               Customer:
                            Berg Tools
"""


@pytest.fixture
def sheet(make_document: MakeDocument) -> Sheet:
    return Layout(make_document(LETTER)).sheets[0]


def segment_of(sheet: Sheet, text: str) -> Segment:
    return next(segment for segment in sheet.segments if segment.text == text)


def test_a_line_is_cut_at_its_columns(make_document: MakeDocument) -> None:
    (page,) = make_document("Total due   1 234.50 EUR\nThank you").pages

    assert text_runs(page) == [(0, 0, 2), (0, 2, 5), (1, 5, 7)]


def test_a_page_without_words_has_no_text_runs(make_document: MakeDocument) -> None:
    assert text_runs(make_document("").pages[0]) == []


def test_segments_beside_one_are_those_of_its_line_nearest_first(sheet: Sheet) -> None:
    name, number = segment_of(sheet, "Halden Freight GmbH"), segment_of(sheet, "2026-104")

    assert [segment.text for segment in sheet.right_of(name)] == ["Invoice number:", "2026-104"]
    assert [segment.text for segment in sheet.left_of(number)] == ["Invoice number:", "Halden Freight GmbH"]


def test_segments_above_and_below_one_share_its_columns(sheet: Sheet) -> None:
    street, date = segment_of(sheet, "Dock Street 4"), segment_of(sheet, "Date: 14.10.2026")

    assert [segment.text for segment in sheet.above(street.box)] == ["Halden Freight GmbH"]
    assert [segment.text for segment in sheet.below(street.box)] == ["20457 Hamburg"]
    assert [segment.text for segment in sheet.below(date.box)] == ["Customer:", "Berg Tools"]


def test_spans_are_read_as_surely_as_the_least_sure_of_them(sheet: Sheet) -> None:
    words = sheet.page.words
    words.confidences[words.texts.index("Berg")] = 0.5
    spans = [
        Span(segment_of(sheet, "Date: 14.10.2026"), 6, 16),
        Span(segment_of(sheet, "Berg Tools"), 0, 4),
    ]

    box, confidence = spans_reading(spans, words)

    assert [span.text for span in spans] == ["14.10.2026", "Berg"]
    assert confidence == 0.5
    assert box.y0 < segment_of(sheet, "Customer:").box.y0 < box.y1
