"""The rules by which an extraction is believed or shown to a person."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from babel.numbers import list_currencies
from pydantic import ValidationError

from docmill.model.document import Box, Document, Page, letters_and_digits
from docmill.model.paths import leaves, path_of
from docmill.model.result import Evidence, Extraction, Failure, Schema, Verdict
from docmill.ports import Gate
from docmill.resilience.concurrency import VALUE, off_loop
from docmill.schemas.document_types import DEFINITIONS, known_type
from docmill.understanding import itemised
from docmill.understanding.text.codes import is_bic, is_iban, is_vat_id

CENT = Decimal("0.01")
CASH_ROUNDING = Decimal("0.05")
"""The most a till rounds: to the nearest 0.05 or 0.10, by at most half of it."""
LONGEST_CREDIT = timedelta(days=366)
LONGEST_PERIOD = timedelta(days=5 * 366)
LARGEST = Decimal(10) ** 15
"""No document is about as much, in any currency."""
EARLIEST, LATEST = date(1990, 1, 1), date(2079, 12, 31)
THRESHOLD = 0.5
"""Least confidence of a critical field."""
RECOGNISED_THRESHOLDS = {"seller.name": 0.9, "gross_total": 0.85}
"""The same on recognised pages, where a misread letter is silent. Measured: bench/RESULTS.md."""

_CAPITALS = {"bic": "BIC", "iban": "IBAN", "vat": "VAT"}
_CURRENCIES = frozenset(list_currencies())


class RuleGate:
    """`Gate` by fixed rules. It knows no clock: dates are judged against each other alone."""

    def judge(self, document: Document, extraction: Extraction, schema: Schema) -> Verdict:
        """See `Gate.judge`."""
        case = _Case(document, extraction, schema, dict(leaves(extraction.data)))
        found = (failure for check in _CHECKS for failure in check(case))
        return Verdict(failures=(*extraction.failures, *found))


async def judge_off_loop(gate: Gate, document: Document, extraction: Extraction, schema: Schema) -> Verdict:
    """See `Gate.judge`; in a thread where it takes so long that the event loop would be held up."""
    size = document.word_count + VALUE * len(extraction.evidence)
    return await off_loop(gate.judge, document, extraction, schema, size=size)


Values = dict[str, Any]


class _Case(NamedTuple):
    """What is judged. values: those that are not null, by path, lists by index: `lines[0].net_amount`."""

    document: Document
    extraction: Extraction
    schema: Schema
    values: Values

    @property
    def sum_tolerance(self) -> Decimal:
        is_till_paper = DEFINITIONS[known_type(self.extraction.document_type)].is_till_paper
        return CASH_ROUNDING if is_till_paper else CENT


def _schema(case: _Case) -> Iterator[Failure]:
    """Critical values that are not there are said by name, and not here."""
    try:
        case.schema.fields.model_validate(
            case.extraction.data.model_dump(warnings=False), by_alias=True, by_name=True
        )
    except ValidationError as error:
        paths = (path_of(detail["loc"]) for detail in error.errors())
        bad = tuple(path for path in paths if path in case.values or path not in case.schema.critical)
        if bad:
            yield Failure(
                check="schema", message="Some fields do not have the form they must have.", fields=bad
            )
    except Exception:  # noqa: BLE001 - a user's rule may raise anything, over a null above all
        yield Failure(check="schema", message="A rule of the schema itself fails on these values.")


def _critical(case: _Case) -> Iterator[Failure]:
    for path in case.schema.critical:
        if path not in case.values:
            yield Failure(check="critical_missing", message=f"{_name(path)} was not found.", fields=(path,))


def _sums(case: _Case) -> Iterator[Failure]:
    net, tax, gross = (_amount(case.values, name) for name in ("net_total", "tax_total", "gross_total"))
    if (
        net is not None
        and tax is not None
        and gross is not None
        and abs(net + tax - gross) > case.sum_tolerance
    ):
        yield Failure(
            check="sum",
            message=f"Net total {net} and tax {tax} do not add up to the total {gross}.",
            fields=("net_total", "tax_total", "gross_total"),
        )
    if tax is not None and gross is not None and abs(tax) > abs(gross):
        yield Failure(
            check="tax_above_total",
            message=f"Tax {tax} is more than the total {gross}.",
            fields=("tax_total", "gross_total"),
        )


def _amount_due(case: _Case) -> Iterator[Failure]:
    """Not of e-invoices: they may ask for earlier debts as well, and BR-CO-16 tells whether they add up."""
    gross, due = _amount(case.values, "gross_total"), _amount(case.values, "amount_due")
    if gross is None or due is None or case.document.embedded:
        return
    if abs(due) > abs(gross) + case.sum_tolerance or due * gross < 0:
        yield Failure(
            check="amount_due",
            message=f"The amount due {due} is more than the total {gross}.",
            fields=("amount_due", "gross_total"),
        )


def _amounts(case: _Case) -> Iterator[Failure]:
    for path, value in case.values.items():
        if isinstance(value, Decimal) and not abs(value) < LARGEST:
            yield Failure(
                check="amount_range", message=f"{_name(path)} is too large to be true.", fields=(path,)
            )


def _dates(case: _Case) -> Iterator[Failure]:
    days = {path: day for path, value in case.values.items() if (day := _day(value)) is not None}
    yield from _in_order(days, "issue_date", "due_date", LONGEST_CREDIT)
    yield from _in_order(days, "period_start", "period_end", LONGEST_PERIOD)
    for path, day in days.items():
        if not EARLIEST <= day <= LATEST:
            yield Failure(
                check="date_range", message=f"{_name(path)} {day} is not a likely date.", fields=(path,)
            )


def _day(value: object) -> date | None:
    """The day of a date, or of a date with a time, which cannot be compared with one without."""
    if isinstance(value, datetime):
        return value.date()
    return value if isinstance(value, date) else None


def _in_order(days: Mapping[str, date], first: str, second: str, longest: timedelta) -> Iterator[Failure]:
    earlier, later = days.get(first), days.get(second)
    if earlier is None or later is None:
        return
    if later < earlier:
        yield Failure(
            check="date_order",
            message=f"{_name(second)} {later} is before {_name(first).lower()} {earlier}.",
            fields=(first, second),
        )
    elif later - earlier > longest:
        yield Failure(
            check="date_distance",
            message=f"{_name(second)} {later} is too long after {_name(first).lower()} {earlier}.",
            fields=(first, second),
        )


_CODES: tuple[tuple[str, str, Callable[[str], bool]], ...] = (
    ("iban", "iban", is_iban),
    ("bic", "bic", is_bic),
    ("vat_id", "vat_id", is_vat_id),
    ("currency", "currency", _CURRENCIES.__contains__),
)


def _codes(case: _Case) -> Iterator[Failure]:
    for path, value in case.values.items():
        for check, name, holds in _CODES:
            if path.rpartition(".")[2] == name and isinstance(value, str) and not holds(value):
                yield Failure(
                    check=check,
                    message=f"{_name(path)} {value!r} is not valid: a character is wrong or missing.",
                    fields=(path,),
                )


def _evidence(case: _Case) -> Iterator[Failure]:
    for path in case.values:
        evidence = case.extraction.evidence.get(path)
        if evidence is None or not _stands(case.document, evidence):
            yield Failure(
                check="evidence", message=f"{_name(path)} was not found on the page.", fields=(path,)
            )


def _stands(document: Document, evidence: Evidence) -> bool:
    """Whether the text read is at its place on the page; what is computed or embedded has none there."""
    if evidence.match in ("computed", "embedded"):
        return evidence.page is None
    page = next((page for page in document.pages if page.number == evidence.page), None)
    if page is None or evidence.box is None or not evidence.text or evidence.match == "none":
        return False
    there = letters_and_digits("".join(_texts_within(page, evidence.box)))
    return all(letters_and_digits(word) in there for word in evidence.text.split())


def _texts_within(page: Page, box: Box) -> list[str]:
    boxes = page.words.boxes
    x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    inside = (box.x0 <= x) & (x <= box.x1) & (box.y0 <= y) & (y <= box.y1)
    return [page.words.texts[index] for index in np.flatnonzero(inside)]


def _confidence(case: _Case) -> Iterator[Failure]:
    recognised = {page.number for page in case.document.pages if page.source == "ocr"}
    for path in case.schema.critical:
        evidence = case.extraction.evidence.get(path)
        if path not in case.values or evidence is None:
            continue
        least = RECOGNISED_THRESHOLDS.get(path, THRESHOLD) if evidence.page in recognised else THRESHOLD
        if evidence.confidence < least:
            yield Failure(
                check="confidence", message=f"{_name(path)} is uncertain; please look at it.", fields=(path,)
            )


def _lists(case: _Case) -> Iterator[Failure]:
    yield from itemised.failures(case.document, case.values)


def _of_type(case: _Case) -> Iterator[Failure]:
    """The checks that the file of the document's type lists."""
    for check in DEFINITIONS[known_type(case.extraction.document_type)].checks:
        paths = tuple(path.removeprefix("-") for path in (*check.left, *check.right))
        if any(_amount(case.values, path) is None for path in paths):
            continue
        difference = _added(case.values, check.left) - _added(case.values, check.right)
        holds = abs(difference) <= CENT if check.relation == "=" else difference >= 0
        if not holds:
            yield Failure(check=check.name, message=check.message.format_map(case.values), fields=paths)


def _added(values: Values, terms: Sequence[str]) -> Decimal:
    """The sum of the amounts at these paths; one after a `-` is subtracted."""
    amounts = [(values[term.removeprefix("-")], term.startswith("-")) for term in terms]
    return sum((-amount if is_minus else amount for amount, is_minus in amounts), Decimal(0))


_CHECKS = (
    _schema,
    _critical,
    _sums,
    _of_type,
    _amount_due,
    _amounts,
    _lists,
    _dates,
    _codes,
    _evidence,
    _confidence,
)


def _amount(values: Values, name: str) -> Decimal | None:
    value = values.get(name)
    return value if isinstance(value, Decimal) else None


def _name(path: str) -> str:
    words = path.replace("_", " ").replace(".", " ").capitalize().split(" ")
    return " ".join(_CAPITALS.get(word.lower(), word) for word in words)
