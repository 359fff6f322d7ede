"""The checks that decide whether an extraction is trusted or shown to a person."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import count
from typing import Any

import numpy as np
from babel.numbers import list_currencies
from pydantic import ValidationError

from docmill.model.document import Document, letters_and_digits
from docmill.model.paths import leaves, path_of
from docmill.model.result import Evidence, Extraction, Failure, Schema, Verdict
from docmill.ports import Gate
from docmill.resilience.concurrency import VALUE, off_loop
from docmill.schemas.document_types import DEFINITIONS, PATH_IN_BRACES, known_type
from docmill.understanding.page.labels import LABELS
from docmill.understanding.text.codes import is_bic, is_iban, is_vat_id
from docmill.understanding.text.money import CASH_ROUNDING, CENT, find_amounts, number
from docmill.understanding.vocabulary import Concept
from docmill.understanding.withholding import Floors

LONGEST_CREDIT = timedelta(days=366)
LONGEST_PERIOD = timedelta(days=5 * 366)
LARGEST = Decimal(10) ** 15
"""Amounts from here on are misread, in any currency."""
EARLIEST, LATEST = date(1990, 1, 1), date(2079, 12, 31)
LONGEST_SEARCHED = 200_000
"""Characters that are searched for the explanation of a difference."""

_CAPITALS = {"bic": "BIC", "iban": "IBAN", "vat": "VAT"}
_CURRENCIES = frozenset(list_currencies())
_IS_VALID_CODE: Mapping[str, Callable[[str], bool]] = {
    "iban": is_iban,
    "bic": is_bic,
    "vat_id": is_vat_id,
    "currency": _CURRENCIES.__contains__,
}
"""By the last part of a path, which is also the name of the check."""

Values = Mapping[str, Any]
"""Values that are not null, by path, lists by index: `lines[0].net_amount`."""


class RuleGate:
    """`Gate` by fixed rules. It does not look at the clock: dates are only compared with each other."""

    def judge(self, document: Document, extraction: Extraction, schema: Schema) -> Verdict:
        """See `Gate.judge`."""
        values = dict(leaves(extraction.data))
        failures = (
            *extraction.failures,
            *_check_schema(extraction, schema, values),
            *_check_totals(document, extraction, values),
            *check_lists(document, values),
            *_check_dates(values),
            *_check_values(document, extraction, values),
            *_check_confidence(document, extraction, schema, values),
        )
        return Verdict(failures=failures)


async def judge_off_loop(gate: Gate, document: Document, extraction: Extraction, schema: Schema) -> Verdict:
    """See `Gate.judge`; runs in a thread if the document is so large that it would block the event loop."""
    size = document.word_count + VALUE * len(extraction.evidence)
    return await off_loop(gate.judge, document, extraction, schema, size=size)


def _check_schema(extraction: Extraction, schema: Schema, values: Values) -> Iterator[Failure]:
    """Failures of the schema's own validation, and of critical values that are missing, each by its name."""
    try:
        schema.fields.model_validate(extraction.data.model_dump(warnings=False), by_alias=True, by_name=True)
    except ValidationError as error:
        paths = (path_of(detail["loc"]) for detail in error.errors())
        wrong = tuple(path for path in paths if path in values or path not in schema.critical)
        if wrong:
            message = "Some fields do not have the form they must have."
            yield Failure(check="schema", message=message, fields=wrong)
    except Exception:  # noqa: BLE001 - a user's rule may raise anything, over a null above all
        yield Failure(check="schema", message="A rule of the schema itself fails on these values.")
    for path in schema.critical:
        if path in values:
            continue
        if path in extraction.suggestions:
            yield _uncertain(path)
        else:
            message = f"{_display_name(path)} was not found."
            yield Failure(check="critical_missing", message=message, fields=(path,))


def _check_totals(document: Document, extraction: Extraction, values: Values) -> Iterator[Failure]:
    is_till_paper = DEFINITIONS[known_type(extraction.document_type)].is_till_paper
    tolerance = CASH_ROUNDING if is_till_paper else CENT
    net, tax, gross, due = (
        value if isinstance(value := values.get(path), Decimal) else None
        for path in ("net_total", "tax_total", "gross_total", "amount_due")
    )
    if gross is not None and tax is not None:
        if net is not None and abs(net + tax - gross) > tolerance:
            message = f"Net total {net} and tax {tax} do not add up to the total {gross}."
            yield Failure(check="sum", message=message, fields=("net_total", "tax_total", "gross_total"))
        if abs(tax) > abs(gross):
            message = f"Tax {tax} is more than the total {gross}."
            yield Failure(check="tax_above_total", message=message, fields=("tax_total", "gross_total"))
    # E-invoices may ask for earlier debts, too, and BR-CO-16 checks their sums.
    yield from _check_type_rules(extraction, values)
    if gross is not None and due is not None:
        is_more = abs(due) > abs(gross) + tolerance or due * gross < 0
        if is_more and not document.embedded:
            message = f"The amount due {due} is more than the total {gross}."
            yield Failure(check="amount_due", message=message, fields=("amount_due", "gross_total"))
    for path, value in values.items():
        if isinstance(value, Decimal) and not abs(value) < LARGEST:
            message = f"{_display_name(path)} is too large to be true."
            yield Failure(check="amount_range", message=message, fields=(path,))


