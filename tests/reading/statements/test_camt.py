from decimal import Decimal

import pytest

from docmill.errors import CorruptError
from docmill.reading.statements import camt
from docmill.reading.statements.parsed import ParsedStatement, chain_statements
from docmill.schemas.types import Transaction
from support.bank_statements import CAMT_ENTRY, CREDIT_DETAILS, OTHER_IBAN, OWN_IBAN
from support.bank_statements import camt as message


def entry(amount: str, side: str = "CRDT", *, more: str = "", status: str = "BOOK", details: str = "") -> str:
    return CAMT_ENTRY.format(amount=amount, side=side, more=more, status=status, details=details)


def credit(reference: str, remittance: str, name: str = "<Nm>Groot BV</Nm>") -> str:
    return entry(
        "12.50", details=CREDIT_DETAILS.format(reference=reference, name=name, remittance=remittance)
    )


def only(content: bytes) -> ParsedStatement:
    _, (statement,) = camt.parse(content)
    return statement


def booking(content: bytes) -> Transaction:
    (transaction,) = only(content).transactions
    return transaction


def amounts(content: bytes) -> list[str]:
    return [str(transaction.amount) for transaction in only(content).transactions]


@pytest.mark.parametrize("version", range(2, 13))
def test_every_version_of_a_statement_is_read(version: int) -> None:
    is_new = version >= 8
    status = "<Cd>BOOK</Cd>" if is_new else "BOOK"
    name = "<Pty><Nm>Groot BV</Nm></Pty>" if is_new else "<Nm>Groot BV</Nm>"
    details = CREDIT_DETAILS.format(reference="INV-1", name=name, remittance="<Ustrd>Invoice 1</Ustrd>")
    content = message(
        entry("12.50", status=status, details=details), version=f"053.001.{version:02}", closing="112.50"
    )

    source, (statement,) = camt.parse(content)

    assert source == "CAMT.053"
    assert (statement.iban, statement.currency) == (OWN_IBAN, "EUR")
    assert (statement.opening, statement.closing) == (Decimal("100.00"), Decimal("112.50"))
    assert (str(statement.period_start), str(statement.period_end)) == ("2026-11-03", "2026-11-05")
    (transaction,) = statement.transactions
    assert transaction.model_dump(mode="json") == {
        "date": "2026-11-04",
        "amount": "12.50",
        "currency": "EUR",
        "counterparty": "Groot BV",
        "iban": OTHER_IBAN,
        "reference": "INV-1",
        "description": "Invoice 1",
    }


def test_a_notification_has_bookings_and_no_balances() -> None:
    source, (statement,) = camt.parse(message(credit("NOTPROVIDED", ""), version="054.001.08"))

    assert source == "CAMT.054"
    assert (statement.opening, statement.closing, statement.period_end) == (None, None, None)
    assert [transaction.reference for transaction in statement.transactions] == [None]
    assert [transaction.description for transaction in statement.transactions] == ["SEPA"]


@pytest.mark.parametrize(
    ("remittance", "reference", "description"),
    [
        ("<Ustrd>INV 7</Ustrd><Ustrd>thanks</Ustrd>", "E-1", "INV 7 thanks"),
        ("<Strd><CdtrRefInf><Ref>RF18539007547034</Ref></CdtrRefInf></Strd>", "RF18539007547034", "SEPA"),
        (
            "<Strd><CdtrRefInf><Ref>210000000003139471430009017</Ref></CdtrRefInf>{more}</Strd>".format(
                more="<AddtlRmtInf>Order 5</AddtlRmtInf>"
            ),
            "210000000003139471430009017",
            "Order 5",
        ),
        ("<Strd><RfrdDocInf><Nb>INV-9</Nb></RfrdDocInf></Strd>", "INV-9", "SEPA"),
    ],
)
def test_a_structured_reference_comes_first_and_free_text_is_the_description(
    remittance: str, reference: str, description: str
) -> None:
    transaction = booking(message(credit("E-1", remittance)))

    assert (transaction.reference, transaction.description) == (reference, description)


