from collections.abc import Callable
from typing import cast

import pytest

from docmill.model.document import Document
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Invoice
from docmill.understanding.constraints.extractor import extract_by_rules

Typeset = Callable[..., Document]
PAGE = """
{title}

{seller}: Halden Freight Ltd, 4 Mill Road, 75001 Paris
{buyer} Acme Traders Ltd, 9 Field Road, 69003 Lyon

No. 4471                    12.03.2026
"""


def read(document: Document) -> Invoice:
    return cast("Invoice", extract_by_rules(document, REGISTRY["invoice"]).data)


@pytest.mark.parametrize(
    ("title", "seller", "buyer"),
    [
        ("Invoice", "Seller", "Buyer:"),
        ("Invoice", "Supplier", "Bill to:"),
        ("Self-Billed Invoice", "Supplier", "Customer (issuer):"),
        ("Fattura", "Fornitore", "Spett.le"),
        ("Faktura", "Sprzedawca", "Nabywca:"),
    ],
)
def test_a_label_before_name_and_address_on_one_line_tells_the_party(
    typeset: Typeset, title: str, seller: str, buyer: str
) -> None:
    invoice = read(typeset(PAGE.format(title=title, seller=seller, buyer=buyer)))

    assert (invoice.seller.name, invoice.seller.address) == (
        "Halden Freight Ltd",
        "4 Mill Road, 75001 Paris",
    )
    assert (invoice.buyer.name, invoice.buyer.address) == ("Acme Traders Ltd", "9 Field Road, 69003 Lyon")


@pytest.mark.parametrize("tail", ["VAT No. NL004495445B01", "NL004495445B01", "(512) 555-0143"])
def test_what_follows_the_town_is_no_address(typeset: Typeset, tail: str) -> None:
    page = f"Seller: Halden Freight Ltd, 4 Mill Road, 75001 Paris {tail}\n\nInvoice No. 17   12.03.2026"

    assert read(typeset(page)).seller.address == "4 Mill Road, 75001 Paris"


def test_who_is_addressed_by_a_salutation_is_not_the_writer(typeset: Typeset) -> None:
    page = """
Velowerk Muster
Seestrasse 4, 3005 Bern

Herr Urs Muster, Feldweg 1, 3110 Thun

Rechnung 4471     Bern, 3. April 2026
"""
    invoice = read(typeset(page))

    assert invoice.seller.name == "Velowerk Muster"


def test_an_address_on_the_line_of_the_name_needs_no_postcode(typeset: Typeset) -> None:
    page = "The Old Mill Print Co.\nUnit 2, Riverside, Bath BA2 3DZ\n\nInvoice 5521    3 April 2026\n"
    invoice = read(typeset(f"{page}\nInvoice to: Avon Choral Society, 9 Abbey Walk, Bath\n"))

    assert (invoice.buyer.name, invoice.buyer.address) == ("Avon Choral Society", "9 Abbey Walk, Bath")


@pytest.mark.parametrize("behind", ["NIF P2810600B", "CIF: B81234567", "GSTIN 29AAFFK2201C1ZP"])
def test_the_label_of_an_identifier_behind_a_name_is_no_part_of_it(typeset: Typeset, behind: str) -> None:
    page = f"Cliente: Comunidad de Parla {behind}\nPlaza Mayor 1, 28981 Parla\n\nFactura 17    12.03.2026"

    assert read(typeset(page)).buyer.name == "Comunidad de Parla"


def test_the_number_of_a_post_box_does_not_end_an_address(typeset: Typeset) -> None:
    page = """
Invoice 88213          12 March 2026

Bill to
Carver Steelworks LLC
PO Box 4417
Lynchburg, VA 24502
"""
    assert read(typeset(page)).buyer.address == "PO Box 4417, Lynchburg, VA 24502"


SELF_BILLED = """
Self-billing invoice

{buyer}: Meadow Dairy Co-operative Ltd, Creamery Lane, Frome BA11 4QD
{seller}: R. & J. Tuckwell, Combe Farm, Shepton Mallet BA4 4NN

Invoice no: SB-26-1107      30 September 2026
"""


@pytest.mark.parametrize(
    ("buyer", "seller"),
    [
        ("Issued by (customer)", "On behalf of (supplier)"),
        ("Customer (issuer)", "Supplier"),
        ("Customer", "Seller"),
    ],
)
def test_a_note_says_which_party_wrote_a_self_billed_invoice(
    typeset: Typeset, buyer: str, seller: str
) -> None:
    invoice = read(typeset(SELF_BILLED.format(buyer=buyer, seller=seller)))

    assert (invoice.seller.name, invoice.buyer.name) == ("R. & J. Tuckwell", "Meadow Dairy Co-operative Ltd")


@pytest.mark.parametrize("department", ["Inkoop", "Accounts Payable", "Buchhaltung", "Service achats"])
def test_a_department_before_the_address_is_no_party(typeset: Typeset, department: str) -> None:
    page = f"""
Waterschap Oude Rijn
{department}, Dijkgraafplein 1, 2401 AL Alphen

Inkooporder 4500-7781              12 mei 2026

Leverancier: Pompentechniek Vlist B.V., Industrieweg 6, 2850 AB Vlist
"""
    data = extract_by_rules(typeset(page), REGISTRY["purchase_order"]).data.model_dump()

    assert data["buyer"]["name"] == "Waterschap Oude Rijn"


FREIGHT = """
Nordkap Spedition AB                            FAKTURA
Frihamnen 4, 417 55 Göteborg                    Fakturanr 88120

Fakturamottagare                {sender}                       {receiver}
Glasbruket i Småland AB         Glasbruket i Småland AB        Kristall & Co ApS
Hyttgatan 2                     Industrigatan 9                Bredgade 11
360 51 Hovmantorp               360 51 Hovmantorp              1260 København K
"""


@pytest.mark.parametrize(
    ("sender", "receiver"), [("Avsändare", "Mottagare"), ("Sender", "Consignee"), ("Absender", "Empfänger")]
)
def test_who_sends_and_receives_the_goods_of_a_carrier_is_neither_party(
    typeset: Typeset, sender: str, receiver: str
) -> None:
    page = FREIGHT.replace("{sender}", sender.ljust(8)).replace("{receiver}", receiver)
    invoice = read(typeset(page))

    assert (invoice.seller.name, invoice.buyer.name) == ("Nordkap Spedition AB", "Glasbruket i Småland AB")


def test_a_credit_by_the_buyer_is_written_by_the_buyer(typeset: Typeset) -> None:
    page = """
Molkerei Allgäuland GmbH · Milchstr. 1 · 87527 Sonthofen

Hofgemeinschaft Berger GbR
Oberdorf 7
87541 Bad Hindelang

Milchgeldabrechnung (Gutschrift gem. § 14 Abs. 2 UStG)     MG-0226-4471     05.03.2026
"""
    invoice = read(typeset(page))

    assert (invoice.seller.name, invoice.buyer.name) == (
        "Hofgemeinschaft Berger GbR",
        "Molkerei Allgäuland GmbH",
    )
