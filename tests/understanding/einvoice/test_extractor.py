from collections.abc import Callable
from datetime import date
from decimal import Decimal

import pytest
from pydantic import BaseModel

from docmill.model.corrections import Corrections, ReviewedValues
from docmill.model.document import Document
from docmill.model.result import Classification, Failure, Schema
from docmill.schemas.registry import REGISTRY
from docmill.understanding.constraints.extractor import STEP
from docmill.understanding.corrections.apply import make_correction
from docmill.understanding.gate import RuleGate
from docmill.understanding.offline import choose_built_in, correct, extract, read_pages, understand

Sample = Callable[..., bytes]
Carrying = Callable[..., Document]

PAGE = """
Beispiel Holz AG                                  Invoice number: R-2026-17
Waldweg 3, 10115 Berlin                           Invoice date: 01.03.2026
VAT ID: DE136695976                               Due date: 31.03.2026

Muster Bau GmbH
Hafen 1, 20095 Hamburg

Pos  Description    Quantity   Price      Amount
1    Oak planks     8          12,50      100,00

                               Net total          90,00 EUR
                               VAT 19 %           17,10 EUR
                               Total             107,10 EUR
                               Amount due        100,00 EUR

Please pay to IBAN DE89 3704 0044 0532 0130 00, BIC COBADEFFXXX
"""
INVOICE = REGISTRY["invoice"]
IBAN = "DE89370400440532013000"
OTHER_IBAN = "DE02120300000000202051"


async def _mismatches(document: Document) -> list[Failure]:
    extraction = extract(document, INVOICE)
    return [failure for failure in extraction.failures if failure.check == "xml_mismatch"]


async def test_the_xml_is_taken_and_each_value_found_on_the_page(sample: Sample, carrying: Carrying) -> None:
    document = carrying(PAGE, sample("cii"))
    classification = understand(document, choose_built_in, ("Wood", "holz", "invoices")).classification

    extraction = extract(document, INVOICE)

    assert classification == Classification(
        document_type="invoice",
        title="Invoice R-2026-17, Beispiel Holz AG",
        summary="Invoice R-2026-17 from Beispiel Holz AG to Muster Bau GmbH of 2026-03-01 for 107.10 EUR.",
        document_date=date(2026, 3, 1),
        tags=("holz", "invoices", "Beispiel Holz AG", "2026"),
        language="en",
        confidence=1.0,
    )
    assert extraction.reason == "embedded EN 16931, UN/CEFACT CII XML"
    assert extraction.failures == ()
    texts = {path: found.text for path, found in extraction.evidence.items() if found.match != "embedded"}
    assert texts["number"] == "R-2026-17"
    assert texts["issue_date"] == "01.03.2026"
    assert "107,10" in (texts["gross_total"] or "")
    assert texts["seller.name"] == "Beispiel Holz AG"
    assert texts["payment.iban"] == "DE89 3704 0044 0532 0130 00,"
    assert "contract_number" not in texts
    assert texts["lines[0].net_amount"] == "100,00"
    assert "lines[0].unit" not in texts
    assert RuleGate().judge(document, extraction, INVOICE).passed


async def test_a_credit_note_is_called_one(sample: Sample, carrying: Carrying) -> None:
    document = carrying(PAGE, sample("cii", (">380<", ">381<")))

    classification, extraction = understand(document)

    assert classification.document_type == extraction.document_type == "credit_note"
    assert classification.title == "Credit note R-2026-17, Beispiel Holz AG"
    assert extraction.data.model_dump()["gross_total"] == Decimal("107.10")


@pytest.mark.parametrize(
    ("code", "document_type"),
    [
        ("381", "credit_note"),
        ("261", "credit_note"),
        ("503", "credit_note"),
        ("384", "invoice"),
        ("389", "invoice"),
    ],
)
async def test_the_type_code_tells_credit_notes_from_invoices(
    sample: Sample, carrying: Carrying, code: str, document_type: str
) -> None:
    document = carrying(PAGE, sample("cii", (">380<", f">{code}<")))

    assert understand(document).classification.document_type == document_type


async def test_a_credit_note_of_ubl_is_one_whatever_its_code(sample: Sample, carrying: Carrying) -> None:
    xml = sample("ubl").replace(b":Invoice-2", b":CreditNote-2").replace(b"<Invoice ", b"<CreditNote ")
    xml = xml.replace(b"</Invoice>", b"</CreditNote>")

    found = understand(carrying("", xml, bare=True))

    assert found.extraction.document_type == found.classification.document_type == "credit_note"
    assert found.extraction.steps[0].by == "EN 16931, UBL credit note XML"


async def test_an_xml_gives_the_fields_of_the_type_that_is_asked_for(
    sample: Sample, carrying: Carrying
) -> None:
    document = carrying(PAGE, sample("cii", (">380<", ">381<")))

    extraction = extract(document, INVOICE)

    assert type(extraction.data) is INVOICE.fields
    assert extraction.evidence["number"].confidence == 1.0


