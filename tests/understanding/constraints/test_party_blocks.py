"""Who is who on business papers: labels of others, wrapped names, brands, addresses of many countries."""

from collections.abc import Callable
from typing import cast

import pytest

from docmill.model.document import Document
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Invoice
from docmill.understanding.constraints.extractor import extract_by_rules
from docmill.understanding.text.countries import is_country
from docmill.understanding.text.legal_forms import legal_form_end

Typeset = Callable[..., Document]

COLUMNS = """
Holm Trading Ltd - 12 High Street - Leeds - LS1 4AB

Bill to                       Carrier                   Remit to
Marlow Foods Ltd              Schenker AG               Holm Trading Ltd
7 Mill Close                  Hafenstr. 3               PO Box 12
Bath                          20457 Hamburg             Leeds
BA1 1AA                                                 LS9 9ZZ

Invoice No. 17    Date 31/03/2020
"""
BRAND = """
Nordlys Trading Ltd
9 Mill Close
Leeds
LS1 4AB

Bill to
ZENTRIX
Marlow Foods Ltd
7 Church Lane
Bath
BA1 1AA

Invoice No. 17    Date 31/03/2020
"""
WRAPPED = """
Nordlys Trading Ltd
9 Mill Close
Leeds
LS1 4AB

Bill to
Marlow & Sunrise Food Importers &
Wholesalers Ltd
7 Church Lane
Bath
BA1 1AA

Invoice No. 17    Date 31/03/2020
"""
PERSON = """
Nordlys Trading Ltd
9 Mill Close
Leeds
LS1 4AB

Bill to
Marlow Foods Ltd
Attn: Anna Keller
7 Church Lane
Bath
BA1 1AA

Invoice No. 17    Date 31/03/2020
"""
FORM = """
Rechnung 17    Datum 31.03.2020

Verkäufer
Name             Holm Handels GmbH
Anschrift        Hauptstr. 12
                 26121 Oldenburg

Käufer
Name             Marlow Bau AG
Anschrift        Lindenweg 7
                 34117 Kassel
"""
BANK = """
Dubois Logistik

Rechnung 17    Datum 31.03.2020

Rechnungsempfänger:
Marlow Bau AG
Lindenweg 7
34117 Kassel

Dubois Logistik         Deutsche Bank AG
Hauptstr. 12            IBAN DE02120300000000202051
26121 Oldenburg         BIC BYLADEM1001
"""


def read(document: Document) -> Invoice:
    return cast("Invoice", extract_by_rules(document, REGISTRY["invoice"]).data)


def test_carrier_and_payee_are_neither_seller_nor_buyer(typeset: Typeset) -> None:
    invoice = read(typeset(COLUMNS))

    assert invoice.buyer.name == "Marlow Foods Ltd"
    assert invoice.buyer.address == "7 Mill Close, Bath, BA1 1AA"
    assert invoice.seller.name == "Holm Trading Ltd"
    assert "PO Box" not in (invoice.seller.address or "")


def test_the_legal_name_below_a_brand_is_the_name(typeset: Typeset) -> None:
    assert read(typeset(BRAND)).buyer.name == "Marlow Foods Ltd"


def test_a_name_on_two_lines_is_one_name(typeset: Typeset) -> None:
    assert read(typeset(WRAPPED)).buyer.name == "Marlow & Sunrise Food Importers & Wholesalers Ltd"


def test_the_person_a_letter_is_for_is_neither_party_nor_address(typeset: Typeset) -> None:
    invoice = read(typeset(PERSON))

    assert invoice.buyer.name == "Marlow Foods Ltd"
    assert invoice.buyer.address == "7 Church Lane, Bath, BA1 1AA"


def test_a_form_without_colons_is_read(typeset: Typeset) -> None:
    invoice = read(typeset(FORM))

    assert invoice.seller.name == "Holm Handels GmbH"
    assert invoice.seller.address == "Hauptstr. 12, 26121 Oldenburg"
    assert invoice.buyer.name == "Marlow Bau AG"
    assert invoice.buyer.address == "Lindenweg 7, 34117 Kassel"


def test_the_bank_in_the_footer_is_not_the_seller(typeset: Typeset) -> None:
    assert read(typeset(BANK)).seller.name == "Dubois Logistik"


@pytest.mark.parametrize(
    ("street", "town"),
    [
        ("118 King St W", "Halifax, ON P7M 6M0"),
        ("38 Nehru Road", "Bengaluru - 924482"),
        ("Rue du Rhône 75", "3753 Genève"),
        ("ul. Długa 185", "50-148 Gdańsk"),
        ("Karl Johans gate 46", "8913 Tromsø"),
        ("Largo do Carmo, 50", "8573-841 Lisboa"),
        ("137 Ubi Crescent", "Singapore 294819"),
        ("Kungsvägen 149", "814 39 Malmö"),
    ],
)
def test_addresses_of_many_countries_are_whole(typeset: Typeset, street: str, town: str) -> None:
    head = "Nordlys Trading Ltd\n9 Mill Close\nLeeds\nLS1 4AB\n\n"
    page = f"{head}Bill to:\nVega Foods Ltd\n{street}\n{town}\n\nInvoice No. 17\n"

    assert read(typeset(page)).buyer.address == f"{street}, {town}"


def test_the_address_in_a_sender_line_keeps_its_town(typeset: Typeset) -> None:
    page = "Moulin Vert SARL - 1242 chemin du Lac - 84340 Malaucène - France\n\nFacture FA-17\n"

    assert read(typeset(page)).seller.address == "1242 chemin du Lac - 84340 Malaucène"


@pytest.mark.parametrize(
    "name", ["Bei Spiel GmbH", "Ricci s.r.o.", "Orbis a.G.", "Holm Bygg AS", "Vega Kft."]
)
def test_legal_forms_of_many_countries_end_a_name(name: str) -> None:
    assert legal_form_end(name) == len(name)


def test_a_common_word_within_a_text_is_no_legal_form() -> None:
    assert legal_form_end("SAME AS ABOVE") == 0


def test_countries_are_known_in_several_languages() -> None:
    assert all(map(is_country, ("Schweiz", "Danmark", "Norge", "Česko", "FRANCE", "DE")))
    assert not is_country("Paris")
