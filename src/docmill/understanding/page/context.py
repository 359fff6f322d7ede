"""The context of a value: the texts beside, above and below it, and the labels among them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Box
from docmill.understanding.page.labels import LABELS, Label
from docmill.understanding.page.layout import LEAST_OVERLAP, Layout, Segment, Sheet
from docmill.understanding.page.value_runs import label_before, label_over
from docmill.understanding.text.dates import find_dates
from docmill.understanding.vocabulary import LANGUAGES
from docmill.understanding.vocabulary.concepts import DATE_CONCEPTS, Concept

WORD_GAP = 0.88
"""Factor for each word between a label and the value."""
FARTHER = 0.85
"""Factor for each text that stands on the line between a label and the value."""
OTHER_VALUE_BETWEEN = 0.8
"""Factor in place of `FARTHER` where the text between is itself a value."""
ABOVE, HEADER = 0.9, 0.75
"""The weight of the text right above, and of the header of the column."""
NEAR_LINES = 2.6
"""Farthest distance, in text heights, of a text that counts as right above."""

_BESIDE_LEFT_LABEL = {"date": 0.15, "money": 0.8, "code": 0.1}
"""Factor for a label above where one on the left names the value: in tables of money both matter."""
_MOST_ABOVE = 46
_SMALLEST_CLUE = 0.05
_SMALL_WORDS = frozenset(word for language in LANGUAGES for word in language.small)
"""Labels that are prepositions and articles elsewhere: in a sentence they must stand right before a value."""
_BEFORE_CHARACTERS = 60
_NEAR_ABOVE = 3.0
_NEAR_BELOW = 2.5
"""Text heights of the gap to a text above and to one below."""
_ROWS_AT_ONCE = 512
"""Segments compared with all others of the page at a time."""
_DIGIT = re.compile(r"\d")
_PAIR = re.compile(r":\s*\w")
"""A label with its value, which names nothing below it."""

ValueKind = Literal["date", "money", "code"]
Clues: TypeAlias = dict[Concept, float]
"""For each concept how strongly labels name it, in [0, 1]."""


def texts_above(sheet: Sheet, segment: Segment, box: Box, *, most: int) -> Iterator[tuple[Segment, float]]:
    """Yield up to `most` segments above a value, nearest first, each with its weight as a label.

    The weight is `ABOVE` for the nearest if it is within `NEAR_LINES` text heights, else `HEADER`.
    segment: the one that holds the value. box: of the value, from the top of its segment.
    """
    height = max(segment.height, sheet.text_height)
    for count, other in enumerate(sheet.above(box)[:most]):
        lines = (segment.middle - other.middle) / height
        yield other, ABOVE if count == 0 and lines < NEAR_LINES else HEADER


class TextsAround(NamedTuple):
    """The texts around a value; "" where there is none.

    before: the text before the value in its own segment, its last 60 characters at most. left, left2, right:
    the segments beside it on its line; left2 is beyond left. row: the first segment of its line. above,
    below: the nearest segments in its columns, if they are close. head: the nearest segment above that can be
    a heading of its column: it has letters, at most one digit, and is no label with its value.
    """

    before: str = ""
    left: str = ""
    left2: str = ""
    above: str = ""
    head: str = ""
    row: str = ""
    right: str = ""
    below: str = ""


class Contexts:
    """The labels and texts around the segments of a document, computed on first use and then kept."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._labels_of_texts: dict[str, list[Label[Concept]]] = {}
        self._left: dict[tuple[int, ValueKind], Clues] = {}
        self._above: dict[tuple[int, frozenset[int]], Clues] = {}
        self._texts: dict[int, TextsAround] = {}

    def labels(self, segment: Segment) -> list[Label[Concept]]:
        """The labels in a segment."""
        return self.labels_of(segment.text)

    def labels_of(self, text: str) -> list[Label[Concept]]:
        """The labels in a text of the document."""
        labels = self._labels_of_texts.get(text)
        if labels is None:
            labels = self._labels_of_texts[text] = LABELS.find(text)
        return labels

    def texts(self, segment: Segment) -> TextsAround:
        """The texts around a segment."""
        if segment.index not in self._texts:
            sheet = self._layout.sheet(segment)
            indices = (other.index for other in sheet.segments)
            self._texts.update(zip(indices, _texts_around(sheet), strict=True))
        return self._texts[segment.index]

    def clues_left(self, segment: Segment, kind: ValueKind) -> Clues:
        """The concepts of the nearest text with labels to the left of a segment, on its line.

        kind: of the value; texts between that hold such a value weaken the label more than others.
        """
        key = (segment.index, kind)
        if key not in self._left:
            self._left[key] = {}
            strength = 1.0
            for other in self._layout.sheet(segment).left_of(segment):
                if labels := self.labels(other):
                    self._left[key] = _clues_before(labels, other.text, at=len(other.text), factor=strength)
                    break
                is_value = bool(find_dates(other.text)) if kind == "date" else _has_digit(other)
                strength *= OTHER_VALUE_BETWEEN if is_value else FARTHER
        return self._left[key]

    def clues_above(self, segment: Segment, ignored: frozenset[int]) -> Clues:
        """The concepts of the label right above a segment, or else of the header of its column.

        Only texts without digits are labels. ignored: indices of segments at which the search upwards ends.
        """
        key = (segment.index, ignored)
        if key not in self._above:
            self._above[key] = {}
            sheet = self._layout.sheet(segment)
            for other, strength in texts_above(sheet, segment, segment.box, most=_MOST_ABOVE):
                if other.index in ignored:
                    break
                if not _has_digit(other) and ((labels := self.labels(other)) or strength != ABOVE):
                    self._above[key] = _clues_before(labels, other.text, at=len(other.text), factor=strength)
                    break
        return self._above[key]


