"""Lists of a schema of one's own, from tables whose headings name the members."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np

from docmill.model.document import Box, Cell, Document, Page, Table, Words
from docmill.model.result import Schema
from docmill.schemas.outline import outline
from docmill.schemas.user_schemas import schema_of
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.tables.lists import list_findings
from docmill.understanding.user_schemas.extractor import extract_user_schema, meanings_of

Typeset = Callable[..., Document]

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


ITEMS = schema_of(
    {
        "title": "delivery",
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "description": {"type": "string"},
                        "quantity": {"type": "integer"},
                        "fragile": {"type": "boolean"},
                        "net_amount": {"type": "number"},
                    },
                },
            }
        },
    }
)


def table(*rows: tuple[str, ...], media_type: str = "application/pdf") -> Document:
    """A page that is one table."""
    width = 0.8 / len(rows[0])
    texts: list[str] = []
    boxes: list[tuple[float, float, float, float]] = []
    lines: list[int] = []
    cells: list[Cell] = []
    for row, columns in enumerate(rows):
        for column, text in enumerate(columns):
            first = len(texts)
            for at, word in enumerate(text.split()):
                left = 0.1 + width * column + 0.03 * at
                texts.append(word)
                boxes.append((left, 0.05 * row, left + 0.025, 0.05 * row + 0.02))
                lines.append(row)
            box = Box(0.1 + width * column, 0.05 * row, 0.1 + width * (column + 1), 0.05 * row + 0.04)
            cells.append(Cell(row, column, 1, 1, box, tuple(range(first, len(texts)))))
    words = Words(
        texts,
        np.array(boxes, np.float32),
        np.ones(len(texts), np.float32),
        np.array(lines, np.int32),
        np.zeros(len(texts), np.int32),
    )
    grid = Table(Box(0.1, 0, 0.9, 1), len(rows), len(rows[0]), tuple(cells))
    page = Page(1, 595, 842, words, "text", 1.0, tables=(grid,))
    return Document("0" * 64, media_type, [page])


def read(document: Document, schema: Schema = SPOTS) -> dict[str, Any]:
    found = list_findings(candidates_of(document), meanings_of(outline(schema)))
    return {path: finding.value for path, finding in found}


def test_the_rows_below_the_headings_are_the_items() -> None:
    found = read(table(("Date", "Amount"), ("Mo 05/04/20", "$100.00"), ("05/06/20", "USD 90.50")))

    assert found == {
        "spots[0].date": dt.date(2020, 5, 4),
        "spots[0].amount": Decimal("100.00"),
        "spots[1].date": dt.date(2020, 5, 6),
        "spots[1].amount": Decimal("90.50"),
    }


def test_a_currency_in_a_heading_is_no_word_of_it() -> None:
    found = read(table(("Date", "Amount NOK"), ("12.10.2026", "1 690,00")))

    assert found["spots[0].amount"] == Decimal("1690.00")


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


def test_a_table_of_a_web_page_gives_its_rows_but_for_sums() -> None:
    found = read(
        table(
            ("Item", "Description", "Quantity", "Fragile", "Net amount"),
            ("1", "Blue paper", "3", "no", "36.00"),
            ("2", "Glasses for water", "5", "yes", "12.00"),
            ("", "Net total", "", "", "48.00"),
            media_type="text/html",
        ),
        ITEMS,
    )

    assert found == {
        "items[0].description": "Blue paper",
        "items[0].quantity": Decimal(3),
        "items[0].fragile": "false",
        "items[0].net_amount": Decimal("36.00"),
        "items[1].description": "Glasses for water",
        "items[1].quantity": Decimal(5),
        "items[1].fragile": "true",
        "items[1].net_amount": Decimal("12.00"),
    }


def test_headings_printed_on_paper_name_members_too(typeset: Typeset) -> None:
    found = read(
        typeset("""
Pos  Description                        Quantity         Price     Amount
1    Blue paper A4                            10          1.50      15.00
     wood-free
2    Pencils                                   2         20.00      40.00
                                                 Total              55.00
"""),
        ITEMS,
    )

    assert found == {
        "items[0].description": "Blue paper A4 wood-free",
        "items[0].quantity": Decimal(10),
        "items[0].net_amount": Decimal("15.00"),
        "items[1].description": "Pencils",
        "items[1].quantity": Decimal(2),
        "items[1].net_amount": Decimal("40.00"),
    }


def test_a_member_is_not_read_from_an_empty_column() -> None:
    found = read(
        table(
            ("Description", "Quantity", "Quantity delivered", "Net amount"),
            ("Books", "", "10", "80.00"),
            ("Chair", "", "1", "100.00"),
        ),
        ITEMS,
    )

    assert [found["items[0].quantity"], found["items[1].quantity"]] == [10, 1]


MARKS = schema_of(
    {
        "title": "report",
        "type": "object",
        "properties": {
            "marks": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"subject": {"type": "string"}, "mark": {"type": "number"}},
                },
            }
        },
    }
)
REPORT = (
    "Report of the second term\n\n"
    "{subject}           {mark}         Remark\n"
    "Mathematics       12.50         good\n"
    "French            14.00         very good\n"
    "English            9.75         fair\n\n"
    "Average of all    12.08\n"
)


def test_a_list_is_read_below_headings_that_only_the_schema_knows(typeset: Typeset) -> None:
    page = typeset(REPORT.format(subject="Subject", mark="Mark"))

    read = extract_user_schema(page, MARKS)

    assert list(read.data.model_dump()["marks"]) == [
        {"subject": "Mathematics", "mark": Decimal("12.50")},
        {"subject": "French", "mark": Decimal("14.00")},
        {"subject": "English", "mark": Decimal("9.75")},
    ]
    assert read.failures == ()


def test_a_table_that_no_list_was_read_from_is_asked_about(typeset: Typeset) -> None:
    (failure,) = extract_user_schema(typeset(REPORT.format(subject="Fach", mark="Note")), MARKS).failures

    assert (failure.check, failure.fields) == ("empty_list", ("marks",))
    assert "Fach, Note, Remark" in failure.message
    assert extract_user_schema(typeset("Report of the term\n\nNo marks yet"), MARKS).failures == ()


def test_lines_of_sums_below_a_list_are_no_part_of_its_last_row(typeset: Typeset) -> None:
    page = typeset(
        "Date          Description        Quantity     Amount\n"
        "05/08/2025    Training           3.00         30.00\n"
        "13/08/2025    Paperwork          7.50         75.00\n"
        "Regular hours 34.50\n"
        "Overtime      1.50\n"
    )

    items = extract_user_schema(page, ITEMS).data.model_dump()["items"]

    assert [item["description"] for item in items] == ["Training", "Paperwork"]
