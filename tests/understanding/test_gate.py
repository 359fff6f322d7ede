import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, model_validator

from docmill.model.document import Document, Embedded
from docmill.model.paths import leaves
from docmill.model.result import Evidence, Extraction, Failure, Schema, Verdict
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Fields, Invoice, Line, Party, Payment, Receipt
from docmill.schemas.user_schemas import schema_of
from docmill.understanding.gate import RuleGate, judge_off_loop
from docmill.understanding.withholding import withhold

Typeset = Callable[..., Document]

INVOICE: dict[str, Any] = {
    "number": "R-1",
    "issue_date": date(2026, 3, 1),
    "due_date": date(2026, 3, 31),
    "seller": Party(name="Beispiel AG", vat_id="DE136695976"),
    "net_total": Decimal("100.00"),
    "tax_total": Decimal("19.00"),
    "gross_total": Decimal("119.00"),
    "currency": "EUR",
    "payment": Payment(iban="DE89370400440532013000", bic="COBADEFFXXX"),
}


def _extraction(document: Document, fields: Fields, *, confidence: float = 0.99) -> Extraction:
    page = document.pages[0]
    evidence = Evidence(
        page=1, box=page.words.box(0, len(page.words)), text="anything", match="exact", confidence=confidence
    )
    return Extraction(
        document_type="receipt" if isinstance(fields, Receipt) else "invoice",
        data=fields,
        evidence={path: evidence for path, _ in leaves(fields)},
    )


@pytest.fixture
def document(typeset: Typeset) -> Document:
    return typeset("anything at all")


def _judged(document: Document, extraction: Extraction) -> Verdict:
    return RuleGate().judge(document, extraction, REGISTRY[extraction.document_type])


def _failed(document: Document, **changes: object) -> list[tuple[str, tuple[str, ...]]]:
    fields = Invoice.model_validate({**INVOICE, **changes})
    verdict = _judged(document, _extraction(document, fields))
    return [(failure.check, failure.fields) for failure in verdict.failures]


def test_an_invoice_with_everything_in_order_passes(document: Document) -> None:
    assert _failed(document) == []


@pytest.mark.parametrize(
    ("changes", "check", "fields"),
    [
        ({"number": None}, "critical_missing", ("number",)),
        ({"seller": Party()}, "critical_missing", ("seller.name",)),
        ({"tax_total": Decimal("19.02")}, "sum", ("net_total", "tax_total", "gross_total")),
        ({"due_date": date(2026, 2, 1)}, "date_order", ("issue_date", "due_date")),
        ({"due_date": date(2028, 2, 1)}, "date_distance", ("issue_date", "due_date")),
        ({"due_date": None, "delivery_date": date(1812, 1, 1)}, "date_range", ("delivery_date",)),
        (
            {"period_start": date(2026, 2, 2), "period_end": date(2026, 2, 1)},
            "date_order",
            ("period_start", "period_end"),
        ),
        ({"payment": Payment(iban="DE89370400440532013001")}, "iban", ("payment.iban",)),
        ({"payment": Payment(bic="NOBIC")}, "bic", ("payment.bic",)),
        ({"buyer": Party(vat_id="DE1")}, "vat_id", ("buyer.vat_id",)),
        ({"currency": "XQX"}, "currency", ("currency",)),
        ({"amount_due": Decimal("119.02")}, "amount_due", ("amount_due", "gross_total")),
        ({"amount_due": Decimal("-5.00")}, "amount_due", ("amount_due", "gross_total")),
    ],
)
def test_each_wrong_value_fails_its_check(
    document: Document, changes: dict[str, Any], check: str, fields: tuple[str, ...]
) -> None:
    assert (check, fields) in _failed(document, **changes)


def test_tax_cannot_be_more_than_the_total(document: Document) -> None:
    checks = [check for check, _ in _failed(document, net_total=None, tax_total=Decimal(200))]

    assert checks == ["tax_above_total"]


def test_part_of_the_total_may_be_left_to_pay(typeset: Typeset) -> None:
    document = typeset("anything at all\nPaid 69.00")

    assert _failed(document, amount_due=Decimal("50.00")) == []


