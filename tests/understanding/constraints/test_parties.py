from collections.abc import Callable
from typing import cast

import pytest

from docmill.model.document import Document
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Invoice
from docmill.understanding.constraints.extractor import every_finding, extract_by_rules
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.withholding import withhold

Typeset = Callable[..., Document]

FACTURE = """
Moulin Vert SARL - 12 chemin du Lac - 84340 Malaucène - France
http://www.moulinvert.fr

Facture FA-17

Adresse de livraison                    Ma jolie boutique
Ma jolie boutique                       Alexandre Payet
35 rue de la République                 35 rue de la République
69001 Lyon                              69001 Lyon
sav@majolieboutique.net

Date de facture   16/11/2017
"""
BILL = """
Bill to Address:
ATTN: Vive Labs Limited
93B Sai Yu Chung
Yuen Long, N.T., 0000, HK

Invoice Number:   42183017
Invoice Date:     August 3, 2014
"""
VATS = """
Seller: Grain Trade                        Ship to: Mill Depot
Field Road 8                               Quay 9
75001 Paris                                69003 Lyon
Seller VAT ID: FR 32 123 456 789           Ship to VAT ID: FR 66 951 632 874

Invoice No. 17    Date 31/03/2020
"""

TERMS = """
Beschreibung                                        Fälligkeit
Zahlungsbedingungen: Der Rechnungsbetrag ist klein  03.10.2014
"""


def read(document: Document) -> Invoice:
    return cast("Invoice", extract_by_rules(document, REGISTRY["invoice"]).data)


def test_the_mail_address_below_a_delivery_address_is_not_the_writers(typeset: Typeset) -> None:
    invoice = read(typeset(FACTURE))

    assert invoice.buyer.name == "Ma jolie boutique"
    assert invoice.seller.name == "Moulin Vert SARL"


def test_a_line_of_the_buyers_address_is_not_the_seller(typeset: Typeset) -> None:
    invoice = read(typeset(BILL))

    assert invoice.buyer.name == "Vive Labs Limited"
    assert invoice.seller.name is None


def test_the_identifier_of_a_place_is_no_partys(typeset: Typeset) -> None:
    invoice = read(typeset(VATS))

    assert invoice.seller.vat_id == "FR32123456789"
    assert invoice.buyer.vat_id is None


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("Beitrag für den Zeitraum vom 06.12.2013 bis zum 06.12.2014", "due_date", None),
        ("Beitrag für den Zeitraum vom 06.12.2013 bis zum 06.12.2014", "issue_date", "2014-01-24"),
        ("Wir buchen dann zu den Fälligkeiten\n01.07.2014 den Beitrag ab", "issue_date", "2014-01-24"),
        (
            TERMS,
            "due_date",
            "2014-10-03",
        ),
    ],
)
def test_sentences_do_not_take_dates_for_another_field(
    typeset: Typeset, text: str, field: str, value: str | None
) -> None:
    invoice = read(typeset(f"Beitragsrechnung                 24. Januar 2014\n\n\n\n{text}\n"))
    found = getattr(invoice, field)

    assert (found and str(found)) == value


ADDRESSED = """
Studio Lotte                                Invoice
Molenpad 9
3599 AB Utrecht
hello@studiolotte.nl

Invoice No. 014                             Gipfel Werbeagentur GmbH
Date 21 Aug 2026                            Bergisel 5/2
                                            6099 Innsbruck
                                            VAT No. ATU61283747
"""
ACCOUNTS = """
Fjordly Freight Inc.                        Invoice Number   88213
4800 Imaginary Pkwy, Portland, OR 97299     Account No.      {number}
"""
CREDIT = """
Gutschrift Nr.      Datum
GS-2026-021         7.9.2026

Zu unserer Rechnung RE-2026-188 vom 17.8.2026 schreiben wir Ihnen gut:
"""


def test_a_tax_identifier_below_an_address_speaks_for_no_writer(typeset: Typeset) -> None:
    assert read(typeset(ADDRESSED)).buyer.name == "Gipfel Werbeagentur GmbH"


def test_an_account_is_the_customers_unless_a_bank_is_near(typeset: Typeset) -> None:
    customers = ACCOUNTS.replace("{number}", "TUMBLE-04")
    banks = ACCOUNTS.replace("{number}", "31926819\n" + " " * 44 + "Sort code        601613")

    assert read(typeset(customers)).customer_number == "TUMBLE-04"
    assert read(typeset(banks)).customer_number is None


