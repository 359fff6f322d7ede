from collections.abc import Callable
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
import zxingcpp

from docmill.model.document import Document
from docmill.model.paths import leaves
from docmill.reading.images.codes import read_codes
from docmill.schemas.registry import REGISTRY
from docmill.understanding.coded_values.comparison import parse_code
from docmill.understanding.coded_values.contents import PAYABLE
from docmill.understanding.offline import extract
from support.codes import draw_code, put_codes, read_code

Typeset = Callable[..., Document]
FORMAT = zxingcpp.BarcodeFormat


@pytest.mark.parametrize("symbology", [FORMAT.Code128, FORMAT.DataMatrix, FORMAT.QRCode])
def test_the_order_of_a_shipping_label_is_read_in_every_symbology(symbology: FORMAT) -> None:
    (code,) = read_codes(put_codes(draw_code("(00)123456789012345675(400)PO-77", symbology, gs1=True)))

    content = parse_code(code)

    assert content is not None
    assert (content.standard, content.values) == ("GS1", {"order_number": "PO-77"})


def test_a_payment_slip_gives_amount_currency_and_due_date() -> None:
    text = "4154000001000005" + "8020RE-77\x1d" + "391297811900\x1d" + "12240524"

    content = parse_code(read_code(text, "]C1"))

    assert content is not None
    assert content.values == {
        PAYABLE: Decimal("119.00"),
        "currency": "EUR",
        "due_date": date(2024, 5, 24),
    }


@pytest.mark.parametrize(
    "text",
    [
        "00123456789012345676",
        "0012345",
        "400",
        "PO-77",
        "\x1d".join(["10A"] * 50),
        "4154000001000005" + "8020RE-77\x1d" + "12241324",
        "\u0660\u0661" + "1" * 14,
    ],
)
def test_element_strings_that_break_the_specification_give_no_values(text: str) -> None:
    assert parse_code(read_code(text, "]C1")) is None


NOTE = """
Harbour Trading GmbH
Hafenstrasse 12
20457 Hamburg

DELIVERY NOTE                Delivery note number: D-2024-17
                             Date: 05.03.2024
{order}
2 pcs  Anchor
"""


@pytest.mark.parametrize(("order", "match"), [("", "coded"), ("Your order number: PO-2024-77", "exact")])
def test_the_order_of_a_delivery_note_is_that_of_its_label(typeset: Typeset, order: str, match: str) -> None:
    plain = typeset(NOTE.format(order=order))
    document = replace(plain, pages=[replace(plain.pages[0], codes=(read_code("400PO-2024-77", "]C1"),))])

    extraction = extract(document, REGISTRY["delivery_note"])

    assert dict(leaves(extraction.data))["order_number"] == "PO-2024-77"
    assert extraction.evidence["order_number"].match == match
    assert extraction.evidence["order_number"].confidence >= 0.99


@pytest.mark.parametrize(
    ("text", "checks"),
    [("D-2024-17", []), ("D-2024-11", ["code"]), ("D-2024-99", []), ("20457", []), ("4006381333931", [])],
)
def test_a_number_that_is_nearly_that_of_a_linear_code_goes_to_a_person(
    typeset: Typeset, text: str, checks: list[str]
) -> None:
    plain = typeset(NOTE.format(order=""))
    document = replace(plain, pages=[replace(plain.pages[0], codes=(read_code(text, "]C0"),))])

    extraction = extract(document, REGISTRY["delivery_note"])

    assert [failure.check for failure in extraction.failures] == checks
    assert extraction.data == extract(plain, REGISTRY["delivery_note"]).data


def test_a_linear_code_of_another_number_on_the_page_contradicts_nothing(typeset: Typeset) -> None:
    plain = typeset(NOTE.format(order="Your order number: D-2024-11"))
    document = replace(plain, pages=[replace(plain.pages[0], codes=(read_code("D-2024-11", "]C0"),))])

    assert not extract(document, REGISTRY["delivery_note"]).failures
