from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from docmill.model.result import Failure, Schema
from docmill.schemas.registry import REGISTRY
from docmill.schemas.user_schemas import schema_of

Judge = Callable[..., list[Failure]]


def _values(**amounts: str) -> dict[str, tuple[object, str]]:
    return {path: (Decimal(amount), "") for path, amount in amounts.items()}


@pytest.mark.parametrize(
    ("check", "amounts"),
    [
        ("net_above_total", {"net_total": "119.00", "gross_total": "100.00"}),
        ("tax_above_net", {"net_total": "19.00", "tax_total": "100.00", "gross_total": "119.00"}),
        ("net_below_total", {"net_total": "19.00", "gross_total": "119.00"}),
    ],
)
def test_net_tax_and_total_must_fit_each_other(judge: Judge, check: str, amounts: dict[str, str]) -> None:
    assert len(judge(check, "nothing", _values(**amounts))) == 1


@pytest.mark.parametrize("check", ["net_above_total", "tax_above_net", "net_below_total"])
def test_usual_totals_pass(judge: Judge, check: str) -> None:
    usual = {"net_total": "100.00", "tax_total": "19.00", "gross_total": "119.00"}

    assert judge(check, "nothing", _values(**usual)) == []
    assert judge(check, "nothing", _values(net_total="-100.00", gross_total="-119.00")) == []
    assert judge(check, "nothing", _values(net_total="0", gross_total="0")) == []


def test_an_amount_due_below_the_total_needs_a_printed_payment(judge: Judge) -> None:
    amounts = _values(gross_total="112.00", amount_due="62.00")

    (failure,) = judge("payments", "Total 112.00\nAmount due 62.00", amounts)

    assert failure.message == (
        "The amount due 62.00 is less than the total 112.00, and no payment of 50.00 is printed."
    )
    assert not judge("payments", "Total 112.00\nDeposit 50.00\nAmount due 62.00", amounts)
    assert not judge("payments", "Total 112.00\nPaid 30.00\nPaid 20.00\nDue 62.00", amounts)


def test_a_commission_explains_what_is_not_to_be_paid(judge: Judge) -> None:
    amounts = _values(gross_total="112.00", amount_due="95.20")

    assert judge("payments", "Total 112.00\nTo be paid 95.20", amounts)
    assert not judge("payments", "Total 112.00\nAgency commission 16.80\nTo be paid 95.20", amounts)


def test_a_tip_explains_what_is_due_beyond_the_total(judge: Judge) -> None:
    receipt = REGISTRY["receipt"]
    amounts = _values(gross_total="109.94", amount_due="130.94")

    assert judge("amount_due", "nothing", amounts, schema=receipt)
    assert not judge("amount_due", "nothing", {**amounts, **_values(tip="21.00")}, schema=receipt)
    assert judge("amount_due", "nothing", {**amounts, **_values(tip="2.00")}, schema=receipt)


def test_items_of_a_receipt_add_up_to_the_total_that_is_rounded_for_cash(judge: Judge) -> None:
    amounts = _values(gross_total="182.00")
    amounts["lines[0].net_amount"] = (Decimal("181.98"), "")

    assert not judge("lines_sum", "nothing", amounts, schema=REGISTRY["receipt"])
    assert judge("lines_sum", "nothing", amounts, schema=REGISTRY["invoice"])


@pytest.fixture
def own() -> Schema:
    properties = {
        "Nettobetrag": {"type": "number"},
        "mwst": {"type": "number", "title": "Steuer"},
        "bruttobetrag": {"type": "number"},
        "rechnungsdatum": {"type": "string", "format": "date", "title": "Datum der Rechnung"},
    }
    return schema_of({"title": "Bestellung", "type": "object", "properties": properties})


def test_the_totals_of_a_users_own_schema_are_known_by_their_names(judge: Judge, own: Schema) -> None:
    amounts = _values(Nettobetrag="100.00", mwst="18.00", bruttobetrag="119.00")

    (failure,) = judge("sum", "nothing", amounts, schema=own)

    assert failure.fields == ("Nettobetrag", "mwst", "bruttobetrag")


def test_a_users_field_is_named_by_its_title(judge: Judge, own: Schema) -> None:
    schema = replace(own, critical=("rechnungsdatum",))

    (failure,) = judge("critical_missing", "nothing", {}, schema=schema)

    assert failure.message == "Datum der Rechnung was not found."


@pytest.mark.parametrize(
    ("page", "flagged"),
    [
        ("Do zaplaty: 579,00 PLN  Zaplacono: 100,00  Pozostaje: 479,00", True),
        ("Total 579.00\nPaid: 100.00\nBalance 479.00", True),
        ("Total 579.00\nPaid: 579.00", False),
        ("Total 579.00\nPaid within 10 days less 2 %: 567.42", False),
    ],
)
def test_an_amount_due_is_less_than_the_total_where_a_part_was_paid(
    judge: Judge, page: str, *, flagged: bool
) -> None:
    assert bool(judge("payments", page, _values(gross_total="579.00", amount_due="579.00"))) is flagged


