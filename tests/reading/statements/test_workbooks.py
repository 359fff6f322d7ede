"""Bookings in workbooks: each row of a sheet is read as its cells store it, or named as left out."""

import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import openpyxl
import pytest
import xlwt

import docmill
from docmill.reading.child import tasks
from docmill.reading.files.options import ReadingOptions
from docmill.reading.statements.booking_rows import GUESSED_DIRECTIONS
from docmill.reading.statements.tables import read_bookings
from docmill.schemas.statement_data import StatementData
from docmill.schemas.types import BankStatement
from docmill.understanding.statement_files import UNKNOWN_COLUMNS

CASES = Path(__file__).parents[4] / "shared" / "cases"
OPTIONS = ReadingOptions()
Rows = Sequence[Sequence[Any]]
HEADINGS = ("Buchungstag", "Verwendungszweck", "Betrag", "Saldo")
TITLE: Rows = (("Kontoauszug",), ("IBAN", "DE12500105170648489890"), ())
BOOKINGS: Rows = (
    (date(2026, 11, 3), "Miete", -1045.2, 954.8),
    (date(2026, 11, 14), "Rechnung 4711", 1250.0, 2204.8),
    (date(2026, 11, 20), "Strom", -4.8, 2200.0),
)


def save_xlsx(path: Path, sheets: Mapping[str, Rows]) -> None:
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.worksheets[0])
    for name, rows in sheets.items():
        sheet = workbook.create_sheet(name)
        for number, row in enumerate(rows, 1):
            for column, value in enumerate(row, 1):
                sheet.cell(number, column, value)
    workbook.save(path)


def save_xls(path: Path, sheets: Mapping[str, Rows]) -> None:
    library: Any = xlwt
    workbook = library.Workbook()
    days = library.easyxf(num_format_str="DD.MM.YY")
    for name, rows in sheets.items():
        sheet = workbook.add_sheet(name)
        for index, row in enumerate(rows):
            for column, value in enumerate(row):
                sheet.write(index, column, value, *([days] if isinstance(value, date) else []))
    workbook.save(str(path))


def save_ods(path: Path, sheets: Mapping[str, Rows]) -> None:
    def cell(value: object) -> str:
        if isinstance(value, date):
            kind = f"office:value-type='date' office:date-value='{value}'"
            return f"<table:table-cell {kind}><text:p>{value:%d/%m/%y}</text:p></table:table-cell>"
        if isinstance(value, float):
            kind = f"office:value-type='float' office:value='{value}'"
            shown = f"{value:.0f} \u20ac"
            return f"<table:table-cell {kind}><text:p>{shown}</text:p></table:table-cell>"
        return f"<table:table-cell><text:p>{escape(str(value))}</text:p></table:table-cell>"

    tables = "".join(
        f"<table:table table:name='{name}'>"
        + "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
        + "</table:table>"
        for name, rows in sheets.items()
    )
    spaces = " ".join(
        f"xmlns:{name}='urn:oasis:names:tc:opendocument:xmlns:{name}:1.0'"
        for name in ("office", "table", "text")
    )
    content = f"<office:document-content {spaces}><office:body><office:spreadsheet>{tables}"
    content += "</office:spreadsheet></office:body></office:document-content>"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)


SAVERS: Mapping[str, Callable[[Path, Mapping[str, Rows]], None]] = {
    "xlsx": save_xlsx,
    "xls": save_xls,
    "ods": save_ods,
}


def data_of(path: Path) -> StatementData | None:
    opened = tasks.open_original(path, OPTIONS)
    embedded = tasks.read_flow(path, opened.media_type, OPTIONS).embedded
    return StatementData.model_validate_json(embedded[0].content) if embedded else None


def read(path: Path, *tables: Rows) -> StatementData:
    save_xlsx(path, {f"Sheet{number}": rows for number, rows in enumerate(tables, 1)})
    data = data_of(path)
    assert data is not None
    return data


def amounts(data: StatementData) -> list[str]:
    return [str(booking.amount) for booking in data.statement.transactions]


@pytest.mark.parametrize("ending", SAVERS)
@pytest.mark.parametrize("unread", ["n/a", "1,2,3", "12,50 EUR?", "", "#?", "--17,40"])
def test_a_row_whose_amount_cannot_be_read_is_named_by_its_number(
    ending: str, unread: str, tmp_path: Path
) -> None:
    path = tmp_path / f"bookings.{ending}"
    odd = (date(2026, 11, 16), "Odd one", unread, "")

    SAVERS[ending](path, {"Umsätze": [*TITLE, HEADINGS, *BOOKINGS[:2], odd, BOOKINGS[2]]})
    data = data_of(path)

    assert data is not None
    assert amounts(data) == ["-1045.20", "1250.00", "-4.80"]
    assert [str(booking.date) for booking in data.statement.transactions] == [
        "2026-11-03",
        "2026-11-14",
        "2026-11-20",
    ]
    assert data.statement.iban == "DE12500105170648489890"
    assert [problem.split(":")[0] for problem in data.problems] == ["Row 7 of the file"]