def test_an_e_invoice_may_ask_for_earlier_debts_too(document: Document) -> None:
    xml = Embedded("factur-x.xml", "application/xml", b"<Invoice/>")

    assert _failed(replace(document, embedded=(xml,)), amount_due=Decimal("150.00")) == []


@pytest.mark.parametrize(("net", "passes"), [("100.04", True), ("100.07", False)])
def test_a_till_may_round_cash_to_five_cents(document: Document, net: str, *, passes: bool) -> None:
    receipt = Receipt.model_validate({**INVOICE, "net_total": Decimal(net)})

    assert _judged(document, _extraction(document, receipt)).passed is passes


def test_a_value_without_a_place_on_the_page_fails(document: Document) -> None:
    extraction = _extraction(document, Invoice(**INVOICE))
    known = extraction.evidence["number"]
    changed = {
        "number": known.model_copy(update={"text": "nowhere"}),
        "issue_date": known.model_copy(update={"page": 7}),
        "gross_total": known.model_copy(update={"match": "none"}),
        "tax_total": known.model_copy(update={"match": "computed", "page": None, "box": None, "text": None}),
        "due_date": known.model_copy(update={"box": None}),
        "net_total": known.model_copy(update={"match": "embedded", "page": None, "box": None, "text": None}),
    }
    evidence = {**extraction.evidence, **changed}
    del evidence["currency"]

    verdict = _judged(document, extraction.model_copy(update={"evidence": evidence}))

    failed = {path for failure in verdict.failures if failure.check == "evidence" for path in failure.fields}
    assert failed == {"number", "issue_date", "gross_total", "due_date", "currency"}


def test_every_uncertain_value_is_doubted(document: Document) -> None:
    uncertain = _extraction(document, Invoice(**INVOICE), confidence=0.4)

    verdict = _judged(document, uncertain)

    assert [failure.fields[0] for failure in verdict.failures] == list(uncertain.evidence)
    assert all(failure.check == "confidence" for failure in verdict.failures)


def test_withheld_values_that_are_not_critical_need_no_person(document: Document) -> None:
    surely = _extraction(document, Invoice(**INVOICE))
    doubted = {**surely.evidence["due_date"].model_dump(), "confidence": 0.4}
    evidence = {**surely.evidence, "due_date": Evidence.model_validate(doubted)}

    withheld = withhold(surely.model_copy(update={"evidence": evidence}), REGISTRY["invoice"])

    assert _judged(document, withheld).passed
    assert list(withheld.suggestions) == ["due_date"]


def test_data_of_another_schema_is_refused(document: Document) -> None:
    extraction = _extraction(document, Receipt(issue_date=date(2026, 1, 1)))

    verdict = _judged(document, extraction.model_copy(update={"document_type": "delivery_note"}))

    assert verdict.failures[0].check == "schema"


def test_values_in_lists_have_their_index_in_the_path() -> None:
    fields = Invoice(number="1", lines=(Line(description="a"), Line(net_amount=Decimal(1))))

    assert list(leaves(fields)) == [
        ("number", "1"),
        ("lines[0].description", "a"),
        ("lines[1].net_amount", Decimal(1)),
    ]


def test_what_the_extractor_found_wrong_is_handed_on(document: Document) -> None:
    failure = Failure(check="BR-CO-15", message="The totals do not add up.", fields=("gross_total",))
    extraction = _extraction(document, Invoice(**INVOICE)).model_copy(update={"failures": (failure,)})

    assert _judged(document, extraction).failures == (failure,)


class _Item(BaseModel):
    amount: Decimal | None = None


class _Order(BaseModel):
    signed: datetime | None = None
    period_start: date | None = None
    period_end: datetime | None = None
    currency: str = "no currency"
    items: list[_Item] = []


def _own(document: Document, order: _Order) -> list[tuple[str, tuple[str, ...]]]:
    page = document.pages[0]
    known = Evidence(
        page=1, box=page.words.box(0, len(page.words)), text="anything", match="exact", confidence=1
    )
    evidence = {path: known for path, _ in leaves(order)}
    schema = schema_of(_Order)
    extraction = Extraction(document_type=schema.name, data=order, evidence=evidence)
    return [(one.check, one.fields) for one in RuleGate().judge(document, extraction, schema).failures]


