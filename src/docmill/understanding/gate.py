"""The rules by which an extraction is believed or shown to a person."""

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, cast

import numpy as np
from babel.numbers import list_currencies
from pydantic import BaseModel, ValidationError

from docmill.model import Box, Document, Evidence, Extraction, Failure, Page, Verdict, letters_and_digits
from docmill.schemas.registry import REGISTRY
from docmill.understanding.codes import is_bic, is_iban, is_vat_id

CENT = Decimal("0.01")
CASH_ROUNDING = Decimal("0.05")
"""The most a till rounds: to the nearest 0.05 or 0.10, by at most half of it."""
LONGEST_CREDIT = timedelta(days=366)
LONGEST_PERIOD = timedelta(days=5 * 366)
EARLIEST, LATEST = date(1990, 1, 1), date(2079, 12, 31)
THRESHOLD = 0.5
"""Least confidence of a critical field."""
RECOGNISED_THRESHOLDS = {"seller.name": 0.9, "gross_total": 0.85}
"""The same on recognised pages, where a misread letter is silent. Measured: docs/understanding.md."""

_CURRENCIES = frozenset(list_currencies())


class RuleGate:
    """`Gate` by fixed rules. It knows no clock: dates are judged against each other alone."""

    def judge(self, document: Document, extraction: Extraction) -> Verdict:
        """See `Gate.judge`."""
        values = dict(leaves(extraction.data))
        return Verdict(
            failures=(
                *extraction.failures,
                *(failure for check in _CHECKS for failure in check(document, extraction, values)),
            )
        )


Values = dict[str, Any]


def leaves(model: BaseModel, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The path and value of every field that is not null, lists by index: `lines[0].net_amount`."""
    for name in type(model).model_fields:
        yield from _leaves(getattr(model, name), prefix + name)


def _leaves(value: object, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, BaseModel):
        yield from leaves(value, path + ".")
    elif isinstance(value, tuple):
        for index, item in enumerate(cast("tuple[object, ...]", value)):
            yield from _leaves(item, f"{path}[{index}]")
    elif value is not None:
        yield path, value


def _schema(_document: Document, extraction: Extraction, _values: Values) -> Iterator[Failure]:
    fields = REGISTRY[extraction.document_type].fields
    try:
        fields.model_validate(extraction.data.model_dump())
    except ValidationError as error:
        paths = tuple(".".join(map(str, detail["loc"])) for detail in error.errors())
        yield Failure(
            check="schema", message="Some fields do not have the form they must have.", fields=paths
        )


def _critical(_document: Document, extraction: Extraction, values: Values) -> Iterator[Failure]:
    for path in REGISTRY[extraction.document_type].critical:
        if path not in values:
            yield Failure(check="critical_missing", message=f"{_name(path)} was not found.", fields=(path,))


def _sums(_document: Document, extraction: Extraction, values: Values) -> Iterator[Failure]:
    net, tax, gross = (_amount(values, name) for name in ("net_total", "tax_total", "gross_total"))
    if net is not None and tax is not None and gross is not None:
        allowed = CASH_ROUNDING if extraction.document_type == "receipt" else CENT
        if abs(net + tax - gross) > allowed:
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


def _amount_due(_document: Document, extraction: Extraction, values: Values) -> Iterator[Failure]:
    gross, due = _amount(values, "gross_total"), _amount(values, "amount_due")
    if gross is None or due is None:
        return
    allowed = CASH_ROUNDING if extraction.document_type == "receipt" else CENT
    if abs(due) > abs(gross) + allowed or due * gross < 0:
        yield Failure(
            check="amount_due",
            message=f"The amount due {due} is more than the total {gross}.",
            fields=("amount_due", "gross_total"),
        )


def _dates(_document: Document, _extraction: Extraction, values: Values) -> Iterator[Failure]:
    yield from _in_order(values, "issue_date", "due_date", LONGEST_CREDIT)
    yield from _in_order(values, "period_start", "period_end", LONGEST_PERIOD)
    for path, value in values.items():
        if isinstance(value, date) and not EARLIEST <= value <= LATEST:
            yield Failure(
                check="date_range", message=f"{_name(path)} {value} is not a likely date.", fields=(path,)
            )


def _in_order(values: Values, first: str, second: str, longest: timedelta) -> Iterator[Failure]:
    earlier, later = values.get(first), values.get(second)
    if not isinstance(earlier, date) or not isinstance(later, date):
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


def _codes(_document: Document, _extraction: Extraction, values: Values) -> Iterator[Failure]:
    for path, value in values.items():
        for check, name, holds in _CODES:
            if path.rpartition(".")[2] == name and isinstance(value, str) and not holds(value):
                yield Failure(
                    check=check,
                    message=f"{_name(path)} {value!r} is not valid: a character is wrong or missing.",
                    fields=(path,),
                )


def _evidence(document: Document, extraction: Extraction, values: Values) -> Iterator[Failure]:
    for path in values:
        evidence = extraction.evidence.get(path)
        if evidence is None or not _stands(document, evidence):
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


def _confidence(document: Document, extraction: Extraction, values: Values) -> Iterator[Failure]:
    recognised = {page.number for page in document.pages if page.source == "ocr"}
    for path in REGISTRY[extraction.document_type].critical:
        evidence = extraction.evidence.get(path)
        if path not in values or evidence is None:
            continue
        least = RECOGNISED_THRESHOLDS.get(path, THRESHOLD) if evidence.page in recognised else THRESHOLD
        if evidence.confidence < least:
            yield Failure(
                check="confidence", message=f"{_name(path)} is uncertain; please look at it.", fields=(path,)
            )


_CHECKS = (_schema, _critical, _sums, _amount_due, _dates, _codes, _evidence, _confidence)


def _amount(values: Values, name: str) -> Decimal | None:
    value = values.get(name)
    return value if isinstance(value, Decimal) else None


def _name(path: str) -> str:
    return path.replace("_", " ").replace(".", " ").capitalize()
