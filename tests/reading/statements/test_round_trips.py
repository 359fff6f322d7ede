"""Bookings written in each format are read back as they were."""

from datetime import date, timedelta
from decimal import Decimal
from xml.sax.saxutils import escape

from hypothesis import given, settings
from hypothesis import strategies as st

from docmill.reading.statements import camt, mt940, ofx
from docmill.reading.statements.parsed import ParsedStatement
from docmill.reading.statements.tables import read_bookings
from docmill.schemas.types import Transaction
from support.bank_statements import OTHER_IBAN, OWN_IBAN
from support.bank_statements import camt as message

LETTERS = "abcXYZÄé&<'"
WORDS = st.lists(st.text(LETTERS, min_size=1, max_size=9), min_size=1, max_size=4).map(" ".join)
AMOUNTS = st.integers(-10_000_000, 10_000_000).filter(bool).map(lambda cents: Decimal(cents) / 100)
BOOKINGS = st.builds(
    Transaction,
    date=st.dates(date(2020, 1, 1), date(2049, 12, 31)),
    amount=AMOUNTS.map(lambda amount: amount.quantize(Decimal("0.01"))),
    currency=st.just("EUR"),
    counterparty=st.none() | WORDS,
    iban=st.none() | st.just(OTHER_IBAN),
    reference=st.none() | st.from_regex(r"INV-[0-9]{1,8}", fullmatch=True),
    description=st.none() | WORDS,
)
STATEMENTS = st.lists(BOOKINGS, min_size=1, max_size=8)


def comma(amount: Decimal | None) -> str:
    return f"{abs(amount or 0):f}".replace(".", ",")


def as_camt(bookings: list[Transaction]) -> bytes:
    entries: list[str] = []
    for booking in bookings:
        role = "Dbtr" if (booking.amount or 0) > 0 else "Cdtr"
        name = f"<{role}><Nm>{escape(booking.counterparty)}</Nm></{role}>" if booking.counterparty else ""
        iban = f"<{role}Acct><Id><IBAN>{booking.iban}</IBAN></Id></{role}Acct>" if booking.iban else ""
        text = f"<RmtInf><Ustrd>{escape(booking.description)}</Ustrd></RmtInf>" if booking.description else ""
        entries.append(
            f"<Ntry><Amt Ccy='EUR'>{abs(booking.amount or 0)}</Amt>"
            f"<CdtDbtInd>{'CRDT' if role == 'Dbtr' else 'DBIT'}</CdtDbtInd><Sts>BOOK</Sts>"
            f"<BookgDt><Dt>{booking.date}</Dt></BookgDt><NtryDtls><TxDtls>"
            f"<Refs><EndToEndId>{booking.reference or 'NOTPROVIDED'}</EndToEndId></Refs>"
            f"<RltdPties>{name}{iban}</RltdPties>{text}</TxDtls></NtryDtls></Ntry>"
        )
    return message("".join(entries))


def subfields(first: int, text: str) -> str:
    parts = [text[at : at + 27] for at in range(0, len(text), 27)]
    return "".join(f"?{first + index}{part}" for index, part in enumerate(parts))


def as_mt940(bookings: list[Transaction]) -> bytes:
    lines = [":20:1", f":25:{OWN_IBAN}", ":28C:1/1", ":60F:C200101EUR0,00"]
    for booking in bookings:
        assert booking.date is not None
        mark = "C" if (booking.amount or 0) > 0 else "D"
        lines.append(f":61:{booking.date:%y%m%d%m%d}{mark}R{comma(booking.amount)}NTRFNONREF")
        purpose = f"EREF+{booking.reference}" if booking.reference else ""
        purpose += f"SVWZ+{booking.description}" if booking.description else ""
        iban = f"?31{booking.iban}" if booking.iban else ""
        details = f"{subfields(20, purpose)}{iban}{subfields(32, booking.counterparty or '')}"
        if details:
            whole = f":86:166{details}"
            lines += [whole[at : at + 65] for at in range(0, len(whole), 65)]
    return "\r\n".join([*lines, ":62F:C200102EUR0,00", "-"]).encode()


