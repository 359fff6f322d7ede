import datetime as dt
from collections.abc import Callable
from dataclasses import replace

import pytest

from docmill.model.document import Document
from docmill.model.paths import leaves
from docmill.schemas.registry import REGISTRY
from docmill.understanding.constraints.extractor import extract_by_rules
from docmill.understanding.types.classifier import classify

Typeset = Callable[..., Document]

GERMAN_INVOICE = """
Müller GmbH · Hauptstr. 1 · 10115 Berlin

Beispiel AG                                   Rechnungsnr.:   RE-2026-104
Frau Erika Muster                             Rechnungsdatum: 12.03.2026
Industrieweg 5                                Kunden-Nr.:     4711
80331 München                                 Bestellnummer:  B-99


Rechnung

Pos  Bezeichnung        Menge   Einzelpreis     Gesamt
1    Schrauben          10      12,50           125,00
2    Muttern            5       1.000,00        5.000,00

                              Nettobetrag       5.125,00 EUR
                              19% MwSt            973,75 EUR
                              Gesamtbetrag      6.098,75 EUR

Zahlbar bis 26.03.2026. IBAN: DE89 3704 0044 0532 0130 00 BIC: COBADEFFXXX
USt-IdNr.: DE136695976
"""
BRITISH_INVOICE = """
ACME SUPPLIES LTD                                            INVOICE
12 High Street
London SW1A 1AA                          Invoice No.   INV-00077
Tel: 020 7946 0000                       Date          3 March 2026
VAT Reg No: GB123456782                  Due Date      2 April 2026
sales@acmesupplies.co.uk                 PO Number     PO-5512

Bill to:                                 Ship to:
Brown & Sons Limited                     Brown & Sons Limited
4 Mill Lane                              Dock 3
Leeds LS1 4AB                            Leeds LS1 4AB

Description            Qty    Unit Price     VAT     Amount
Paper                  10        £4.00       20%     £40.00
Toner                   2       £60.00       20%     £120.00

                                       Subtotal      £160.00
                                       VAT 20%        £32.00
                                       Total         £192.00
                                       Amount Paid    £50.00
                                       Balance Due   £142.00
"""
FRENCH_INVOICE = """
Dupont SARL
14 rue de la Paix
75002 Paris
Tél. 01 42 86 82 00
SIRET 732 829 320 00074
TVA intracommunautaire FR44732829320
                                        FACTURE N° F-2026-0042
                                        Date : 15 janvier 2026
                                        Échéance : 14/02/2026
Client :
Société Martin SAS
8 avenue Victor Hugo
69002 Lyon

Désignation                 Qté     PU HT      Montant HT
Conseil                     3       450,00     1 350,00

                            Total HT           1 350,00 €
                            TVA 20 %             270,00 €
                            Total TTC          1 620,00 €
                            Net à payer        1 620,00 €
"""
ITALIAN_INVOICE = """
Rossi S.r.l.
Via Roma 12, 20121 Milano
P.IVA 00743110157

Spett.le
Bianchi S.p.A.
Corso Italia 5
10121 Torino

Fattura n. 2026/118 del 05/02/2026
Scadenza: 07/03/2026

Descrizione            Quantità    Prezzo       Importo
Viti                   100         1,20         120,00

Imponibile                                      120,00
IVA 22%                                          26,40
Totale documento                             € 146,40
"""
SPANISH_INVOICE = """
Talleres García S.L.                          FACTURA
Calle Mayor 3                                 Nº de factura: 2026-0031
28013 Madrid                                  Fecha: 09/03/2026
NIF: B58378431                                Vencimiento: 08/04/2026

Facturar a:
Construcciones Norte S.A.
Avenida de la Constitución 10
41001 Sevilla

Concepto           Cantidad     Precio      Importe
Reparación         1            1.200,00    1.200,00

Base imponible                              1.200,00 €
IVA 21 %                                      252,00 €
Total                                       1.452,00 €
"""
AMERICAN_ORDER = """
Globex Corporation                         PURCHASE ORDER
500 Main St
Springfield, IL 62701                      PO Number: 4500012345
                                           Date: 11/20/2025
Vendor:                                    Ship To:
Initech LLC                                Globex Warehouse
4120 Freidrich Ln                          77 Dock Rd
Austin, TX 78744                           Springfield, IL 62702

Item     Description      Qty    Unit Price    Total
1        Stapler          100    $12.00        $1,200.00

                                 Subtotal      $1,200.00
                                 Tax             $99.00
                                 Total         $1,299.00
Delivery date: 12/15/2025
"""
STATEMENT = """
Sparkasse Musterstadt
Kontoauszug 3/2026
Kontoinhaber: Max Mustermann
IBAN: DE89 3704 0044 0532 0130 00
Zeitraum: 01.03.2026 - 31.03.2026

Buchungstag   Verwendungszweck            Betrag
              Alter Kontostand            1.234,56
02.03.2026    Miete                       -800,00
              Neuer Kontostand              434,56
"""
DELIVERY_NOTE = """
Meier GmbH & Co. KG                     Lieferschein
Am Hafen 3
20095 Hamburg                           Lieferschein-Nr.: LS-778
                                        Datum: 04.03.2026
An                                      Auftrags-Nr.: A-1002
Schulze GmbH
Ringstraße 4
50667 Köln

Pos  Artikel     gelieferte Menge
1    Kabel       40
"""
RECEIPT = """
       GREEN LEAF CAFE SDN BHD
            (123456-K)
     NO. 12, JALAN MAWAR 3,
     TAMAN BUNGA, 81100 JOHOR BAHRU
        TEL: 07-1234567
         TAX INVOICE
Invoice No: CS-00412   Date: 25/12/2018 8:13 PM
Latte             2   7.55      15.10
Cake              1   4.00       4.00
Total                           19.12
Rounding                        -0.02
Total Rounded                   19.10
Cash                            20.00
Change                           0.90
     THANK YOU, PLEASE COME AGAIN
"""
TWO_RATES = """
       BLUE BAKERY SDN BHD
Receipt No: 881   Date: 25/12/2018
Buns              4   5.00      20.00
Bread             2   4.65       9.30
Total 5% goods (excl. tax):     20.00
Tax:                             1.00
Total 5% goods (incl. tax):     21.00
Total 0% goods:                  9.30
Total Payable:                  30.30
     THANK YOU, PLEASE COME AGAIN
"""
ROUNDED = """
       CORNER SHOP SDN BHD
Receipt No: 882   Date: 25/12/2018
Soap              2   5.99      11.98
Rice              1  20.00      20.00
Total Sales (inclusive tax) RM  31.98
Rounding RM                     32.00
Credit RM                       32.00
     THANK YOU, PLEASE COME AGAIN
"""

