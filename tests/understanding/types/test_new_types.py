"""Delivery notes, reminders, quotes, contracts and letters are told apart, or a person is asked."""

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from docmill.model.document import Document
from docmill.model.result import TYPE_CHECK
from docmill.understanding.constraints.extractor import every_finding
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.offline import understand
from docmill.understanding.types.recognition import recognise
from docmill.understanding.withholding import FLOOR

Typeset = Callable[..., Document]

GOODS = """
Harbour Tools Ltd
4 Dock Street, Leith EH6 6QQ

{title}
{label}: 2026-77
Date: 03/04/2026

Annie Bell
9 Mill Lane, Leith EH6 5AA

Item                   Quantity   Unit
Torque wrench          2          pcs
Oak board              14         pcs

Received by
"""


@pytest.mark.parametrize(
    "title",
    [
        "Delivery Note", "Packing List", "Delivery Docket", "Straight Bill of Lading",
        "Air Waybill", "Lieferschein",
        "Frachtbrief", "Lieferavis",
        "Bon de livraison", "Lettre de voiture", "Albarán", "Documento di trasporto",
        "D.D.T. n. 448",
        "Pakbon", "Dokument WZ", "List przewozowy", "Guia de remessa", "Conhecimento de embarque",
    ],
)  # fmt: skip
def test_papers_of_goods_are_delivery_notes_by_whatever_name(typeset: Typeset, title: str) -> None:
    classification, extraction = understand(typeset(GOODS.format(title=title, label="No")))

    assert classification.document_type == extraction.document_type == "delivery_note"


def test_a_number_of_a_delivery_note_on_an_invoice_makes_it_none(typeset: Typeset) -> None:
    page = GOODS.format(title="Invoice 2026-77", label="Invoice no") + "Delivery note\nTotal due 96.00 GBP"

    assert understand(typeset(page)).classification.document_type == "invoice"


REMINDER = """
Harbour Tools Ltd
4 Dock Street
Leith EH6 6QQ

Annie Bell
9 Mill Lane
Leith EH6 5AA

Leith, 3 April 2026

{title}

Dear Ms Bell,
the following invoice is still outstanding.
Invoice number: INV-881
Amount due: 96.00 GBP
If you have already paid, please disregard this letter.

Yours sincerely
"""


@pytest.mark.parametrize("title", ["Payment Reminder", "2. Mahnung", "Rappel de paiement", "Final notice"])
def test_a_reminder_is_told_from_a_letter_and_an_invoice_and_read(typeset: Typeset, title: str) -> None:
    classification, extraction = understand(typeset(REMINDER.format(title=title)))

    assert classification.document_type == extraction.document_type == "reminder"
    data = extraction.data.model_dump()
    assert data["seller"]["name"] == "Harbour Tools Ltd"
    assert data["buyer"]["name"] == "Annie Bell"
    assert data["issue_date"] == dt.date(2026, 4, 3)
    assert data["invoice_number"] == "INV-881"
    assert data["amount_due"] == Decimal("96.00")
    assert data["subject"] == title
    assert classification.document_date == dt.date(2026, 4, 3)


def test_a_letter_that_may_be_an_invoice_or_a_reminder_is_asked_about(typeset: Typeset) -> None:
    classification, extraction = understand(typeset(REMINDER.format(title="")))

    assert classification.document_type == "invoice"
    assert [failure.check for failure in extraction.failures] == [TYPE_CHECK]
    assert "a reminder or an invoice" in classification.doubt


def test_a_letter_is_named_with_sender_recipient_day_and_subject(typeset: Typeset) -> None:
    page = REMINDER.format(title="Re: Change of our bank details")
    page = page.replace("the following invoice is still outstanding.", "our bank has changed.")
    page = page.replace("If you have already paid, please disregard this letter.", "")
    page = page.replace("Invoice number: INV-881\nAmount due: 96.00 GBP\n", "Our reference: HT/77\n")

    classification, extraction = understand(typeset(page))

    assert classification.document_type == extraction.document_type == "letter"
    data = extraction.data.model_dump()
    assert (data["sender"]["name"], data["recipient"]["name"]) == ("Harbour Tools Ltd", "Annie Bell")
    assert (data["subject"], data["issue_date"]) == ("Change of our bank details", dt.date(2026, 4, 3))


def test_a_reference_is_no_subject(typeset: Typeset) -> None:
    page = REMINDER.format(title="Ref.: SEC/114-26\nSubject: Change of our bank details")
    page = page.replace("the following invoice is still outstanding.", "our bank has changed.")
    page = page.replace("If you have already paid, please disregard this letter.", "")
    page = page.replace("Invoice number: INV-881\nAmount due: 96.00 GBP\n", "")

    _, extraction = understand(typeset(page))

    assert extraction.document_type == "letter"
    assert extraction.data.model_dump()["subject"] == "Change of our bank details"


