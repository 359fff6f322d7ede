"""Comparison of an XML with the pages: where they differ, someone may want to be paid twice."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from functools import cached_property

from docmill.model.document import Document, letters_and_digits
from docmill.model.result import Failure
from docmill.understanding.fields.findings import Finding
from docmill.understanding.page.layout import text_runs
from docmill.understanding.text.codes import Code, find_ibans, find_vat_ids
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.money import Mark, find_amounts

MAX_PAGES = 40
"""Header fields and totals do not stand behind so many."""


_IBAN_FORM = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2} ?[A-Z0-9]{3,4}(?: ?[A-Z0-9]{1,4}){0,5}\b")
"""The shortest have 15 characters."""
_VAT_FORM = re.compile(r"\b(?:ATU|BE|DE|DK|EL|ES|FI|FR|IE|IT|LU|NL|PL|PT|SE) ?\d(?:[ .]?\d){7,10}\b")
_MARKS: tuple[Mark, ...] = (".", ",")
_Find = Callable[[str], Iterator[Code]]


class Printed:
    """The values printed on a document. Amounts are without their sign: credit notes print either."""

    def __init__(self, document: Document) -> None:
        self._pages = [page for page in document.pages[:MAX_PAGES] if page.words.texts]
        self.is_recognised = any(page.source == "ocr" for page in self._pages)

    @cached_property
    def amounts(self) -> set[Decimal]:
        """Each number both ways, the decimal mark being a point or a comma."""
        return {
            abs(written.value(mark))
            for text, is_recognised in self._stretches
            for written in find_amounts(text, misread=is_recognised)
            for mark in _MARKS
        }

    @cached_property
    def dates(self) -> set[date]:
        """Each date both ways, the day or the month being first."""
        written = [one for text, _ in self._stretches for one in find_dates(text)]
        read = (one.value(day_first=day_first) for one in written for day_first in (True, False))
        return {value for value in read if value is not None}

    @cached_property
    def ibans(self) -> list[str]:
        """Those whose checksum holds, then, but on scans, what only has their form."""
        return self._codes(find_ibans, _IBAN_FORM)

    @cached_property
    def vat_ids(self) -> list[str]:
        """As `ibans`; of other countries than the European Union's those with a checksum only."""
        return self._codes(find_vat_ids, _VAT_FORM)

    def holds(self, value: str) -> bool:
        """Tell whether it stands anywhere, be it within longer words or over the end of a line."""
        wanted = letters_and_digits(value)
        return any(wanted in text for text in self._texts)

    @property
    def words(self) -> Iterator[str]:
        """All of them."""
        return (text for page in self._pages for text in page.words.texts)

    @cached_property
    def _texts(self) -> list[str]:
        return [letters_and_digits("".join(page.words.texts)) for page in self._pages]

    @cached_property
    def _stretches(self) -> list[tuple[str, bool]]:
        """The text of each, and whether it was recognised."""
        return [
            (" ".join(page.words.texts[one.start : one.stop]), page.source == "ocr")
            for page in self._pages
            for one in text_runs(page)
        ]

    def _codes(self, find: _Find, form: re.Pattern[str]) -> list[str]:
        texts = [text for text, _ in self._stretches]
        valid = [code.value for text in texts for code in find(text) if code.valid]
        formed = [] if self.is_recognised else [match[0] for text in texts for match in form.finditer(text)]
        return [*valid, *(re.sub(r"\s", "", code) for code in formed)]


CHECK = "xml_mismatch"
LEAST_SURE = 0.5
"""So much the rules must believe in what they read on the page before it speaks against the XML."""
LEAST_SURE_OF_NAMES = 0.7
_SHORTEST_ALIKE = 5
_DATES = ("issue_date", "due_date", "delivery_date")
_BORNE_BY_ALL = "issue_date"
_AMOUNTS = ("gross_total", "net_total", "tax_total", "amount_due")
_NAMES: Mapping[str, str] = {
    "number": "number",
    "issue_date": "date of issue",
    "due_date": "due date",
    "delivery_date": "date of delivery",
    "gross_total": "total",
    "net_total": "total without tax",
    "tax_total": "tax",
    "amount_due": "amount due",
    "seller.name": "seller's name",
    "seller.vat_id": "seller's VAT identifier",
    "payment.iban": "IBAN",
}
_WORD = re.compile(r"[^\W\d_]{3,}")


def mismatches(
    values: Mapping[str, object], shown: Mapping[str, Finding], printed: Printed
) -> tuple[Failure, ...]:
    """Values of the XML that the pages show nowhere, where they show another one.

    values: the XML's, by path. shown: what the rules read on the pages. What the pages do not show at
    all is no mismatch, but for what every bill shows: its date, its total and what is due.
    """
    return tuple(
        failure
        for check in (_dates, _amounts, _number, _accounts, _seller)
        for failure in check(values, shown, printed)
    )


