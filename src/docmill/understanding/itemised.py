"""Whether the lists of a document make its sums: line items its totals, bookings its balances."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import count
from typing import Any

from docmill.model.document import Document
from docmill.model.result import Failure
from docmill.understanding.page.labels import LABELS
from docmill.understanding.text.money import find_amounts, number
from docmill.understanding.vocabulary import Concept

Values = Mapping[str, Any]

_CENT = Decimal("0.01")
_LONGEST_TEXT = 200_000
"""Characters that are searched for what explains a difference."""


def failures(document: Document, values: Values) -> Iterator[Failure]:
    """What does not add up. The XML of an e-invoice has rules of its own, and they are checked elsewhere."""
    if not document.embedded:
        yield from _lines(document, values)
    yield from _bookings(values)


def _lines(document: Document, values: Values) -> Iterator[Failure]:
    rows = list(_rows(values, "lines", ("quantity", "unit_price", "net_amount")))
    if not rows:
        return
    yield from _products(document, rows)
    amounts = [row["net_amount"] for row in rows]
    totals = {name: values.get(name) for name in ("net_total", "gross_total")}
    known = {name: total for name, total in totals.items() if isinstance(total, Decimal)}
    if not known or any(amount is None for amount in amounts):
        return
    made = sum(amounts, Decimal(0))
    if any(abs(made - total) <= _CENT for total in known.values()):
        return
    printed = _printed(document)
    if any(abs(abs(total) - abs(made)) in printed for total in known.values()):
        return  # an allowance, a charge or a tax that stands on the page
    name, total = next(iter(known.items()))
    yield Failure(
        check="lines_sum",
        message=f"The lines add up to {made}, not to the {name.replace('_', ' ')} {total}.",
        fields=(name, *(f"lines[{index}].net_amount" for index in range(len(rows)))),
    )


def _products(document: Document, rows: list[dict[str, Any]]) -> Iterator[Failure]:
    """Lines whose quantity and price do not make the amount; where nothing is said of discounts."""
    wrong = [index for index, row in enumerate(rows) if not _agrees(**row)]
    if not wrong or _speaks_of_discounts(document):
        return
    yield Failure(
        check="line_amount",
        message=f"Quantity times price is not the amount in line {_numbers(wrong)}.",
        fields=tuple(
            f"lines[{index}].{name}" for index in wrong for name in ("quantity", "unit_price", "net_amount")
        ),
    )


def _numbers(indices: list[int]) -> str:
    return ", ".join(str(index + 1) for index in indices)


def _agrees(quantity: Decimal | None, unit_price: Decimal | None, net_amount: Decimal | None) -> bool:
    if quantity is None or unit_price is None or net_amount is None:
        return True
    return abs(abs(quantity * unit_price) - abs(net_amount)) <= _CENT + _CENT / 2 * abs(quantity)


def _bookings(values: Values) -> Iterator[Failure]:
    opening, closing = values.get("opening_balance"), values.get("closing_balance")
    amounts = [row["amount"] for row in _rows(values, "transactions", ("amount",))]
    if opening is None or closing is None or not amounts or any(amount is None for amount in amounts):
        return
    made = opening + sum(amounts, Decimal(0))
    if made != closing:
        yield Failure(
            check="bookings_sum",
            message=f"The opening balance and the bookings make {made}, not the closing balance {closing}.",
            fields=("closing_balance", *(f"transactions[{index}].amount" for index in range(len(amounts)))),
        )


def _rows(values: Values, owner: str, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """The items of a list with these values, null where they are not known."""
    present = {path.partition("]")[0] for path in values if path.startswith(f"{owner}[")}
    for index in count():
        if f"{owner}[{index}" not in present:
            return
        yield {name: values.get(f"{owner}[{index}].{name}") for name in names}


def _printed(document: Document) -> set[Decimal]:
    """All amounts of the pages, read with either decimal mark."""
    amounts = find_amounts(document.text[:_LONGEST_TEXT], misread=False)
    return {abs(number(amount.digits, mark)) for amount in amounts for mark in (".", ",")}


def _speaks_of_discounts(document: Document) -> bool:
    lines = document.text[:_LONGEST_TEXT].splitlines()
    return any(Concept.DISCOUNT in label.meanings for line in lines for label in LABELS.find(line))
