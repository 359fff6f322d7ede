from pathlib import Path

import pytest

from docmill.model.statement_columns import StatementColumns
from docmill.reading.child import tasks
from docmill.reading.files.options import ReadingOptions
from docmill.reading.statements.cell_values import find_date_order, find_decimal_mark, written_amount
from docmill.reading.statements.tables import read_bookings

CODES = frozenset({"EUR", "CHF"})
TABLE = """\
IBAN;DE12500105170648489890

Buchungstag;Wertstellung;Name;Verwendungszweck;IBAN;Betrag (EUR);Saldo
03.11.2026;03.11.2026;Stadtwerke;Strom;NL91ABNA0417164300;-1.045,20;954,80
14.11.2026;14.11.2026;Groot BV;INV 4711;;1.250,00;2.204,80
"""


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("1.234,50", "1234.50"),
        ("-12,5 EUR", "-12.5"),
        ("EUR 12,50-", "-12.50"),
        ("(12,50)", "-12.50"),
        ("\u221212,50 €", "-12.50"),
        ("+1 234,50", "1234.50"),
        ("1'234,50 CHF", "1234.50"),
        ("12,50 S", "-12.50"),
        ("12,50 H", "12.50"),
        ("7", "7"),
        (",5", "0.5"),
        ("1.23.4,00", None),
        ("12,50 per day", None),
        ("(12,50", None),
        ("31.01.2024", None),
        ("1" * 100, None),
        ("", None),
    ],
)
def test_an_amount_is_read_with_its_sign(text: str, amount: str | None) -> None:
    written = written_amount(text, CODES)
    value = written.value(",") if written is not None else None

    assert (str(value) if value is not None else None) == amount


@pytest.mark.parametrize(
    ("cells", "mark"),
    [
        (["1.234,50"], ","),
        (["1,234.50", "5"], "."),
        (["12.5"], "."),
        (["1.234"], ","),
        (["1,234"], "."),
        (["1.234.567"], ","),
        (["7"], "."),
        (["1.5", "1,5"], None),
        ([], None),
    ],
)
def test_the_decimal_mark_is_that_of_the_whole_column(cells: list[str], mark: str | None) -> None:
    amounts = [amount for cell in cells if (amount := written_amount(cell, CODES)) is not None]

    assert find_decimal_mark(amounts) == mark


@pytest.mark.parametrize(
    ("cells", "order"),
    [
        (["2026-01-02", "2026-02-01 10:15:00"], ("ymd", True)),
        (["01/02/2026", "13/02/2026"], ("dmy", True)),
        (["01/02/2026", "01/13/2026"], ("mdy", True)),
        (["01/11/2026", "02/10/2026", "03/12/2026"], ("mdy", True)),
        (["11/01/2026", "10/02/2026", "12/03/2026"], ("dmy", True)),
        (["01/02/2026"], ("dmy", False)),
        (["2 Nov 2026", "3. März 26"], ("dmy", True)),
        (["Nov 2, 2026"], ("dmy", True)),
        (["5.5.99"], ("dmy", True)),
        (["31.02.2026"], None),
        (["2 Foo 2026"], None),
    ],
)
def test_the_order_of_dates_is_that_of_the_whole_column(
    cells: list[str], order: tuple[str, bool] | None
) -> None:
    assert find_date_order(cells) == order


def test_columns_have_a_stable_json_form_and_are_used_for_the_next_file() -> None:
    first = read_bookings(TABLE)
    assert first is not None
    kept = StatementColumns.model_validate_json(first.columns.model_dump_json())
    ambiguous = TABLE.replace("14.11.2026", "04.11.2026").replace("1.250,00", "1,250")

    assert kept == first.columns
    assert first.columns.model_dump(exclude_defaults=True) == {
        "delimiter": ";",
        "headings": (
            "Buchungstag",
            "Wertstellung",
            "Name",
            "Verwendungszweck",
            "IBAN",
            "Betrag (EUR)",
            "Saldo",
        ),
        "date": 0,
        "date_order": "dmy",
        "decimal_mark": ",",
        "amount": 5,
        "counterparty": 2,
        "iban": 4,
        "description": (3,),
        "balance": 6,
    }
    again = read_bookings(ambiguous, [kept])
    assert again is not None
    assert [str(booking.amount) for booking in again.statement.transactions] == ["-1045.20", "1.250"]
    assert again.problems == ()


def test_columns_can_be_given_with_the_options_of_reading(tmp_path: Path) -> None:
    first = read_bookings(TABLE)
    assert first is not None
    path = tmp_path / "table.csv"
    path.write_text(TABLE.replace("14.11.2026", "04.12.2026").replace("03.11.2026", "03.12.2026"))
    american = first.columns.model_copy(update={"date_order": "mdy"})

    (file,) = tasks.open_original(path, ReadingOptions(statement_columns=(american,))).embedded

    assert '"date":"2026-03-12"' in file.content.decode()


def test_columns_of_another_table_are_not_used() -> None:
    kept = read_bookings(TABLE)
    assert kept is not None
    other = "Date,Description,Amount,Balance\n2026-11-13,Fee,-4.90,1.10\n2026-11-14,Smith,2.00,3.10\n"

    read = read_bookings(other, [kept.columns])

    assert read is not None
    assert [str(booking.amount) for booking in read.statement.transactions] == ["-4.90", "2.00"]