def test_dates_with_a_time_are_judged_by_their_day(document: Document) -> None:
    order = _Order(
        signed=datetime(1812, 1, 1, 12, 30),  # noqa: DTZ001 - as it is printed
        period_start=date(2026, 3, 2),
        period_end=datetime(2026, 3, 1, 18, 0),  # noqa: DTZ001
    )

    assert _own(document, order) == [
        ("date_order", ("period_start", "period_end")),
        ("date_range", ("signed",)),
    ]


def test_the_lists_of_a_users_class_are_judged_item_by_item(document: Document) -> None:
    order = _Order(items=[_Item(amount=Decimal(1)), _Item()])

    assert _own(document, order) == []
    assert list(leaves(order)) == [("items[0].amount", Decimal(1))]


def test_a_default_of_a_users_class_is_not_looked_for_on_the_page(document: Document) -> None:
    assert _own(document, _Order()) == []


class _Pair(BaseModel):
    signed: date | None = None
    items: list[_Item] = []


def test_a_document_without_any_value_of_a_users_schema_asks(document: Document) -> None:
    schema = schema_of(_Pair)
    extraction = Extraction(document_type=schema.name, data=_Pair(), evidence={})

    assert [one.check for one in RuleGate().judge(document, extraction, schema).failures] == ["no_values"]


class _Bill(BaseModel):
    seller: _Pair


def test_an_object_without_values_is_no_value(document: Document) -> None:
    schema = schema_of(_Bill)
    extraction = Extraction(document_type=schema.name, data=_Bill(seller=_Pair()), evidence={})

    assert [one.check for one in RuleGate().judge(document, extraction, schema).failures] == ["no_values"]


class _Ruled(_Order):
    @model_validator(mode="after")
    def _add_up(self) -> "_Ruled":
        raise KeyError(self.currency)


def test_a_users_rule_that_fails_is_a_failed_check(document: Document) -> None:
    schema = schema_of(_Ruled)
    extraction = Extraction(document_type=schema.name, data=_Ruled.model_construct(), evidence={})

    verdict = RuleGate().judge(document, extraction, schema)

    assert [one.message for one in verdict.failures] == ["A rule of the schema itself fails on these values."]


def test_a_value_of_another_form_is_named_by_its_path(document: Document) -> None:
    order = _Order.model_construct(items=[_Item.model_construct(amount="much")])

    assert _own(document, order) == [("schema", ("items[0].amount",))]


def test_an_amount_beyond_all_money_is_not_believed(document: Document) -> None:
    huge = Decimal("9" * 44)

    assert _failed(document, net_total=None, tax_total=None, gross_total=huge) == [
        ("amount_range", ("gross_total",))
    ]


class Threads:
    """`Gate` that notes where it is asked."""

    def __init__(self) -> None:
        self.seen: list[threading.Thread] = []

    def judge(self, document: Document, extraction: Extraction, schema: Schema) -> Verdict:
        assert document.pages
        assert schema.name == extraction.document_type
        self.seen.append(threading.current_thread())
        return Verdict(failures=())


@pytest.fixture
def asked_in(make_document: Callable[..., Document]) -> Callable[[int], Awaitable[list[threading.Thread]]]:
    """Where the gate is asked about so many values."""

    async def ask(values: int) -> list[threading.Thread]:
        gate = Threads()
        proof = Evidence(page=None, box=None, text=None, match="embedded", confidence=1.0)
        evidence = {f"lines[{index}].net_amount": proof for index in range(values)}
        extraction = Extraction(document_type="invoice", data=Invoice(), evidence=evidence)
        await judge_off_loop(gate, make_document("Invoice"), extraction, REGISTRY["invoice"])
        return gate.seen

    return ask


async def test_a_few_values_are_judged_at_once(
    asked_in: Callable[[int], Awaitable[list[threading.Thread]]],
) -> None:
    assert await asked_in(2) == [threading.current_thread()]


async def test_many_values_do_not_hold_up_the_event_loop(
    asked_in: Callable[[int], Awaitable[list[threading.Thread]]],
) -> None:
    (thread,) = await asked_in(1000)

    assert thread is not threading.current_thread()
