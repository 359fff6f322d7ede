"""What a document's pages show, as values: every reading of every amount, date and code printed on them."""

import re
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from functools import cached_property

from docmill.model.document import Document, letters_and_digits
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
    """All of them. Amounts are without their sign: credit notes print either."""

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
        """Whether it stands anywhere, be it within longer words or over the end of a line."""
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
