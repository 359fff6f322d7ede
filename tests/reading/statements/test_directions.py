"""Every row of a bank's table is a booking with the right sign, or is named as left out."""

import csv
import io
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

import docmill
from docmill.reading.statements.booking_rows import GUESSED_DIRECTIONS, BookingTable
from docmill.reading.statements.tables import read_bookings
from docmill.reading.text import western
from docmill.schemas.types import BankStatement

CASES = Path(__file__).parents[4] / "shared" / "cases"
MARKS = (
    ("Debit", "Credit"), ("D", "C"), ("DR", "CR"), ("S", "H"), ("Soll", "Haben"), ("-", "+"), ("\u2212", "+"),
    ("OUT", "IN"), ("D", "K"), ("Af", "Bij"), ("A", "B"), ("debet", "credit"), ("Dare", "Avere"),
    ("D", "A"), ("Cargo", "Abono"), ("C", "A"), ("Debe", "Haber"), ("D", "H"), ("Débito", "Crédito"),
    ("Saída", "Entrada"), ("Wn", "Ma"), ("Obciążenie", "Uznanie"), ("Uttag", "Insättning"), ("Ud", "Ind"),
    ("Debit", "Kredit"), ("Keluar", "Masuk"), ("DBIT", "CRDT"), ("Belastung", "Gutschrift"),
    ("Withdrawal", "Deposit"), ("Débit", "Crédit"), ("Ausgang", "Eingang"),
)  # fmt: skip
HEADINGS = ("", " ", "Transaction Type", "C/D", "X", "Kennzeichen", "Direction", "S/H", "Info")


@dataclass(frozen=True)
class Form:
    """How a generated table is written."""

    delimiter: str
    mark: str
    names: Sequence[str]
    days: str


ENGLISH = Form(",", ".", ("Booking date", "Value date", "Description", "Amount", "Balance"), "%Y-%m-%d")
GERMAN = Form(";", ",", ("Buchungstag", "Valuta", "Verwendungszweck", "Betrag", "Saldo"), "%d.%m.%Y")
FRENCH = Form("\t", ",", ("Date d'opération", "Date de valeur", "Libellé", "Montant", "Solde"), "%d/%m/%Y")
DUTCH = Form("|", ",", ("Boekdatum", "Rentedatum", "Omschrijving", "Bedrag", "Saldo"), "%d-%m-%Y")
FORMS = (ENGLISH, GERMAN, FRENCH, DUTCH)


def seeded(seed: str) -> random.Random:
    """The same numbers for each run."""
    return random.Random(seed)  # noqa: S311 - no secret


def bookings(chance: random.Random, count: int) -> list[tuple[date, Decimal]]:
    """Days that go up, and amounts with both signs."""
    day = date(2025, 1, 14)
    rows: list[tuple[date, Decimal]] = []
    for index in range(count):
        day += timedelta(days=chance.randint(0, 3))
        amount = Decimal(chance.randint(1, 200_000)) / 100
        is_debit = chance.random() < 0.5 if index > 1 else bool(index)
        rows.append((day, -amount if is_debit else amount))
    return rows


def written(amount: Decimal, form: Form) -> str:
    text = f"{amount:,.2f}"
    return text if form.mark == "." else text.translate(str.maketrans(",.", ".,"))


def table(form: Form, rows: Sequence[Sequence[str]], chance: random.Random) -> str:
    """The rows as text, with their columns in any order but the first row's."""
    order = list(range(len(rows[0])))
    chance.shuffle(order)
    text = io.StringIO()
    csv.writer(text, delimiter=form.delimiter, lineterminator="\n").writerows(
        [row[place] for place in order] for row in rows
    )
    return text.getvalue()


def amounts(read: BookingTable | None) -> list[Decimal | None]:
    assert read is not None
    return [booking.amount for booking in read.statement.transactions]


@pytest.mark.parametrize("marks", MARKS, ids="-".join)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.names[3])
def test_a_column_of_marks_tells_the_directions_under_any_heading(form: Form, marks: tuple[str, str]) -> None:
    chance = seeded("-".join(marks) + form.delimiter)
    for heading in chance.sample(HEADINGS, 2):
        stated = bookings(chance, chance.randint(2, 8))
        rows = [[*form.names[:4], heading]] + [
            [
                day.strftime(form.days),
                day.strftime(form.days),
                "Text",
                written(abs(amount), form),
                marks[amount > 0],
            ]
            for day, amount in stated
        ]

        read = read_bookings(table(form, rows, chance))

        assert amounts(read) == [amount for _, amount in stated]
        assert read is not None
        assert read.problems == ()


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.names[3])
def test_without_marks_signs_and_balances_the_directions_are_asked_for(form: Form) -> None:
    chance = seeded(form.delimiter)
    rows = [list(form.names[:4])] + [
        [day.strftime(form.days), day.strftime(form.days), "Text", written(abs(amount), form)]
        for day, amount in bookings(chance, 5)
    ]

    read = read_bookings(table(form, rows, chance))

    assert read is not None
    assert GUESSED_DIRECTIONS in read.problems