def test_a_payslip_without_a_title_is_asked_about(typeset: Typeset) -> None:
    page = """
Quayside Bakery Ltd
Employee: Rosa Lindqvist          Employee number: 118

PAYE tax                 212.40
National Insurance       143.10
Total gross pay        2,310.00
Total deductions         355.50
Net pay                1,954.50
"""
    recognition = recognise(candidates_of(typeset(page)).layout, "other", 0.95)

    assert recognition.document_type == "other"
    assert "payslip" in recognition.doubt


def test_a_quote_that_an_invoice_names_makes_it_no_quote(typeset: Typeset) -> None:
    page = """
Holzbau Rütli AG                                RECHNUNG 2026-0388

Datum: 12.02.2026
Offerte: 2025-1190 vom 12.11.2025
"""
    assert recognise(candidates_of(typeset(page)).layout, "invoice", 0.9).document_type == "invoice"


def test_the_number_of_an_estimate_on_an_order_makes_it_no_quote(typeset: Typeset) -> None:
    page = """
                 Harbour Media Agency Ltd
       as agent for and on behalf of Northline Ferries plc
TO:                                     Insertion order no. IO-2291
The Island Gazette                      Date 14 Nov 2026
5 Quay Street                           Client: Northline Ferries plc
Stornoway HS1 2XX                       Campaign: Winter timetable
                                        Estimate no. E-818
Date                  Insertion                          Qty      Rate         Gross
21 Nov 2026           Half page colour, p.3              1        640.00       640.00
28 Nov 2026           Half page colour, p.3              1        640.00       640.00
                                                                Gross     1,280.00
                                              Less agency commission 15%    192.00
                                                             Net payable  1,088.00
                                                               VAT @ 20%    217.60
"""
    layout = candidates_of(typeset(page)).layout

    assert recognise(layout, "purchase_order", 0.8).document_type == "purchase_order"
    assert recognise(layout, "other", 0.8).document_type == "quote"


def test_a_heading_below_the_salutation_is_the_subject(typeset: Typeset) -> None:
    page = """
Hollis & Reeve Solicitors LLP
40 Castle Street, Exeter EX4 3PT

Mr T. Abernathy
2 Orchard Rise
Crediton EX17 2AB

8 June 2026

Dear Mr Abernathy,

Your purchase of 2 Orchard Rise

We write further to our letter of 1 June 2026. Completion
took place on 5 June 2026.

Yours sincerely,
Helen Reeve
"""
    findings = every_finding(candidates_of(typeset(page)), "letter")

    assert findings["subject"].value == "Your purchase of 2 Orchard Rise"
    without = page.replace("Your purchase of 2 Orchard Rise\n\n", "")
    assert "subject" not in every_finding(candidates_of(typeset(without)), "letter")


def test_on_a_picture_a_line_that_was_read_larger_is_no_subject(typeset: Typeset) -> None:
    text = REMINDER.format(title="Payment Reminder").replace("Dear Ms Bell,\n", "")
    document = typeset(text, source="ocr")
    page = document.pages[0]
    boxes = page.words.boxes.copy()
    boxes[np.array(page.words.texts) == "disregard", 1] -= 0.01  # as if it stood out of its line
    words = replace(page.words, boxes=boxes)

    _, extraction = understand(replace(document, pages=[replace(page, words=words)]))

    assert extraction.data.model_dump()["subject"] == "Payment Reminder"


def test_a_subject_told_by_its_size_alone_is_not_believed(typeset: Typeset) -> None:
    document = typeset("Fjällvärme AB\nBox 118, 831 22 Östersund\n\nAtt betala senast\n\nBelopp 60,00 kr\n")
    page = document.pages[0]
    boxes = page.words.boxes.copy()
    boxes[[texts in ("Att", "betala", "senast") for texts in page.words.texts], 3] += 0.01
    large = replace(document, pages=[replace(page, words=replace(page.words, boxes=boxes))])

    subject = every_finding(candidates_of(large), "reminder")["subject"]

    assert (subject.value, subject.probability < FLOOR) == ("Att betala senast", True)


def test_the_day_of_the_unpaid_invoice_is_not_that_of_the_reminder(typeset: Typeset) -> None:
    page = """
Harbour Tools Ltd
4 Dock Street, Leith EH6 6QQ

Payment Reminder

Our invoice INV-881 of 03/02/2026 over 96.00 GBP has not been paid yet.
Please pay within ten days.
"""

    data = understand(typeset(page)).extraction.data.model_dump()

    assert data["issue_date"] is None


