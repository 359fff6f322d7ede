"""Tables as files: types of cells, and text that is never a formula."""

import csv
import datetime as dt
import io
from collections.abc import Sequence
from decimal import Decimal
from importlib import import_module
from typing import Any

import openpyxl
import pytest

from docmill.model.cells import looks_like_formula
from docmill.service.exports.columns import Column, Row
from docmill.service.exports.table_files import TableFormat, open_table_file

parquet: Any = import_module("pyarrow.parquet")
COLUMNS = [
    Column("text", "text"),
    Column("amount", "decimal"),
    Column("day", "date"),
    Column("count", "integer"),
    Column("paid", "boolean"),
    Column("moment", "datetime"),
]
ROW: Row = [
    "Müller & Söhne",
    Decimal("-1234.50"),
    dt.date(2026, 11, 3),
    -7,
    True,
    dt.datetime(2026, 11, 3, 12, 30),  # noqa: DTZ001  moments of tables are in UTC and do not say so
]
FORMULAS = [
    "=1+1",
    '=HYPERLINK("http://evil.example")',
    "+1+cmd|' /C calc'!A0",
    "-1+1",
    "@SUM(A1)",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    "  =1+1",
    "\x01=1+1",
    "\tplain",
    "\rplain",
    "\uff1d1+1",
    "--",
    "+49 30 123456",
]
PLAIN = ["", "-5", "+5", "-1.234", "-12,5", "a=b", "1-2", "Tel. +49"]


def written(form: TableFormat, rows: Sequence[Row], columns: Sequence[Column] = COLUMNS) -> bytes:
    file = open_table_file(form, {"documents": columns})
    try:
        parts = [file.write("documents", [row]) for row in rows]
        parts.extend(file.end())
    finally:
        file.close()
    return b"".join(parts)


def from_csv(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def from_xlsx(data: bytes) -> list[list[Any]]:
    book = openpyxl.load_workbook(io.BytesIO(data))
    return [list(row) for row in book.worksheets[0].iter_rows()]


def test_csv_has_plain_numbers_and_iso_dates() -> None:
    head, row = from_csv(written("csv", [ROW]))

    assert head == ["text", "amount", "day", "count", "paid", "moment"]
    assert row == ["Müller & Söhne", "-1234.50", "2026-11-03", "-7", "true", "2026-11-03T12:30:00Z"]


def test_xlsx_has_cells_with_types() -> None:
    head, row = from_xlsx(written("xlsx", [ROW]))

    assert [cell.value for cell in head] == [column.name for column in COLUMNS]
    assert [cell.data_type for cell in row] == ["s", "n", "d", "n", "b", "d"]
    assert row[1].value == -1234.5
    assert row[1].number_format == "0.00"
    assert row[2].value == dt.datetime(2026, 11, 3)  # noqa: DTZ001
    assert row[2].number_format == "yyyy-mm-dd"


def test_parquet_has_columns_with_types() -> None:
    table = parquet.read_table(io.BytesIO(written("parquet", [ROW, [None] * len(COLUMNS)])))

    kinds = [str(field.type) for field in table.schema]
    assert kinds == ["string", "decimal128(38, 12)", "date32[day]", "int64", "bool", "timestamp[us, tz=UTC]"]
    first, second = table.to_pylist()
    assert first["amount"] == Decimal("-1234.50")
    assert first["day"] == dt.date(2026, 11, 3)
    assert set(second.values()) == {None}


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_text_in_csv(text: str) -> None:
    _, row = from_csv(written("csv", [[text, *ROW[1:]]]))

    assert row[0].startswith("'")
    assert row[0].removeprefix("'") == text
    assert not looks_like_formula(row[0])


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_text_in_xlsx(text: str) -> None:
    _, row = from_xlsx(written("xlsx", [[text, *ROW[1:]]]))

    assert row[0].data_type in ("s", "inlineStr")
    assert row[0].quotePrefix


@pytest.mark.parametrize("text", PLAIN)
def test_other_text_stays_as_it_is(text: str) -> None:
    _, row = from_csv(written("csv", [[text, *ROW[1:]]]))

    assert row[0] == text


def test_the_name_of_a_field_is_no_formula_either() -> None:
    head, *_ = from_csv(written("csv", [], [Column("=cmd", "text")]))

    assert head == ["'=cmd"]


def test_quotes_and_line_ends_stay_in_their_cell() -> None:
    _, row = from_csv(written("csv", [['a "b", c\nd', *ROW[1:]]]))

    assert row[0] == 'a "b", c\nd'


@pytest.mark.parametrize("form", ["csv", "xlsx", "parquet"])
def test_extreme_values_are_written(form: TableFormat) -> None:
    extreme: list[Row] = [
        ["x" * 40_000, Decimal("12345678901234567890.1234567890123456"), dt.date(1, 1, 1), 2**70, None, None],
        ["\x00\x01\x0b\ufffe", Decimal("1E+30"), dt.date(9999, 12, 31), 0, None, None],
    ]

    data = written(form, extreme)

    match form:
        case "csv":
            assert from_csv(data)[1][1:4] == [
                "12345678901234567890.1234567890123456",
                "0001-01-01",
                str(2**70),
            ]
        case "xlsx":
            values = [cell.value for cell in from_xlsx(data)[1]]
            assert values[1:4] == ["12345678901234567890.1234567890123456", "0001-01-01", str(2**70)]
            assert len(values[0]) == 32_767
        case "parquet":
            first, second = parquet.read_table(io.BytesIO(data)).to_pylist()
            assert first["amount"] == Decimal("12345678901234567890.123456789012")
            assert second["amount"] is None


def test_a_file_that_is_given_up_leaves_nothing_behind() -> None:
    file = open_table_file("xlsx", {"documents": COLUMNS, "items": COLUMNS})
    file.write("documents", [ROW])

    file.close()

    assert not file._path.parent.exists()  # type: ignore[attr-defined]


def test_a_sheet_that_is_full_goes_on_in_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmill.service.exports.table_files._MOST_ROWS", 3)

    book = openpyxl.load_workbook(io.BytesIO(written("xlsx", [ROW] * 5)))

    assert [(sheet.title, sheet.max_row) for sheet in book.worksheets] == [
        ("Documents", 3),
        ("Documents 2", 3),
        ("Documents 3", 2),
    ]
