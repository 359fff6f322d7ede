"""Checks of lists: line items against the totals and each other, bookings against the balances."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import count, pairwise
from typing import Any

from docmill.model.document import Document
from docmill.model.result import Failure
from docmill.schemas.field_names import field_name
from docmill.understanding.gate.inputs import GateInput, Values
from docmill.understanding.page.labels import LABELS
from docmill.understanding.text.money import CENT, find_amounts, number
from docmill.understanding.vocabulary import Concept

LONGEST_SEARCHED = 200_000
"""Characters that are searched for the explanation of a difference."""
_MOST_PIECES = 1000
_LEAST_NUMBERED = 3
"""Rows with numbers that show how they are counted."""


def check_lists(judged: GateInput) -> Iterator[Failure]:
    """Failures of line items and bookings that do not add up to the totals and balances."""
    document, values = judged.document, judged.values
    if not document.embedded:  # the XML of an e-invoice has rules of its own for its lines
        yield from _check_lines(document, values)
    opening, closing = values.get("opening_balance"), values.get("closing_balance")
    amounts = [row["amount"] for row in _rows(values, "transactions", ("amount",))]
    if opening is None or closing is None or not amounts or None in amounts:
        return
    total = opening + sum(amounts, Decimal(0))
    if total != closing:
        yield Failure(
            check="bookings_sum",
            message=f"The opening balance and the bookings make {total}, not the closing balance {closing}.",
            fields=("closing_balance", *(f"transactions[{index}].amount" for index in range(len(amounts)))),
        )


def _check_lines(document: Document, values: Values) -> Iterator[Failure]:
    rows = list(_rows(values, "lines", ("quantity", "unit_price", "net_amount")))
    yield from _check_products(document, rows)
    amounts = [row["net_amount"] for row in rows]
    candidates = {name: values.get(name) for name in ("net_total", "gross_total")}
    totals = {name: total for name, total in candidates.items() if isinstance(total, Decimal)}
    if not amounts or not totals or None in amounts:
        return
    lines_total = sum(amounts, Decimal(0))
    if any(abs(lines_total - total) <= CENT for total in totals.values()):
        return
    # A difference that is printed is an allowance, a charge or a tax. Either decimal mark may be meant.
    written = find_amounts(document.text[:LONGEST_SEARCHED], misread=False)
    printed = {abs(number(amount.digits, mark)) for amount in written for mark in (".", ",")}
    if any(abs(abs(total) - abs(lines_total)) in printed for total in totals.values()):
        return
    name, total = next(iter(totals.items()))
    yield Failure(
        check="lines_sum",
        message=f"The lines add up to {lines_total}, not to the {field_name(name).lower()} {total}.",
        fields=(name, *(f"lines[{index}].net_amount" for index in range(len(rows)))),
    )


def check_rows(judged: GateInput) -> Iterator[Failure]:
    """Failures of lists of items with a row missing between two others, or a row without its quantity."""
    if judged.document.embedded:
        return
    rows = list(_rows(judged.values, "lines", ("position", "quantity", "unit_price", "net_amount")))
    yield from _check_positions(rows)
    for index, row in enumerate(rows):
        price, amount = row["unit_price"], row["net_amount"]
        path = f"lines[{index}].quantity"
        if row["quantity"] is not None or path in judged.extraction.suggestions or not price or not amount:
            continue
        count = amount / price
        if count == count.to_integral_value() and 1 < count < _MOST_PIECES:
            message = (
                f"Line {index + 1} has no quantity: its amount {amount} is {count:f} times its price {price}."
            )
            yield Failure(check="line_quantity", message=message, fields=(path,))


def _check_positions(rows: Sequence[dict[str, Any]]) -> Iterator[Failure]:
    """A failure of rows that are numbered in equal steps with one step left out."""
    written = [str(row["position"] or "") for row in rows]
    if len(rows) < _LEAST_NUMBERED or not all(map(str.isdecimal, written)):
        return
    numbers = [int(text) for text in written]
    steps = [later - earlier for earlier, later in pairwise(numbers)]
    step = min(steps)
    if step < 1 or any(each % step for each in steps) or numbers[0] % step:
        return
    missing = [str(number) for number in range(numbers[0], numbers[-1], step) if number not in numbers]
    if 0 < len(missing) <= len(rows):
        fields = tuple(f"lines[{index}].position" for index in range(len(rows)))
        message = (
            f"Line {', '.join(missing)} was not found: the lines are numbered {written[0]} to {written[-1]}."
        )
        yield Failure(check="lines_missing", message=message, fields=fields)


def _check_products(document: Document, rows: Sequence[dict[str, Any]]) -> Iterator[Failure]:
    """A failure of lines whose amount is not quantity times price, unless the page mentions discounts."""
    wrong: list[int] = []
    for index, row in enumerate(rows):
        quantity, price, amount = row["quantity"], row["unit_price"], row["net_amount"]
        if quantity is None or price is None or amount is None:
            continue
        if abs(abs(quantity * price) - abs(amount)) > CENT + CENT / 2 * abs(quantity):
            wrong.append(index)
    lines = document.text[:LONGEST_SEARCHED].splitlines() if wrong else []
    if wrong and not any(Concept.DISCOUNT in label.meanings for line in lines for label in LABELS.find(line)):
        numbers = ", ".join(str(index + 1) for index in wrong)
        fields = tuple(f"lines[{index}].{name}" for index in wrong for name in rows[index])
        message = f"Quantity times price is not the amount in line {numbers}."
        yield Failure(check="line_amount", message=message, fields=fields)


def _rows(values: Values, owner: str, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield the items of a list with these values, None where there is none."""
    present = {path.partition("]")[0] for path in values if path.startswith(f"{owner}[")}
    for index in count():
        if f"{owner}[{index}" not in present:
            return
        yield {name: values.get(f"{owner}[{index}].{name}") for name in names}