def test_a_person_is_asked_about_a_row_that_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "bookings.xlsx"
    save_xlsx(path, {"A": [*TITLE, HEADINGS, *BOOKINGS, (date(2026, 11, 21), "Odd one", "n/a", "")]})

    result = docmill.process_file(path)

    assert result.extraction is not None
    assert result.verdict is not None
    assert isinstance(result.extraction.data, BankStatement)
    assert [str(each.amount) for each in result.extraction.data.transactions] == [
        "-1045.20",
        "1250.00",
        "-4.80",
    ]
    assert {failure.check for failure in result.verdict.failures} == {"statement_rows"}
    place = result.extraction.evidence["transactions[1].amount"]
    assert (place.page, place.text) == (1, "1250")


def test_numbers_and_texts_in_one_column_are_read_alike(tmp_path: Path) -> None:
    rows = [
        (date(2026, 11, 3), "Miete", "-1.045,20", 954.8),
        ("14.11.2026", "Rechnung 4711", 1250, "2.204,80"),
        (date(2026, 11, 20), "Strom", -4.8, 2200.0000000001),
    ]

    data = read(tmp_path / "b.xlsx", [HEADINGS, *rows])

    assert amounts(data) == ["-1045.20", "1250.00", "-4.80"]
    assert (str(data.statement.opening_balance), str(data.statement.closing_balance)) == (
        "2000.00",
        "2200.00",
    )
    assert data.problems == ()


@pytest.mark.parametrize("from_1904", [False, True])
def test_days_without_a_format_are_days(tmp_path: Path, *, from_1904: bool) -> None:
    workbook = openpyxl.Workbook()
    if from_1904:
        workbook.epoch = datetime(1904, 1, 1)  # noqa: DTZ001 - a cell has no time zone
    sheet = workbook.worksheets[0]
    sheet.append(HEADINGS)
    for day, *cells in BOOKINGS:
        number = (day - (date(1904, 1, 1) if from_1904 else date(1899, 12, 30))).days
        sheet.append([number, *cells])
    workbook.save(tmp_path / "b.xlsx")

    data = data_of(tmp_path / "b.xlsx")

    assert data is not None
    assert [booking.date for booking in data.statement.transactions] == [row[0] for row in BOOKINGS]


def test_cents_that_a_format_hides_are_read(tmp_path: Path) -> None:
    workbook = openpyxl.Workbook()
    sheet = workbook.worksheets[0]
    for row in (HEADINGS, *BOOKINGS):
        sheet.append(list(row))
    for row in range(2, 5):
        sheet.cell(row, 3).number_format = "#,##0;#,##0"
    sheet.row_dimensions[3].hidden = True
    workbook.save(tmp_path / "b.xlsx")

    data = data_of(tmp_path / "b.xlsx")

    assert data is not None
    assert amounts(data) == ["-1045.20", "1250.00", "-4.80"]


def test_sheets_that_follow_each_other_are_one_statement(tmp_path: Path) -> None:
    later = [(date(2026, 12, 1), "Miete", -200.0, 2000.0), (date(2026, 12, 2), "Odd one", "n/a", "")]

    data = read(tmp_path / "b.xlsx", [HEADINGS, *later], [*TITLE, HEADINGS, *BOOKINGS], [("Notes",)])

    assert amounts(data) == ["-1045.20", "1250.00", "-4.80", "-200.00"]
    assert (str(data.statement.opening_balance), str(data.statement.closing_balance)) == (
        "2000.00",
        "2000.00",
    )
    assert [problem.split(":")[0] for problem in data.problems] == ["Row 3 of the sheet 'Sheet1'"]


def test_sheets_that_do_not_follow_each_other_are_left_to_a_person(tmp_path: Path) -> None:
    data = read(tmp_path / "b.xlsx", [HEADINGS, *BOOKINGS], [HEADINGS, *BOOKINGS])

    assert len(data.statement.transactions) == 6
    assert data.statement.closing_balance is None
    assert "in the file twice" in data.problems[0]


def test_a_sheet_of_another_account_is_named(tmp_path: Path) -> None:
    other = [("IBAN", "NL91ABNA0417164300"), HEADINGS, *BOOKINGS]

    data = read(tmp_path / "b.xlsx", [*TITLE, HEADINGS, *BOOKINGS], other)

    assert len(data.statement.transactions) == 3
    assert [problem.split(":")[0] for problem in data.problems] == [
        "The bookings of the sheet 'Sheet2' are of another account, and were left out"
    ]


def test_a_sheet_with_other_columns_is_named(tmp_path: Path) -> None:
    other = [("Tag", "x"), (date(2026, 11, 5), 4.25)]

    data = read(tmp_path / "b.xlsx", [HEADINGS, *BOOKINGS], other)

    assert [problem.split(":")[0] for problem in data.problems] == [
        "The bookings of the sheet 'Sheet2' have other columns, and were left out"
    ]