@pytest.mark.parametrize(
    ("name", "title", "summary"),
    [
        (
            "order-x",
            "Purchase order PO-5, Muster Bau GmbH",
            "Purchase order PO-5 from Beispiel Holz AG to Muster Bau GmbH of 2026-02-10.",
        ),
        (
            "ubl-despatch",
            "Delivery note L-4, Beispiel Holz AG",
            "Delivery note L-4 from Beispiel Holz AG to Muster Bau GmbH of 2026-02-26.",
        ),
    ],
)
async def test_orders_and_delivery_notes_are_called_by_their_names(
    sample: Sample, carrying: Carrying, name: str, title: str, summary: str
) -> None:
    document = carrying("<xml>", sample(name), bare=True)

    classification = understand(document).classification

    assert (classification.title, classification.summary) == (title, summary)


async def test_a_document_that_says_hardly_anything_still_has_a_title(
    sample: Sample, carrying: Carrying
) -> None:
    nameless = sample(
        "ubl-despatch",
        ("<cbc:ID>L-4</cbc:ID>", ""),
        (">2026-02-26<", "><"),
        ("Beispiel Holz AG", ""),
        ("Muster Bau GmbH", ""),
    )

    classification = understand(carrying("<xml>", nameless)).classification

    assert (classification.title, classification.summary) == ("Delivery note", "Delivery note.")


async def test_bare_xml_has_no_page_to_be_compared_with(sample: Sample, carrying: Carrying) -> None:
    document = carrying("<Invoice> 1 </Invoice>", sample("ubl"), bare=True)

    extraction = extract(document, INVOICE)

    assert extraction.reason == "EN 16931, UBL invoice XML"
    assert {found.match for found in extraction.evidence.values()} == {"embedded"}
    assert RuleGate().judge(document, extraction, INVOICE).passed


async def test_without_xml_the_other_is_asked(carrying: Carrying) -> None:
    document = carrying(PAGE)

    classification = understand(document).classification
    extraction = extract(document, INVOICE)

    assert classification.document_type == "invoice"
    assert extraction.steps == (STEP,)


async def test_unreadable_xml_is_said_to_be_so_and_the_page_read(carrying: Carrying) -> None:
    document = carrying(PAGE, b"<broken")

    extraction = extract(document, INVOICE)

    assert extraction.steps == (STEP,)
    checks = [failure.check for failure in RuleGate().judge(document, extraction, INVOICE).failures]
    assert checks[0] == "xml_unreadable"


async def test_of_two_the_one_that_can_be_read_is_taken(sample: Sample, carrying: Carrying) -> None:
    document = carrying(PAGE, b"<broken", sample("cii"))

    extraction = extract(document, INVOICE)

    assert extraction.reason.startswith("embedded")
    assert [failure.check for failure in extraction.failures] == ["xml_unreadable"]


async def test_xml_of_another_type_than_is_wanted_is_left(sample: Sample, carrying: Carrying) -> None:
    document = carrying(PAGE, sample("order-x"))

    extraction = extract(document, INVOICE)

    assert extraction.steps == (STEP,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((">107.10<", ">1071.00<"), "The embedded XML says 1071.00 for the total, the page shows 107.10."),
        ((">17.10<", ">18.90<"), "The embedded XML says 18.90 for the tax, the page shows 17.10."),
        (
            ("20260301", "20260302"),
            "The embedded XML says 2026-03-02 for the date of issue, the page shows 2026-03-01.",
        ),
        (
            ("20260331", "20260314"),
            "The embedded XML says 2026-03-14 for the due date, the page shows 2026-03-31.",
        ),
        (
            ("R-2026-17", "R-2026-71"),
            "The embedded XML says R-2026-71 for the number, the page shows R-2026-17.",
        ),
        (
            ("DE89370400440532013000", OTHER_IBAN),
            f"The embedded XML says {OTHER_IBAN} for the IBAN, the page shows DE89370400440532013000.",
        ),
        (
            ("DE136695976", "DE811569869"),
            "The embedded XML says DE811569869 for the seller's VAT identifier, the page shows DE136695976.",
        ),
        (
            (IBAN, f"{IBAN[:-1]}1"),
            f"The embedded XML says {IBAN[:-1]}1 for the IBAN, the page shows {IBAN}.",
        ),
        (
            ("Beispiel Holz AG", "Quick Money Ltd"),
            "The embedded XML says Quick Money Ltd for the seller's name, the page shows Beispiel Holz AG.",
        ),
    ],
)
async def test_a_page_that_shows_something_else_is_told(
    sample: Sample, carrying: Carrying, change: tuple[str, str], message: str
) -> None:
    document = carrying(PAGE, sample("cii", change))

    assert [failure.message for failure in await _mismatches(document)] == [message]


async def test_a_total_that_the_page_does_not_show_at_all_is_told(sample: Sample, carrying: Carrying) -> None:
    document = carrying("Delivered: 8 oak planks", sample("cii"))

    assert [failure.message for failure in await _mismatches(document)] == [
        "The embedded XML says 107.10 for the total, which the page does not show.",
        "The embedded XML says 100.00 for the amount due, which the page does not show.",
    ]


