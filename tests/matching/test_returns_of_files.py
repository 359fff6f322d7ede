"""Returned payments in files of banks, from the bytes of the file to the link."""

import pytest

from docmill.matching import match, records_of
from docmill.matching.match_record import MatchRecord
from docmill.reading.statements import camt, mt940, ofx, tables
from docmill.reading.statements.parsed import ParsedStatement
from support.bank_statements import OWN_IBAN

_PARTIES = """
<RltdPties><Dbtr><Nm>We Ltd</Nm></Dbtr><DbtrAcct><Id><IBAN>DE12500105170648489890</IBAN></Id></DbtrAcct>
<Cdtr><Nm>Groot BV</Nm></Cdtr><CdtrAcct><Id><IBAN>NL91ABNA0417164300</IBAN></Id></CdtrAcct></RltdPties>"""


def _camt_entry(day: str, side: str, reference: str, more: str = "") -> str:
    return (
        f"<Ntry><Amt Ccy='EUR'>119.00</Amt><CdtDbtInd>{side}</CdtDbtInd><Sts>BOOK</Sts>"
        f"<BookgDt><Dt>{day}</Dt></BookgDt><NtryDtls><TxDtls><Refs><EndToEndId>{reference}</EndToEndId></Refs>"
        f"{_PARTIES}<RmtInf><Ustrd>Rechnung RE-2026-0815</Ustrd></RmtInf>{more}</TxDtls></NtryDtls></Ntry>"
    )


def _camt() -> ParsedStatement:
    entries = (
        _camt_entry("2026-02-02", "DBIT", "E2E-1001-A")
        + _camt_entry("2026-02-04", "CRDT", "E2E-1001-A", "<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>")
        + _camt_entry("2026-02-11", "DBIT", "E2E-1002-B")
    )
    content = (
        '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt><Id>1</Id>'
        f"<Acct><Id><IBAN>{OWN_IBAN}</IBAN></Id><Ccy>EUR</Ccy></Acct>{entries}</Stmt></BkToCstmrStmt></Document>"
    )
    return camt.parse(content.encode())[1][0]


_MT940 = """\
:20:STARTUMSE
:25:50010517/0648489890
:28C:00011/001
:60F:C260201EUR1000,00
:61:2602020202D119,00NTRFNONREF
:86:177?00UEBERWEISUNG?20EREF+E2E-1001-A?21SVWZ+Rechnung RE-2026-0815?31NL91ABNA0417164300?32Groot BV
:61:2602040204C119,00NTRFNONREF
:86:159?00RETOURE?20EREF+E2E-1001-A?21SVWZ+Rechnung RE-2026-0815?22 Kontonr. falsch?32Groot BV
:61:2602110211D119,00NTRFNONREF
:86:177?00UEBERWEISUNG?20EREF+E2E-1002-B?21SVWZ+Rechnung RE-2026-0815?31NL91ABNA0417164300?32Groot BV
:62F:C260211EUR881,00
-
"""

_OFX_BOOKING = (
    "<STMTTRN><TRNTYPE>{type}</TRNTYPE><DTPOSTED>{day}</DTPOSTED><TRNAMT>{amount}</TRNAMT>"
    "<FITID>{day}</FITID><NAME>Groot BV</NAME><MEMO>{memo}</MEMO></STMTTRN>"
)
_OFX = (
    '<?xml version="1.0"?><OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>EUR</CURDEF><BANKACCTFROM>'
    f"<ACCTID>{OWN_IBAN}</ACCTID></BANKACCTFROM><BANKTRANLIST>"
    + _OFX_BOOKING.format(type="DEBIT", day="20260202", amount="-119.00", memo="RE-2026-0815")
    + _OFX_BOOKING.format(
        type="CREDIT", day="20260204", amount="119.00", memo="Returned payment RE-2026-0815 AC01"
    )
    + _OFX_BOOKING.format(type="DEBIT", day="20260211", amount="-119.00", memo="RE-2026-0815")
    + "</BANKTRANLIST></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>"
)
_CSV = """\
Buchungstag;Wertstellung;Begünstigter/Zahlungspflichtiger;IBAN;Verwendungszweck;Betrag;Währung
02.02.2026;02.02.2026;Groot BV;NL91ABNA0417164300;Rechnung RE-2026-0815;-119,00;EUR
04.02.2026;04.02.2026;Groot BV;NL91ABNA0417164300;Rücküberweisung AC04 Rechnung RE-2026-0815;119,00;EUR
11.02.2026;11.02.2026;Groot BV;NL91ABNA0417164300;Rechnung RE-2026-0815;-119,00;EUR
28.02.2026;28.02.2026;Stadtwerke;;Strom;-45,20;EUR
"""


def _csv() -> ParsedStatement:
    found = tables.read_bookings(_CSV)
    assert found is not None
    return found.statement


def _records(statement: ParsedStatement) -> list[MatchRecord]:
    transactions = [each.model_dump(mode="json") for each in statement.transactions]
    data = {"iban": statement.iban, "currency": statement.currency, "transactions": transactions}
    return records_of("statement", "bank_statement", data)


@pytest.mark.parametrize("name", ["CAMT", "MT940", "OFX", "CSV"])
def test_a_returned_payment_of_a_file_is_paid_once_with_the_second(name: str) -> None:
    match name:
        case "CAMT":
            statement = _camt()
        case "MT940":
            (statement,) = mt940.parse(_MT940.encode())
        case "OFX":
            (statement,) = ofx.parse(_OFX.encode())
        case _:
            statement = _csv()
    (bill,) = records_of(
        "invoice",
        "invoice",
        {
            "number": "RE-2026-0815",
            "issue_date": "2026-01-20",
            "seller": {"name": "Groot B.V."},
            "buyer": {"name": "We Ltd"},
            "currency": "EUR",
            "gross_total": "119.00",
        },
    )

    both = match([bill, *_records(statement)])
    states = {(link.first_id, link.second_id): link.state for link in both.links}
    assert states["statement#1", "statement#2"] == "automatic"
    assert states["invoice", "statement#3"] == "automatic"
    assert both.discrepancies == ()
    first = match([bill, *_records(statement)[:2]])
    assert [each.code for each in first.discrepancies] == ["payment_returned"]
