from collections.abc import Callable
from datetime import date
from decimal import Decimal

import pytest

from docmill.schemas.types import DeliveryNote, Invoice, Line, Party, Payment, PurchaseOrder
from docmill.understanding.einvoice.reading import einvoice
from docmill.understanding.einvoice.terms import UnreadableError

Sample = Callable[..., bytes]

SELLER = Party(name="Beispiel Holz AG", address="Waldweg 3, 10115 Berlin, DE", vat_id="DE136695976")
BUYER = Party(name="Muster Bau GmbH", address="Hafen 1, 20095 Hamburg, DE")
INVOICE = Invoice(
    number="R-2026-17",
    issue_date=date(2026, 3, 1),
    due_date=date(2026, 3, 31),
    delivery_date=date(2026, 2, 27),
    period_start=date(2026, 2, 1),
    period_end=date(2026, 2, 28),
    seller=SELLER,
    buyer=BUYER,
    order_number="PO-5",
    delivery_note_number="L-4",
    contract_number="C-9",
    customer_number="K-77",
    currency="EUR",
    net_total=Decimal("90.00"),
    tax_total=Decimal("17.10"),
    tax_category="S",
    gross_total=Decimal("107.10"),
    amount_due=Decimal("100.00"),
    payment=Payment(iban="DE89370400440532013000", bic="COBADEFFXXX", terms="30 days net", method="58"),
    lines=(
        Line(
            position="1",
            description="Oak planks",
            quantity=Decimal(8),
            unit="C62",
            unit_price=Decimal("12.50"),
            net_amount=Decimal("100.00"),
            tax_rate=Decimal(19),
        ),
    ),
)


@pytest.mark.parametrize("syntax", ["cii", "ubl"])
def test_the_same_invoice_gives_the_same_object_in_both_syntaxes(sample: Sample, syntax: str) -> None:
    found = einvoice(sample(syntax))

    assert found.data == INVOICE
    assert found.failures == ()
    assert found.profile is not None
    assert found.profile.name == "EN 16931"


def test_zugferd_1_has_other_names_and_notes_among_its_lines(sample: Sample) -> None:
    found = einvoice(sample("zugferd1"))

    assert found.name == "ZUGFeRD 1 BASIC"
    assert found.failures == ()
    assert found.data == Invoice(
        number="Z-1",
        issue_date=date(2014, 3, 1),
        seller=Party(name="Beispiel Holz AG"),
        buyer=Party(name="Muster Bau GmbH"),
        delivery_note_number="L-4",
        currency="EUR",
        net_total=Decimal("50.00"),
        tax_total=Decimal("9.50"),
        gross_total=Decimal("59.50"),
        lines=(
            Line(description="Rope", quantity=Decimal("10.0000"), unit="MTR", net_amount=Decimal("50.00")),
        ),
    )


def test_drafts_of_zugferd_1_gave_dates_without_a_type(sample: Sample) -> None:
    draft = sample(
        "zugferd1",
        ("urn:ferd:CrossIndustryDocument:invoice:1p0:basic", "urn:ferd:invoice:rc:basic"),
        ("urn:ferd:CrossIndustryDocument:invoice:1p0", "urn:un:unece:uncefact:data:standard:CBFBUY:5"),
        ("rsm:CrossIndustryDocument", "rsm:Invoice"),
        ('<udt:DateTimeString format="102">20140301</udt:DateTimeString>', "20140301"),
    )

    found = einvoice(draft)

    assert found.data.model_dump()["issue_date"] == date(2014, 3, 1)
    assert found.failures == ()


def test_what_is_agreed_in_an_answer_to_an_order_stands_before_what_was_asked_for(sample: Sample) -> None:
    found = einvoice(sample("order-x"))

    assert found.name == "Order-X COMFORT"
    assert found.failures == ()
    assert found.data == PurchaseOrder(
        number="PO-5",
        issue_date=date(2026, 2, 10),
        delivery_date=date(2026, 2, 27),
        seller=Party(name="Beispiel Holz AG"),
        buyer=Party(name="Muster Bau GmbH"),
        currency="EUR",
        net_total=Decimal("100.00"),
        lines=(Line(position="1", description="Oak planks", quantity=Decimal(8), unit="C62"),),
    )


def test_an_order_in_ubl_names_the_customer_as_the_seller_does(sample: Sample) -> None:
    found = einvoice(sample("ubl-order"))

    assert found.name == "UBL order"
    assert found.data == PurchaseOrder(
        number="PO-5",
        issue_date=date(2026, 2, 10),
        seller=SELLER,
        buyer=BUYER,
        customer_number="K-77",
        currency="EUR",
        gross_total=Decimal("100.00"),
        lines=(Line(position="1", description="Oak planks", quantity=Decimal(8), unit="C62"),),
    )


def test_a_despatch_advice_is_a_delivery_note_of_who_sells_and_not_of_who_carries(sample: Sample) -> None:
    found = einvoice(sample("ubl-despatch"))

    assert found.data == DeliveryNote(
        number="L-4",
        issue_date=date(2026, 2, 26),
        seller=SELLER,
        buyer=BUYER,
        order_number="PO-5",
        customer_number="K-77",
        lines=(Line(position="1", description="Oak planks", quantity=Decimal(8), unit="C62"),),
    )


def test_amounts_keep_the_sign_that_the_xml_gives_them(sample: Sample) -> None:
    credit = sample("cii", (">380<", ">381<"), (">100.00</ram:DuePayable", ">-100.00</ram:DuePayable"))

    assert einvoice(credit).data.model_dump()["amount_due"] == Decimal("-100.00")


