"""The head of a receipt: its first stretches of text, each as a row of numbers with its neighbourhood."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Page, letters_and_digits
from docmill.understanding.constraints.address_features import NOT_LETTERHEAD
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.layout import Segment
from docmill.understanding.receipts.looks import LOOKS, look
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.money import find_amounts
from docmill.understanding.vocabulary import Concept

LONGEST = 28
"""Stretches of text. What names a shop stands among them; the goods follow."""
AROUND = (-2, -1, 1, 2, 3)
"""Whose rows stand beside a line's own."""
TAGS = ("other", "name", "address")
_ABSENT = -1.0
_SAME = 6
"""Letters a text must have for its repetition to mean something."""
_JOINED = 2.5
"""Heights of the text between two stretches on a line up to which neither is cut off from the other."""
_SAME_SIZE = 0.8
"""Share of the larger's height from which on two stretches are of one size."""
_GROUPS: tuple[frozenset[Concept], ...] = (
    frozenset({Concept.PHONE}),
    frozenset({Concept.TAX_NUMBER, Concept.VAT_NUMBER}),
    frozenset({Concept.REGISTRATION_NUMBER}),
    frozenset({Concept.DATE, Concept.INVOICE_DATE, Concept.TIME}),
    frozenset({Concept.RECEIPT_NUMBER, Concept.INVOICE_NUMBER, Concept.DOCUMENT_NUMBER}),
    frozenset({Concept.ADDRESS}),
    frozenset({Concept.COURTESY}),
    frozenset({Concept.CONTACT, Concept.OTHER_NUMBER, Concept.CUSTOMER_NUMBER, Concept.BUYER}),
    frozenset({Concept.TOTAL, Concept.AMOUNT, Concept.QUANTITY, Concept.PRICE, Concept.TAX}),
)
_PLACES = (
    "index", "part", "line", "centre", "off_centre", "left", "width", "height", "down", "confidence",
    "gap_above", "gap_below", "beside_last", "beside_next", "repeated",
)  # fmt: skip
OWN = (*_PLACES, "label", "date", "amount", *(f"says{index}" for index in range(len(_GROUPS))), *LOOKS)
"""The columns of `Head.own`."""
_TELLING = [OWN.index(name) for name in ("label", "date", "amount", "registration", "phone")]


@dataclass(frozen=True)
class Head:
    """The first stretches of a document's first page. own: a row of `OWN` for each.

    joined: of each whether it and the next are parts of one line of text, set apart by wide spaces.
    """

    segments: Sequence[Segment]
    own: NDArray[np.float32]
    text: str
    joined: NDArray[np.bool_]

    @property
    def texts(self) -> list[str]:
        """Of each stretch."""
        return [segment.text for segment in self.segments]

    @cached_property
    def keys(self) -> list[str]:
        """The letters and digits of each stretch."""
        return [letters_and_digits(segment.text) for segment in self.segments]

    def rows(self, spelled: NDArray[np.float32]) -> NDArray[np.float32]:
        """For each stretch its own row and those around it. spelled: what its letters say, by tag."""
        own = np.hstack([self.own, spelled]).astype(np.float32)
        absent = np.full((1, own.shape[1]), _ABSENT, np.float32)
        count = len(own)
        padded = np.vstack([own, absent])
        near = [
            padded[[at + step if 0 <= at + step < count else count for at in range(count)]] for step in AROUND
        ]
        return np.hstack([own, *near])


def head(candidates: Candidates) -> Head:
    """The head of a document that has pages."""
    sheet = candidates.layout.sheets[0]
    segments = sheet.segments[:LONGEST]
    text = "\n".join(letters_and_digits(segment.text) for segment in sheet.segments)
    own = np.zeros((len(segments), len(OWN)), np.float32)
    own[:, : len(_PLACES)] = _places(segments, sheet.text_height, text)
    for row, segment in enumerate(segments):
        own[row, len(_PLACES) :] = np.concatenate([_said(candidates, segment), look(segment.text)])
    return Head(segments, own, text, _joined(segments, own, sheet.page))


def _joined(segments: Sequence[Segment], own: NDArray[np.float32], page: Page) -> NDArray[np.bool_]:
    """What has a label, a date, an amount or a number of its own is not joined to others."""
    telling: list[bool] = [bool(row.any()) for row in own[:, _TELLING]]
    found = np.zeros(len(segments), np.bool_)
    for at, (one, other) in enumerate(pairwise(segments)):
        if one.line != other.line or telling[at] or telling[at + 1]:
            continue
        small, large = sorted((one.height, other.height))
        gap = (other.box.x0 - one.box.x1) * page.width_pt
        found[at] = small >= _SAME_SIZE * large and gap <= _JOINED * large * page.height_pt
    return found


def _places(segments: Sequence[Segment], text_height: float, text: str) -> NDArray[np.float32]:
    rows = np.zeros((len(segments), len(_PLACES)), np.float32)
    if not segments:
        return rows
    boxes = np.array([segment.box for segment in segments], np.float64)
    left, right = boxes[:, 0].min(), boxes[:, 2].max()
    wide = max(right - left, 1e-6)
    centre = ((boxes[:, 0] + boxes[:, 2]) / 2 - left) / wide
    lines = np.array([segment.line for segment in segments])
    gaps = (boxes[1:, 1] - boxes[:-1, 3]) / text_height
    beside = np.diff(lines) == 0
    rows[:, 0] = np.arange(len(segments))
    rows[:, 1] = rows[:, 0] / len(segments)
    rows[:, 2] = lines
    rows[:, 3], rows[:, 4] = centre, np.abs(centre - 0.5)
    rows[:, 5] = (boxes[:, 0] - left) / wide
    rows[:, 6] = (boxes[:, 2] - boxes[:, 0]) / wide
    rows[:, 7] = (boxes[:, 3] - boxes[:, 1]) / text_height
    rows[:, 8] = (boxes[:, 1] - boxes[:, 1].min()) / text_height
    rows[:, 9] = [segment.confidence for segment in segments]
    rows[1:, 10], rows[0, 10] = gaps, -9
    rows[:-1, 11], rows[-1, 11] = gaps, -9
    rows[1:, 12], rows[:-1, 13] = beside, beside
    rows[:, 14] = [_repeated(segment, text) for segment in segments]
    return rows


def _repeated(segment: Segment, text: str) -> int:
    key = letters_and_digits(segment.text)
    return text.count(key) - 1 if len(key) >= _SAME else 0


def _said(candidates: Candidates, segment: Segment) -> list[float]:
    """What labels stand in the text, and whether dates or amounts do."""
    labels = candidates.labels(segment)
    meanings = {meaning for label in labels for meaning in label.meanings}
    covered = sum(label.stop - label.start for label in labels if NOT_LETTERHEAD.intersection(label.meanings))
    amounts = [one for one in find_amounts(segment.text, misread=False) if one.has_cents or one.currency]
    return [
        covered / max(1, len(segment.text)),
        bool(find_dates(segment.text)),
        bool(amounts),
        *(bool(group & meanings) for group in _GROUPS),
    ]