def test_the_upper_of_two_addresses_in_the_head_of_a_letter_is_its_sender(typeset: Typeset) -> None:
    page = """
                                            Fernhill Joinery Ltd
                                            7 Canal Row, Bath BA2 4QX


Harbour Coffee Ltd
14 Mill Street
4021 Westbury

12 May 2026

Change of opening hours

Dear Sir or Madam,

we write to tell you that this will change from next month on.

Yours faithfully
A. Moreau
"""

    data = understand(typeset(page)).extraction.data.model_dump()

    assert (data["sender"]["name"], data["recipient"]["name"]) == (
        "Fernhill Joinery Ltd",
        "Harbour Coffee Ltd",
    )


def test_a_letter_whose_spaces_recognition_lost_is_one(typeset: Typeset) -> None:
    page = """
Harbour Tools Ltd
4 Dock Street, Leith

DearMs Bell,

our bank has changed. Please use the new account from May on.

Withkind regards
A. Smith
"""

    assert understand(typeset(page, source="ocr")).classification.document_type == "letter"


@pytest.mark.parametrize(("greeting", "closing"), [("Egregi0 dottor Bell", "Distinti saluti"),
    ("Kære fru Bell", "Med venlig hll5en"), ("Sebr geehrter Herr Bell", "Freundliche Gruße")])  # fmt: skip
def test_a_letter_with_a_misread_greeting_or_closing_is_one(
    typeset: Typeset, greeting: str, closing: str
) -> None:
    page = f"Harbour Tools Ltd\n4 Dock Street, Leith\n\n{greeting},\n\nsee below.\n\n{closing}\nA. Smith\n"

    assert understand(typeset(page, source="ocr")).classification.document_type == "letter"


@pytest.mark.parametrize(
    "title", ["0fferte", "Offerte9270", "KOSTNADSFÖRSL4G", "Devisn° A-84068", "Quotatlon"]
)
def test_a_quote_with_a_misread_title_is_one(typeset: Typeset, title: str) -> None:
    page = GOODS.format(title=title, label="No")

    classification = understand(typeset(page, source="ocr")).classification

    assert (classification.document_type, classification.doubt) == ("quote", "")


@pytest.mark.parametrize("title", ["Servlce Agreement", "Service 4greement", "An5tällningsavtal"])
def test_a_contract_with_a_misread_title_is_one(typeset: Typeset, title: str) -> None:
    page = CONTRACT.format(title=title)

    assert understand(typeset(page, source="ocr")).classification.document_type == "contract"


def test_a_long_report_with_a_letter_in_it_is_no_letter(make_document: Callable[..., Document]) -> None:
    letter = "Dear shareholders,\nwe had a good year and thank you.\nYours sincerely\nThe board"

    assert understand(make_document(letter)).classification.document_type == "letter"
    assert understand(make_document(letter, *["More of it."] * 6)).classification.document_type == "other"


QUOTE = """
Harbour Tools Ltd
4 Dock Street, Leith EH6 6QQ

{title}
Date: 03/04/2026
{label}: Q-77
Valid until: 03/05/2026

Bill to
Annie Bell
9 Mill Lane, Leith EH6 5AA

Description                Quantity      Unit price   Amount
Torque wrench              2             40.00        80.00

Net total                                             80.00
VAT 20%                                               16.00
Total                                                 96.00 GBP
"""


@pytest.mark.parametrize("title", ["Quotation", "Angebot", "Devis", "Preventivo", "Estimate"])
def test_a_quote_is_read_with_its_lines_and_last_day(typeset: Typeset, title: str) -> None:
    classification, extraction = understand(typeset(QUOTE.format(title=title, label="Quote no")))

    assert classification.document_type == extraction.document_type == "quote"
    data = extraction.data.model_dump()
    assert (data["number"], data["gross_total"]) == ("Q-77", Decimal("96.00"))
    assert data["valid_until"] == dt.date(2026, 5, 3)
    assert data["lines"][0]["net_amount"] == Decimal("80.00")


@pytest.mark.parametrize(
    "title",
    ["Pro Forma Invoice", "PRO-FORMA INVOICE", "Proformarechnung", "Facture pro forma", "Faktura pro forma"],
)  # fmt: skip
def test_a_pro_forma_invoice_is_an_offer_and_no_invoice(typeset: Typeset, title: str) -> None:
    classification, _ = understand(typeset(QUOTE.format(title=title, label="No")))

    assert (classification.document_type, classification.doubt) == ("quote", "")


