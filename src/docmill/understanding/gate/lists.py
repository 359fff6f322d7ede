"""Checks of lists: line items against the totals and each other, bookings against the balances."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import accumulate, combinations, count, pairwise
from typing import Any

from docmill.model.document import Document
from docmill.model.result import Failure
from docmill.schemas.field_names import field_name
from docmill.understanding.gate.inputs import LONGEST_SEARCHED, GateInput, Values, numbers_in
from docmill.understanding.gate.totals import tolerance_of
from docmill.understanding.page.labels import COLUMNS, LABELS
from docmill.understanding.tables.find import has_own_tables
from docmill.understanding.text.money import CENT, Mark, find_amounts, number
from docmill.understanding.vocabulary import Column, Concept

_MOST_PIECES = 1000
_MARKS: tuple[Mark, Mark] = (".", ",")
_EDGE = 0.006
"""Fraction of the page within which a description touches its right edge."""
_OPEN_ENDS = ("-", "\u2010", ",", "(", "/", "&", "+")
_SHOWN = 20
"""Letters of a description that a message shows."""
_MOST_ADDED = 6
"""Lines with taxes, tips and charges between a subtotal and the total."""
_BESIDES_ITEMS = {Concept.TAX, Concept.TIP, Concept.ROUNDING}
_LEAST_NUMBERED = 3
"""Rows with numbers that show how they are counted."""


def check_lists(judged: GateInput) -> Iterator[Failure]:
    """Failures of line items and bookings that do not add up to the totals and balances."""
    document, values = judged.document, judged.values
    if not document.embedded:  # the XML of an e-invoice has rules of its own for its lines
        yield from _check_lines(judged)
    opening, closing = values.get("opening_balance"), values.get("closing_balance")
    amounts = [row["amount"] for row in _rows(values, "transactions", ("amount",))]
    if not amounts:
        yield from _check_bookings(judged)
    if amounts and (opening is None or closing is None):
        yield from _check_balances(judged, amounts)
    if opening is None or closing is None or not amounts or None in amounts:
        return
    total = opening + sum(amounts, Decimal(0))
    if total != closing:
        yield Failure(
            check="bookings_sum",
            message=f"The opening balance and the bookings make {total}, not the closing balance {closing}.",
            fields=("closing_balance", *(f"transactions[{index}].amount" for index in range(len(amounts)))),
        )


def _check_bookings(judged: GateInput) -> Iterator[Failure]:
    """A failure of a statement without any booking, unless its balances are equal."""
    if judged.own_fields is not None or "transactions" not in judged.schema.fields.model_fields:
        return
    opening, closing = judged.values.get("opening_balance"), judged.values.get("closing_balance")
    if opening is None or opening != closing:
        message = "No booking was read, and the balances do not say that there was none."
        yield Failure(check="bookings_missing", message=message, fields=("transactions",))


def _check_balances(judged: GateInput, amounts: Sequence[Decimal | None]) -> Iterator[Failure]:
    """A failure of a statement whose balances prove neither its bookings nor their signs.

    In the tables of a file, rows are certain, and so are signs where some amounts are negative.
    """
    document = judged.document
    is_signed = bool(document.embedded) or any(amount is not None and amount < 0 for amount in amounts)
    if judged.own_fields is None and not (has_own_tables(document) and is_signed):
        missing = tuple(
            name for name in ("opening_balance", "closing_balance") if judged.values.get(name) is None
        )
        message = "Nothing proves the bookings and their signs: a balance before or after them is missing."
        yield Failure(check="balances_missing", message=message, fields=missing)


def _check_lines(judged: GateInput) -> Iterator[Failure]:
    document, values = judged.document, judged.values
    rows = list(_rows(values, "lines", ("quantity", "unit_price", "net_amount")))
    yield from _check_products(document, rows)
    amounts = [row["net_amount"] for row in rows if row["net_amount"] is not None]
    candidates = {name: values.get(name) for name in ("net_total", "gross_total")}
    totals = {name: total for name, total in candidates.items() if isinstance(total, Decimal)}
    if not amounts or not totals:
        return
    lines_total = sum(amounts, Decimal(0))
    if any(abs(lines_total - total) <= tolerance_of(judged) for total in totals.values()):
        yield from _check_with_tax(judged, lines_total, len(rows))
        return
    is_cell_lost = any(row["net_amount"] is None and row["quantity"] and row["unit_price"] for row in rows)
    differences = {abs(abs(total) - abs(lines_total)) for total in totals.values()}
    text = document.text[:LONGEST_SEARCHED]
    is_row_lost = any(_is_printed_as_item(text, difference, amounts) for difference in differences)
    is_refuted = abs(lines_total) in judged.refuted_numbers
    gross = totals.get("gross_total")
    if (
        gross is not None
        and not (is_cell_lost or is_row_lost or is_refuted)
        and _leads_to(text, lines_total, gross)
    ):
        return
    is_excused = not (is_cell_lost or is_row_lost or _is_subtotal(text, frozenset(totals.values())))
    # A printed difference is an allowance, a charge or a tax, unless it is an item's amount or a person
    # replaced it. The quantity or price of an item may equal it by chance.
    of_items = {abs(row[name]) for row in rows for name in ("quantity", "unit_price") if row[name]}
    others = tuple(path for path in judged.values if not path.endswith("].net_amount"))
    is_proved = not is_refuted and _is_printed_apart(text, abs(lines_total), amounts)
    printed = (
        judged.has_free_place(difference, but=others)
        and (is_proved or difference not in of_items or _is_printed_apart(text, difference, amounts))
        for difference in differences
    )
    if is_excused and any(printed):
        return
    name, total = next(iter(totals.items()))
    message = f"The lines add up to {lines_total}, not to the {field_name(name).lower()} {total}."
    lost = " A row on the page was not read." if is_row_lost else ""
    yield Failure(
        check="lines_sum",
        message=f"{message}{lost}",
        fields=(name, *(f"lines[{index}].net_amount" for index in range(len(rows)))),
    )


def _check_with_tax(judged: GateInput, lines_total: Decimal, count: int) -> Iterator[Failure]:
    """A failure of items whose amounts include the tax, though they are to be net; on receipts they may."""
    net, tax, gross = (judged.values.get(name) for name in ("net_total", "tax_total", "gross_total"))
    if judged.definition.is_till_paper or not isinstance(gross, Decimal) or not tax:
        return
    is_net = isinstance(net, Decimal) and abs(lines_total - net) <= tolerance_of(judged)
    if not is_net and abs(lines_total - gross) <= tolerance_of(judged):
        yield Failure(
            check="lines_with_tax",
            message=f"The lines add up to the total with tax, {gross}: their amounts are not net.",
            fields=tuple(f"lines[{index}].net_amount" for index in range(count)),
        )


def _is_printed_as_item(text: str, difference: Decimal, amounts: Sequence[Decimal]) -> bool:
    """True if a line prints `difference` behind two numbers of which it is the product, as items do.

    amounts: of the items that were read; lines that contain one of them are left out.
    """
    known = {abs(amount) for amount in amounts}
    for mark in _MARKS:
        for line in text.splitlines():
            numbers = [abs(number(amount.digits, mark)) for amount in find_amounts(line, misread=False)]
            if difference not in numbers[2:] or not known.isdisjoint(numbers):
                continue
            before = numbers[: numbers.index(difference, 2)]
            if any(abs(one * other - difference) <= CENT for one, other in combinations(before, 2)):
                return True
    return False


def _is_subtotal(text: str, totals: frozenset[Decimal]) -> bool:
    """True if a line calls one of the totals a subtotal, which the items alone add up to."""
    for line in text.splitlines():
        labels = [label for label in LABELS.find(line) if label.quality == 1]
        is_subtotal = any(Concept.SUBTOTAL in label.meanings for label in labels)
        if is_subtotal and not totals.isdisjoint(numbers_in(line)):
            return True
    return False


def _leads_to(text: str, lines_total: Decimal, total: Decimal) -> bool:
    """True if the only subtotal is that of the items, and with the taxes and tips below it makes the total.

    As in `Subtotal 25.00`, `State tax 1.09`, `City tax 1.00`, `Tip 4.50`, `Total 31.59`.
    """
    lines = text.splitlines()
    meanings = [{meaning for label in LABELS.find(line) for meaning in label.meanings} for line in lines]
    subtotals = [index for index, of_line in enumerate(meanings) if Concept.SUBTOTAL in of_line]
    if not subtotals or any(lines_total not in numbers_in(lines[index]) for index in subtotals):
        return False
    first = subtotals[-1] + 1
    added = [
        amounts
        for index in range(first, min(first + _MOST_ADDED, len(lines)))
        if not meanings[index].isdisjoint(_BESIDES_ITEMS)
        and (amounts := find_amounts(lines[index], misread=False))
    ]
    return any(
        total in accumulate((number(amounts[-1].digits, mark) for amounts in added), initial=lines_total)
        for mark in _MARKS
    )


def _is_printed_apart(text: str, number: Decimal, amounts: Sequence[Decimal]) -> bool:
    """True if a line prints the number that has the amount of no item."""
    known = {abs(amount) for amount in amounts}
    lines = map(numbers_in, text.splitlines())
    return any(number in numbers and known.isdisjoint(numbers) for numbers in lines)


def check_rows(judged: GateInput) -> Iterator[Failure]:
    """Failures of lists of items: a row missing between two others, or a row without its quantity."""
    if judged.document.embedded:
        return
    rows = list(_rows(judged.values, "lines", ("position", "quantity", "unit_price", "net_amount")))
    yield from _check_positions(rows)
    yield from _check_names(judged)
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


def _check_names(judged: GateInput) -> Iterator[Failure]:
    """Failures of descriptions cut within a word or bracket, or at the edge of a recognised picture."""
    recognised = {page.number for page in judged.document.pages if page.engine is not None}
    for index, row in enumerate(_rows(judged.values, "lines", ("description",))):
        path, text = f"lines[{index}].description", row["description"] or ""
        evidence = judged.evidence(path)
        box = evidence.box if evidence is not None and evidence.page in recognised else None
        is_at_edge = box is not None and box.x1 > 1 - _EDGE
        if is_at_edge or text.endswith(_OPEN_ENDS) or text.count("(") > text.count(")"):
            message = f"The description of line {index + 1} may be cut off: it ends with {text[-_SHOWN:]!r}."
            yield Failure(check="cut_off", message=message, fields=(path,))


def _check_positions(rows: Sequence[dict[str, Any]]) -> Iterator[Failure]:
    """A failure if the positions of the rows go up in equal steps and one step is missing."""
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
    """A failure of lines whose amount is not quantity times price; discounts and price bases are allowed."""
    wrong: list[int] = []
    for index, row in enumerate(rows):
        quantity, price, amount = row["quantity"], row["unit_price"], row["net_amount"]
        if quantity is None or price is None or amount is None:
            continue
        if abs(abs(quantity * price) - abs(amount)) > CENT + CENT / 2 * abs(quantity):
            wrong.append(index)
    lines = document.text[:LONGEST_SEARCHED].splitlines() if wrong else []
    if any(map(_has_price_base, lines)):
        return
    if wrong and not any(Concept.DISCOUNT in label.meanings for line in lines for label in LABELS.find(line)):
        numbers = ", ".join(str(index + 1) for index in wrong)
        fields = tuple(f"lines[{index}].{name}" for index in wrong for name in rows[index])
        message = f"Quantity times price is not the amount in line {numbers}."
        yield Failure(check="line_amount", message=message, fields=fields)


def _has_price_base(line: str) -> bool:
    """True if a heading names the number of pieces that a price is for."""
    meanings = {meaning for label in COLUMNS.find(line) for meaning in label.meanings}
    return meanings >= {Column.PRICE_BASE, Column.QUANTITY, Column.UNIT_PRICE}


def _rows(values: Values, owner: str, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield the items of a list with these values, None where there is none."""
    present = {path.partition("]")[0] for path in values if path.startswith(f"{owner}[")}
    for index in count():
        if f"{owner}[{index}" not in present:
            return
        yield {name: values.get(f"{owner}[{index}].{name}") for name in names}