@pytest.mark.parametrize(
    "headings",
    [
        ("Bogføringsdato", "Tekst", "Beløb", "Saldo"),
        ("Bokföringsdag", "Rubrik", "Belopp", "Saldo"),
        ("Data księgowania", "Tytuł", "Kwota", "Saldo po operacji"),
        ("Data Mov.", "Descrição", "Montante", "Saldo contabilístico"),
        ("Tarikh transaksi", "Butiran", "Amaun (RM)", "Baki"),
        ("Päivämäärä", "Selitys", "Summa", "Tili"),
        ("a", "b", "c", "d"),
        (),
    ],
)
@pytest.mark.parametrize("is_signed", [True, False])
def test_columns_are_found_by_headings_or_by_their_contents(
    headings: Sequence[str], tmp_path: Path, *, is_signed: bool
) -> None:
    rows = [
        (day, text, amount if is_signed else abs(amount), balance) for day, text, amount, balance in BOOKINGS
    ]

    data = read(tmp_path / "b.xlsx", [headings, *rows] if headings else rows)

    # Without signs, nothing tells that of the first booking.
    assert data.problems == (() if is_signed else (GUESSED_DIRECTIONS,))
    assert amounts(data)[:2] == (["-1045.20", "1250.00"] if is_signed else ["1045.20", "1250.00"])
    assert [booking.description for booking in data.statement.transactions] == [row[1] for row in BOOKINGS]


@pytest.mark.parametrize("order", [(2, 3), (3, 2)])
def test_unknown_columns_of_debits_and_credits_are_told_by_balances(order: tuple[int, int]) -> None:
    rows = [
        ["1.3.2026", "vuokra", "45,20", "", "954,80"],
        ["13.3.2026", "palkka", "", "1.250,00", "2.204,80"],
        ["14.3.2026", "odd", "n/a", "", ""],
        ["20.3.2026", "kauppa", "4,80", "", "2.200,00"],
        ["21.3.2026", "kauppa", "100,00", "", "2.100,00"],
    ]
    places = (0, 1, *order, 4)
    text = "".join(";".join(row[place] for place in places) + "\n" for row in rows)

    table = read_bookings("pvm;selite;x;y;z\n" + text)

    assert table is not None
    assert [str(booking.amount) for booking in table.statement.transactions] == [
        "-45.20",
        "1250.00",
        "-4.80",
        "-100.00",
    ]
    assert [problem.split(":")[0] for problem in table.problems] == ["Row 4 of the file"]


@pytest.mark.parametrize(
    "rows",
    [
        [("Day", "What", "Cost", "Sum"), *((f"{n}.03.2026", "Taxi", 10.5, 10.5 * n) for n in range(1, 6))],
        [
            ("Day", "Part", "In", "Stock"),
            *((f"{n}.03.2026", "Bolt", 10.0, 5.0 + 10 * n) for n in range(1, 6)),
        ],
        [
            ("Due", "Text", "Net", "Gross"),
            *((f"{n}.03.2026", "Item", 10.5 * n, 12.6 * n) for n in range(1, 6)),
        ],
        [("Menge", "Artikel", "Betrag", "Saldo"), *BOOKINGS],
        [("Name", "Town"), ("A", "B")],
    ],
)
def test_other_tables_are_no_statements(rows: Rows, tmp_path: Path) -> None:
    path = tmp_path / "table.xlsx"

    save_xlsx(path, {"A": rows})

    assert data_of(path) is None


def test_a_statement_whose_columns_nothing_tells_is_left_to_a_person(tmp_path: Path) -> None:
    path = tmp_path / "tiliote.xlsx"
    rows = [("Bank statement",), ("Account", "DE12500105170648489890"), ("Pvm", "Selitys", "Summa")]

    save_xlsx(path, {"A": [*rows, *(row[:3] for row in BOOKINGS)]})
    result = docmill.process_file(path)

    assert result.classification is not None
    assert result.verdict is not None
    assert result.classification.document_type == "bank_statement"
    assert UNKNOWN_COLUMNS in [failure.message for failure in result.verdict.failures]


@pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not here")
def test_a_booking_whose_formula_has_no_result_is_told() -> None:
    (path,) = CASES.glob("*/in/z4-bookings.xlsx")

    data = data_of(path)

    assert data is not None
    assert len(data.statement.transactions) == 2
    assert "Row" in data.problems[0]


def test_a_short_row_with_a_day_is_named() -> None:
    text = "Date,Value date,Description,Amount\n01/13/2023,01/13/2023,Wages,410.00\n01/14/2023\n"

    table = read_bookings(text)

    assert table is not None
    assert "Row 3 of the file" in [problem.split(":")[0] for problem in table.problems]
