"""What a document's pages show, as values: every reading of every amount, date and code printed on them."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from functools import cached_property

from docmill.model import Document, Page, Place, letters_and_digits
from docmill.neighbours import stretches
from docmill.understanding.codes import Code, find_ibans, find_vat_ids
from docmill.understanding.dates import find_dates
from docmill.understanding.money import find_amounts

MAX_PAGES = 40
"""Header fields and totals do not stand behind so many."""


_IBAN_FORM = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
_VAT_FORM = re.compile(r"\b(?:ATU|BE|DE|DK|EL|ES|FI|FR|IE|IT|LU|NL|PL|PT|SE) ?\d(?:[ .]?\d){7,10}\b")
_Find = Callable[[str], Iterator[Code]]


class Printed:
    """Values to the places that show them. Amounts are without their sign: credit notes print either."""

    def __init__(self, document: Document) -> None:
        self._pages = [page for page in document.pages[:MAX_PAGES] if page.words.texts]
        self.is_recognised = any(page.source == "ocr" for page in self._pages)
        self.shows_text = bool(self._pages)

    @cached_property
    def amounts(self) -> dict[Decimal, list[Place]]:
        """Each number both ways, the decimal mark being a point or a comma."""
        found: defaultdict[Decimal, list[Place]] = defaultdict(list)
        for stretch in self._stretches:
            for written in find_amounts(stretch.text, misread=stretch.page.source == "ocr"):
                place = stretch.place(written.start, written.stop)
                for value in {abs(written.value(".")), abs(written.value(","))}:
                    found[value].append(place)
        return found

    @cached_property
    def dates(self) -> dict[date, list[Place]]:
        """Each date both ways, the day or the month being first."""
        found: defaultdict[date, list[Place]] = defaultdict(list)
        for stretch in self._stretches:
            for written in find_dates(stretch.text):
                place = stretch.place(written.start, written.stop)
                for value in {written.value(day_first=True), written.value(day_first=False)} - {None}:
                    assert value is not None
                    found[value].append(place)
        return found

    @cached_property
    def ibans(self) -> list[str]:
        """Those whose checksum holds, then, but on scans, what only has their form."""
        return self._codes(find_ibans, _IBAN_FORM)

    @cached_property
    def vat_ids(self) -> list[str]:
        """As `ibans`; of other countries than the European Union's those with a checksum only."""
        return self._codes(find_vat_ids, _VAT_FORM)

    def texts(self, value: str) -> list[Place]:
        """Where exactly this stands, by its letters and digits: not within a longer word."""
        wanted = letters_and_digits(value)
        places = (place for page in self._pages for place in page.find(value))
        return [place for place in places if letters_and_digits(place.text) == wanted]

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
    def _stretches(self) -> list["_Text"]:
        return [_Text(page, one.start, one.stop) for page in self._pages for one in stretches(page)]

    def _codes(self, find: _Find, form: re.Pattern[str]) -> list[str]:
        texts = [stretch.text for stretch in self._stretches]
        valid = [code.value for text in texts for code in find(text) if code.valid]
        formed = [] if self.is_recognised else [match[0] for text in texts for match in form.finditer(text)]
        return [*valid, *(re.sub(r"\s", "", code) for code in formed)]


class _Text:
    """Words of a page as one text."""

    def __init__(self, page: Page, start: int, stop: int) -> None:
        self.page = page
        words = page.words.texts[start:stop]
        self.text = " ".join(words)
        self._owners = [start + index for index, word in enumerate(words) for _ in range(len(word) + 1)]

    def place(self, start: int, stop: int) -> Place:
        """Characters `start` to `stop` (exclusive) as the words that hold them."""
        return self.page.place(self._owners[start], self._owners[stop - 1] + 1)