def test_a_paper_referred_to_lends_neither_number_nor_date(typeset: Typeset) -> None:
    credit = read(typeset(CREDIT))

    assert credit.number == "GS-2026-021"
    assert str(credit.issue_date) == "2026-09-07"


ACCOUNT = """
Rechnung Nr. 471102      Datum 05.03.2018

Überweisen Sie bitte auf folgende Bankverbindung:
DE75123456780000001234{bic}, Sparkasse Musterstadt
"""


def test_a_misread_account_is_known_by_the_bic_behind_it(typeset: Typeset) -> None:
    known = read(typeset(ACCOUNT.replace("{bic}", ", BIC WELADED1MST")))
    unknown = read(typeset(ACCOUNT.replace("{bic}", "")))

    assert known.payment.iban == "DE75123456780000001234"
    assert unknown.payment.iban is None


FAKTURA = """
Młyn Zielony sp. z o.o.
ul. Polna 3
00-950 Warszawa
NIP: 526-104-08-28

Faktura nr 17/2026                          Data wystawienia: 05.03.2026

Nabywca: Piekarnia Kłos sp. z o.o.
ul. Leśna 8
30-001 Kraków
NIP: 676-000-17-70                          Tel.: 676 000 17 87

Razem do zapłaty                            123,00 zł
"""


def test_vat_numbers_of_a_language_whose_papers_lack_the_prefix_are_taken_with_it(typeset: Typeset) -> None:
    invoice = read(typeset(FAKTURA))

    assert invoice.seller.vat_id == "PL5261040828"
    assert invoice.buyer.vat_id == "PL6760001770"


def test_where_nothing_tells_the_parties_apart_neither_is_believed(typeset: Typeset) -> None:
    page = """
Zilvermeeuw Bouw B.V.                      De Graaf Staal B.V.
Havenweg 9                                 Kade 14
4251 NC Werkendam                          5701 RK Helmond

Nr. 2026-118                               12-05-2026
"""
    extraction = withhold(extract_by_rules(typeset(page), REGISTRY["invoice"]), REGISTRY["invoice"])
    data = extraction.data.model_dump()

    assert (data["seller"], data["buyer"]) == ({"name": None, "address": None, "vat_id": None},) * 2
    offered = {str(suggestion.value) for suggestion in extraction.suggestions["seller.name"]}
    assert offered == {"Zilvermeeuw Bouw B.V.", "De Graaf Staal B.V."}


@pytest.mark.parametrize(
    "lines", ["Wohnbau Lippe eG\nHerrn Jürgen Althoff", "Herrn Jürgen Althoff\nWohnbau Lippe eG"]
)
def test_the_person_in_the_address_of_a_firm_is_no_party(typeset: Typeset, lines: str) -> None:
    page = f"""
Zimmerei Oberländer GmbH · Am Sägewerk 12 · 87509 Immenstadt

{lines}
Königsstraße 3
32756 Detmold

Rechnung Nr. 26-0418                       9. Oktober 2026
"""
    data = extract_by_rules(typeset(page), REGISTRY["invoice"]).data.model_dump()

    assert data["buyer"]["name"] == "Wohnbau Lippe eG"


@pytest.mark.parametrize(
    "line", ["Seattle, WA 98109-5210, US", "QTY", "GBP", "BIC/SWIFT ID", "DatiAnagrafici>"]
)
def test_a_town_a_label_or_a_currency_is_no_party(typeset: Typeset, line: str) -> None:
    page = f"{line}\n\nInvoice No. R-2026-17      03/23/2026\n\nTotal   USD 12.00\n"
    findings = every_finding(candidates_of(typeset(page)), "invoice")

    assert "seller.name" not in findings


def test_words_in_place_of_a_name_are_one(typeset: Typeset) -> None:
    page = "BUYER: BUYER_NAME\nBUYER_ADDR_1\n69001 BUYER_CITY\n\nInvoice No. R-2026-17      03/23/2026\n"
    findings = every_finding(candidates_of(typeset(page)), "invoice")

    assert findings["buyer.name"].value == "BUYER_NAME"