def test_a_batch_is_its_details_if_they_are_its_amount() -> None:
    details = "".join(f"<TxDtls><Amt Ccy='EUR'>{amount}</Amt></TxDtls>" for amount in ("10.00", "2.50"))
    batch = entry("12.50", "DBIT", details=f"<NtryDtls>{details}</NtryDtls>")
    older = details.replace("<Amt", "<AmtDtls><TxAmt><Amt").replace("</Amt>", "</Amt></TxAmt></AmtDtls>")
    of_another_sum = entry("13.00", "DBIT", details=f"<NtryDtls>{details}</NtryDtls>")

    assert amounts(message(batch)) == ["-10.00", "-2.50"]
    assert amounts(message(entry("12.50", details=f"<NtryDtls>{older}</NtryDtls>"))) == ["10.00", "2.50"]
    assert amounts(message(of_another_sum)) == ["-13.00"]


def test_details_may_take_away_from_an_entry() -> None:
    details = (
        "<TxDtls><Amt Ccy='EUR'>10.00</Amt></TxDtls>"
        "<TxDtls><Amt Ccy='EUR'>1.00</Amt><CdtDbtInd>DBIT</CdtDbtInd></TxDtls>"
    )

    assert amounts(message(entry("9.00", details=f"<NtryDtls>{details}</NtryDtls>"))) == ["10.00", "-1.00"]


def test_details_in_another_currency_are_no_bookings() -> None:
    details = "".join("<TxDtls><Amt Ccy='USD'>5.00</Amt></TxDtls>" for _ in range(2))

    assert amounts(message(entry("10.00", details=f"<NtryDtls>{details}</NtryDtls>"))) == ["10.00"]


def test_a_reversal_has_the_sign_that_it_states_and_the_parties_of_what_it_reverses() -> None:
    details = CREDIT_DETAILS.format(reference="E", name="<Nm>Groot BV</Nm>", remittance="")
    reversal = entry("12.50", "DBIT", more="<RvslInd>true</RvslInd>", details=details)

    transaction = booking(message(reversal, closing="87.50"))

    assert (str(transaction.amount), transaction.counterparty) == ("-12.50", "Groot BV")


def test_balances_turn_the_sign_of_reversals_of_banks_that_state_the_reversed_side() -> None:
    reversal = entry("12.50", "CRDT", more="<RvslInd>true</RvslInd>")

    assert amounts(message(reversal, closing="87.50")) == ["-12.50"]
    assert amounts(message(reversal, closing="112.50")) == ["12.50"]
    assert amounts(message(reversal, closing="500.00")) == ["12.50"]


def test_pending_entries_are_no_bookings() -> None:
    content = message(entry("1.00", status="PDNG") + entry("2.00") + entry("4.00", status="INFO"))

    assert amounts(content) == ["2.00"]
    assert only(content).not_booked == 2


def test_the_closing_balance_of_the_day_before_is_the_opening_one() -> None:
    content = message(entry("2.00"), opening="-5.00", closing="-3.00").replace(b"OPBD", b"PRCD")

    statement = only(content)

    assert (str(statement.opening), str(statement.closing)) == ("-5.00", "-3.00")
    assert statement.period_start is None


def test_an_account_outside_the_iban_countries_is_kept_as_it_is() -> None:
    content = message(entry("2.00")).replace(
        f"<IBAN>{OWN_IBAN}</IBAN>".encode(), b"<Othr><Id>000123</Id></Othr>"
    )

    assert (only(content).iban, only(content).account) == (None, "000123")


def test_the_stated_period_counts() -> None:
    period = "<FrToDt><FrDtTm>2026-11-01T00:00:00</FrDtTm><ToDtTm>2026-11-30T23:59:59+01:00</ToDtTm></FrToDt>"
    content = message(entry("2.00"), closing="102.00").replace(b"<Acct>", period.encode() + b"<Acct>", 1)

    assert (str(only(content).period_start), str(only(content).period_end)) == ("2026-11-01", "2026-11-30")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"<CdtDbtInd>CRDT</CdtDbtInd>", b"<CdtDbtInd>BOTH</CdtDbtInd>"),
        (b"2.00", b"two"),
        (b"2.00", b"NaN"),
        (b"2026-11-04", b"2026-13-04"),
        (b"</Document>", b""),
        (b"Stmt", b"Other"),
        (b"<Stmt>", b"<Acct><Stmt></Stmt></Acct><Other>"),
        (b"<Document ", b"<!DOCTYPE Document [<!ENTITY a 'b'>]><Document "),
    ],
)
def test_what_breaks_the_rules_is_a_typed_error(old: bytes, new: bytes) -> None:
    content = message(entry("2.00"))

    with pytest.raises(CorruptError, match="the bank statement is damaged"):
        camt.parse(content.replace(old, new))


