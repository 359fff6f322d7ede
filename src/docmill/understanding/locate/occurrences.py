"""The pages of a document as they are searched, and the occurrences of values on them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Literal

from docmill.model.document import Box, Document
from docmill.model.result import MatchKind
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.locate.text_runs import PageText
from docmill.understanding.page.conventions import Conventions
from docmill.understanding.page.layout import Segment, Sheet, Span, spans_reading
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.folding import fold

_MARKS_BEFORE, _MARKS_AFTER = re.compile(r"^[^\w\s]+"), re.compile(r"[^\w\s]+$")
_LETTERS_AS_DIGITS = str.maketrans("oqilsb|", "0011581")

PrintedForm = Literal["value", "percent", "month"]


@dataclass(frozen=True, slots=True, eq=False)
class Occurrence:
    """A place that shows a value.

    trust: in [0, 1], how sure it is that the print means the value. recognition: the mean confidence of the
    words. is_plain: so short that it says little without a label. form: as what the value is printed; a rate
    may be per cent, and a period's end its month, but no other value.
    """

    sheet: Sheet
    spans: tuple[Span, ...]
    box: Box
    text: str
    match: MatchKind
    trust: float
    recognition: float
    is_plain: bool = False
    form: PrintedForm = "value"

    @property
    def segment(self) -> Segment:
        """The segment in which it begins."""
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

    def trusted(self, factor: float) -> "Occurrence":
        """The same with so much of its trust."""
        return replace(self, trust=self.trust * factor)


def occurrence(
    sheet: Sheet, spans: tuple[Span, ...], wanted: str | None, trust: float = 1.0, *, is_plain: bool = False
) -> Occurrence:
    """The occurrence at these spans. wanted: the text that would be exact; None if none is."""
    spans = _with_marks(spans, wanted or "")
    box, recognition = spans_reading(spans, sheet.page.words)
    text = " ".join(span.text for span in spans)
    match: MatchKind = "exact" if wanted is not None and text == " ".join(wanted.split()) else "normalised"
    return Occurrence(sheet, spans, box, text, match, trust, recognition, is_plain)


def _with_marks(spans: tuple[Span, ...], wanted: str) -> tuple[Span, ...]:
    """The spans with the marks before and after that the wanted text has, too."""
    ahead, behind = _MARKS_BEFORE.search(wanted), _MARKS_AFTER.search(wanted)
    first, last = spans[0], spans[-1]
    if behind and last.segment.text[last.stop :].startswith(behind[0]):
        spans = (*spans[:-1], last._replace(stop=last.stop + len(behind[0])))
    if ahead and first.segment.text[: first.start].endswith(ahead[0]):
        spans = (spans[0]._replace(start=first.start - len(ahead[0])), *spans[1:])
    return spans


class SearchedPages:
    """All pages with text; costly views of them are made when first asked for."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._texts: dict[int, PageText] = {}
        self._digits: dict[int, list[str]] = {}

    @cached_property
    def sheets(self) -> list[Sheet]:
        """In the order of the pages."""
        pages = enumerate(self._document.pages)
        return [Sheet(page, index, 0) for index, page in pages if page.words.texts]

    @property
    def recognised(self) -> list[Sheet]:
        """Those that were read from a picture."""
        return [sheet for sheet in self.sheets if sheet.page.source == "ocr"]

    def text(self, sheet: Sheet) -> PageText:
        """Its letters and digits."""
        if sheet.page_index not in self._texts:
            self._texts[sheet.page_index] = PageText(sheet)
        return self._texts[sheet.page_index]

    def containing(self, digits: str) -> Iterator[tuple[Sheet, Segment]]:
        """The segments whose digits contain these, in a row."""
        for sheet in self.sheets:
            if sheet.page_index not in self._digits:
                texts = [segment.text for segment in sheet.segments]
                if sheet.page.source == "ocr":
                    texts = [fold(text).translate(_LETTERS_AS_DIGITS) for text in texts]
                self._digits[sheet.page_index] = [re.sub(r"\D", "", text) for text in texts]
            for segment, there in zip(sheet.segments, self._digits[sheet.page_index], strict=True):
                if digits in there:
                    yield sheet, segment

    def matches(self, pattern: re.Pattern[str]) -> Iterator[tuple[Sheet, Span, re.Match[str]]]:
        """Matches of the pattern in folded text."""
        for sheet in self.sheets:
            for segment in sheet.segments:
                for match in pattern.finditer(fold(segment.text)):
                    yield sheet, Span(segment, match.start(), match.end()), match

    @cached_property
    def conventions(self) -> Conventions:
        """The document's conventions for dates and numbers."""
        return candidates_of(self._document).conventions

    @cached_property
    def is_day_first(self) -> bool | None:
        """True if days come before months in dates; None if no date tells."""
        votes = 0
        for written in candidates_of(self._document).written_dates:
            for one in written:
                votes += one.only_day_first or one.order == "day first"
                votes -= one.only_month_first
        return votes > 0 if votes else None

    @property
    def usual_day_first(self) -> bool:
        """The same, by the document's conventions if no date tells."""
        return self.conventions.day_first if self.is_day_first is None else self.is_day_first

    def date_of(self, text: str) -> date | None:
        """The date that is all of a text."""
        found = find_dates(text)
        if len(found) != 1 or text[: found[0].start].strip() or text[found[0].stop :].strip(" ."):
            return None
        return found[0].value(day_first=self.usual_day_first)
