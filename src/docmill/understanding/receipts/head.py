"""The head of a receipt: its first segments, each as a row of features of itself and its neighbours."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import letters_and_digits
from docmill.understanding.constraints.address_features import (
    FIRM_WORDS,
    HOUSE,
    NET,
    NOT_LETTERHEAD,
    PHONE,
    POSTCODE,
    REGIONS,
    REGISTRATION,
    STREET_ENDS,
    STREET_PHRASES,
    STREET_WORDS,
)
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.layout import Segment, Sheet
from docmill.understanding.page_model.model import PageReading
from docmill.understanding.page_model.seen import page_readings
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.folding import alternatives, fold, tokens
from docmill.understanding.text.legal_forms import LEGAL_FORMS, legal_form_end
from docmill.understanding.text.money import find_amounts
from docmill.understanding.vocabulary import LANGUAGES, Concept

LONGEST = 28
"""Segments of a head. The shop's name is among them; the goods follow."""
TAGS = ("other", "name", "address")
_NEIGHBOURS = (-2, -1, 1, 2, 3)
"""The segments whose features stand beside a segment's own, as steps from it."""
_ABSENT = -1.0
_SHORTEST_REPEATED = 6
"""Letters of the shortest text whose repetition means something."""
_JOINED_GAP = 2.5
"""Text heights between two segments on a line up to which they are one text."""
_SAME_SIZE = 0.8
"""Share of the larger one's height from which on two segments are of one size."""
_SHORTEST_STREET = 6
"""Letters of the shortest word that may end as streets do."""
_REGION = re.compile(
    r"\b(?:" + "|".join(re.escape(region) for region in sorted(REGIONS, key=len, reverse=True)) + r")\b"
)
_ENDS_REGION = re.compile(_REGION.pattern + r"\W*(?:d\.?\s?e\.?)?\W*$")
_LEGAL_WORDS = frozenset(word for form in LEGAL_FORMS for word in form) | {"m"}
_LEADING = alternatives(word for language in LANGUAGES for word in language.address.leading)
_GLUED_STREET = re.compile(rf"^(?:{_LEADING})\w{{3,}}")
_JOINING = alternatives(word for language in LANGUAGES for word in language.joining)
_CONJUNCTION = re.compile(rf"(?:&|\b(?:{_JOINING})|-)\W*$")
_CONCEPT_GROUPS: tuple[frozenset[Concept], ...] = (
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
TEXT_FEATURES = (
    "length", "letters", "digits", "words", "capitals", "commas", "firms", "streets", "regions", "legal",
    "ends_legal", "postcode", "house", "phone", "net", "registration", "ends_comma", "opens", "open", "colon",
    "conjunction", "small", "starts_legal", "beside_legal", "ends_region",
)  # fmt: skip
_PLACE_FEATURES = (
    "index", "part", "line", "centre", "off_centre", "left", "width", "height", "down", "confidence",
    "gap_above", "gap_below", "beside_last", "beside_next", "repeated",
)  # fmt: skip
LABEL_FEATURES = ("label", "date", "amount", *(f"concept{index}" for index in range(len(_CONCEPT_GROUPS))))
FEATURES = (*_PLACE_FEATURES, *LABEL_FEATURES, *TEXT_FEATURES)
"""The columns of `Head.features`."""
_NEVER_JOINED = [FEATURES.index(name) for name in ("label", "date", "amount", "registration", "phone")]


@lru_cache(maxsize=8192)
def text_features(text: str) -> NDArray[np.float32]:
    """One row of `TEXT_FEATURES`."""
    folded, stripped = fold(text), text.rstrip()
    words = [token.text for token in tokens(text)]
    legal_end = legal_form_end(text)
    letters = sum(map(str.isalpha, text))
    streets = sum(
        word in STREET_WORDS
        or _GLUED_STREET.match(word) is not None
        or (len(word) >= _SHORTEST_STREET and word.endswith(STREET_ENDS))
        for word in words
    )
    return np.array(
        [
            len(text),
            letters,
            sum(map(str.isdecimal, text)),
            len(words),
            sum(map(str.isupper, text)) / max(1, letters),
            text.count(","),
            sum(word in FIRM_WORDS for word in words),
            streets + sum(phrase in folded for phrase in STREET_PHRASES),
            len(_REGION.findall(folded)),
            legal_end > 0,
            legal_end > 0 and not any(map(str.isalnum, text[legal_end:])),
            *(pattern.search(folded) is not None for pattern in (POSTCODE, HOUSE, PHONE, NET)),
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


@dataclass(frozen=True)
class Head:
    """The first segments of a document's first page. features: a row of `FEATURES` for each.

    letters: the letters and digits of the page. joined: of each segment whether it and the next are parts of
    one line of text, set apart by wide spaces; none with a label, date or amount. reading: what the page
    model says of the first page.
    """

    segments: Sequence[Segment]
    features: NDArray[np.float32]
    letters: str
    joined: NDArray[np.bool_]
    reading: PageReading

    @property
    def texts(self) -> list[str]:
        """The segments' texts."""
        return [segment.text for segment in self.segments]

    def rows(self, letter_scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """For each segment its own features and its neighbours'. letter_scores: of its letters, by tag."""
        rows = np.hstack([self.features, letter_scores]).astype(np.float32)
        padded = np.vstack([rows, np.full((1, rows.shape[1]), _ABSENT, np.float32)])
        count = len(rows)
        indices = [
            [at + step if 0 <= at + step < count else count for at in range(count)] for step in _NEIGHBOURS
        ]
        return np.hstack([rows, *(padded[index] for index in indices)])


def head(candidates: Candidates) -> Head:
    """The head of a document that has pages."""
    sheet = candidates.layout.sheets[0]
    segments = sheet.segments[:LONGEST]
    page_text = "\n".join(letters_and_digits(segment.text) for segment in sheet.segments)
    features = np.zeros((len(segments), len(FEATURES)), np.float32)
    if segments:
        features[:, : len(_PLACE_FEATURES)] = _place_features(segments, sheet, page_text)
    for row, segment in enumerate(segments):
        labels = candidates.labels(segment)
        concepts = {concept for label in labels for concept in label.meanings}
        foreign = [label for label in labels if NOT_LETTERHEAD.intersection(label.meanings)]
        amounts = find_amounts(segment.text, misread=False)
        features[row, len(_PLACE_FEATURES) : -len(TEXT_FEATURES)] = [
            sum(label.stop - label.start for label in foreign) / max(1, len(segment.text)),
            bool(find_dates(segment.text)),
            any(amount.has_cents or amount.currency for amount in amounts),
            *(bool(group & concepts) for group in _CONCEPT_GROUPS),
        ]
        features[row, -len(TEXT_FEATURES) :] = text_features(segment.text)
    joined = np.zeros(len(segments), np.bool_)
    stands_alone: list[bool] = [bool(row.any()) for row in features[:, _NEVER_JOINED]]
    for at, (segment, following) in enumerate(pairwise(segments)):
        if segment.line == following.line and not stands_alone[at] and not stands_alone[at + 1]:
            small, large = sorted((segment.height, following.height))
            gap = (following.box.x0 - segment.box.x1) * sheet.page.width_pt
            joined[at] = small >= _SAME_SIZE * large and gap <= _JOINED_GAP * large * sheet.page.height_pt
    return Head(segments, features, page_text.replace("\n", ""), joined, page_readings(candidates)[0])


def _place_features(segments: Sequence[Segment], sheet: Sheet, page_text: str) -> NDArray[np.float32]:
    """A row of `_PLACE_FEATURES` for each segment."""
    boxes, unit = sheet.boxes[: len(segments)], sheet.text_height
    left, right = boxes[:, 0].min(), boxes[:, 2].max()
    width = max(right - left, 1e-6)
    centre = ((boxes[:, 0] + boxes[:, 2]) / 2 - left) / width
    lines = np.array([segment.line for segment in segments])
    gaps = (boxes[1:, 1] - boxes[:-1, 3]) / unit
    is_beside = np.diff(lines) == 0
    keys = [letters_and_digits(segment.text) for segment in segments]
    index = np.arange(len(segments), dtype=np.float32)
    columns = (
        index,
        index / len(segments),
        lines,
        centre,
        np.abs(centre - 0.5),
        (boxes[:, 0] - left) / width,
        (boxes[:, 2] - boxes[:, 0]) / width,
        (boxes[:, 3] - boxes[:, 1]) / unit,
        (boxes[:, 1] - boxes[:, 1].min()) / unit,
        [segment.confidence for segment in segments],
        np.append(-9, gaps),
        np.append(gaps, -9),
        np.append(0, is_beside),
        np.append(is_beside, 0),
        [page_text.count(key) - 1 if len(key) >= _SHORTEST_REPEATED else 0 for key in keys],
    )
    return np.column_stack(columns).astype(np.float32)