def test_balances_that_lead_to_each_other_give_the_first_and_the_last() -> None:
    table = read_bookings(TABLE)
    broken = read_bookings(TABLE.replace("954,80", "954,81"))

    assert table is not None
    assert broken is not None
    assert (str(table.statement.opening), str(table.statement.closing)) == ("2000.00", "2204.80")
    assert (broken.statement.opening, broken.statement.closing) == (None, None)


def test_the_other_side_of_a_booking_is_payer_or_payee() -> None:
    table = read_bookings(
        "Buchungsdatum;Zahlungspflichtige*r;Zahlungsempfänger*in;Verwendungszweck;Betrag (€)\n"
        "14.11.26;Groot BV;Wir;INV 1;5,00\n13.11.26;Wir;Stadtwerke;Strom;-7,00\n"
    )

    assert table is not None
    assert [booking.counterparty for booking in table.statement.transactions] == ["Groot BV", "Stadtwerke"]


def test_rows_that_are_no_bookings_are_reported() -> None:
    rows = "".join(f"{day}.11.2026;{day}.11.2026;A;x;;1,00;\n" for day in range(13, 23))

    table = read_bookings(TABLE + rows + ";;B;y;;2,00;\n")

    assert table is not None
    assert len(table.rows) == 12
    assert table.problems == (
        "Row 16 of the file: a date or an amount cannot be read, so this was left out of the bookings.",
    )


def test_dates_that_may_be_read_in_two_ways_are_reported() -> None:
    table = read_bookings("Booking date,Description,Amount\n01/02/2026,a,1.50\n01/02/2026,b,2.50\n")

    assert table is not None
    assert "were read as day, month, year" in table.problems[0]


def test_a_side_that_is_not_known_or_both_sides_are_no_booking() -> None:
    rows = "".join(f"{day}.11.2026;A;1,00;S\n" for day in range(13, 23))
    sides = read_bookings(f"Buchungstag;Name;Betrag;Soll/Haben\n{rows}23.11.2026;B;2,00;X\n")
    rows = "".join(f"{day}.11.2026;A;0,00;1,00\n" for day in range(13, 23))
    both = read_bookings(f"Buchungstag;Name;Soll;Haben\n{rows}23.11.2026;B;2,00;2,00\n;sum;;\n")

    assert sides is not None
    assert both is not None
    assert [str(booking.amount) for booking in sides.statement.transactions] == ["-1.00"] * 10
    assert [str(booking.amount) for booking in both.statement.transactions] == ["1.00"] * 10
    assert len(sides.problems) == len(both.problems) == 1


def test_columns_that_were_given_read_nothing_of_rows_in_another_form() -> None:
    rows = TABLE.replace("03.11.2026", "soon").replace("14.11.2026", "later")

    assert read_bookings(rows, [read_columns()]) is None


def test_the_currency_may_stand_in_the_headings() -> None:
    signs = read_bookings("Booking date,Description,Amount (£)\n2026-11-13,a,1.50\n2026-11-14,b,2.50\n")
    none = read_bookings("Booking date,Description,OUT,IN\n2026-11-13,a,1.50,\n2026-11-14,b,,2.50\n")

    assert signs is not None
    assert none is not None
    assert [signs.statement.currency, none.statement.currency] == ["GBP", None]


def test_a_quotation_mark_that_is_none_makes_no_table() -> None:
    assert read_bookings(TABLE + '"' + "x" * 1_100_000, [read_columns()]) is None


def read_columns() -> StatementColumns:
    table = read_bookings(TABLE)
    assert table is not None
    return table.columns


@pytest.mark.parametrize(
    "text",
    [
        "Booking date;Description;Amount;Account\n" + "soon;x;1,50;1\n" * 3 + "13.11.2026;x;1,50;1\n",
        "Booking date;Description;Amount of ABC\n13.11.2026;x;1,50\n14.11.2026;y;2,50\n",
        "Invoice number;Date;Name;Description;Amount;Balance\n1;13.11.2026;A;x;1;0\n2;14.11.2026;B;y;2;0\n",
        "Date;Description;Amount\n13.11.2026;x;1,00\n14.11.2026;y;2,00\n",
        "Date;Value date;Amount\n13.11.2026;13.11.2026;1,00\n14.11.2026;14.11.2026;2,00\n",
        "Booking date;Description;Amount\nMonday;x;1,00\nTuesday;y;2,00\n",
        "Booking date;Description;Amount\n13.11.2026;x;1,50\n14.11.2026;y;2.50\n",
        "Account;Booking date;Description;Amount\n1;13.11.2026;x;1,50\n2;14.11.2026;y;2,50\n",
        "just words",
    ],
)
def test_other_tables_are_no_statements(text: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")

    assert read_bookings(text) is None
    assert tasks.open_original(path, ReadingOptions()).embedded == ()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "cp1252", "utf-16"])
def test_a_table_is_read_in_any_encoding(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    text = TABLE.replace("Groot", "Müller").replace("Strom", "Wärme für Köln")
    path.write_bytes(text.replace("\n", "\r\n").encode(encoding))

    (file,) = tasks.open_original(path, ReadingOptions()).embedded

    assert "Müller BV" in file.content.decode()