_Values = Mapping[str, object]
_Shown = Mapping[str, Finding]


def _dates(values: _Values, shown: _Shown, printed: Printed) -> Iterator[Failure]:
    """Another date of the XML may be what the rules read, but in place of the one that all bills bear."""
    known = {value for value in values.values() if isinstance(value, date)}
    for path in _DATES:
        value, rival = values.get(path), _rival(shown, path)
        if not isinstance(value, date) or value in printed.dates:
            continue
        is_sure = rival is not None and (path == _BORNE_BY_ALL or rival.value not in known)
        if rival is not None and is_sure:
            yield _mismatch(path, value, rival.value)
        elif path == _BORNE_BY_ALL and printed.dates and not printed.is_recognised:
            yield _not_shown(path, value)


def _amounts(values: _Values, shown: _Shown, printed: Printed) -> Iterator[Failure]:
    for path in _AMOUNTS:
        value, rival = values.get(path), _rival(shown, path)
        if not isinstance(value, Decimal) or abs(value) in printed.amounts or not printed.amounts:
            continue
        others = (values.get(other) for other in _AMOUNTS if other not in (path, _twin(path)))
        known = {abs(other) for other in others if isinstance(other, Decimal)}
        is_told = path == "amount_due" and value == values.get("gross_total")
        if rival is not None and isinstance(rival.value, Decimal) and abs(rival.value) not in known:
            yield _mismatch(path, value, rival.value)
        elif path in ("gross_total", "amount_due") and value and not is_told and not printed.is_recognised:
            yield _not_shown(path, value)


def _twin(path: str) -> str:
    """Total and amount due are mostly the same: if one is changed, the other does not excuse it."""
    return {"gross_total": "amount_due", "amount_due": "gross_total"}.get(path, path)


def _number(values: _Values, shown: _Shown, printed: Printed) -> Iterator[Failure]:
    """A part of the number between marks may be all that is printed; other numbers of the XML may be read."""
    value, rival = values.get("number"), _rival(shown, "number")
    if not isinstance(value, str) or printed.holds(value):
        return
    excused = {letters_and_digits(str(one)) for path, one in values.items() if path != "number"}
    if rival is not None:
        if letters_and_digits(str(rival.value)) not in excused.union(re.split(r"[\W_]+", value.casefold())):
            yield _mismatch("number", value, rival.value)
    elif not printed.is_recognised:
        alike = (word for word in printed.words if _differ_by_one(letters_and_digits(word), value))
        near = next((word for word in alike if letters_and_digits(word) not in excused), None)
        if near is not None:
            yield _mismatch("number", value, near)


def _differ_by_one(word: str, value: str) -> bool:
    """Tell whether they are equal but for one character, and long enough for that to be no chance."""
    wanted = letters_and_digits(value)
    if len(word) != len(wanted) or len(wanted) < _SHORTEST_ALIKE:
        return False
    return sum(one != other for one, other in zip(word, wanted, strict=True)) == 1


def _accounts(values: _Values, shown: _Shown, printed: Printed) -> Iterator[Failure]:
    """A failure for an account or VAT identifier where the pages print others, known by their form, only."""
    del shown
    said = {letters_and_digits(one) for one in values.values() if isinstance(one, str)}
    for path, codes in (("payment.iban", printed.ibans), ("seller.vat_id", printed.vat_ids)):
        value = values.get(path)
        if not isinstance(value, str) or printed.holds(value):
            continue
        rival = next((code for code in codes if letters_and_digits(code) not in said), None)
        if rival is not None:
            yield _mismatch(path, value, rival)


def _seller(values: _Values, shown: _Shown, printed: Printed) -> Iterator[Failure]:
    """Names are written in many ways: only one of which hardly a word is shown is another."""
    value, rival = values.get("seller.name"), shown.get("seller.name")
    if not isinstance(value, str) or rival is None or printed.is_recognised:
        return
    words = _WORD.findall(value)
    missing = [word for word in words if not printed.holds(word)]
    least = LEAST_SURE if missing == words else LEAST_SURE_OF_NAMES
    if words and len(missing) * 2 > len(words) and rival.probability >= least:
        yield _mismatch("seller.name", value, rival.value)


def _rival(shown: _Shown, path: str) -> Finding | None:
    """The finding of a path if it is printed, not computed, and likely."""
    found = shown.get(path)
    is_read = found is not None and bool(found.spans) and found.probability >= LEAST_SURE
    return found if is_read else None


def _not_shown(path: str, said: object) -> Failure:
    message = f"The embedded XML says {said} for the {_NAMES[path]}, which the page does not show."
    return Failure(check=CHECK, message=message, fields=(path,))


def _mismatch(path: str, said: object, shown: object) -> Failure:
    message = f"The embedded XML says {said} for the {_NAMES[path]}, the page shows {shown}."
    return Failure(check=CHECK, message=message, fields=(path,))
