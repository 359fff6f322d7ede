from collections.abc import Callable
from typing import cast

from docmill.model.document import Document
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Invoice, PurchaseOrder
from docmill.understanding.constraints.extractor import extract_by_rules
from docmill.understanding.constraints.party_forms import is_pair, is_salutation
from docmill.understanding.gate import RuleGate

Typeset = Callable[..., Document]

FORM = """
Handelsrechnung (380)           Nr. 471102      vom 05.03.2018

Verkäufer
Nummer:                         549910
Name:                           Lieferant GmbH
Anschrift:                      Lieferantenstraße 20
                                80333 München
USt.-Id.-Nr.:                   DE123456789

Käufer/Leistungsempfänger:
Nummer:                         GE2020211
Name:                           Kunden AG Mitte
Anschrift:                      Kundenstraße 15
                                69876 Frankfurt

Rechnung gemäß Bestellung vom 01.03.2018
"""


def read(document: Document) -> Invoice:
    return cast("Invoice", extract_by_rules(document, REGISTRY["invoice"]).data)


def test_the_parties_of_a_form_are_below_their_headings(typeset: Typeset) -> None:
    invoice = read(typeset(FORM))

    assert invoice.seller.name == "Lieferant GmbH"
    assert invoice.seller.address == "Lieferantenstraße 20, 80333 München"
    assert invoice.buyer.name == "Kunden AG Mitte"
    assert invoice.buyer.address == "Kundenstraße 15, 69876 Frankfurt"
    assert invoice.customer_number == "GE2020211"


def test_the_number_is_not_the_code_in_brackets(typeset: Typeset) -> None:
    invoice = read(typeset(FORM))

    assert invoice.number == "471102"
    assert str(invoice.issue_date) == "2018-03-05"


def test_a_wrong_checksum_is_shown_and_doubted(typeset: Typeset) -> None:
    document = typeset(FORM)

    extraction = extract_by_rules(document, REGISTRY["invoice"])

    assert cast("Invoice", extraction.data).seller.vat_id == "DE123456789"
    assert extraction.evidence["seller.vat_id"].confidence < 0.5
    verdict = RuleGate().judge(document, extraction, REGISTRY["invoice"])
    assert "vat_id" in {failure.check for failure in verdict.failures}


def test_a_name_beside_its_heading_is_not_taken_for_a_label(typeset: Typeset) -> None:
    text = """
INVOICE 77    Date: 2024-03-05

BUYER: Buyer Tools Ltd
  12 Main Street
  London SW1A 1AA
SELLER: Seller Works Ltd
  5 High Street
  London SW1A 2AA
  Seller VAT ID: GB123456789
"""
    invoice = read(typeset(text))

    assert invoice.buyer.name == "Buyer Tools Ltd"
    assert invoice.seller.name == "Seller Works Ltd"
    assert invoice.seller.vat_id == "GB123456789"


def test_who_is_greeted_is_named_on_the_next_line(typeset: Typeset) -> None:
    text = """
Muster GmbH · Hauptstr. 1 · 10115 Berlin

Herrn
Max Mustermann
Musterstr. 11
12346 Bad Musterhausen

Rechnung Nr. 5    Datum: 05.03.2024
"""
    assert read(typeset(text)).buyer.name == "Max Mustermann"


def test_pairs_and_salutations_are_known_by_their_looks() -> None:
    assert is_pair("Name: Lieferant GmbH")
    assert not is_pair("https://example.org")
    assert not is_pair("Lieferant GmbH")
    assert is_salutation("Herrn")
    assert not is_salutation("Herrn Max Mustermann")


ORDER = """
BUYER: Mill & Sons                                ORDER CHANGE:        PO4711-C02
  River Street 4                                  Date:                31/03/2020
  69001 Lyon                                      PURCHASE ORDER ID:   PO4711
  ID: BY_9587 - Global ID_GLN: 98765432179
  Buyer VAT ID: FR 05 987 654 321

SHIP TO: Mill Depot                               SELLER: Grain Trade
  Quay 9                                          Field Road 8
  69003 Lyon                                      75001 Paris
  ID: DEPOT_7                                     Seller VAT ID: FR 32 123 456 789
  Ship To VAT ID: FR 66 951 632 874
                                                  SHIP FROM: Grain Depot
                                                  Barn Lane 1
                                                  75003 Paris
                                                  Ship From VAT ID: FR 16 548 963 127
"""


def test_a_form_may_begin_with_the_name_itself(typeset: Typeset) -> None:
    order = cast("PurchaseOrder", extract_by_rules(typeset(ORDER), REGISTRY["purchase_order"]).data)

    assert order.number == "PO4711-C02"
    assert order.buyer.name == "Mill & Sons"
    assert order.customer_number == "BY_9587"
    assert order.buyer.vat_id == "FR05987654321"
    assert order.seller.name == "Grain Trade"
    assert order.seller.vat_id == "FR32123456789"


def test_the_date_of_a_paper_referred_to_is_not_that_of_this_one(typeset: Typeset) -> None:
    invoice = read(
        typeset(FORM.replace("Rechnung gemäß Bestellung", "Rechnung gemäß Betriebskostenrechnung"))
    )

    assert str(invoice.issue_date) == "2018-03-05"
