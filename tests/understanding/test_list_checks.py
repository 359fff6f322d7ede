from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from docmill.model.document import Box, Document, Embedded
from docmill.model.result import Evidence, Extraction, Failure
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import BankStatement, Invoice, Line
from docmill.understanding.gate.inputs import GateInput
from docmill.understanding.gate.lists import check_lists, check_rows

Typeset = Callable[..., Document]


def checks(document: Document, invoice: Invoice) -> list[str]:
    extraction = Extraction(document_type="invoice", data=invoice, evidence={})
    return [failure.check for failure in check_lists(GateInput(document, extraction, REGISTRY["invoice"]))]


def row_failures(document: Document, invoice: Invoice) -> list[Failure]:
    extraction = Extraction(document_type="invoice", data=invoice, evidence={})
    return list(check_rows(GateInput(document, extraction, REGISTRY["invoice"])))


def line(quantity: str, price: str, amount: str) -> Line:
    return Line(quantity=Decimal(quantity), unit_price=Decimal(price), net_amount=Decimal(amount))


@pytest.mark.parametrize("total", ["net_total", "gross_total"])
def test_lines_make_the_net_or_the_gross_total(typeset: Typeset, total: str) -> None:
    lines = (line("2", "5.00", "10.00"), line("1", "7.50", "7.50"))
    right, wrong = ({total: Decimal(value)} for value in ("17.50", "27.50"))

    assert checks(typeset("nothing"), Invoice(lines=lines, **right)) == []  # type: ignore[arg-type]
    assert checks(typeset("nothing"), Invoice(lines=lines, **wrong)) == ["lines_sum"]  # type: ignore[arg-type]


def test_a_difference_that_is_printed_is_an_allowance_or_a_charge(typeset: Typeset) -> None:
    invoice = Invoice(lines=(line("2", "5.00", "10.00"),), net_total=Decimal("14.90"))

    assert checks(typeset("Shipping   4.90"), invoice) == []
    assert checks(typeset("Shipping   5.90"), invoice) == ["lines_sum"]


def test_a_difference_that_is_printed_as_an_item_is_a_lost_row(typeset: Typeset) -> None:
    invoice = Invoice(lines=(line("2", "5.00", "10.00"),), net_total=Decimal("85.00"))

    assert checks(typeset("Shipping   75.00"), invoice) == []
    assert checks(typeset("Tables   3   25.00   75.00"), invoice) == ["lines_sum"]
    assert checks(typeset("Tische   3   25,00 EUR   75,00 EUR"), invoice) == ["lines_sum"]
    assert checks(typeset("Discount   25 %   300.00   75.00"), invoice) == []


def test_a_difference_beside_an_item_or_below_a_subtotal_is_a_lost_row(typeset: Typeset) -> None:
    invoice = Invoice(lines=(line("12", "108.00", "1296.00"),), net_total=Decimal("1188.00"))
    items = "Seats   12   108.00   1296.00\n"

    assert checks(typeset(items), invoice) == ["lines_sum"]
    assert checks(typeset(f"{items}Discount   -108.00\nTotal   1188.00"), invoice) == []
    assert checks(typeset(f"{items}Credit   -108.00\nSubtotal   1188.00"), invoice) == ["lines_sum"]


def test_taxes_and_a_tip_may_stand_between_the_subtotal_of_the_items_and_the_total(typeset: Typeset) -> None:
    invoice = Invoice(lines=(line("2", "9.50", "19.00"),), gross_total=Decimal("24.47"))
    below = "State tax   1.52\nCity tax   0.95\nTip   3.00\nTotal   24.47"

    assert checks(typeset(f"Soup   19.00\nSubtotal   19.00\n{below}"), invoice) == []
    assert checks(typeset(f"Soup   19.00\nTea   4.00\nSubtotal   23.00\n{below}"), invoice) == ["lines_sum"]
    assert checks(typeset(f"Soup   19.00\nSubtotal   19.00\n{below[16:]}"), invoice) == ["lines_sum"]
    goods = below.replace("State tax", "Coffee").replace("City tax", "Water")
    assert checks(typeset(f"Soup   19.00\nSubtotal   19.00\n{goods}"), invoice) == ["lines_sum"]
    two = f"Soup   19.00\nSubtotal   19.00\nTea   4.00\nSubtotal   4.00\n{below}"
    assert checks(typeset(two), invoice) == ["lines_sum"]


def test_lines_that_make_the_total_with_tax_are_not_net(typeset: Typeset) -> None:
    lines = (line("2", "59.50", "119.00"),)
    totals = {"tax_total": Decimal("19.00"), "gross_total": Decimal("119.00")}

    assert checks(typeset("nothing"), Invoice(lines=lines, **totals)) == ["lines_with_tax"]  # type: ignore[arg-type]
    assert checks(typeset("nothing"), Invoice(lines=lines, gross_total=Decimal("119.00"))) == []


def test_a_row_whose_amount_was_lost_breaks_the_sum(typeset: Typeset) -> None:
    lost = Line(quantity=Decimal(3), unit_price=Decimal("25.00"))
    invoice = Invoice(lines=(line("2", "5.00", "10.00"), lost), net_total=Decimal("85.00"))

    assert checks(typeset("Tables   75.00"), invoice) == ["lines_sum"]
    assert checks(typeset("Tables"), invoice.model_copy(update={"net_total": Decimal("10.00")})) == []