@pytest.mark.parametrize("is_up", [True, False])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.names[3])
def test_running_balances_decide_what_unknown_marks_mean(form: Form, *, is_up: bool) -> None:
    chance = seeded(form.delimiter)
    stated = bookings(chance, 6)
    balance = Decimal("1000.00")
    rows: list[list[str]] = []
    for day, amount in stated:
        balance += amount
        rows.append(
            [
                day.strftime(form.days),
                day.strftime(form.days),
                "Text",
                written(abs(amount), form),
                written(balance, form),
                "yhtä" if amount > 0 else "toista",
            ]
        )
    if not is_up:
        rows.reverse()
        stated.reverse()

    read = read_bookings(table(form, [[*form.names, "Laji"], *rows], chance))
    without = read_bookings(table(form, [[*form.names], *[row[:5] for row in rows]], chance))

    assert amounts(read) == [amount for _, amount in stated]
    assert read is not None
    assert read.problems == ()
    assert (read.statement.opening, read.statement.closing) == (Decimal("1000.00"), balance)
    # Nothing tells the sign of the first booking.
    assert without is not None
    assert GUESSED_DIRECTIONS in without.problems


def test_balances_before_marks_that_contradict_them() -> None:
    read = read_bookings(
        "Date,Value date,Description,Amount,Balance,C/D\n"
        "2025-01-13,2025-01-13,a,10.00,110.00,D\n2025-01-14,2025-01-14,b,5.00,105.00,C\n"
        "2025-01-15,2025-01-15,c,2.00,107.00,D\n2025-01-16,2025-01-16,Opening balance,,100.00,\n"
    )

    assert amounts(read) == [Decimal("10.00"), Decimal("-5.00"), Decimal("2.00")]


def test_a_single_letter_that_means_the_opposite_elsewhere_is_asked_for() -> None:
    rows = "2025-01-13,2025-01-13,a,10.00,C\n2025-01-14,2025-01-14,b,5.00,C\n"

    unknown = read_bookings(f"Date,Value date,Description,Amount,Info\n{rows}")
    known = read_bookings(f"Date,Value date,Description,Amount,C/D\n{rows}")

    assert unknown is not None
    assert known is not None
    assert unknown.problems == (GUESSED_DIRECTIONS,)
    assert known.problems == ()


def test_a_kind_of_card_is_no_direction_where_amounts_have_signs() -> None:
    read = read_bookings(
        "Date,Value date,Description,Amount,Card\n"
        "2025-01-13,2025-01-13,a,-10.00,Debit\n2025-01-14,2025-01-14,b,5.00,Debit\n"
    )

    assert amounts(read) == [Decimal("-10.00"), Decimal("5.00")]
    assert read is not None
    assert read.problems == ()


def test_signs_that_are_mixed_within_debits_are_asked_for_unless_balances_prove_them() -> None:
    rows = (
        "2025-01-13,2025-01-13,a,10.00,,90.00\n2025-01-14,2025-01-14,b,-3.00,,93.00\n"
        "2025-01-15,2025-01-15,c,2.00,,91.00\n2025-01-16,2025-01-16,d,,9.00,100.00\n"
    )
    proved = read_bookings(f"Date,Value date,Description,Debit,Credit,Balance\n{rows}")
    guessed = read_bookings(f"Date,Value date,Description,Debit,Credit,Something\n{rows}")
    all_negative = read_bookings(
        "Date,Value date,Description,Debit,Credit\n2025-01-13,2025-01-13,a,-10.00,\n"
        "2025-01-14,2025-01-14,b,,3.00\n2025-01-15,2025-01-15,c,-4.00,\n"
    )

    assert amounts(proved) == [Decimal("-10.00"), Decimal("3.00"), Decimal("-2.00"), Decimal("9.00")]
    assert amounts(guessed) == amounts(proved)
    assert amounts(all_negative) == [Decimal("-10.00"), Decimal("3.00"), Decimal("-4.00")]
    assert proved is not None
    assert guessed is not None
    assert all_negative is not None
    assert (proved.problems, guessed.problems, all_negative.problems) == ((), (GUESSED_DIRECTIONS,), ())


