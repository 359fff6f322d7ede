"""Repeated recognition of dates, times and totals that nothing else on a recognised page confirms.

Their places are read again in several preparations of the picture. A digit that was read correctly is read
alike in nearly all of them, one that was guessed often is not: bench/results/reading.md.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Document, Page, Words
from docmill.model.paths import leaves
from docmill.model.result import Evidence, Extraction, StepTaken
from docmill.ports import Original
from docmill.resilience.time_limits import inner_limit
from docmill.understanding.log_odds import shift_probability
from docmill.understanding.second_readers import Question, SecondReading
from docmill.understanding.text.money import CASH_ROUNDING
from docmill.understanding.withholding import is_below_floor

FIELDS = ("issue_date", "due_date", "time", "net_total", "tax_total", "gross_total", "amount_due")
LIMIT_S = 15.0
"""For all looks at a document."""
SAFE = 0.98
"""The probability of a word's recognition from which on its digits need no further look."""
ALIKE, UNREAD, ONE_UNLIKE, UNLIKE = 0.25, -1.0, -1.0, -3.0
"""Changes of the log-odds of a value: by looks that read it alike, that read nothing of its length, and by
one or more looks that read other digits. A look that loses a digit or finds one more is none: what cannot be
read in that preparation says nothing of the others. What is read alike gains little, since most wrong values
are rightly read ones of another meaning.
"""
_FEW = 2
"""Alike looks below which even one other reading is a strong doubt, or none a weak one."""
_CLIP = 1e-4
_ROW = 3.0
"""A row that is wider than this, in its heights, tells its slope."""
_FLATTEST = 0.4
"""The least height of a line's text against that of its upright box."""
_LOOK_ALIKE = re.compile(r"(?<=[\d/.:,\-])[OoQlI|SB](?=[\d/.:,\-]|$)|(?<![^\W_])[OoQlI|](?=[\d/.:,\-])")
_AS_DIGITS = str.maketrans("OoQlI|SB", "00011158")
_LETTER = re.compile(r"(?<=[^\W\d_]{2})[01](?!\d)")
"""The end of a word read as a digit: `Ju1`."""
_SUMMANDS = ("net_total", "tax_total", "gross_total")


class DigitsReader(Protocol):
    """Reads lines of a page in several preparations."""

    async def look_at_digits(
        self, original: Original, document: Document, page_number: int, *, corners: NDArray[np.float32]
    ) -> list[tuple[str, ...]] | None:
        """The texts of each line, one for each preparation; None if the lines cannot be read again.

        corners: in fractions of the page.
        """
        ...


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a value. digits: those of its words. corners: shape (4, 2), in fractions of the page."""

    path: str
    page: int
    digits: str
    corners: NDArray[np.float32]


class DigitsLook:
    """`SecondReader` that raises or lowers the belief of values which the gate has no reason to doubt."""

    name = "second look at digits"
    is_paid = False

    def __init__(self, pages: DigitsReader, *, limit_s: float = LIMIT_S) -> None:
        self._pages = pages
        self._limit_s = limit_s

    async def read_again(
        self, best: Extraction, doubted: Sequence[str], question: Question
    ) -> SecondReading | None:
        """See `SecondReader.read_again`: other confidences of values that nothing confirms.

        The fields of the step are the values for which other digits were read. Raises nothing.
        """
        del doubted
        original, document = question.original, question.document
        if original is None:
            return None
        known, printed = dict(leaves(best.data)), _printed_digits(document)
        unsure = [
            path
            for path, proof in best.evidence.items()
            if path in FIELDS and not is_below_floor(question.schema, path, proof)
            if path in known and not _is_confirmed(path, known, proof, printed)
        ]
        places = [place for path in unsure if (place := _place(path, best.evidence[path], document))]
        evidence, unlike = dict(best.evidence), list[str]()
        try:
            async with inner_limit(self._limit_s):
                for number, group in groupby(sorted(places, key=_page), key=_page):
                    on_page = list(group)
                    corners = np.stack([place.corners for place in on_page])
                    looks = await self._pages.look_at_digits(original, document, number, corners=corners)
                    for place, texts in zip(on_page, looks or (), strict=False):
                        change = change_of(place.digits, texts)
                        evidence[place.path] = _changed(evidence[place.path], change)
                        if change < 0:
                            unlike.append(place.path)
        except TimeoutError:
            return None
        if evidence == best.evidence:
            return None
        step = StepTaken(kind="looked_again", fields=tuple(unlike))
        return SecondReading(best.model_copy(update={"evidence": evidence}), (), step)


def _page(place: _Place) -> int:
    return place.page


def digits_of(text: str) -> str:
    """The digits of a text; letters among them that look like digits count as these."""
    text = _LETTER.sub("", _LOOK_ALIKE.sub(lambda match: match[0].translate(_AS_DIGITS), text))
    return "".join(filter(str.isdecimal, text))


def change_of(digits: str, texts: Sequence[str]) -> float:
    """The change of a value's log-odds, by the texts that were read at its place."""
    read = [found for text in texts if len(found := digits_of(text)) == len(digits)]
    alike = read.count(digits)
    unlike = len(read) - alike
    if not unlike:
        return ALIKE if alike >= _FEW else UNREAD
    return ONE_UNLIKE if unlike == 1 and alike > _FEW else UNLIKE