def _check_type_rules(extraction: Extraction, values: Values) -> Iterator[Failure]:
    """Failures of the sums that the file of the document's type lists; a term after a `-` is subtracted."""
    for check in DEFINITIONS[known_type(extraction.document_type)].checks:
        terms = [*((term, 1) for term in check.left), *((term, -1) for term in check.right)]
        paths = tuple(term.removeprefix("-") for term, _ in terms)
        amounts = [amount for path in paths if isinstance(amount := values.get(path), Decimal)]
        if len(amounts) < len(paths):
            continue
        signs = [-side if term.startswith("-") else side for term, side in terms]
        difference = sum((sign * amount for sign, amount in zip(signs, amounts, strict=True)), Decimal(0))
        is_met = abs(difference) <= CENT if check.relation == "=" else difference >= 0
        if not is_met:
            message = PATH_IN_BRACES.sub(lambda path: str(values.get(path[1], "nothing")), check.message)
            yield Failure(check=check.name, message=message, fields=paths)


def check_lists(document: Document, values: Values) -> Iterator[Failure]:
    """Failures of line items and bookings that do not add up to the totals and balances."""
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
        message=f"The lines add up to {lines_total}, not to the {name.replace('_', ' ')} {total}.",
        fields=(name, *(f"lines[{index}].net_amount" for index in range(len(rows)))),
    )


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


def _check_dates(values: Values) -> Iterator[Failure]:
    # A date with a time cannot be compared with one without.
    dates = {path: value for path, value in values.items() if isinstance(value, date)}
    days = {path: day.date() if isinstance(day, datetime) else day for path, day in dates.items()}
    for first, second, longest in (
        ("issue_date", "due_date", LONGEST_CREDIT),
        ("period_start", "period_end", LONGEST_PERIOD),
    ):
        earlier, later = days.get(first), days.get(second)
        if earlier is None or later is None:
            continue
        names = f"{_display_name(second)} {later} is {{}} {_display_name(first).lower()} {earlier}."
        if later < earlier:
            yield Failure(check="date_order", message=names.format("before"), fields=(first, second))
        elif later - earlier > longest:
            message = names.format("too long after")
            yield Failure(check="date_distance", message=message, fields=(first, second))
    for path, day in days.items():
        if not EARLIEST <= day <= LATEST:
            message = f"{_display_name(path)} {day} is not a likely date."
            yield Failure(check="date_range", message=message, fields=(path,))


def _check_values(document: Document, extraction: Extraction, values: Values) -> Iterator[Failure]:
    """Failures of codes with a wrong character, and of values that are not at their place on the page."""
    for path, value in values.items():
        name = path.rpartition(".")[2]
        if name in _IS_VALID_CODE and isinstance(value, str) and not _IS_VALID_CODE[name](value):
            message = f"{_display_name(path)} {value!r} is not valid: a character is wrong or missing."
            yield Failure(check=name, message=message, fields=(path,))
    for path in values:
        evidence = extraction.evidence.get(path)
        if evidence is None or not _is_printed(document, evidence):
            message = f"{_display_name(path)} was not found on the page."
            yield Failure(check="evidence", message=message, fields=(path,))


def _is_printed(document: Document, evidence: Evidence) -> bool:
    """Return whether the text is at its place on the page; computed and embedded values have no place."""
    if evidence.match in ("computed", "embedded"):
        return evidence.page is None
    box = evidence.box
    page = next((page for page in document.pages if page.number == evidence.page), None)
    if page is None or box is None or not evidence.text or evidence.match == "none":
        return False
    boxes = page.words.boxes
    x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    inside = (box.x0 <= x) & (x <= box.x1) & (box.y0 <= y) & (y <= box.y1)
    letters = letters_and_digits("".join(page.words.texts[index] for index in np.flatnonzero(inside)))
    return all(letters_and_digits(word) in letters for word in evidence.text.split())


def _check_confidence(
    document: Document, extraction: Extraction, schema: Schema, values: Values
) -> Iterator[Failure]:
    floors = Floors(document, schema)
    for path in values:
        evidence = extraction.evidence.get(path)
        if evidence is not None and floors.is_below(path, evidence):
            yield _uncertain(path)


def _uncertain(path: str) -> Failure:
    message = f"{_display_name(path)} is uncertain; please look at it."
    return Failure(check="confidence", message=message, fields=(path,))


def _display_name(path: str) -> str:
    words = path.replace("_", " ").replace(".", " ").capitalize().split(" ")
    return " ".join(_CAPITALS.get(word.lower(), word) for word in words)
