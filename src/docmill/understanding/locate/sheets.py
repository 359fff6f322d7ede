"""The pages of a document as they are searched, how it writes, and what a find on them is."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Literal

from docmill.model.document import Box, Document
from docmill.model.result import MatchKind
from docmill.understanding.locate.text_runs import PageText
from docmill.understanding.page.conventions import Conventions, conventions
from docmill.understanding.page.layout import Layout, Segment, Sheet, Span, spans_reading
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.folding import fold

_MARKS_BEFORE, _MARKS_AFTER = re.compile(r"^[^\w\s]+"), re.compile(r"[^\w\s]+$")
_LETTERS_AS_DIGITS = str.maketrans("oqilsb|", "0011581")


Form = Literal["value", "percent", "month"]


@dataclass(frozen=True, slots=True, eq=False)
class Sighting:
    """A place that shows a value.

    trust: in [0, 1], how sure it is that the print means the value. recognition: the mean confidence of the
    words. is_plain: so short that it says little unless something beside it says what it is. form: as what
    the value is printed; a rate may be per cent, and a period's end its month, but no other value.
    """

    sheet: Sheet
    spans: tuple[Span, ...]
    box: Box
    text: str
    match: MatchKind
    trust: float
    recognition: float
    is_plain: bool = False
    form: Form = "value"

    @property
    def segment(self) -> Segment:
        """Where it begins."""
        return self.spans[0].segment

    @property
    def middle(self) -> float:
        """Vertical centre of its first line, in fractions of the page."""
        return self.segment.middle

    @property
    def centre(self) -> float:
        """Horizontal centre."""
        return (self.box.x0 + self.box.x1) / 2

    @property
    def order(self) -> tuple[int, int]:
        """Page and place on it, in reading order."""
        return self.sheet.page_index, self.segment.start

    def believed(self, factor: float) -> "Sighting":
        """The same with so much of its trust."""
        return replace(self, trust=self.trust * factor)


def sighting(
    sheet: Sheet, spans: tuple[Span, ...], wanted: str | None, trust: float = 1.0, *, is_plain: bool = False
) -> Sighting:
    """The place of these spans. wanted: the text that would be exact; None if none is."""
    spans = _with_marks(spans, wanted or "")
    box, recognition = spans_reading(spans, sheet.page.words)
    text = " ".join(span.text for span in spans)
    match: MatchKind = "exact" if wanted is not None and text == " ".join(wanted.split()) else "normalised"
    return Sighting(sheet, spans, box, text, match, trust, recognition, is_plain)


def _with_marks(spans: tuple[Span, ...], wanted: str) -> tuple[Span, ...]:
    """The spans with the marks before and after that the wanted text has, too."""
    ahead, behind = _MARKS_BEFORE.search(wanted), _MARKS_AFTER.search(wanted)
    first, last = spans[0], spans[-1]
    if behind and last.segment.text[last.stop :].startswith(behind[0]):
        spans = (*spans[:-1], last._replace(stop=last.stop + len(behind[0])))
    if ahead and first.segment.text[: first.start].endswith(ahead[0]):
        spans = (spans[0]._replace(start=first.start - len(ahead[0])), *spans[1:])
    return spans


class Sheets:
    """All pages with text; what is costly is made when it is first asked for."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._texts: dict[int, PageText] = {}
        self._digits: dict[int, list[str]] = {}

    @cached_property
    def all(self) -> list[Sheet]:
        """In the order of the pages."""
        pages = enumerate(self._document.pages)
        return [Sheet(page, index, 0) for index, page in pages if page.words.texts]

    @property
    def recognised(self) -> list[Sheet]:
        """Those that were read from a picture."""
        return [sheet for sheet in self.all if sheet.page.source == "ocr"]

    def text(self, sheet: Sheet) -> PageText:
        """Its letters and digits."""
        if sheet.page_index not in self._texts:
            self._texts[sheet.page_index] = PageText(sheet)
        return self._texts[sheet.page_index]

    def holding(self, digits: str) -> Iterator[tuple[Sheet, Segment]]:
        """The segments among whose digits are these, in a row."""
        for sheet in self.all:
            for segment, there in zip(sheet.segments, self._digits_of(sheet), strict=True):
                if digits in there:
                    yield sheet, segment

    def matches(self, pattern: re.Pattern[str]) -> Iterator[tuple[Sheet, Span, re.Match[str]]]:
        """Where the pattern fits folded text."""
        for sheet in self.all:
            for segment in sheet.segments:
                for match in pattern.finditer(fold(segment.text)):
                    yield sheet, Span(segment, match.start(), match.end()), match

    @cached_property
    def habits(self) -> Conventions:
        """How the document writes."""
        return conventions(Layout(self._document))

    @cached_property
    def days_come_first(self) -> bool | None:
        """In dates, before the months; None if no date tells."""
        votes = 0
        for sheet in Layout(self._document).sheets:
            for segment in sheet.segments:
                for one in find_dates(segment.text):
                    votes += one.only_day_first or one.order == "day first"
                    votes -= one.only_month_first
        return votes > 0 if votes else None

    def date_of(self, text: str) -> date | None:
        """The date that is all of a text."""
        found = find_dates(text)
        if len(found) != 1 or text[: found[0].start].strip() or text[found[0].stop :].strip(" ."):
            return None
        first = self.habits.day_first if self.days_come_first is None else self.days_come_first
        return found[0].value(day_first=first)

    def _digits_of(self, sheet: Sheet) -> list[str]:
        if sheet.page_index not in self._digits:
            texts = [segment.text for segment in sheet.segments]
            if sheet.page.source == "ocr":
                texts = [fold(text).translate(_LETTERS_AS_DIGITS) for text in texts]
            self._digits[sheet.page_index] = [re.sub(r"\D", "", text) for text in texts]
        return self._digits[sheet.page_index]
