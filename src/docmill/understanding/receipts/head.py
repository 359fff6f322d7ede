"""The head of a receipt: its first stretches of text, each as a row of numbers with its neighbourhood."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Page, letters_and_digits
from docmill.understanding.constraints.address_features import (
    FIRM_WORDS,
    HOUSE,
    LEGAL_FORMS,
    NET,
    NOT_LETTERHEAD,
    PHONE,
    POSTCODE,
    REGIONS,
    REGISTRATION,
    STREET_ENDS,
    STREET_PHRASES,
    STREET_WORDS,
    legal_form_end,
)
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.layout import Segment
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.folding import fold, tokens
from docmill.understanding.text.money import find_amounts
from docmill.understanding.vocabulary import Concept

LOOKS = (
    "length", "letters", "digits", "words", "capitals", "commas", "firms", "streets", "regions", "legal",
    "ends_legal", "postcode", "house", "phone", "net", "registration", "ends_comma", "opens", "open", "colon",
    "conjunction", "small", "starts_legal", "beside_legal", "ends_region",
)  # fmt: skip
_SHORTEST_STREET_END = 6
_REGION = re.compile(
    r"\b(?:" + "|".join(re.escape(region) for region in sorted(REGIONS, key=len, reverse=True)) + r")\b"
)
_ENDS_REGION = re.compile(_REGION.pattern + r"\W*(?:d\.?\s?e\.?)?\W*$")
_LEGAL_WORDS = frozenset(word for form in LEGAL_FORMS for word in form) | {"m"}
_GLUED_STREET = re.compile(r"^(?:jalan|taman|lorong|jln|persiaran|calle|rue|via)\w{3,}")
_CONJUNCTION = re.compile(r"(?:&|\band|\bof|\bthe|\bund|\bet|\by|-|\bby)\W*$")
Look = NDArray[np.float32]


@lru_cache(maxsize=8192)
def look(text: str) -> Look:
    """One row of `LOOKS`."""
    folded = fold(text)
    words = [token.text for token in tokens(text)]
    legal = legal_form_end(text)
    letters = sum(map(str.isalpha, text))
    streets = sum(_is_street(word) for word in words) + sum(phrase in folded for phrase in STREET_PHRASES)
    stripped = text.rstrip()
    return np.array(
        [
            len(text),
            letters,
            sum(map(str.isdecimal, text)),
            len(words),
            sum(map(str.isupper, text)) / max(1, letters),
            text.count(","),
            sum(word in FIRM_WORDS for word in words),
            streets,
            len(_REGION.findall(folded)),
            legal > 0,
            legal > 0 and not any(map(str.isalnum, text[legal:])),
            POSTCODE.search(folded) is not None,
            HOUSE.search(folded) is not None,
            PHONE.search(folded) is not None,
            NET.search(folded) is not None,
            REGISTRATION.match(folded) is not None,
            stripped.endswith(","),
            text.startswith("("),
            text.count("(") - text.count(")"),
            ":" in text,
            _CONJUNCTION.search(folded) is not None,
            text.islower(),
            bool(words) and words[0] in _LEGAL_WORDS,
            sum(len(word) for word in words if word not in _LEGAL_WORDS and not word.isdecimal()),
            _ENDS_REGION.search(folded) is not None,
        ],
        np.float32,
    )


def _is_street(word: str) -> bool:
    if word in STREET_WORDS or _GLUED_STREET.match(word):
        return True
    return len(word) >= _SHORTEST_STREET_END and word.endswith(STREET_ENDS)


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
    """Mask of the segments joined to the next of their line; none with a label, date, amount or number."""
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
    """The kinds of labels in the text, and whether it has dates or amounts."""
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