@dataclass(eq=False)
class ValueContext:
    """The labels and texts around one value, computed on first use.

    All places are offsets in the text of the value's segment. _at: where the value begins. begin: where the
    labels that may name it begin; those before name another value. label_stop: where `texts.before` ends, by
    default at the value. ignored: indices of segments that are no header of the value's column. given: the
    clues, where a label names several values, of which this is one.
    """

    _contexts: Contexts
    _segment: Segment
    _at: int
    _: KW_ONLY
    kind: ValueKind = "code"
    begin: int = 0
    label_stop: int | None = None
    ignored: frozenset[int] = frozenset()
    given: Clues | None = None

    @cached_property
    def clues(self) -> Clues:
        """The concepts named by the labels before, left of and above the value; the weakest are left out."""
        if self.given is not None:
            return {**self.given}
        contexts, segment = self._contexts, self._segment
        clues = _clues_before(contexts.labels(segment), segment.text, begin=self.begin, at=self._at)
        clues = clues or {**contexts.clues_left(segment, self.kind)}
        named = not DATE_CONCEPTS.isdisjoint(clues) if self.kind == "date" else bool(clues)
        share = _BESIDE_LEFT_LABEL[self.kind] if named else 1.0
        for concept, strength in contexts.clues_above(segment, self.ignored).items():
            clues[concept] = max(clues.get(concept, 0), strength * share)
        return {concept: strength for concept, strength in clues.items() if strength >= _SMALLEST_CLUE}

    @cached_property
    def is_under_labels(self) -> bool:
        """True if a line of several labels over the value tells which of them is its own."""
        around = self._contexts.texts(self._segment)
        return (self.texts.above, self.texts.head) != (around.above, around.head)

    @cached_property
    def texts(self) -> TextsAround:
        """The texts around the value."""
        around, text = self._contexts.texts(self._segment), self._segment.text
        stop = self._at if self.label_stop is None else self.label_stop
        before = label_before(text, self._at, stop).rstrip()[-_BEFORE_CHARACTERS:]
        left, above, head = (
            label_over(labels, text, self._at) or labels
            for labels in (around.left, around.above, around.head)
        )
        return around._replace(before=before, left=left, above=above, head=head)


def _has_digit(segment: Segment) -> bool:
    return _DIGIT.search(segment.text) is not None


def _clues_before(
    labels: Sequence[Label[Concept]], text: str, *, begin: int = 0, at: int, factor: float = 1.0
) -> Clues:
    """The concepts of the labels of `text` between `begin` and `at`; the nearer a label, the stronger."""
    clues: Clues = {}
    for label in labels:
        if label.start < begin or label.stop > at:
            continue
        between = len(text[label.stop : at].split())
        if between and text[label.start : label.stop].casefold() in _SMALL_WORDS:
            continue
        strength = label.quality * WORD_GAP ** max(0, between - 1)
        for concept in label.meanings:
            clues[concept] = max(clues.get(concept, 0), strength)
    return clues if factor == 1 else {concept: strength * factor for concept, strength in clues.items()}


def _texts_around(sheet: Sheet) -> Iterator[TextsAround]:
    """The texts around each segment of a page, in order."""
    segments, boxes = sheet.segments, sheet.boxes
    left, right = boxes[:, 0], boxes[:, 2]
    middles = (boxes[:, 1] + boxes[:, 3]) / 2
    texts = [segment.text for segment in segments]
    is_heading = np.array(
        [
            not _PAIR.search(text) and sum(map(str.isdecimal, text)) <= 1 and any(map(str.isalpha, text))
            for text in texts
        ],
        np.bool_,
    )
    for begin in range(0, len(segments), _ROWS_AT_ONCE):
        part = boxes[begin : begin + _ROWS_AT_ONCE]
        overlap = np.minimum(right, part[:, 2:3]) - np.maximum(left, part[:, 0:1])
        shares = overlap > LEAST_OVERLAP * np.minimum(right - left, (part[:, 2] - part[:, 0])[:, None])
        above, below = shares & (middles < part[:, 1:2]), shares & (middles > part[:, 3:4])
        nearest = (
            _last(above),
            _last(above & is_heading),
            np.where(below.any(axis=1), below.argmax(axis=1), -1),
        )
        columns = (indices.tolist() for indices in nearest)
        for index, (over, head, under) in enumerate(zip(*columns, strict=True), begin):
            yield _texts_of(segments, index, over, head, under)


def _last(flags: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The index of the last True of each row; -1 for none."""
    return np.where(flags.any(axis=1), flags.shape[1] - 1 - flags[:, ::-1].argmax(axis=1), -1)


def _texts_of(segments: Sequence[Segment], index: int, over: int, head: int, under: int) -> TextsAround:
    """The texts around a segment. over, head, under: indices of those in its columns; -1 for none."""
    segment = segments[index]
    first, last = index, min(index + 1, len(segments) - 1)
    while first and segments[first - 1].line == segment.line:
        first -= 1
    above, below = segments[over], segments[under]
    is_near_above = over >= 0 and segment.box.y0 - above.box.y1 < _NEAR_ABOVE * segment.height
    is_near_below = under >= 0 and below.box.y0 - segment.box.y1 < _NEAR_BELOW * segment.height
    return TextsAround(
        left=segments[index - 1].text if first <= index - 1 else "",
        left2=segments[index - 2].text if first <= index - 2 else "",
        above=above.text if is_near_above and not _PAIR.search(above.text) else "",
        head=segments[head].text if head >= 0 else "",
        row=segments[first].text if first < index else "",
        right=segments[last].text if last > index and segments[last].line == segment.line else "",
        below=below.text if is_near_below else "",
    )