def _changed(proof: Evidence, change: float) -> Evidence:
    confidence = round(shift_probability(proof.confidence, change, clip=_CLIP), 4)
    return proof.model_copy(update={"confidence": confidence})


def _printed_digits(document: Document) -> Counter[str]:
    """The digits of each number in a document, with the number of times it is printed."""
    return Counter(digits_of(number) for number in re.findall(r"\d[\d.,:/\-]*\d", document.text))


def _is_confirmed(path: str, known: Mapping[str, object], proof: Evidence, printed: Counter[str]) -> bool:
    """Return whether the value is printed twice, or is part of a correct sum.

    printed: see `_printed_digits`.
    """
    digits = digits_of(proof.text or "")
    if not digits or printed[digits] > 1:
        return True
    amounts = [value for name in _SUMMANDS if isinstance(value := known.get(name), Decimal)]
    if path in _SUMMANDS and len(amounts) == len(_SUMMANDS):
        net, tax, gross = amounts
        return bool(net and tax) and abs(net + tax - gross) <= CASH_ROUNDING
    return False


def _place(path: str, proof: Evidence, document: Document) -> _Place | None:
    """The place of a recognised value with an uncertain word; None for all other values."""
    page = next((page for page in document.pages if page.number == proof.page), None)
    if page is None or page.source != "ocr" or proof.box is None:
        return None
    words, box = page.words, proof.box
    middles = (words.boxes[:, :2] + words.boxes[:, 2:]) / 2
    inside = (
        (box.x0 <= middles[:, 0])
        & (middles[:, 0] <= box.x1)
        & (box.y0 <= middles[:, 1])
        & (middles[:, 1] <= box.y1)
    )
    rows = np.flatnonzero(inside)
    digits = digits_of("".join(words.texts[row] for row in rows))
    is_one_line = len({int(words.lines[row]) for row in rows}) == 1
    if not is_one_line or digits_of(proof.text or "") not in digits:
        return None
    if float(words.confidences[rows].min()) >= SAFE and page.quality >= SAFE:
        return None
    return _Place(path, page.number, digits, _corners(page, words, rows))


def _corners(page: Page, words: Words, rows: NDArray[np.intp]) -> NDArray[np.float32]:
    """The corners of the words' text, which slopes as the row does in which they stand."""
    size = np.array([page.width_pt, page.height_pt], np.float32)
    boxes = words.boxes * np.tile(size, 2)
    x0, y0 = boxes[rows, :2].min(axis=0)
    x1, y1 = boxes[rows, 2:].max(axis=0)
    row = words.lines == words.lines[rows[0]]
    middles = (boxes[row, :2] + boxes[row, 2:]) / 2
    slope = 0.0
    if np.ptp(middles[:, 0]) > _ROW * float(y1 - y0):
        slope = float(np.polyfit(middles[:, 0], middles[:, 1], 1)[0])
    rise = slope * float(x1 - x0)
    if float(y1 - y0) - abs(rise) < _FLATTEST * float(y1 - y0):
        rise = 0.0
    up, down = min(rise, 0.0), max(rise, 0.0)  # the upper edge goes down by the rise, within the box
    corners = [(x0, y0 - up), (x1, y0 + down), (x1, y1 + up), (x0, y1 - down)]
    return (np.array(corners, np.float32) / size).astype(np.float32)
