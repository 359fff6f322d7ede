from collections.abc import Callable
from decimal import Decimal
from typing import cast

from docmill.model.document import Document
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Line, Receipt
from docmill.understanding.receipts.extractor import extract_built_in

Typeset = Callable[..., Document]


def lines_of(document: Document, kind: str = "receipt") -> tuple[Line, ...]:
    extraction = extract_built_in(document, REGISTRY[kind])
    return cast("Receipt", extraction.data).lines


def test_priced_lines_that_make_the_total_are_the_items(typeset: Typeset) -> None:
    lines = lines_of(
        typeset(
            """
          ZWIRN & ZWILLE GMBH
        Lindenallee 14, 20999 Hamburg
Toner schwarz                  64,90 A
Kalender Nebelheim             35,80 B
   4 x 8,95
GESAMTBETRAG                  100,70
Kreditkarte                   100,70
19 %      64,90   10,36
"""
        )
    )

    assert lines == (
        Line(description="Toner schwarz", net_amount=Decimal("64.90")),
        Line(
            description="Kalender Nebelheim",
            quantity=Decimal(4),
            unit_price=Decimal("8.95"),
            net_amount=Decimal("35.80"),
        ),
    )


def test_names_above_their_prices_belong_to_them(typeset: Typeset) -> None:
    lines = lines_of(
        typeset(
            """
          FIX IT HARDWARE SDN BHD
WHITE CABLE TIE 4*200MM
9072317              1 X 3.90    3.90
HOSE PUMP BLUE
9074333              2 X 1.90    3.80
Item(s) : 2               Qty(s) : 3
Total Incl. GST              RM  7.70
CASH                         RM 10.00
CHANGE                       RM  2.30
"""
        )
    )

    assert [line.description for line in lines] == ["WHITE CABLE TIE 4*200MM", "HOSE PUMP BLUE"]
    assert [line.quantity for line in lines] == [1, 2]
    assert [line.unit_price for line in lines] == [Decimal("3.90"), Decimal("1.90")]


def test_names_below_their_prices_belong_to_them(typeset: Typeset) -> None:
    lines = lines_of(
        typeset(
            """
          GIN KEE TRADING
Item         Qty   S/Price   Amount  Tax
1720          1      3.18      3.18  SR
SPONGE SCRUB WITH HANDLE
1604          2      5.00     10.00  SR
PLASTERING TROWEL
   Total Qty  3               13.18
Total Sales                   13.18
"""
        )
    )

    assert [line.description for line in lines] == ["SPONGE SCRUB WITH HANDLE", "PLASTERING TROWEL"]
    assert [line.net_amount for line in lines] == [Decimal("3.18"), Decimal("10.00")]


def test_lines_that_make_no_printed_sum_are_not_believed(typeset: Typeset) -> None:
    lines = lines_of(
        typeset(
            """
          BAKERY SUNRISE
Bread white                     3.20
Rolls                           1.50
TOTAL                           9.99
"""
        )
    )

    assert lines == ()


def test_an_invoice_without_headings_is_read_like_a_till(typeset: Typeset) -> None:
    lines = lines_of(
        typeset(
            """
Factuur 20260815                                 De Zwevende Tulp B.V.
Datum: 15-08-2026

Boeket wekelijks                                              154,00
4 st x 38,50
Tulpenbollen gemengd                                           88,50
6 zak x 14,75

                                  Subtotaal                   242,50
                                  Btw 21%                      50,93
                                  Totaal                      293,43
"""
        ),
        "invoice",
    )

    assert [line.description for line in lines] == ["Boeket wekelijks", "Tulpenbollen gemengd"]
    assert [line.quantity for line in lines] == [4, 6]
    assert [line.unit_price for line in lines] == [Decimal("38.50"), Decimal("14.75")]


def test_a_tax_or_a_payment_is_no_item(typeset: Typeset) -> None:
    tavern = """
          CLACHAN TAVERN
2 Meantime Pale          10.20
20% VAT Net               8.50
20% VAT                   1.70
Total                    10.20
"""
    hotel = """
          CONTOSO HOTEL
American Express        104.92
Total                   104.92
"""

    assert [line.description for line in lines_of(typeset(tavern))] == ["Meantime Pale"]
    assert lines_of(typeset(hotel)) == ()