def test_quantity_times_price_is_the_amount_but_for_discounts(typeset: Typeset) -> None:
    invoice = Invoice(lines=(line("2", "5.00", "9.00"), line("3", "3.3333", "10.00")))

    assert checks(typeset("Qty Price Amount"), invoice) == ["line_amount"]
    assert checks(typeset("Qty Price Discount Amount"), invoice) == []
    assert checks(typeset("Menge   Einzelpreis   Preiseinheit   Betrag"), invoice) == []


def test_e_invoices_have_rules_of_their_own(typeset: Typeset) -> None:
    page = typeset("nothing")
    carried = Document(
        "0" * 64, "application/pdf", page.pages, embedded=(Embedded("x.xml", "text/xml", b""),)
    )

    invoice = Invoice(lines=(line("2", "5.00", "9.00"),), net_total=Decimal(1))

    assert checks(carried, invoice) == []


def test_without_totals_or_with_a_gap_nothing_is_said(typeset: Typeset) -> None:
    assert checks(typeset("x"), Invoice(lines=(line("1", "2.00", "2.00"),))) == []
    assert checks(typeset("x"), Invoice(lines=(Line(description="gift"),), net_total=Decimal(3))) == []


def numbered(*positions: str) -> Invoice:
    return Invoice(lines=tuple(Line(position=position, description="Tea") for position in positions))


@pytest.mark.parametrize(
    ("positions", "missing"),
    [(("1", "2", "4"), "3"), (("10", "20", "40", "50"), "30")],
)
def test_a_numbered_line_that_is_left_out_is_missed(
    typeset: Typeset, positions: tuple[str, ...], missing: str
) -> None:
    (failure,) = row_failures(typeset("nothing"), numbered(*positions))

    assert failure.check == "lines_missing"
    assert failure.message.startswith(f"Line {missing} was not found")


@pytest.mark.parametrize("positions", [("1", "2", "3"), ("5", "6", "7"), ("1", "A", "4"), ("1", "7", "9")])
def test_lines_that_are_numbered_otherwise_are_not_missed(
    typeset: Typeset, positions: tuple[str, ...]
) -> None:
    assert row_failures(typeset("nothing"), numbered(*positions)) == []


def test_a_lost_quantity_is_known_by_price_and_amount(typeset: Typeset) -> None:
    lost = Line(unit_price=Decimal("4.80"), net_amount=Decimal("14.40"))
    one = Line(unit_price=Decimal("4.80"), net_amount=Decimal("4.80"))

    (failure,) = row_failures(typeset("nothing"), Invoice(lines=(lost, one)))

    assert failure.message == "Line 1 has no quantity: its amount 14.40 is 3 times its price 4.80."


@pytest.mark.parametrize(
    ("name", "is_cut"),
    [
        ("Wartung der Heizungs-", True),
        ("Kabel, 3 m (rot", True),
        ("Schrauben, Muttern,", True),
        ("Kabel, 3 m (rot)", False),
        ("T-Shirt", False),
    ],
)
def test_a_description_that_ends_within_a_word_or_bracket_is_named(
    typeset: Typeset, name: str, *, is_cut: bool
) -> None:
    invoice = Invoice(lines=(Line(description=name, net_amount=Decimal("10.00")),))

    failures = row_failures(typeset("nothing"), invoice)

    assert [failure.check for failure in failures] == ["cut_off"] * is_cut
    assert all(failure.fields == ("lines[0].description",) for failure in failures)


@pytest.mark.parametrize(("right", "is_cut"), [(0.999, True), (0.6, False)])
def test_a_description_at_the_edge_of_a_picture_is_named(
    typeset: Typeset, right: float, *, is_cut: bool
) -> None:
    page = typeset("Schrauben", source="ocr")
    document = replace(page, pages=[replace(page.pages[0], engine="rapidocr")])
    path = "lines[0].description"
    evidence = Evidence(
        page=1, box=Box(0.1, 0.1, right, 0.2), text="Schrauben", match="exact", confidence=0.9
    )
    invoice = Invoice(lines=(Line(description="Schrauben", net_amount=Decimal("10.00")),))
    extraction = Extraction(document_type="invoice", data=invoice, evidence={path: evidence})

    failures = check_rows(GateInput(document, extraction, REGISTRY["invoice"]))

    assert [failure.check for failure in failures] == ["cut_off"] * is_cut


@pytest.mark.parametrize(
    ("balances", "expected"),
    [
        ({}, ["bookings_missing"]),
        ({"closing_balance": Decimal(80)}, ["bookings_missing"]),
        ({"opening_balance": Decimal(50), "closing_balance": Decimal(80)}, ["bookings_missing"]),
        ({"opening_balance": Decimal(80), "closing_balance": Decimal(80)}, []),
    ],
)
def test_a_statement_has_bookings_unless_its_balance_stayed(
    typeset: Typeset, balances: dict[str, Decimal], expected: list[str]
) -> None:
    statement = BankStatement.model_validate(balances)
    extraction = Extraction(document_type="bank_statement", data=statement, evidence={})
    judged = GateInput(typeset("nothing"), extraction, REGISTRY["bank_statement"])

    assert [failure.check for failure in check_lists(judged)] == expected
