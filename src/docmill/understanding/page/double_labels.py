"""Labels that name two values at once, such as `Number/Date`, and the part of the value that each means."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from docmill.understanding.page.context import ABOVE, Clues, texts_above
from docmill.understanding.page.labels import LABELS, covered_share
from docmill.understanding.page.layout import Layout, Segment, Sheet
from docmill.understanding.text.dates import WrittenDate, find_dates
from docmill.understanding.text.folding import token_texts
from docmill.understanding.vocabulary import NUMBER_WORDS, Concept
from docmill.understanding.vocabulary.concepts import DATE_CONCEPTS

_NUMBERS = frozenset(
    {
        Concept.INVOICE_NUMBER,
        Concept.RECEIPT_NUMBER,
        Concept.DOCUMENT_NUMBER,
        Concept.ORDER_NUMBER,
        Concept.CONFIRMATION_NUMBER,
        Concept.PURCHASE_ORDER_NUMBER,
        Concept.DELIVERY_NOTE_NUMBER,
        Concept.CONTRACT_NUMBER,
        Concept.CUSTOMER_NUMBER,
        Concept.STATEMENT_NUMBER,
        Concept.OTHER_NUMBER,
    }
)
_OF_ORDERS = frozenset({Concept.ORDER_NUMBER, Concept.PURCHASE_ORDER_NUMBER})
_OF_OTHERS = frozenset({Concept.DELIVERY_NOTE_NUMBER, Concept.CONTRACT_NUMBER})
_PAIR = 2
_LEAST_COVERED = 0.6
"""Share of the letters of a label that known phrases must cover."""
_LONGEST_LABEL = 50
_IN_LABELS = re.compile(r"\s*[/|]\s*-?")
_BEFORE_VALUE = re.compile(r"^(?P<label>[^\d]*[/|][^\d]*?)[:\s]\s*(?=\S*\d)")
_IN_VALUES = re.compile(r"\s*[/|]\s*|\s+[-\u2013]\s+|\s*,\s+|\s+")
_CODE = re.compile(r"[^\W_](?:[^\W_]|[\-/._#](?=[^\W_]))*")
_LONGEST_CODE = 30
_LONGEST_VALUE = 60


class LabelledPart(NamedTuple):
    """Characters `start` to `stop` (exclusive) of a segment, with what their part of a double label names.

    day: the date that the part is; None for a number.
    """

    start: int
    stop: int
    clues: Clues
    day: WrittenDate | None


class _DoubleLabel(NamedTuple):
    """What the two parts of a label name."""

    first: frozenset[Concept]
    second: frozenset[Concept]


class _Place(NamedTuple):
    """A double label that a value belongs to, the value's beginning in its segment, and the label's strength.

    part_index: of the part, 0 or 1, if the values stand in two segments; None for one segment.
    """

    label: _DoubleLabel
    begin: int
    strength: float
    part_index: int | None


def labelled_parts(layout: Layout) -> dict[int, list[LabelledPart]]:
    """The parts of the values under double labels, by the index of their segment."""
    parts: dict[int, list[LabelledPart]] = {}
    for sheet in layout.sheets:
        for segment in sheet.segments:
            if _is_value(segment) and len(segment.text) <= _LONGEST_VALUE + _LONGEST_LABEL:
                for place in _places(sheet, segment):
                    if found := _split_value(segment.text, place):
                        parts[segment.index] = found
                        break
    return parts


def _is_value(segment: Segment) -> bool:
    return any(map(str.isdecimal, segment.text))


def _places(sheet: Sheet, segment: Segment) -> Iterator[_Place]:
    """The double labels before, left of and above a value."""
    before = _BEFORE_VALUE.match(segment.text)
    if before is not None:
        if label := _find_double_label(before["label"]):
            yield _Place(label, before.end(), 1.0, None)
        return
    left = sheet.left_of(segment)[:2]
    at = next((at for at, other in enumerate(left) if not _is_value(other)), None)
    if at is not None and (label := _find_double_label(left[at].text)):
        is_pair = at or any(_is_value(other) for other in sheet.right_of(segment)[:1])
        yield _Place(label, 0, 1.0, at if is_pair else None)
        return
    above = [(other, strength) for other, strength in texts_above(sheet, segment, segment.box, most=2)]
    if not above or above[0][1] != ABOVE:
        return
    nearest = above[0][0]
    texts = [nearest.text]
    if len(above) > 1 and (above[1][0].text.rstrip().endswith("/") or texts[0].startswith("/")):
        texts.append(f"{above[1][0].text} {texts[0]}")  # a label on two lines
    row = [other for other in (*left[:1], segment, *sheet.right_of(segment)[:1]) if _is_value(other)]
    under = [other for other in row if nearest in sheet.above(other.box)[:1]]
    for text in texts:
        if label := _find_double_label(text):
            yield _Place(label, 0, ABOVE, under.index(segment) if len(under) == _PAIR else None)


def _find_double_label(text: str) -> _DoubleLabel | None:
    if len(text) > _LONGEST_LABEL or any(map(str.isdecimal, text)):
        return None
    for separator in _IN_LABELS.finditer(text):
        first, second = _meaning(text[: separator.start()]), _meaning(text[separator.end() :])
        if first and second and (first <= _NUMBERS or second <= _NUMBERS):
            return _DoubleLabel(first, second)
    return None


def _meaning(text: str) -> frozenset[Concept]:
    """What one part of a double label names: a number, a date or nothing."""
    words = token_texts(text)
    if words and all(word in NUMBER_WORDS for word in words):
        return frozenset({Concept.DOCUMENT_NUMBER})
    labels = LABELS.find(text)
    if len(labels) != 1 or covered_share(text, labels) < _LEAST_COVERED:
        return frozenset()
    meanings = frozenset(labels[0].meanings)
    return (meanings & _NUMBERS) or (meanings & DATE_CONCEPTS)


def _split_value(text: str, place: _Place) -> list[LabelledPart]:
    """The parts of a value, in either order if one is a date; a part alone if the other stands elsewhere."""
    label, begin, strength, part_index = place
    stop = len(text.rstrip())
    if stop - begin > _LONGEST_VALUE:
        return []
    separators = list(_IN_VALUES.finditer(text, begin, stop))
    meanings = _meanings(label)
    has_day = not all(meaning <= _NUMBERS for meaning in meanings)
    if not has_day and len(separators) != 1:
        part = None if part_index is None else _part(text, begin, stop, meanings[part_index], strength)
        return [] if part is None else [part]
    for first, second in (meanings, meanings[::-1]) if has_day else (meanings,):
        for separator in separators:
            head = _part(text, begin, separator.start(), first, strength)
            tail = _part(text, separator.end(), stop, second, strength)
            if head and tail:
                return [head, tail]
    alone = (_part(text, begin, stop, meaning, strength) for meaning in meanings if has_day)
    return [part for part in alone if part is not None][:1]


def _meanings(label: _DoubleLabel) -> tuple[frozenset[Concept], frozenset[Concept]]:
    """What the parts of a label name; a date beside the number of another paper is that of the paper."""
    first, second = label
    if first <= _NUMBERS and second <= _NUMBERS:
        return label
    number, day = (first, second) if first <= _NUMBERS else (second, first)
    day = frozenset({Concept.ORDER_DATE}) if number & _OF_ORDERS else day | (number & _OF_OTHERS)
    return (number, day) if first <= _NUMBERS else (day, number)


def _part(
    text: str, start: int, stop: int, meaning: frozenset[Concept], strength: float
) -> LabelledPart | None:
    """The characters as a part of this meaning; None if they are not of its form."""
    part = text[start:stop]
    clues = dict.fromkeys(meaning, strength)
    dates = [day for day in find_dates(part) if day.start == 0 and day.stop == len(part)]
    if not meaning <= _NUMBERS:
        if not dates:
            return None
        return LabelledPart(start, stop, clues, replace(dates[0], start=start, stop=stop))
    is_code = _CODE.fullmatch(part) and any(map(str.isdecimal, part)) and len(part) <= _LONGEST_CODE
    if is_code and (not dates or part.isdecimal()):
        return LabelledPart(start, stop, clues, None)
    return None