async def test_what_the_page_does_not_show_is_no_mismatch(sample: Sample, carrying: Carrying) -> None:
    document = carrying("Beispiel Holz AG\nTotal 107.10\nDue 100.00", sample("cii"))

    assert await _mismatches(document) == []


async def test_a_credit_note_may_print_its_amounts_with_either_sign(
    sample: Sample, carrying: Carrying
) -> None:
    negative = sample("cii", (">107.10<", ">-107.10<"), (">90.00<", ">-90.00<"))

    assert await _mismatches(carrying(PAGE, negative)) == []


async def test_a_misread_name_is_no_other_name(sample: Sample, carrying: Carrying) -> None:
    misread = PAGE.replace("Beispiel Holz AG", "Beispie1 Ho1z A6")

    assert await _mismatches(carrying(misread, sample("cii"), source="ocr")) == []


async def test_amounts_are_exact(sample: Sample, carrying: Carrying) -> None:
    extraction = extract(carrying(PAGE, sample("cii")), INVOICE)

    assert extraction.data.model_dump()["gross_total"] == Decimal("107.10")


async def test_a_schema_of_the_users_own_is_the_others_matter(sample: Sample, carrying: Carrying) -> None:
    class Mine(BaseModel):
        number: str | None = None

    extraction = extract(carrying(PAGE, sample("cii")), Schema("invoice", Mine))

    assert [step.by for step in extraction.steps] == ["labels and layout"]


async def test_a_date_of_issue_that_the_page_does_not_show_is_told(
    sample: Sample, carrying: Carrying
) -> None:
    page = "A 27.02.2026\nB 10.02.2026\nC 12.02.2026\nD 14.02.2026\nTotal 107.10\nDue 100.00"

    assert [failure.message for failure in await _mismatches(carrying(page, sample("cii")))] == [
        "The embedded XML says 2026-03-01 for the date of issue, which the page does not show."
    ]


async def test_a_form_without_a_checksum_is_enough_on_a_page_of_text(
    sample: Sample, carrying: Carrying
) -> None:
    page = PAGE.replace("DE89 3704 0044 0532 0130 00", "DE12 1234 5678 1234 5678 90")

    assert [failure.message for failure in await _mismatches(carrying(page, sample("cii")))] == [
        "The embedded XML says DE89370400440532013000 for the IBAN, the page shows DE12123456781234567890."
    ]
    assert await _mismatches(carrying(page, sample("cii"), source="ocr")) == []


async def test_a_part_of_the_number_may_be_all_that_is_printed(sample: Sample, carrying: Carrying) -> None:
    page = PAGE.replace("Invoice number: R-2026-17", "Invoice number: 2026")

    assert await _mismatches(carrying(page, sample("cii"))) == []


async def test_a_number_that_is_almost_printed_is_another(sample: Sample, carrying: Carrying) -> None:
    page = "Beispiel Holz AG\n8 planks\n107.10\n100.00\n01.03.2026\n\nR-2026-71 and S-2026-17"

    assert [failure.message for failure in await _mismatches(carrying(page, sample("cii")))] == [
        "The embedded XML says R-2026-17 for the number, the page shows S-2026-17."
    ]


async def test_on_a_scan_an_almost_equal_number_may_be_misread(sample: Sample, carrying: Carrying) -> None:
    page = "8 planks\n107.10\n100.00\n\nS-2026-17"

    assert await _mismatches(carrying(page, sample("cii"), source="ocr")) == []


async def test_a_vat_identifier_is_no_account(sample: Sample, carrying: Carrying) -> None:
    page = PAGE.replace("DE89 3704 0044 0532 0130 00", "our account").replace("DE136695976", "DE12345618938")

    assert [failure.fields for failure in await _mismatches(carrying(page, sample("cii")))] == [
        ("seller.vat_id",)
    ]


async def test_two_that_do_not_say_the_same_are_told(sample: Sample, carrying: Carrying) -> None:
    first = sample("cii")
    other = first.replace(b"R-2026-17", b"OTHER-9")
    assert other != first

    same = extract(carrying(PAGE, first, first), INVOICE)
    told = extract(carrying(PAGE, first, other), INVOICE)

    assert "xml_contradicts" not in [failure.check for failure in same.failures]
    (failure,) = [failure for failure in told.failures if failure.check == "xml_contradicts"]
    assert "number" in failure.fields
    assert "do not say the same: number" in failure.message


def test_people_correct_what_the_pages_say_and_not_what_the_xml_says(
    sample: Sample, carrying: Carrying
) -> None:
    document = carrying(PAGE, sample("cii"))
    by_rules, by_xml = read_pages(document, INVOICE), extract(document, INVOICE)
    reviewed = ReviewedValues("first.pdf", {"seller.name": "Oak planks"}, {})
    corrections = Corrections((make_correction(document, reviewed, by_rules),))

    assert (
        correct(document, INVOICE, by_rules, corrections).data.model_dump()["seller"]["name"] == "Oak planks"
    )
    assert correct(document, INVOICE, by_xml, corrections) is by_xml