def as_ofx(bookings: list[Transaction], *, is_xml: bool) -> bytes:
    def leaf(name: str, text: object) -> str:
        return f"<{name}>{escape(str(text))}" + (f"</{name}>" if is_xml else "\n")

    entries = "".join(
        "<STMTTRN>"
        + leaf("TRNTYPE", "OTHER")
        + leaf("DTPOSTED", f"{booking.date:%Y%m%d}")
        + leaf("TRNAMT", booking.amount)
        + (leaf("REFNUM", booking.reference) if booking.reference else "")
        + (leaf("NAME", booking.counterparty) if booking.counterparty else "")
        + (f"<BANKACCTTO>{leaf('ACCTID', booking.iban)}</BANKACCTTO>" if booking.iban else "")
        + leaf("MEMO", booking.description or "")
        + "</STMTTRN>"
        for booking in bookings
    )
    account = f"<BANKACCTFROM>{leaf('ACCTID', OWN_IBAN)}</BANKACCTFROM>"
    head = "<?OFX OFXHEADER='200'?>" if is_xml else "OFXHEADER:100\nCHARSET:NONE\n\n"
    body = f"{leaf('CURDEF', 'EUR')}{account}<BANKTRANLIST>{entries}</BANKTRANLIST>"
    return f"{head}<OFX><STMTRS>{body}</STMTRS></OFX>".encode()


def as_table(bookings: list[Transaction]) -> str:
    rows = ["Buchungstag;Valuta;Name;IBAN;Referenz;Verwendungszweck;Betrag;Währung"]
    for booking in bookings:
        sign = "-" if (booking.amount or 0) < 0 else ""
        texts = (booking.counterparty, booking.iban, booking.reference, booking.description)
        day = f"{booking.date:%d.%m.%Y}"
        rows.append(
            ";".join([day, day, *(text or "" for text in texts), sign + comma(booking.amount), "EUR"])
        )
    return "\n".join(rows) + "\n"


def read(statements: list[ParsedStatement]) -> list[Transaction]:
    (statement,) = statements
    return list(statement.transactions)


@settings(max_examples=60, deadline=None)
@given(STATEMENTS)
def test_bookings_written_as_camt_are_read_back(bookings: list[Transaction]) -> None:
    _, statements = camt.parse(as_camt(bookings))

    assert read(statements) == bookings


@settings(max_examples=60, deadline=None)
@given(STATEMENTS)
def test_bookings_written_as_mt940_are_read_back(bookings: list[Transaction]) -> None:
    squeezed = [  # a subfield that ends with a space cannot be told from one that is cut in a word
        booking.model_copy(
            update={
                "counterparty": booking.counterparty and booking.counterparty.replace(" ", "_"),
                "description": booking.description and booking.description.replace(" ", "_"),
            }
        )
        for booking in bookings
    ]

    assert read(mt940.parse(as_mt940(squeezed))) == squeezed


@settings(max_examples=60, deadline=None)
@given(STATEMENTS, st.booleans())
def test_bookings_written_as_ofx_are_read_back(bookings: list[Transaction], is_xml: bool) -> None:  # noqa: FBT001 - drawn
    assert read(ofx.parse(as_ofx(bookings, is_xml=is_xml))) == bookings


@settings(max_examples=60, deadline=None)
@given(STATEMENTS)
def test_bookings_written_as_a_table_are_read_back(bookings: list[Transaction]) -> None:
    days = [date(2026, 1, 13) + timedelta(days=index) for index, _ in enumerate(bookings)]
    dated = [booking.model_copy(update={"date": day}) for booking, day in zip(bookings, days, strict=True)]

    table = read_bookings(as_table([*dated, dated[0]]))

    assert table is not None
    assert list(table.statement.transactions) == [*dated, dated[0]]
