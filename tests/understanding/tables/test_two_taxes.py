"""Items of invoices with two taxes, and with prices without tax beside amounts with it."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from docmill.model.document import Document
from docmill.schemas.registry import REGISTRY
from docmill.understanding.constraints.extractor import extract_by_rules

Typeset = Callable[..., Document]

HEAD = """
Sharma Electricals Pvt Ltd                                    TAX INVOICE
14 Nehru Road, Pune 411001
Invoice No: SE/26-27/118          Date: 12/05/2026

"""
TAX_COLUMNS = """
Sl  Description        HSN    Qty   Rate      Taxable    CGST   CGST Amt   SGST   SGST Amt      Total
1   LED panel 18W      9405    20   450.00   9,000.00    9%       810.00    9%       810.00   10,620.00
2   Switch board       8536    10   320.00   3,200.00    9%       288.00    9%       288.00    3,776.00
3   Cable 2.5mm 90m    8544     4  1,150.00  4,600.00    9%       414.00    9%       414.00    5,428.00
                                    Total    16,800.00            1,512.00             1,512.00   19,824.00
"""
TAX_LINES = """
S.No  Particulars               HSN     Qty     Rate       Amount
1     A4 paper ream             4802      12   280.00     3,360.00
2     Ball pen blue (box)       9608       5   140.00       700.00
{taxes}
      Total                                               4,790.80
"""
INDIAN = """
      CGST @ 9%                                             365.40
      SGST @ 9%                                             365.40
"""
AMERICAN = """
      State tax 4.85%                                       196.91
      County tax 2.0%                                        81.20
"""
GERMAN = """
      19 % MwSt.                                            771.40
"""
WITH_TAX = """
Item                        Qty       Rate ex GST       GST     Amount inc GST
Hot water unit 250L           1          1,180.00    118.00           1,298.00
Labour (hrs)                  5             95.00     47.50             522.50
Fittings                      1             64.00      6.40              70.40
                              Total GST              171.90
                              Total                                   1,890.90
"""


def lines(document: Document) -> list[dict[str, Any]]:
    data = extract_by_rules(document, REGISTRY["invoice"]).data.model_dump()
    result: list[dict[str, Any]] = data["lines"]
    return result


def test_the_net_amount_stands_between_columns_of_two_taxes(typeset: Typeset) -> None:
    items = lines(typeset(HEAD + TAX_COLUMNS))

    assert [str(item["net_amount"]) for item in items] == ["9000.00", "3200.00", "4600.00"]
    assert [str(item["unit_price"]) for item in items] == ["450.00", "320.00", "1150.00"]


def test_the_rate_of_two_halves_of_one_tax_is_their_sum(typeset: Typeset) -> None:
    assert [item["tax_rate"] for item in lines(typeset(HEAD + TAX_COLUMNS))] == [Decimal(18)] * 3


def test_the_first_of_two_rates_that_differ_is_that_of_the_items(typeset: Typeset) -> None:
    page = (
        TAX_COLUMNS.replace("CGST", "GST ")
        .replace("SGST", "PST ")
        .replace("9%       810.00    9%", "5%       810.00    7%")
    )

    assert lines(typeset(HEAD + page))[0]["tax_rate"] == Decimal(5)


@pytest.mark.parametrize("taxes", [INDIAN, AMERICAN, GERMAN])
def test_lines_of_taxes_below_the_items_are_no_items(taxes: str, typeset: Typeset) -> None:
    items = lines(typeset(HEAD + TAX_LINES.format(taxes=taxes.strip("\n"))))

    assert [item["description"] for item in items] == ["A4 paper ream", "Ball pen blue (box)"]


def test_an_item_with_a_quantity_may_speak_of_a_tax(typeset: Typeset) -> None:
    page = TAX_LINES.format(taxes="3     VAT 20% advice             9983       1    50.00        50.00")

    assert lines(typeset(HEAD + page))[2]["description"] == "VAT 20% advice"


def test_the_net_amount_of_an_item_is_without_the_tax_of_its_row(typeset: Typeset) -> None:
    extraction = extract_by_rules(typeset(HEAD + WITH_TAX), REGISTRY["invoice"])

    items = extraction.data.model_dump()["lines"]
    assert [str(item["net_amount"]) for item in items] == ["1180.00", "475.00", "64.00"]
    assert [str(item["unit_price"]) for item in items] == ["1180.00", "95.00", "64.00"]
