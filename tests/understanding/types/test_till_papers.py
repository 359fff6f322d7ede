"""Slips of card payments and tickets are told from receipts."""

from collections.abc import Callable

import pytest

from docmill.model.document import Document
from docmill.understanding.offline import understand

Typeset = Callable[..., Document]

CARD_SLIP = """
      Harbour Coffee
   12 Quay Street, Leith
MERCHANT ID:  700012345
TERMINAL ID:  00412233
CARD: ************4321
CONTACTLESS
DATE 03/04/2026  TIME 10:12:44
AUTH CODE: 77AB21
AID: A0000000041010
SALE  GBP     10.00
APPROVED
   CUSTOMER COPY
"""
RECEIPT = """
      Harbour Coffee
   12 Quay Street, Leith
Flat white          3.20
Carrot cake         6.80
TOTAL GBP          10.00
VAT 20%             1.67
"""
PAID = """
      Harbour Coffee Ltd
   12 Quay Street, Leith EH6 6QQ
   Tel 0131 555 0101   VAT Reg No 123 4567 82
{words}
Receipt No 4711   Date 03/04/2026 10:12
2 Flat white   3.20      6.40
1 Carrot cake            3.60
Subtotal                10.00
TOTAL GBP               10.00
Cash                    20.00
Change                  10.00
VAT 20% incl             1.67
Thank you for your visit
"""
TICKETS = [
    """
  Einzelkarte - STADTBAHN BEISPIELSTADT
4711  03.04.2026  15:37
Zum sofortigen Fahrtantritt entwertet
1 Erwachsener                   2,40
inkl. 10% USt
Summe EUR                       2,40
""",
    """
     Coast Express Ltd
  One-way ticket   Adult
  Valid 90 days
GBP        32.00   Receipt
Incl 20% VAT 5.33
2026-04-03 07:34
""",
    """
     METRO DE EJEMPLO S.A.
Billete sencillo    Adulto
Valido para un viaje
Fecha 03/04/2026  10:28
TOTAL EUR            5,80
IVA 10%              0,53
""",
]


def test_a_slip_of_a_card_payment_alone_has_a_type_of_its_own(typeset: Typeset) -> None:
    classification, extraction = understand(typeset(CARD_SLIP))

    assert classification.document_type == extraction.document_type == "card_slip"
    assert str(extraction.data.model_dump()["gross_total"]) == "10.00"


def test_a_slip_under_a_receipt_leaves_it_a_receipt(typeset: Typeset) -> None:
    assert understand(typeset(RECEIPT + CARD_SLIP)).classification.document_type == "receipt"


@pytest.mark.parametrize("page", TICKETS)
def test_a_ticket_has_a_type_of_its_own(typeset: Typeset, page: str) -> None:
    classification, extraction = understand(typeset(page))

    assert classification.document_type == extraction.document_type == "ticket"


def test_a_receipt_that_speaks_of_a_ticket_is_none(typeset: Typeset) -> None:
    page = RECEIPT + "Ticket 4711\nVoucher valid until 31/12/2026\n"

    assert understand(typeset(page)).classification.document_type == "receipt"


@pytest.mark.parametrize(
    "words",
    [
        "ORDER SLIP  Table 7", "This is not an official receipt", "PROVISIONAL BILL", "KITCHEN ORDER",
        "*** ZWISCHENRECHNUNG ***", "Dies ist keine Rechnung", "NOTE PROVISOIRE", "PRECONTO",
        "Consulta de mesa", "DETTA ÄR INTE ETT KVITTO", "Geen BTW bon", "OVO NIJE FISKALIZIRANI RAČUN",
    ],
)  # fmt: skip
@pytest.mark.parametrize("source", ["text", "ocr"])
def test_a_slip_that_says_that_it_is_no_receipt_is_asked_about(
    typeset: Typeset, words: str, source: str
) -> None:
    _, extraction = understand(typeset(PAID.format(words=words), source=source))

    assert "may be no receipt" in next(
        failure.message for failure in extraction.failures if failure.check == "document_type"
    )


def test_a_receipt_that_names_a_kitchen_and_an_order_is_one(typeset: Typeset) -> None:
    classification = understand(typeset(PAID.format(words="Kitchen Table 7  Order No. 12"))).classification

    assert (classification.document_type, classification.doubt) == ("receipt", "")
