"""Lists of a schema of one's own, from tables whose headings name the members."""

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np

from docmill.model.document import Box, Cell, Document, Page, Table, Words
from docmill.schemas.outline import outline
from docmill.schemas.user_schemas import schema_of
from docmill.understanding.page.conventions import conventions
from docmill.understanding.page.layout import Layout
from docmill.understanding.user_schemas.extractor import meanings_of
from docmill.understanding.user_schemas.lists import rows_of

SPOTS = schema_of(
    {
        "title": "order",
        "type": "object",
        "properties": {
            "spots": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "date": {"type": "string", "format": "date"},
                        "amount": {"type": "number"},
                    },
                },
            }
        },
    }
)


def table(*rows: tuple[str, str]) -> Document:
    """A page that is one table of two columns."""
    texts: list[str] = []
    boxes: list[tuple[float, float, float, float]] = []
    lines: list[int] = []
    cells: list[Cell] = []
    for row, columns in enumerate(rows):
        for column, text in enumerate(columns):
            first = len(texts)
            for at, word in enumerate(text.split()):
                left = 0.1 + 0.4 * column + 0.03 * at
                texts.append(word)
                boxes.append((left, 0.05 * row, left + 0.025, 0.05 * row + 0.02))
                lines.append(row)
            box = Box(0.1 + 0.4 * column, 0.05 * row, 0.5 + 0.4 * column, 0.05 * row + 0.04)
            cells.append(Cell(row, column, 1, 1, box, tuple(range(first, len(texts)))))
    words = Words(
        texts,
        np.array(boxes, np.float32),
        np.ones(len(texts), np.float32),
        np.array(lines, np.int32),
        np.zeros(len(texts), np.int32),
    )
    grid = Table(Box(0.1, 0, 0.9, 1), len(rows), 2, tuple(cells))
    page = Page(1, 595, 842, words, "text", 1.0, tables=(grid,))
    return Document("0" * 64, "application/pdf", [page])


def read(document: Document) -> dict[str, Any]:
    writes = conventions(Layout(document))
    return {path: value for path, value, _ in rows_of(document, meanings_of(outline(SPOTS)), writes)}


def test_the_rows_below_the_headings_are_the_items() -> None:
    found = read(table(("Date", "Amount"), ("Mo 05/04/20", "$100.00"), ("05/06/20", "USD 90.50")))

    assert found == {
        "spots[0].date": dt.date(2020, 5, 4),
        "spots[0].amount": Decimal("100.00"),
        "spots[1].date": dt.date(2020, 5, 6),
        "spots[1].amount": Decimal("90.50"),
    }


def test_numbers_and_dates_within_sentences_are_no_cells() -> None:
    found = read(
        table(
            ("Date", "Amount"),
            ("05/04/20", "$100.00"),
            ("05/06/20 makegoods for the spots missed", "taken over from estimate 7758"),
            ("as agreed with the agency", "Payment Terms 30 Days"),
        )
    )

    assert found == {"spots[0].date": dt.date(2020, 5, 4), "spots[0].amount": Decimal("100.00")}