def test_a_placeholder_beside_a_sales_order_is_no_order_number(sample: Sample) -> None:
    sales = "<cbc:ID>NA</cbc:ID><cbc:SalesOrderID>SO-1</cbc:SalesOrderID>"

    found = einvoice(sample("ubl", ("<cbc:ID>PO-5</cbc:ID>", sales)))

    assert found.data.model_dump()["order_number"] is None


def test_an_account_that_is_no_iban_and_a_bank_that_is_no_bic_are_left_out(sample: Sample) -> None:
    ubl = sample(
        "ubl",
        ("urn:cen.eu:en16931:2017", "urn:oasis:names:specification:ubl:xpath:Invoice-2.0:sbs-1.0-draft"),
        ("DE89 3704 0044 0532 0130 00", "12345678"),
        ("COBADEFFXXX", "10-26-58"),
    )

    payment = einvoice(ubl).data.model_dump()["payment"]

    assert (payment["iban"], payment["bic"]) == (None, None)


def test_headings_and_notes_among_the_lines_are_no_items(sample: Sample) -> None:
    cii = sample(
        "cii",
        (
            "<ram:LineID>1</ram:LineID>",
            "<ram:LineID>1</ram:LineID><ram:LineStatusReasonCode>GROUP</ram:LineStatusReasonCode>",
        ),
    )

    found = einvoice(cii)

    assert found.data.model_dump()["lines"] == ()
    assert [failure.check for failure in found.failures] == ["BR-16", "BR-S-08"]


def test_ubl_of_before_the_standard_gives_what_is_to_be_paid_for_the_total(sample: Sample) -> None:
    old = sample(
        "ubl",
        ("urn:cen.eu:en16931:2017", "urn:oasis:names:specification:ubl:xpath:Invoice-2.0:sbs-1.0-draft"),
        ('<cbc:TaxInclusiveAmount currencyID="EUR">107.10</cbc:TaxInclusiveAmount>', ""),
        ('<cbc:PrepaidAmount currencyID="EUR">7.10</cbc:PrepaidAmount>', ""),
    )

    found = einvoice(old)

    assert found.data.model_dump()["gross_total"] == Decimal("100.00")
    assert found.failures == ()


def test_a_month_is_valid_and_no_date(sample: Sample) -> None:
    found = einvoice(sample("cii", (">20260227<", ">202602<")))

    assert found.data.model_dump()["delivery_date"] is None
    assert found.failures == ()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no well-formed XML"),
        (b"<a><b></a>", "no well-formed XML"),
        (b"<?xml version='1.0' encoding='of ours'?><a/>", "no well-formed XML"),
        (b"<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", "declares a document type"),
        (b"<note/>", "'note' is no invoice"),
    ],
)
def test_what_cannot_be_read_says_why(content: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        einvoice(content)


def test_spaces_and_marks_before_the_declaration_do_no_harm(sample: Sample) -> None:
    assert einvoice(b"\xef\xbb\xbf\n " + sample("cii")).data == INVOICE


def test_prefixes_are_the_senders_own_matter(sample: Sample) -> None:
    assert einvoice(sample("cii", ("xmlns:ram", "xmlns:harry"), ("ram:", "harry:"))).data == INVOICE


ENVELOPE = (
    b"<s:StandardBusinessDocument xmlns:s='http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader'>"
    b"<s:StandardBusinessDocumentHeader/>%b</s:StandardBusinessDocument>"
)


def test_peppols_envelope_is_opened(sample: Sample) -> None:
    assert einvoice(ENVELOPE % sample("ubl")).data == INVOICE


def test_an_envelope_of_something_else_is_no_invoice() -> None:
    with pytest.raises(UnreadableError, match="is no invoice"):
        einvoice(ENVELOPE % b"<note/>")


def test_a_number_that_no_document_has_is_none(sample: Sample) -> None:
    found = einvoice(sample("cii", (">107.10<", f">{'9' * 41}<")))

    assert "xml_value" in [failure.check for failure in found.failures]


def _with_parts(sample: Sample, *amounts: str) -> bytes:
    """The case in CII, whose line of 100.00 has sub-lines of these amounts, none of which says what it is."""
    xml = sample("cii").decode()
    start, stop = xml.index("  <ram:IncludedSupply"), xml.index("  <ram:ApplicableHeaderTradeAgreement>")
    line = xml[start:stop]
    parts = (
        line.replace(
            "<ram:LineID>1</ram:LineID>",
            f"<ram:LineID>1.{number}</ram:LineID><ram:ParentLineID>1</ram:ParentLineID>",
        )
        .replace(">100.00<", f">{amount}<")
        .replace(">12.50<", f">{amount}<")
        .replace(">8<", ">1<")
        for number, amount in enumerate(amounts, 1)
    )
    return (xml[:stop] + "".join(parts) + xml[stop:]).encode()


def test_a_line_and_its_parts_count_once(sample: Sample) -> None:
    found = einvoice(_with_parts(sample, "60.00", "40.00"))

    assert [line["position"] for line in found.data.model_dump()["lines"]] == ["1.1", "1.2"]
    assert not found.failures


def test_parts_that_are_no_sum_leave_the_line_above_them(sample: Sample) -> None:
    found = einvoice(_with_parts(sample, "60.00", "10.00"))

    assert [line["position"] for line in found.data.model_dump()["lines"]] == ["1"]


def test_parts_that_add_to_their_line_stay_beside_it(sample: Sample) -> None:
    stated = b"<ram:LineTotalAmount>%s</ram:LineTotalAmount>\n    <ram:Allowance"
    xml = _with_parts(sample, "60.00").replace(stated % b"100.00", stated % b"160.00")

    assert [line["position"] for line in einvoice(xml).data.model_dump()["lines"]] == ["1", "1.1"]