EXPECTED: list[tuple[str, str, str | None, dict[str, str]]] = [
    (
        GERMAN_INVOICE,
        "invoice",
        "de",
        {
            "number": "RE-2026-104",
            "issue_date": "2026-03-12",
            "due_date": "2026-03-26",
            "customer_number": "4711",
            "order_number": "B-99",
            "seller.name": "Müller GmbH",
            "seller.vat_id": "DE136695976",
            "buyer.name": "Beispiel AG",
            "buyer.address": "Industrieweg 5, 80331 München",
            "currency": "EUR",
            "net_total": "5125.00",
            "tax_total": "973.75",
            "gross_total": "6098.75",
            "payment.iban": "DE89370400440532013000",
            "payment.bic": "COBADEFFXXX",
        },
    ),
    (
        BRITISH_INVOICE,
        "invoice",
        "en",
        {
            "number": "INV-00077",
            "issue_date": "2026-03-03",
            "due_date": "2026-04-02",
            "order_number": "PO-5512",
            "seller.name": "ACME SUPPLIES LTD",
            "seller.address": "12 High Street, London SW1A 1AA",
            "seller.vat_id": "GB123456782",
            "buyer.name": "Brown & Sons Limited",
            "buyer.address": "4 Mill Lane, Leeds LS1 4AB",
            "currency": "GBP",
            "net_total": "160.00",
            "tax_total": "32.00",
            "gross_total": "192.00",
            "amount_due": "142.00",
        },
    ),
    (
        FRENCH_INVOICE,
        "invoice",
        "fr",
        {
            "number": "F-2026-0042",
            "issue_date": "2026-01-15",
            "due_date": "2026-02-14",
            "seller.name": "Dupont SARL",
            "seller.address": "14 rue de la Paix, 75002 Paris",
            "seller.vat_id": "FR44732829320",
            "buyer.name": "Société Martin SAS",
            "buyer.address": "8 avenue Victor Hugo, 69002 Lyon",
            "currency": "EUR",
            "net_total": "1350.00",
            "tax_total": "270.00",
            "gross_total": "1620.00",
            "amount_due": "1620.00",
        },
    ),
    (
        ITALIAN_INVOICE,
        "invoice",
        "it",
        {
            "number": "2026/118",
            "issue_date": "2026-02-05",
            "due_date": "2026-03-07",
            "seller.name": "Rossi S.r.l.",
            "buyer.name": "Bianchi S.p.A.",
            "buyer.address": "Corso Italia 5, 10121 Torino",
            "net_total": "120.00",
            "tax_total": "26.40",
            "gross_total": "146.40",
            "currency": "EUR",
        },
    ),
    (
        SPANISH_INVOICE,
        "invoice",
        "es",
        {
            "number": "2026-0031",
            "issue_date": "2026-03-09",
            "due_date": "2026-04-08",
            "seller.name": "Talleres García S.L.",
            "buyer.name": "Construcciones Norte S.A.",
            "net_total": "1200.00",
            "tax_total": "252.00",
            "gross_total": "1452.00",
        },
    ),
    (
        AMERICAN_ORDER,
        "purchase_order",
        "en",
        {
            "number": "4500012345",
            "issue_date": "2025-11-20",
            "delivery_date": "2025-12-15",
            "seller.name": "Initech LLC",
            "seller.address": "4120 Freidrich Ln, Austin, TX 78744",
            "buyer.name": "Globex Corporation",
            "currency": "USD",
            "net_total": "1200.00",
            "tax_total": "99.00",
            "gross_total": "1299.00",
        },
    ),
    (
        STATEMENT,
        "bank_statement",
        "de",
        {
            "iban": "DE89370400440532013000",
            "period_start": "2026-03-01",
            "period_end": "2026-03-31",
            "opening_balance": "1234.56",
            "closing_balance": "434.56",
        },
    ),
    (
        DELIVERY_NOTE,
        "delivery_note",
        "de",
        {
            "number": "LS-778",
            "issue_date": "2026-03-04",
            "order_number": "A-1002",
            "seller.name": "Meier GmbH & Co. KG",
            "buyer.name": "Schulze GmbH",
        },
    ),
    (
        RECEIPT,
        "receipt",
        "en",
        {
            "number": "CS-00412",
            "issue_date": "2018-12-25",
            "time": "20:13",
            "seller.name": "GREEN LEAF CAFE SDN BHD",
            "seller.address": "NO. 12, JALAN MAWAR 3, TAMAN BUNGA, 81100 JOHOR BAHRU",
            "gross_total": "19.10",
        },
    ),
    (TWO_RATES, "receipt", "en", {"issue_date": "2018-12-25", "gross_total": "30.30"}),
    (ROUNDED, "receipt", "en", {"issue_date": "2018-12-25", "gross_total": "32.00"}),
]
IDS = [
    *("german", "british", "french", "italian", "spanish", "order", "statement", "delivery", "receipt"),
    *("two rates", "rounded"),
]


