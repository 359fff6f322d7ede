from decimal import Decimal

import pytest

from docmill.errors import CorruptError, TooLargeError
from docmill.reading.statements import mt940
from docmill.reading.statements.mt940_details import Details, read_details
from docmill.reading.statements.parsed import MAX_BOOKINGS, chain_statements
from support.bank_statements import DUTCH_DETAILS, MT940, OTHER_IBAN, OWN_IBAN

CLOSING = ":62F:C260102EUR1,00\n"


def test_balances_and_entries_of_a_statement_are_read() -> None:
    (statement,) = mt940.parse(MT940.encode())

    assert (statement.iban, statement.account) == (None, "50010517/0648489890")
    assert (statement.opening, statement.closing) == (Decimal("1000.00"), Decimal("2194.80"))
    assert (str(statement.period_start), str(statement.period_end)) == ("2025-12-30", "2026-01-02")
    assert [booking.model_dump(mode="json") for booking in statement.transactions] == [
        {
            "date": "2026-01-02",
            "amount": "-45.20",
            "currency": "EUR",
            "counterparty": "Stadtwerke Musterstadt am Rhein",
            "iban": OTHER_IBAN,
            "reference": "RG-2025-4711 im Dezember",
            "description": "Strom Dezember",
        },
        {
            "date": "2026-01-02",
            "amount": "-10.00",
            "currency": "EUR",
            "counterparty": None,
            "iban": None,
            "reference": None,
            "description": "Returned: name unknown",
        },
        {
            "date": "2026-01-02",
            "amount": "1250",
            "currency": "EUR",
            "counterparty": None,
            "iban": None,
            "reference": "INV-4711",
            "description": None,
        },
    ]


@pytest.mark.parametrize(("mark", "amount"), [("C", "5.00"), ("D", "-5.00"), ("RC", "-5.00"), ("RD", "5.00")])
def test_a_reversal_has_the_opposite_sign(mark: str, amount: str) -> None:
    content = (
        f":20:1\n:25:{OWN_IBAN}EUR\n:60F:C260102EUR1,\n:61:260102{mark}R5,00NTRFNONREF\n:62F:D260102EUR4,00\n"
    )

    (statement,) = mt940.parse(content.encode())

    assert statement.iban == OWN_IBAN
    assert [str(booking.amount) for booking in statement.transactions] == [amount]
    assert statement.closing == Decimal("-4.00")


@pytest.mark.parametrize(
    ("value", "entry", "day"),
    [("251231", "0102", "2026-01-02"), ("260102", "1231", "2025-12-31"), ("260102", "    ", "2026-01-02")],
)
def test_the_year_of_a_booking_is_the_nearest(value: str, entry: str, day: str) -> None:
    (statement,) = mt940.parse(f":20:1\n:25:1\n:61:{value}{entry}C1,00NMSCNONREF\n{CLOSING}".encode())

    assert [str(booking.date) for booking in statement.transactions] == [day]


def test_the_pages_of_a_statement_and_those_of_the_next_day_are_one() -> None:
    text = (
        ":20:1\n:25:1\n:28C:1/1\n:60F:C260102EUR1,00\n:61:260102C1,00NMSCA\n:62M:C260102EUR2,00\n-\n"
        ":20:1\n:25:1\n:28C:1/2\n:60M:C260102EUR2,00\n:61:260102C1,00NMSCB\n:62F:C260102EUR3,00\n-\n"
        ":20:2\n:25:1\n:28C:2/1\n:60F:C260103EUR3,00\n:61:260103D3,00NMSCC\n:62F:C260103EUR0,00\n-\n"
        ":20:3\n:25:2\n:28C:1/1\n:60F:C260103EUR0,00\n:62F:C260103EUR0,00\n-\n"
    )

    first, second = chain_statements(mt940.parse(text.encode()))

    assert (first.places, second.places) == ((0, 1, 2), (3,))
    assert (str(first.period_start), str(first.period_end)) == ("2026-01-02", "2026-01-03")
    assert (first.opening, first.closing) == (Decimal("1.00"), Decimal("0.00"))
    assert [booking.reference for booking in first.transactions] == ["A", "B", "C"]
    assert chain_statements(mt940.parse(mt940.split(text.encode(), first.places)))[0].transactions == (
        first.transactions
    )


@pytest.mark.parametrize("after", ["", "\n", "-\n", "-}\n", "-}{5:{CHK:1}}\n", "-\nABNANL2A\n940\n"])
def test_a_line_with_a_hyphen_in_a_text_ends_no_statement(after: str) -> None:
    content = (
        f":20:1\n:25:1\n:60F:C260102EUR0,00\n:61:260102C1,00NMSCA\n:86:Rent\n-\nMay\n:61:260102C2,00NMSCB\n"
        f":62F:C260102EUR3,00\n{after}:20:2\n:25:2\n{CLOSING}{after}"
    ).encode()

    first, second = mt940.parse(content)

    assert [str(booking.amount) for booking in first.transactions] == ["1.00", "2.00"]
    assert (first.transactions[0].description, first.closing) == ("Rent - May", Decimal("3.00"))
    assert second.account == "2"
    assert mt940.parse(mt940.split(content, [0]))[0].transactions == first.transactions


def test_more_statements_than_can_be_read_are_a_typed_error() -> None:
    with pytest.raises(TooLargeError):
        mt940.parse(b":20:1\n" * (MAX_BOOKINGS + 1))