@pytest.mark.parametrize(("amount", "flagged"), [("275.00", True), ("175.00", False)])
def test_what_is_to_be_paid_by_a_users_field_is_the_rest(judge: Judge, amount: str, *, flagged: bool) -> None:
    described = {"type": "number", "description": "total to be paid"}
    schema = schema_of({"title": "bill", "type": "object", "properties": {"sum": described}})
    page = "Total inc GST  275.00\nDeposit paid  -100.00\nAmount owing  175.00"

    failures = judge("payments", page, {"sum": (Decimal(amount), amount)}, schema=schema)

    assert bool(failures) is flagged


def test_an_older_balance_in_the_total_is_asked_about(judge: Judge) -> None:
    text = (
        "Balance forward                                     64.60\nCurrent charges   231.18\nTotal   295.78"
    )

    (failure,) = judge("old_balance", text, {"gross_total": (Decimal("295.78"), "295.78")})

    assert failure.fields == ("gross_total",)
    assert judge("old_balance", text, {"gross_total": (Decimal("231.18"), "231.18")}) == []


def test_what_was_computed_is_not_excused_by_any_printed_number(judge: Judge) -> None:
    amounts = {"gross_total": (Decimal("300.00"), "300.00"), "amount_due": (Decimal("150.00"), "")}

    assert judge("payments", "Total 150.00\nCorrected 300.00", amounts)
    assert not judge("payments", "Total 300.00\nPaid 150.00", amounts)


def test_no_value_that_was_read_or_refuted_is_a_payment(judge: Judge) -> None:
    due = {"amount_due": (Decimal("150.00"), "150.00")}
    gross, item = (
        {"gross_total": (Decimal("190.00"), "")},
        {"lines[0].net_amount": (Decimal("40.00"), "40.00")},
    )
    page = "Drill   40.00\nTotal 340.00\nAmount due 150.00"

    assert judge("payments", page, due | gross | item)
    assert judge("payments", page, due | gross, refuted={"lines[0].net_amount": Decimal("40.00")})
    assert not judge("payments", page, due | gross)  # in words that nobody knows
    assert not judge("payments", f"{page}\nDeposit 40.00", due | gross | item)


def test_an_item_that_is_called_a_payment_explains_nothing(judge: Judge) -> None:
    amounts = {"gross_total": (Decimal("112.00"), "112.00"), "amount_due": (Decimal("95.20"), "95.20")}
    page = "Agency commission 16.80\nTotal 112.00\nTo be paid 95.20"

    assert not judge("payments", page, amounts)
    assert judge("payments", page, amounts | {"lines[0].net_amount": (Decimal("16.80"), "16.80")})


def test_a_total_that_is_called_paid_leaves_nothing_to_pay(judge: Judge) -> None:
    amounts = {"gross_total": (Decimal("112.00"), "112.00"), "amount_due": (Decimal("0.00"), "0.00")}

    assert not judge("payments", "Total paid 112.00\nBalance 0.00", amounts)


def test_a_number_that_stands_for_another_value_is_no_charge(judge: Judge) -> None:
    items = {
        "lines[0].net_amount": (Decimal("45.00"), "45.00"),
        "lines[1].net_amount": (Decimal("80.00"), "80.00"),
    }
    page = "Bits   45.00\nVice   80.00\nNet 125.00\nTax 25.00\nTotal 150.00"
    totals = {"net_total": (Decimal("250.00"), ""), "gross_total": (Decimal("300.00"), "")}
    twice = {"lines[2].net_amount": (Decimal("80.00"), "80.00"), "net_total": (Decimal("125.00"), "125.00")}

    assert not judge("lines_sum", page, items | totals)
    assert judge("lines_sum", page, items | totals, refuted={"net_total": Decimal("125.00")})
    assert judge("lines_sum", "Bits 45.00\nVice 80.00\nNet 125.00", items | twice)
    assert not judge("lines_sum", "Bits 45.00\nVice 80.00\nRebate 80.00\nNet 125.00", items | twice)


def test_the_tax_may_be_what_the_items_lack(judge: Judge) -> None:
    amounts = {
        "lines[0].net_amount": (Decimal("125.00"), "125.00"),
        "tax_total": (Decimal("25.00"), "25.00"),
        "gross_total": (Decimal("150.00"), "150.00"),
    }

    assert not judge("lines_sum", "Bits   125.00\nTax 25.00\nTotal 150.00", amounts)


def test_a_rate_is_neither_a_charge_nor_a_payment(judge: Judge) -> None:
    item = {"lines[0].net_amount": (Decimal("125.00"), "125.00")}
    net = {"net_total": (Decimal("145.00"), "145.00")}
    due = {"gross_total": (Decimal("170.00"), "170.00"), "amount_due": (Decimal("150.00"), "150.00")}

    for rate, is_rate in (("20 %", True), ("20%", True), ("20", False)):
        assert bool(judge("lines_sum", f"Bits 125.00\nNet 145.00\nVAT {rate}", item | net)) is is_rate
        assert bool(judge("payments", f"VAT {rate}\nTotal 170.00\nDue 150.00", due)) is is_rate