def test_a_row_with_a_day_and_an_amount_that_cannot_be_read_is_named() -> None:
    read = read_bookings(
        "Buchungstag;Valuta;Verwendungszweck;Betrag\n13.01.2025;13.01.2025;a;-10,00\n"
        "14.01.2025;14.01.2025;b;--5,00\n15.01.2025;15.01.2025;c;\n16.01.2025;16.01.2025;d;1,00\n"
        "17.01.2025;17.01.2025;e;zwei\n;18.01.2025;f;4,00\n"
    )

    assert amounts(read) == [Decimal("-10.00"), Decimal("1.00")]
    assert read is not None
    assert any("Rows 3, 4, 6 and 7" in problem for problem in read.problems)


@pytest.mark.parametrize("word", ["Vorgemerkt", "Umsatz vorgemerkt", "PENDING", "Declined", "En attente"])
def test_announced_rows_are_left_out_and_named(word: str) -> None:
    read = read_bookings(
        f"Booking date,Value date,Description,Amount,State\n2025-01-13,,a,-10.00,{word}\n"
        "2025-01-14,2025-01-14,b,-5.00,Booked\n"
    )
    alone = read_bookings(f"Booking date,Value date,Description,Amount,State\n2025-01-13,,a,-10.00,{word}\n")

    assert amounts(read) == [Decimal("-5.00")]
    assert read is not None
    assert "Row 2 of the file" in read.problems[0]
    assert amounts(alone) == []


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("Anfangssaldo", "Endsaldo"),
        ("Opening balance", "Closing balance 31.01.2025"),
        ("Solde initial", "Solde final"),
        ("Saldo iniziale", "Saldo finale"),
        ("Beginsaldo", "Eindsaldo"),
        ("Saldo inicial", "Saldo final"),
    ],
)
def test_balances_of_rows_are_no_bookings(opening: str, closing: str) -> None:
    read = read_bookings(
        "Buchungstag;Valuta;Verwendungszweck;Betrag; \n"
        f"01.01.2025;;{opening};100,00;S\n13.01.2025;13.01.2025;a;10,00;H\n14.01.2025;14.01.2025;b;5,00;S\n"
        f"31.01.2025;;{closing};95,00;S\n"
    )

    assert amounts(read) == [Decimal("10.00"), Decimal("-5.00")]
    assert read is not None
    assert (read.statement.opening, read.statement.closing) == (Decimal("-100.00"), Decimal("-95.00"))
    assert read.problems == ()


def test_the_other_side_is_the_name_that_is_not_the_same_in_every_row() -> None:
    read = read_bookings(
        "Buchungstag;Valuta;Auftraggeber/Zahlungsempfänger;Empfänger/Zahlungspflichtiger;Text;Betrag\n"
        "13.01.2025;13.01.2025;Eva;Stadtwerke;a;-10,00\n14.01.2025;14.01.2025;Eva;Buchladen;b;-5,00\n"
    )

    assert read is not None
    assert [booking.counterparty for booking in read.statement.transactions] == ["Stadtwerke", "Buchladen"]


@pytest.mark.skipif(not CASES.exists(), reason="the shared cases are not here")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("e-type.csv", "410.00 -31.50 -12.34"),
        ("e-cd.csv", "410.00 -31.50 -12.34"),
        ("e-blank.csv", "410.00 -31.50 -12.34"),
        ("v-blank.csv", "1290.00 -14.20 -45.50"),
        ("n3-plusminus.csv", "-381.20 650.00 -23.63"),
        ("n5-wise-dir.csv", "-71.20 650.00"),
        ("n2-dk.csv", "-15.60 400.00 -20.00"),
        ("p00.csv", "410.00 -31.50 -12.34"),
        ("n1-sparkasse.csv", "1290.00 -14.20"),
        ("k2-dkb.csv", "-13.37 1337"),
    ],
)
def test_files_that_people_met_are_read_right(name: str, expected: str) -> None:
    (path,) = CASES.glob(f"*/in/{name}")

    result = docmill.process_file(path)

    assert result.extraction is not None
    assert result.verdict is not None
    statement = result.extraction.data
    assert isinstance(statement, BankStatement)
    assert " ".join(str(booking.amount) for booking in statement.transactions) == expected
    is_whole = name not in ("p00.csv", "n1-sparkasse.csv", "k2-dkb.csv")
    assert [failure.check for failure in result.verdict.failures] == ["statement_rows"] * (not is_whole)
    if name == "v-blank.csv":
        assert (str(statement.opening_balance), str(statement.closing_balance)) == ("100.00", "1330.30")
    assert "\ufffd" not in western.decode(path.read_bytes())
