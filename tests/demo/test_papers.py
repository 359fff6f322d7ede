"""What the samples are: enough of each kind, true to their truth, and no two families alike."""

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from itertools import combinations
from typing import Protocol, cast

import pypdfium2 as pdfium
import pytest
from pydantic import BaseModel
from stdnum import get_cc_module, iban

from docmill.demo.catalogue import plans
from docmill.demo.plan import Correspondence, Letter, PaySheet, Plan, Statement
from docmill.demo.wording import Wording
from docmill.demo.writing import draw
from docmill.model.document import letters_and_digits
from docmill.schemas.payment_methods import PAYMENT_METHODS
from docmill.schemas.types import BankStatement, DeliveryNote, Invoice, PurchaseOrder, Receipt

PLANS = plans()
_NOTHING = Decimal(0)
_PLACES = {"quantity", "tax_rate"}
_INDIRECT = {"currency", "method"}  # a symbol and words are printed for their codes


class _Checked(Protocol):
    def is_valid(self, number: str) -> bool: ...


@pytest.fixture(params=PLANS, ids=lambda plan: plan.name)
def plan(request: pytest.FixtureRequest) -> Plan:
    return request.param


def _leaves(fields: object, name: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(fields, BaseModel):
        for key in type(fields).model_fields:
            yield from _leaves(getattr(fields, key), key)
    elif isinstance(fields, tuple):
        for each in cast("tuple[object, ...]", fields):
            yield from _leaves(each, name)
    elif fields is not None:
        yield name, fields


def _printed(name: str, value: object, say: Wording) -> str:
    if isinstance(value, dt.date):
        return say.day(value)
    if isinstance(value, Decimal):
        return say.count(value) if name in _PLACES else say.number(abs(value))
    return str(value)


def _text(pdf: bytes) -> str:
    document = pdfium.PdfDocument(pdf)
    text = "\n".join(page.get_textpage().get_text_range() for page in document)
    document.close()
    return text


def _prices_include_tax(plan: Plan) -> bool:
    return plan.document_type == "receipt" and plan.country != "US"


def test_every_true_value_is_printed(plan: Plan) -> None:
    text = letters_and_digits(_text(draw(plan.layout, plan.paper)))

    missing = [
        (name, value)
        for name, value in _leaves(plan.truth)
        if name not in _INDIRECT and letters_and_digits(_printed(name, value, plan.paper.wording)) not in text
    ]

    assert not missing


def test_the_means_of_payment_is_printed_in_words_and_its_code_is_true(plan: Plan) -> None:
    words = plan.paper.printed_method if isinstance(plan.paper, Letter) else ""
    codes = [value for name, value in _leaves(plan.truth) if name == "method"]

    assert len(codes) == bool(words)
    assert PAYMENT_METHODS.keys() >= set(codes)
    assert letters_and_digits(words) in letters_and_digits(_text(draw(plan.layout, plan.paper)))


def test_every_printed_character_can_be_read(plan: Plan) -> None:
    text = _text(draw(plan.layout, plan.paper))

    assert not set(text) & set("\ufffd\ufffe\u25a0")


def test_lines_taxes_and_totals_add_up(plan: Plan) -> None:
    paper = plan.paper
    if isinstance(paper, Statement):
        fields = paper.fields
        opening, closing = fields.opening_balance or _NOTHING, fields.closing_balance
        assert opening + sum(each.amount or _NOTHING for each in fields.transactions) == closing
        return
    if isinstance(paper, PaySheet):
        fields = paper.fields.model_dump()
        assert sum(amount for _, amount in paper.earnings) == fields["gross_pay"]
        assert sum(amount for _, amount in paper.deductions) == fields["total_deductions"]
        assert fields["gross_pay"] - fields["total_deductions"] == fields["net_pay"]
        return
    if isinstance(paper, Correspondence):
        due = paper.fields.model_dump().get("amount_due")
        assert due is None or any(paper.wording.number(due) in text for text in paper.paragraphs)
        return
    amounts = [line.net_amount for line in paper.fields.lines if line.net_amount is not None]
    net, tax, gross = (paper.value(name) for name in ("net_total", "tax_total", "gross_total"))
    if not isinstance(gross, Decimal):
        assert not amounts
        return
    net = net if isinstance(net, Decimal) else gross
    assert sum(amounts) == (gross if _prices_include_tax(plan) else net)
    assert net + (tax if isinstance(tax, Decimal) else 0) == gross


def test_a_tip_is_owed_on_top_of_the_total() -> None:
    tipped = [plan.truth for plan in PLANS if isinstance(plan.truth, Receipt) and plan.truth.tip]

    assert tipped
    assert all(each.amount_due == (each.gross_total or 0) + (each.tip or 0) for each in tipped)


def test_accounts_and_tax_numbers_have_right_check_digits(plan: Plan) -> None:
    for name, value in _leaves(plan.truth):
        if name == "iban":
            assert iban.is_valid(str(value))
        if name == "vat_id":
            number = str(value)
            assert cast("_Checked", get_cc_module(number[:2].lower(), "vat")).is_valid(number)


def test_no_two_families_put_their_words_in_the_same_places() -> None:
    first_of = {plan.layout: plan for plan in reversed(PLANS)}
    places = {layout: _places(draw(layout, plan.paper)) for layout, plan in first_of.items()}

    alike = [
        (one, other)
        for one, other in combinations(places, 2)
        if len(places[one] & places[other]) > 0.5 * min(len(places[one]), len(places[other]))
    ]

    assert len(places) >= 16
    assert not alike


def test_the_german_chain_is_linked_by_its_numbers_from_order_to_payment() -> None:
    by_name = {plan.name: plan.truth for plan in PLANS}
    order, delivery, bill, bank = (
        by_name["Bestellung B-26-1187.pdf"],
        by_name["Lieferschein LS-70233.pdf"],
        by_name["R-260955.pdf"],
        by_name["Kontoauszug_2026-10.pdf"],
    )
    assert isinstance(order, PurchaseOrder)
    assert isinstance(delivery, DeliveryNote)
    assert isinstance(bill, Invoice)
    assert isinstance(bank, BankStatement)

    paid = [each for each in bank.transactions if each.iban == bill.payment.iban]

    assert delivery.order_number == bill.order_number == order.number
    assert bill.delivery_note_number == delivery.number
    assert [-(each.amount or 0) for each in paid] == [bill.gross_total]
    assert str(bill.number) in str(paid[0].reference)


def _places(pdf: bytes) -> set[tuple[int, int]]:
    """Where text stands on the first page, on a grid of 12 points."""
    document = pdfium.PdfDocument(pdf)
    text = document[0].get_textpage()
    boxes = [
        text.get_rect(index)  # pyright: ignore[reportUnknownMemberType]  # pypdfium2 leaves `index` untyped
        for index in range(text.count_rects())
    ]
    document.close()
    return {(round(left / 12), round(top / 12)) for left, _, _, top in boxes}