@pytest.mark.parametrize(("text", "kind", "language", "expected"), EXPECTED, ids=IDS)
async def test_a_documents_type_and_language_are_told(
    typeset: Typeset, text: str, kind: str, language: str | None, expected: dict[str, str]
) -> None:
    classification = classify(typeset(text))

    assert (classification.document_type, classification.language) == (kind, language)
    assert classification.title
    assert expected.get("number", "") in classification.title
    assert str(classification.document_date) in expected.values()


@pytest.mark.parametrize(("text", "kind", "language", "expected"), EXPECTED, ids=IDS)
async def test_a_documents_fields_are_read(
    typeset: Typeset, text: str, kind: str, language: str | None, expected: dict[str, str]
) -> None:
    del language

    extraction = extract_by_rules(typeset(text), REGISTRY[kind])

    found = {path: str(value) for path, value in leaves(extraction.data)}
    assert {path: found.get(path) for path in expected} == expected
    assert set(found) == set(extraction.evidence)


async def test_a_title_and_a_summary_name_number_and_parties(typeset: Typeset) -> None:
    classification = classify(typeset(GERMAN_INVOICE))

    assert classification.title == "Invoice RE-2026-104, Müller GmbH"
    assert classification.summary == (
        "Invoice RE-2026-104 from Müller GmbH to Beispiel AG of 2026-03-12 for 6098.75 EUR."
    )


