import time
from decimal import Decimal

import pytest

from docmill.errors import CorruptError, TooLargeError, UnsupportedFileTypeError
from docmill.reading.statements import ofx
from docmill.reading.statements.parsed import MAX_BOOKINGS
from support.bank_statements import OFX_1, OFX_2, OTHER_IBAN


def test_a_bank_account_in_sgml_is_read() -> None:
    (statement,) = ofx.parse(OFX_1.encode("cp1252"))

    assert (statement.account, statement.currency) == ("111000025 123456789", "USD")
    assert (statement.opening, statement.closing) == (None, Decimal("2204.80"))
    assert (str(statement.period_start), str(statement.period_end)) == ("2026-11-01", "2026-11-05")
    assert [booking.model_dump(mode="json") for booking in statement.transactions] == [
        {
            "date": "2026-11-02",
            "amount": "-45.20",
            "currency": "USD",
            "counterparty": "City Power & Light",
            "iban": None,
            "reference": "1001",
            "description": None,
        },
        {
            "date": "2026-11-04",
            "amount": "1250.00",
            "currency": "USD",
            "counterparty": "Müller",
            "iban": None,
            "reference": None,
            "description": "INV 4711",
        },
    ]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("-45,20", "1.250,00", ["-45.20", "1250.00"]),
        ("-1,045.20", "+1,250", ["-1045.20", "1250"]),
        ("-1 045,20", "1.250", ["-1045.20", "1250"]),
        ("-45,20", "1250.00", ["-45.20", "1250.00"]),
    ],
)
def test_amounts_are_read_with_the_marks_of_the_whole_file(
    first: str, second: str, expected: list[str]
) -> None:
    content = OFX_1.replace("<TRNAMT>-45.20", f"<TRNAMT>{first}").replace(
        "<TRNAMT>+1250,00", f"<TRNAMT>{second}"
    )

    (statement,) = ofx.parse(content.replace("<BALAMT>2204.80", "<BALAMT>2204").encode("cp1252"))

    assert [str(booking.amount) for booking in statement.transactions] == expected


def test_credit_cards_in_xml_are_read_and_taken_apart() -> None:
    statements = ofx.parse(OFX_2.encode())

    assert [(each.account, each.currency) for each in statements] == [("4111", "EUR"), ("4222", "USD")]
    (booking,) = statements[0].transactions
    assert (booking.counterparty, booking.description) == ("Shop", "a < b")
    for index, statement in enumerate(statements):
        (alone,) = ofx.parse(ofx.split(OFX_2.encode(), [index]))
        assert alone.transactions == statement.transactions


def test_a_balance_of_another_day_is_no_closing_balance() -> None:
    (later,) = ofx.parse(OFX_1.replace("<DTASOF>20261105", "<DTASOF>20261110").encode())
    (earlier,) = ofx.parse(OFX_1.replace("<DTASOF>20261105", "<DTASOF>20261103").encode())

    assert (later.closing, earlier.closing) == (None, None)


def test_the_other_account_and_a_foreign_currency_belong_to_the_booking() -> None:
    more = (
        f"<CURRENCY><CURRATE>1.1<CURSYM>GBP</CURRENCY><BANKACCTTO><ACCTID>{OTHER_IBAN}</BANKACCTTO></STMTTRN>"
    )

    (statement,) = ofx.parse(OFX_1.replace("</STMTTRN>", more, 1).encode())

    assert (statement.transactions[0].iban, statement.transactions[0].currency) == (OTHER_IBAN, "GBP")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<TRNAMT>-45.20", "<TRNAMT>-45.2.0"),
        ("<TRNAMT>-45.20", "<TRNAMT>"),
        ("<DTPOSTED>20261104", "<DTPOSTED>20261304"),
        (OFX_1[OFX_1.index("<BANKMSGSRSV1>") :], ""),
        ("<OFX>", "<OFX>" + "<A>" * 100 + "</A>" * 100),
    ],
)
def test_what_breaks_the_rules_is_a_typed_error(old: str, new: str) -> None:
    with pytest.raises(CorruptError, match="the bank statement is damaged"):
        ofx.parse(OFX_1.replace(old, new).encode())


@pytest.mark.parametrize("rest", ["<", "<![CDATA[", "<A", "</ ", "x<", "<?>x", "<![CDATA[x]]>"])
def test_tags_without_an_end_are_told_at_once(rest: str) -> None:
    started = time.process_time()

    with pytest.raises(CorruptError, match="its end is missing"):
        ofx.parse(f"<OFX><NAME>{rest * (1_500_000 // len(rest))}".encode())

    assert time.process_time() - started < 10


def test_a_file_that_is_cut_off_behind_a_booking_is_damaged() -> None:
    with pytest.raises(CorruptError, match="its end is missing"):
        ofx.parse(OFX_1.partition("</STMTTRN>")[0].encode())


def test_a_sign_that_is_no_tag_takes_nothing_away() -> None:
    (statement,) = ofx.parse(OFX_1.replace("<MEMO>INV", "<MEMO>a < b INV").encode())

    assert statement.transactions[1].description == "a b INV 4711"


def test_other_files_of_the_format_are_not_read() -> None:
    with pytest.raises(UnsupportedFileTypeError, match="without a statement of a bank account") as caught:
        ofx.parse(OFX_1.replace("STMTRS", "INVSTMTRS").encode())
    assert caught.value.media_type == "application/x-ofx"


def test_more_bookings_than_can_be_read_are_a_typed_error() -> None:
    booking = "<STMTTRN><TRNAMT>1</STMTTRN>"

    with pytest.raises(TooLargeError, match="more than 20,000 bookings"):
        ofx.parse(OFX_1.replace("<STMTTRN>", booking * MAX_BOOKINGS + "<STMTTRN>", 1).encode())
    with pytest.raises(TooLargeError):
        ofx.parse(b"<OFX>" + b"<" * 81 * MAX_BOOKINGS)


def test_an_end_without_a_beginning_ends_nothing() -> None:
    (statement,) = ofx.parse(OFX_1.replace("<STMTTRN>", "</PAYEE><STMTTRN>").encode())

    assert len(statement.transactions) == 2


def test_declared_entities_stay_as_they_are() -> None:
    content = OFX_2.replace("<OFX>", "<!DOCTYPE OFX [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><OFX>").replace(
        "Shop", "&x;"
    )

    assert ofx.parse(content.encode())[0].transactions[0].counterparty == "&x;"
