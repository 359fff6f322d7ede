import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from docmill.model import Document
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Invoice
from docmill.understanding.extractor import RuleExtractor

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
    return cast("Invoice", asyncio.run(RuleExtractor().extract(document, REGISTRY["invoice"])).data)


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
