"""Texts on a page: where letters and digits follow each other as in a value, on one line or over several."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

from rapidfuzz import fuzz

from docmill.model.document import letters_and_digits
from docmill.understanding.page.layout import Segment, Sheet, Span
from docmill.understanding.text.folding import fold, without_accents

_ALIKE = str.maketrans("oilszbgq", "01152899")
"""Letters and digits that recognition takes for each other, as one of them."""
_SHORTEST_RUN = 2
_MOST_RUNS = 8
_MOST_STARTS = 12
_MOST_WORDS = 60
_REACH = 3.0
"""Text heights between the pieces of one text, at most."""
_SHORTEST_FUZZY = 10
_LEAST_ALIKE = 90.0
_MOST = 400


class Run(NamedTuple):
    """An occurrence of a text. pieces: their number, if other text stands between them."""

    spans: tuple[Span, ...]
    pieces: int = 1


class PageText:
    """The letters and digits of a page in reading order, and where each of them stands."""

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._parts = [_compact(segment.text) for segment in sheet.segments]
        self._starts = [0, *accumulate(len(part.text) for part in self._parts)]
        self.text = "".join(part.text for part in self._parts)

    @cached_property
    def _alike(self) -> str:
        return alike(self.text)

    def runs(self, value: str) -> list[Run]:
        """Occurrences of the value with nothing in between, from the edge of a word to the edge of one."""
        return self._found(letters_and_digits(value), self.text)

    def alike(self, value: str) -> list[Run]:
        """The same, taking letters for each other that recognition does."""
        return self._found(alike(letters_and_digits(value)), self._alike)

    def nearly(self, value: str) -> list[Run]:
        """Occurrences of a long text but for a few letters; its digits are all there."""
        wanted = alike(letters_and_digits(value))
        if len(wanted) < _SHORTEST_FUZZY:
            return []
        found = fuzz.partial_ratio_alignment(wanted, self._alike, score_cutoff=_LEAST_ALIKE)
        if found is None or found.dest_end <= found.dest_start:
            return []
        spans = self._spans(found.dest_start, found.dest_end)
        there = "".join(span.text for span in spans)
        return [Run(spans)] if _digits(there) == _digits(value) else []

    def pieces(self, value: str) -> list[Run]:
        """Occurrences of the value in pieces near each other: lines of a column, or out of order."""
        words = [word for word in value.split() if letters_and_digits(word)][:_MOST_WORDS]
        if len(words) < 2:  # noqa: PLR2004 - one word has no pieces
            return []
        found: list[Run] = []
        length, starts = self._longest(words)
        for run in starts[:_MOST_STARTS]:
            spans = self._rest(words[length:], list(run.spans))
            if spans is not None:
                found.append(Run(tuple(spans), pieces=_count(spans)))
        return found

    def _rest(self, words: Sequence[str], spans: list[Span]) -> list[Span] | None:
        """The spans and those of the other words, each near the ones before; None if one is not there."""
        for _ in range(_MOST_RUNS):
            if not words:
                return spans
            length, runs = self._longest(words, near=spans)
            if not runs:
                return None
            spans = [*spans, *runs[0].spans]
            words = words[length:]
        return None

    def _longest(self, words: Sequence[str], near: Sequence[Span] = ()) -> tuple[int, list[Run]]:
        """The longest beginning of the words that stands together: its length and its occurrences.

        near: spans near which it must stand; the nearest comes first.
        """
        for length in range(len(words), 0, -1):
            text = letters_and_digits("".join(words[:length]))
            if len(text) < _SHORTEST_RUN and not (near and text.isdecimal()):
                continue
            runs = self._found(text, self.text)
            if near:
                runs = [run for run in runs if not _overlap(run.spans, near)]
                gaps = {id(run): self._gap(run.spans[0], near) for run in runs}
                runs = sorted((run for run in runs if gaps[id(run)] <= _REACH), key=lambda run: gaps[id(run)])
            if runs:
                return length, runs
        return 0, []

    def _gap(self, span: Span, others: Sequence[Span]) -> float:
        """The distance to the nearest of the other spans, in text heights; infinite across columns."""
        return min(_distance(span.segment, other.segment) for other in others)

    def _found(self, wanted: str, text: str) -> list[Run]:
        return list(self._occurrences(wanted, text)) if wanted else []

    def _occurrences(self, wanted: str, text: str) -> Iterator[Run]:
        at, count = text.find(wanted), 0
        while at >= 0 and count < _MOST:
            if self._is_edge(at) and self._is_edge(at + len(wanted)):
                spans = self._spans(at, at + len(wanted))
                if all(_distance(one.segment, other.segment) <= _REACH for one, other in pairwise(spans)):
                    count += 1
                    yield Run(spans)
            at = text.find(wanted, at + 1)

    def _is_edge(self, at: int) -> bool:
        """True if a word begins or ends before this letter, or letters change to digits."""
        if at in (0, len(self.text)):
            return True
        part, inner = self._where(at)
        if inner == 0:
            return True
        own = self._parts[part]
        before, after = own.offsets[inner - 1], own.offsets[inner]
        text = self._sheet.segments[part].text
        if after - before > 1:
            return True
        one, other = text[before], text[after]
        return one.isdecimal() != other.isdecimal() or (one.islower() and other.isupper())

    def _where(self, at: int) -> tuple[int, int]:
        part = bisect_right(self._starts, at) - 1
        while part >= len(self._parts) or not self._parts[part].text:
            part -= 1
        return part, at - self._starts[part]

    def _spans(self, start: int, stop: int) -> tuple[Span, ...]:
        first, last = self._where(start)[0], self._where(stop - 1)[0]
        spans: list[Span] = []
        for part in range(first, last + 1):
            own = self._parts[part]
            if not own.text:
                continue
            begin = max(start - self._starts[part], 0)
            end = min(stop - self._starts[part], len(own.text))
            spans.append(Span(self._sheet.segments[part], own.offsets[begin], own.offsets[end - 1] + 1))
        return tuple(spans)


class _Compact(NamedTuple):
    """Letters and digits, and where each stands in the text."""

    text: str
    offsets: list[int]


def _compact(text: str) -> _Compact:
    letters: list[str] = []
    offsets: list[int] = []
    for at, character in enumerate(text):
        for letter in _letters(character):
            letters.append(letter)
            offsets.append(at)
    return _Compact("".join(letters), offsets)


@lru_cache(maxsize=4096)
def _letters(character: str) -> str:
    return letters_and_digits(character)


def alike(text: str) -> str:
    """`text` with one letter for all that recognition takes for it."""
    return fold(text).translate(_ALIKE)


def _digits(text: str) -> str:
    return "".join(letter for letter in alike(without_accents(text)) if letter.isdecimal())


def _overlap(spans: Sequence[Span], others: Sequence[Span]) -> bool:
    return any(
        one.segment is other.segment and one.start < other.stop and other.start < one.stop
        for one in spans
        for other in others
    )


def _distance(one: Segment, other: Segment) -> float:
    height = max(one.height, other.height, 1e-6)
    down = max(0.0, one.box.y0 - other.box.y1, other.box.y0 - one.box.y1) / height
    shared = min(one.box.x1, other.box.x1) - max(one.box.x0, other.box.x0)
    if down > 0 and shared <= 0:
        return float("inf")
    return down + (0.5 if one is not other and down == 0 else 0.0)


def _count(spans: Sequence[Span]) -> int:
    return len({id(span.segment) for span in spans})