def test_an_invoice_that_names_the_pro_forma_before_it_stays_one(typeset: Typeset) -> None:
    page = QUOTE.format(title="INVOICE", label="Invoice number")
    page = page.replace("Valid until: 03/05/2026", "Your pro forma invoice of 01/03/2026 is settled by it.")

    assert understand(typeset(page)).classification.document_type == "invoice"


STATEMENT = """
Harbour Tools Ltd
4 Dock Street, Leith EH6 6QQ

Customer statement
Date: 03/04/2026

Annie Bell
9 Mill Lane, Leith EH6 5AA

Invoice number      Date            Due date        Amount
INV-880             01/02/2026      03/03/2026      96.00
INV-881             01/03/2026      31/03/2026      48.00

Balance                                             144.00 GBP
"""


def test_a_sellers_list_of_open_invoices_is_no_invoice(typeset: Typeset) -> None:
    assert understand(typeset(STATEMENT)).classification.document_type == "other"


ORDER = """
Harbour Tools Ltd
4 Dock Street, Leith EH6 6QQ

Purchase Order 2026-77
Date: 03/04/2026

Supplier
Annie Bell
9 Mill Lane, Leith EH6 5AA

Description                Quantity      Unit price   Amount
Torque wrench              2             40.00        80.00

Total                                                 80.00 GBP
"""


@pytest.mark.parametrize(("page", "document_type"), [(ORDER, "purchase_order"), (GOODS, "delivery_note")])
def test_a_picture_of_business_papers_is_no_receipt(typeset: Typeset, page: str, document_type: str) -> None:
    page = page.format(title="Delivery Note", label="No")

    classification = understand(typeset(page, source="ocr")).classification

    assert (classification.document_type, classification.doubt) == (document_type, "")


CONTRACT = """
{title}

Landlord: Harbour Tools Ltd
Tenant: Annie Bell
Contract no: MV-4
1. The landlord lets the premises from 1 May 2026.
2. Either party may give two months' notice. Governing law is that of Scotland.

Leith, 3 April 2026
"""


@pytest.mark.parametrize(
    "title", ["Tenancy Agreement", "Mietvertrag", "Huurovereenkomst", "Contrat de location"]
)
def test_a_contract_is_named_with_both_parties_and_its_day(typeset: Typeset, title: str) -> None:
    classification, extraction = understand(typeset(CONTRACT.format(title=title)))

    assert classification.document_type == extraction.document_type == "contract"
    data = extraction.data.model_dump()
    assert data["first_party"]["name"] == "Harbour Tools Ltd"
    assert data["second_party"]["name"] == "Annie Bell"
    assert (data["number"], data["issue_date"]) == ("MV-4", dt.date(2026, 4, 3))


def test_an_order_that_is_headed_contract_stays_an_order(typeset: Typeset) -> None:
    page = """
    Contract
    Advertiser: Bell for Mayor           Agency: Croft Media
    Flight dates: 05/01/2026 - 05/31/2026
    Order number: 771                    Total spots: 44
    Agency commission                    150.00
    Net total                            850.00
    The parties agree to the terms of the station.
    """

    assert understand(typeset(page)).classification.document_type == "purchase_order"


def test_an_invoice_that_speaks_of_an_agreement_stays_an_invoice(typeset: Typeset) -> None:
    page = QUOTE.format(title="Invoice", label="Invoice no").replace("Valid until", "Due date")
    page = page.replace("\nBill to", "\nService Agreement between the parties\n\nBill to")

    assert understand(typeset(page)).classification.document_type == "invoice"


@pytest.mark.parametrize("title", ["Proposal", "Oferta", "Offre"])
def test_a_title_that_settles_nothing_asks_a_person(typeset: Typeset, title: str) -> None:
    page = f"{title}\n\nWe suggest that the hall is painted green, which would please all."

    classification, extraction = understand(typeset(page))

    assert classification.document_type == "other"
    assert [failure.check for failure in extraction.failures] == [TYPE_CHECK]


def test_an_invoice_over_a_negative_total_is_a_credit_note(typeset: Typeset) -> None:
    page = QUOTE.format(title="Invoice", label="Invoice no").replace("Valid until: 03/05/2026\n", "")
    for amount in ("80.00", "16.00", "96.00"):
        page = page.replace(f" {amount}", f" -{amount}")

    classification, extraction = understand(typeset(page))

    assert classification.document_type == extraction.document_type == "credit_note"
    assert extraction.data.model_dump()["gross_total"] == Decimal("96.00")
