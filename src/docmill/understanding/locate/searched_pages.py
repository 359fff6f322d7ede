"""The pages of a document as they are searched for values, and the occurrences of values on them."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import Literal

from rapidfuzz import fuzz

from docmill.model.document import Box, Document, letters_and_digits
from docmill.model.result import Evidence, MatchKind
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.page.layout import Segment, Sheet, Span, spans_reading
from docmill.understanding.text.folding import fold, without_accents

_MARKS_BEFORE, _MARKS_AFTER = re.compile(r"^[^\w\s]+"), re.compile(r"[^\w\s]+$")
_LETTERS_AS_DIGITS = str.maketrans("oqilsb|", "0011581")
_ALIKE = str.maketrans("oilszbgq", "01152899")
"""Letters and digits that recognition takes for each other, as one of them."""
_MOST = 400
"""Occurrences of one text on a page."""
_SHORTEST_PIECE = 2
_MOST_PIECES, _MOST_STARTS, _MOST_WORDS = 8, 12, 60
_REACH = 3.0
"""Text heights between the pieces of one text, at most."""
_SHORTEST_FUZZY = 10
_LEAST_SIMILARITY = 90.0
_letters = lru_cache(maxsize=4096)(letters_and_digits)

PrintedForm = Literal["value", "percent", "month"]
Spans = tuple[Span, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Occurrence:
    """A place on a page that shows a value.

    trust: in [0, 1], how sure it is that this print means the value. recognition: in [0, 1], the lowest mean
    confidence of its spans' words. is_plain: the print is so short that it proves little without a label.
    form: `value` if the value itself is printed; `percent` for .19 printed as 19 %, `month` for the first or
    last day of a month of which only the month is printed.
    """

    sheet: Sheet
    spans: Spans
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
        """Horizontal centre, in fractions of the page."""
        return (self.box.x0 + self.box.x1) / 2

    def evidence(self, confidence: float, reason: str = "") -> Evidence:
        """The place as evidence of its value."""
        return Evidence(
            page=self.sheet.page.number,
            box=self.box,
            text=self.text,
            match=self.match,
            confidence=round(confidence, 4),
            reason=reason,
        )


def occurrence(
    sheet: Sheet, spans: Spans, wanted: str | None, trust: float = 1.0, *, is_plain: bool = False
) -> Occurrence:
    """Create the occurrence of a value at these spans.

    wanted: the text that counts as an exact match; None if every match is a normalised one. Punctuation with
    which it begins or ends is taken into the spans where it is printed.
    """
    before, after = _MARKS_BEFORE.search(wanted or ""), _MARKS_AFTER.search(wanted or "")
    first, last = spans[0], spans[-1]
    if after and last.segment.text[last.stop :].startswith(after[0]):
        spans = (*spans[:-1], last._replace(stop=last.stop + len(after[0])))
    if before and first.segment.text[: first.start].endswith(before[0]):
        spans = (spans[0]._replace(start=first.start - len(before[0])), *spans[1:])
    box, recognition = spans_reading(spans, sheet.page.words)
    text = " ".join(span.text for span in spans)
    match: MatchKind = "exact" if wanted is not None and text == " ".join(wanted.split()) else "normalised"
    return Occurrence(sheet, spans, box, text, match, trust, recognition, is_plain)


class SearchedPages:
    """The pages of a document that have text, prepared for searching; costly views are made on first use."""

    def __init__(self, document: Document) -> None:
        self.candidates = candidates_of(document)
        self.conventions = self.candidates.conventions
        pages = enumerate(document.pages)
        layout = self.candidates.layout
        self.sheets = [layout.sheet_of_page(index) for index, page in pages if page.words.texts]

    @cached_property
    def texts(self) -> list["PageText"]:
        """The pages as strings of letters and digits."""
        return [PageText(sheet) for sheet in self.sheets]

    @cached_property
    def _digits(self) -> list[tuple[Sheet, Segment, str]]:
        """The segments with their digits; of recognised pages also with letters that may be digits."""
        rows: list[tuple[Sheet, Segment, str]] = []
        for sheet in self.sheets:
            is_recognised = sheet.page.source == "ocr"
            for segment in sheet.segments:
                text = fold(segment.text).translate(_LETTERS_AS_DIGITS) if is_recognised else segment.text
                rows.append((sheet, segment, re.sub(r"\D", "", text)))
        return rows

    def containing(self, digits: str) -> Iterator[tuple[Sheet, Segment]]:
        """The segments among whose digits these stand one after the other."""
        return ((sheet, segment) for sheet, segment, there in self._digits if digits in there)

    def matches(self, pattern: re.Pattern[str]) -> Iterator[tuple[Sheet, Span, re.Match[str]]]:
        """Matches of the pattern in the folded text of each segment."""
        for sheet in self.sheets:
            for segment in sheet.segments:
                for match in pattern.finditer(fold(segment.text)):
                    yield sheet, Span(segment, match.start(), match.end()), match


class PageText:
    """The letters and digits of a page as one string in reading order, searched without spaces and marks."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        parts = [
            [(letter, at) for at, character in enumerate(segment.text) for letter in _letters(character)]
            for segment in sheet.segments
        ]
        self._offsets = [[at for _, at in part] for part in parts]
        self._starts = [0, *accumulate(map(len, parts))]
        self._text = "".join(letter for part in parts for letter, _ in part)

    @cached_property
    def _alike(self) -> str:
        return _with_one_letter_for_similar(self._text)

    def find_exactly(self, value: str) -> list[Spans]:
        """Occurrences of exactly the value's letters and digits, whatever spaces and marks are between them.

        Both ends are at the edge of a word, or where letters change to digits or small letters to capitals.
        """
        return self._find(letters_and_digits(value), self._text)

    def find_misread(self, value: str) -> list[Spans]:
        """As `find_exactly`, but characters that recognition confuses, such as `O` and `0`, are equal."""
        return self._find(_with_one_letter_for_similar(letters_and_digits(value)), self._alike)

    def find_nearly(self, value: str) -> list[Spans]:
        """The place most like a long text, if at least 90 % alike and with the same digits: one or none."""
        wanted = _with_one_letter_for_similar(letters_and_digits(value))
        if len(wanted) < _SHORTEST_FUZZY:
            return []
        near = fuzz.partial_ratio_alignment(wanted, self._alike, score_cutoff=_LEAST_SIMILARITY)
        if near is None or near.dest_end <= near.dest_start:
            return []
        spans = self._spans(near.dest_start, near.dest_end)
        digits, wanted_digits = (
            list(filter(str.isdecimal, _with_one_letter_for_similar(without_accents(text))))
            for text in ("".join(span.text for span in spans), value)
        )
        return [spans] if digits == wanted_digits else []

    def find_in_pieces(self, value: str) -> list[Spans]:
        """Occurrences of the value in pieces near each other: on lines of a column, or out of order."""
        words = [word for word in value.split() if letters_and_digits(word)][:_MOST_WORDS]
        if len(words) < 2:  # noqa: PLR2004 - one word has no pieces
            return []
        occurrences: list[Spans] = []
        length, starts = self._find_longest(words)
        for start in starts[:_MOST_STARTS]:
            spans, rest = start, words[length:]
            for _ in range(_MOST_PIECES):
                if not rest:
                    occurrences.append(spans)
                    break
                taken, near = self._find_longest(rest, near=spans)
                if not near:
                    break
                spans, rest = (*spans, *near[0]), rest[taken:]
        return occurrences

    def _find_longest(self, words: Sequence[str], near: Spans = ()) -> tuple[int, list[Spans]]:
        """The longest beginning of the words that stands together: its length and its occurrences.

        near: spans near which it must stand; the nearest comes first.
        """
        for length in range(len(words), 0, -1):
            text = letters_and_digits("".join(words[:length]))
            if len(text) < _SHORTEST_PIECE and not (near and text.isdecimal()):
                continue
            occurrences = self._find(text, self._text)
            if near:
                gaps = [
                    (min(_distance(spans[0].segment, other.segment) for other in near), spans)
                    for spans in occurrences
                    if not any(span.overlaps(other) for span in spans for other in near)
                ]
                gaps.sort(key=lambda pair: pair[0])
                occurrences = [spans for gap, spans in gaps if gap <= _REACH]
            if occurrences:
                return length, occurrences
        return 0, []

    def _find(self, wanted: str, text: str) -> list[Spans]:
        """The occurrences in a text as long as the page's that begin and end at edges of words."""
        occurrences: list[Spans] = []
        at = text.find(wanted) if wanted else -1
        while at >= 0 and len(occurrences) < _MOST:
            if self._is_edge(at) and self._is_edge(at + len(wanted)):
                spans = self._spans(at, at + len(wanted))
                pairs = pairwise(span.segment for span in spans)
                if all(_distance(segment, following) <= _REACH for segment, following in pairs):
                    occurrences.append(spans)
            at = text.find(wanted, at + 1)
        return occurrences

    def _is_edge(self, at: int) -> bool:
        """True if a word begins or ends before this letter, or letters change to digits."""
        if at in (0, len(self._text)):
            return True
        part, inner = self._locate(at)
        if inner == 0:
            return True
        before, after = self._offsets[part][inner - 1 : inner + 1]
        if after - before > 1:
            return True
        text = self.sheet.segments[part].text
        previous, following = text[before], text[after]
        return previous.isdecimal() != following.isdecimal() or (previous.islower() and following.isupper())

    def _locate(self, at: int) -> tuple[int, int]:
        """The index of the segment that has this letter of the page, and the letter's index in it."""
        part = bisect_right(self._starts, at) - 1
        while part >= len(self._offsets) or not self._offsets[part]:
            part -= 1
        return part, at - self._starts[part]

    def _spans(self, start: int, stop: int) -> Spans:
        """The spans of letters `start` to `stop` (exclusive) of the page."""
        first, last = self._locate(start)[0], self._locate(stop - 1)[0]
        spans: list[Span] = []
        for part in range(first, last + 1):
            offsets, begin = self._offsets[part], self._starts[part]
            if offsets:
                inner = offsets[max(start - begin, 0) : min(stop - begin, len(offsets))]
                spans.append(Span(self.sheet.segments[part], inner[0], inner[-1] + 1))
        return tuple(spans)


def _with_one_letter_for_similar(text: str) -> str:
    return fold(text).translate(_ALIKE)


def _distance(segment: Segment, other: Segment) -> float:
    """The distance in text heights; infinite across columns."""
    height = max(segment.height, other.height, 1e-6)
    down = max(0.0, segment.box.y0 - other.box.y1, other.box.y0 - segment.box.y1) / height
    shared = min(segment.box.x1, other.box.x1) - max(segment.box.x0, other.box.x0)
    if down > 0 and shared <= 0:
        return float("inf")
    return down + (0.5 if segment is not other and down == 0 else 0.0)