def test_a_message_without_a_statement_is_damaged() -> None:
    content = message(entry("2.00")).replace(b"<Stmt>", b"<Other>").replace(b"</Stmt>", b"</Other>")

    with pytest.raises(CorruptError, match="it has no statement"):
        camt.parse(content)


def test_notifications_of_one_account_are_one_statement() -> None:
    content = message(entry("2.00"), version="054.001.08")
    body = content.partition(b"<Ntfctn>")[2].partition(b"</Ntfctn>")[0]
    end = b"</BkToCstmrDbtCdtNtfctn>"

    _, statements = camt.parse(content.replace(end, b"<Ntfctn>" + body + b"</Ntfctn>" + end))

    (statement,) = chain_statements(statements)
    assert (len(statement.transactions), statement.places) == (2, (0, 1))


def test_entities_are_not_expanded() -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    content = message(entry("2.00")).replace(
        b"<Document ", f'<!DOCTYPE Document [<!ENTITY l0 "ha">{laughs}]><Document '.encode()
    )

    with pytest.raises(CorruptError):
        camt.parse(content.replace(b"<MsgId>1", b"<MsgId>&l9;"))


def test_statements_of_a_message_can_be_taken_apart() -> None:
    content = message(entry("2.00"), closing="102.00")
    body = content.partition(b"<Stmt>")[2].partition(b"</Stmt>")[0]
    both = content.replace(
        b"</BkToCstmrStmt>", b"<Stmt>" + body.replace(b"2.00", b"3.00") + b"</Stmt></BkToCstmrStmt>"
    )

    _, statements = camt.parse(both)

    assert len(statements) == 2
    assert amounts(camt.split(both, [1])) == ["3.00"]


@pytest.mark.parametrize("other", ["053.001.02", "054.001.08"])
def test_every_message_of_a_file_is_read_and_can_be_taken_apart(other: str) -> None:
    first = message(entry("2.00"), closing="102.00")
    second = message(entry("3.00"), version=other).partition(b">\n")[2].partition(b">")[2]
    both = first.replace(b"</Document>", second)

    source, statements = camt.parse(both)

    assert source == "CAMT.053"
    assert [[str(each.amount) for each in statement.transactions] for statement in statements] == [
        ["2.00"],
        ["3.00"],
    ]
    assert amounts(camt.split(both, [0])) == ["2.00"]
    assert amounts(camt.split(both, [1])) == ["3.00"]


def test_a_return_has_its_reason_in_its_text_and_the_parties_of_what_it_returns() -> None:
    details = CREDIT_DETAILS.format(
        reference="E-1", name="<Nm>Groot BV</Nm>", remittance="<Ustrd>RE-1</Ustrd>"
    )
    reason = "<RtrInf><Rsn><Cd>AC04</Cd></Rsn><AddtlInf>Konto erloschen</AddtlInf></RtrInf></TxDtls>"
    unpaid = (
        "<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>IDDT</Cd><SubFmlyCd>UPDD</SubFmlyCd></Fmly></Domn></BkTxCd>"
    )

    returned = booking(message(entry("12.50", "DBIT", details=details.replace("</TxDtls>", reason))))
    assert (returned.description, returned.reference) == ("RE-1 RETURN/AC04 Konto erloschen", "E-1")
    assert (str(returned.amount), returned.counterparty) == ("-12.50", "Groot BV")

    without_code = booking(message(entry("12.50", "DBIT", more=unpaid, details=details)))
    assert without_code.description == "RE-1 RETURNED PAYMENT"
    assert booking(message(entry("12.50", "DBIT", more=unpaid))).description == "SEPA RETURNED PAYMENT"