def test_statements_that_do_not_follow_each_other_stay_apart() -> None:
    text = (
        ":20:1\n:25:1\n:60F:C260102EUR1,00\n:62F:C260102EUR1,00\n-\n"
        ":20:2\n:25:1\n:60F:C260104EUR3,00\n:62F:C260104EUR3,00\n-\n"
    )

    assert [statement.places for statement in chain_statements(mt940.parse(text.encode()))] == [(0,), (1,)]


@pytest.mark.parametrize(
    ("text", "details"),
    [
        (
            DUTCH_DETAILS.removeprefix(":86:"),
            Details("Groot BV", OTHER_IBAN, (None, "NOTPROVIDED", None), "Factuur 4711"),
        ),
        (
            "/EREF/E-1//CNTP/NL91ABNA0417164300/ABNANL2A/Groot BV/Utrecht//REMI/USTD//Factuur 4711/",
            Details("Groot BV", OTHER_IBAN, (None, "E-1", None), "Factuur 4711"),
        ),
        (
            "/CNTP/NL91ABNA0417164300/ABNANL2A/Groot BV///REMI/STRD/CUR/9876123456789012/",
            Details("Groot BV", OTHER_IBAN, ("9876123456789012", "", None), None),
        ),
        (
            "/NAME/Groot BV/REMI/RF18539007547034/",
            Details("Groot BV", None, ("RF18539007547034", "", None), "RF18539007547034"),
        ),
        ("166?00GUTSCHRIFT?32Max?33Moritz", Details("Max Moritz", None, (None, None, None), "GUTSCHRIFT")),
        (
            "166>00GUTSCHRIFT>20What >now>32Max",
            Details("Max", None, (None, None, None), "What >now"),
        ),
        (
            f"EREF+E-2 IBAN+ {OTHER_IBAN} SVWZ+ RF18539007547034",
            Details(None, OTHER_IBAN, ("RF18539007547034", "E-2", None), "RF18539007547034"),
        ),
        ("Just words", Details(None, None, (None, None, None), "Just words")),
        (
            "159?00RETOURE?20EREF+TFNR 40005 00005?21MTLG:Grund nicht spezifiz\nierter Reject",
            Details(
                None,
                None,
                (None, "TFNR 40005 00005", None),
                "RETOURE Grund nicht spezifizierter Reject RETURNED PAYMENT",
            ),
        ),
        (
            "109?20EREF+E-2?21SVWZ+RE-1 AC04 Konto geschlossen?32Kunde AG",
            Details("Kunde AG", None, (None, "E-2", None), "RE-1 AC04 Konto geschlossen RETURNED PAYMENT"),
        ),
        (
            "/EREF/E-2/RTRN/MS03/NAME/Groot BV/REMI/USTD//RE-1/",
            Details("Groot BV", None, (None, "E-2", None), "RE-1 RETURN/MS03"),
        ),
        (
            "166?32Richter Renate of a long na?33me and family beside my wide\nriver?31" + OTHER_IBAN,
            Details(
                "Richter Renate of a long name and family beside my wide river",
                OTHER_IBAN,
                (None, None, None),
                None,
            ),
        ),
        ("w" * 65 + "\nord", Details(None, None, (None, None, None), "w" * 65 + "ord")),
    ],
)
def test_details_are_read_in_the_ways_of_several_countries(text: str, details: Details) -> None:
    assert read_details(text) == details


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (":60F:C251230EUR1000,00", ":60F:X251230EUR1000,00"),
        (":60F:C251230EUR1000,00", ":60F:C251330EUR1000,00"),
        (":61:2512310102DR45,20", ":61:2512310102XX45,20"),
        (":61:2512310102DR45,20", ":61:2512319902DR45,20"),
        (":20:", ":21:"),
        (":62F:C260102EUR2194,80", ""),
    ],
)
def test_what_breaks_the_rules_is_a_typed_error(old: str, new: str) -> None:
    with pytest.raises(CorruptError, match="the bank statement is damaged"):
        mt940.parse(MT940.replace(old, new).encode())


def test_the_other_account_may_stand_below_an_entry_and_its_reference_elsewhere() -> None:
    text = (
        ":940:\n:20:940S130101\n:25:NL71RABO0123456789\n:28C:0\n:60F:C130101EUR000000001000,00\n"
        f":61:130101D000000000025,00N102EREF            \n{OTHER_IBAN}\n"
        ":86:/EREF/0030000987654321/BENM//NAME/CONTRA ACCOUNT HOLDER OF THE BIG COM\n"
        "PANY/REMI//ISDT/2013-07-11\n"
        ":62F:C130108EUR000000000975,00\n"
    )

    ((booking,),) = [statement.transactions for statement in mt940.parse(text.encode())]

    assert (str(booking.amount), booking.iban, booking.reference) == (
        "-25.00",
        OTHER_IBAN,
        "0030000987654321",
    )
    assert booking.counterparty == "CONTRA ACCOUNT HOLDER OF THE BIG COMPANY"
    assert booking.description == OTHER_IBAN


def test_the_29th_of_february_finds_its_year() -> None:
    (statement,) = mt940.parse(f":20:1\n:25:1\n:61:2403010229C1,00NMSCNONREF\n{CLOSING}".encode())

    assert [str(booking.date) for booking in statement.transactions] == ["2024-02-29"]


def test_a_returned_item_says_so_in_its_text() -> None:
    (statement,) = mt940.parse(MT940.replace("RC10,00NTRF", "D10,00NRTI").encode())

    assert statement.transactions[1].description == "Returned: name unknown RETURNED PAYMENT"