async def test_a_statement_is_summed_up_by_its_account_and_not_by_its_bookings(typeset: Typeset) -> None:
    classification = classify(typeset(STATEMENT))

    assert classification.summary is not None
    assert classification.summary.endswith(
        "of DE89370400440532013000 from 2026-03-01 to 2026-03-31 with 434.56 at its end."
    )


async def test_the_day_of_a_statement_is_the_end_of_its_period(typeset: Typeset) -> None:
    first_booking = STATEMENT.replace("Buchungstag   Verwendungszweck", "Datum         Verwendungszweck")

    assert classify(typeset(first_booking)).document_date == dt.date(2026, 3, 31)


async def test_a_letter_is_of_no_known_type(typeset: Typeset) -> None:
    classification = classify(typeset("Dear Anna,\n\nthe weather is fine here."))

    assert classification.document_type == "other"
    assert classification.title is None


async def test_only_the_first_and_last_pages_of_a_long_document_are_read(typeset: Typeset) -> None:
    middle = ["Total 1,00" for _ in range(400)]
    document = typeset("\f".join([BRITISH_INVOICE, *middle, "the end"]))

    extraction = extract_by_rules(document, REGISTRY["invoice"])

    assert extraction.evidence["gross_total"].page == 1


async def test_a_block_may_be_flush_right_and_a_number_look_like_a_date(typeset: Typeset) -> None:
    document = typeset("""
Factuur 20260815                             De Zwevende Tulp B.V.
                                                  Wolkengracht 101
                                                 1099 ZZ Amsterdam
Datum: 15-08-2026

Totaal                                                     353,93
""")

    extraction = extract_by_rules(document, REGISTRY["invoice"])

    found = {path: str(value) for path, value in leaves(extraction.data)}
    assert found["number"] == "20260815"
    assert found["seller.name"] == "De Zwevende Tulp B.V."
    assert found["seller.address"] == "Wolkengracht 101, 1099 ZZ Amsterdam"


MAIL = """
From: Ann Berg <ann@acmesupplies.co.uk>
To: office@example.com
Date: Wed, 14 Oct 2026 10:00:00 +0200
Subject: Your invoice
Attachments: invoice-104.pdf

Dear all,
please find our invoice attached.
"""
NUMBERED_MAIL = MAIL.replace("Dear all", "Invoice no. 104\nInvoice date: 14 October 2026\n\nDear all")


@pytest.mark.parametrize(
    ("text", "media_type", "document_type"),
    [
        (NUMBERED_MAIL, "message/rfc822", "other"),
        (NUMBERED_MAIL, "application/pdf", "invoice"),
        (BRITISH_INVOICE, "message/rfc822", "invoice"),
    ],
)
async def test_a_mail_that_only_speaks_of_an_invoice_is_none(
    typeset: Typeset, text: str, media_type: str, document_type: str
) -> None:
    classification = classify(replace(typeset(text), media_type=media_type))

    assert classification.document_type == document_type


@pytest.mark.parametrize(
    ("text", "media_type", "title"),
    [
        (MAIL, "message/rfc822", "Your invoice"),
        (MAIL.replace("Subject: Your invoice", "Subject:"), "message/rfc822", None),
        (MAIL.replace("invoice", "greetings"), "application/pdf", None),
        ("Dear Ann\nSubject: not in the head", "message/rfc822", None),
    ],
)
async def test_a_mail_of_no_known_type_is_called_by_its_subject(
    typeset: Typeset, text: str, media_type: str, title: str | None
) -> None:
    classification = classify(replace(typeset(text), media_type=media_type))

    assert classification.title == title
