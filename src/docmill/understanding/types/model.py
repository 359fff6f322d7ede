"""The trained model of document types, its features of a document, and its shipped copy."""

import io
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Page
from docmill.schemas.document_types import TRAINED_TYPES, DocumentType
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.layout import Layout
from docmill.understanding.page.titles import TitleScore
from docmill.understanding.receipts.scorers import Trees
from docmill.understanding.vocabulary import Concept

FILE = "document_types.npz"
NARROW_CHARACTERS = 46
"""Length that nine of ten lines of a till's paper do not exceed."""
_TALL = 1.3
_PROSE_WORDS = 9
_MOST = 3
"""Upper bound of the count of a label."""
_LAYOUT_FEATURES = (
    "narrow", "pages", "stretches", "words", "words_each", "prose", "digits", "amounts", "amounts_each",
    "dates", "cents", "currencies", "labels_each", "concepts", "tall", "longest_lines", "recognised",
    "letters_each", "identifiers", "accounts", "vat_ids", "lead", "order_of_words",
)  # fmt: skip
_C = Concept
_CONCEPTS = (
    _C.INVOICE_NUMBER, _C.RECEIPT_NUMBER, _C.DOCUMENT_NUMBER, _C.ORDER_NUMBER,
    _C.PURCHASE_ORDER_NUMBER, _C.DELIVERY_NOTE_NUMBER, _C.CONTRACT_NUMBER, _C.CUSTOMER_NUMBER,
    _C.STATEMENT_NUMBER, _C.OTHER_NUMBER, _C.REGISTRATION_NUMBER, _C.TAX_NUMBER, _C.VAT_NUMBER,
    _C.PHONE, _C.ACCOUNT, _C.IBAN, _C.BIC, _C.DATE, _C.INVOICE_DATE, _C.ORDER_DATE,
    _C.DELIVERY_DATE, _C.DUE_DATE, _C.OTHER_DATE, _C.PERIOD, _C.SERVICE_PERIOD, _C.PERIOD_START,
    _C.PERIOD_END, _C.TIME, _C.TOTAL, _C.GRAND, _C.GROSS, _C.NET, _C.TAX, _C.INCLUDING,
    _C.EXCLUDING, _C.SUBTOTAL, _C.AMOUNT, _C.DUE, _C.PAID, _C.CHANGE, _C.ROUNDING, _C.DISCOUNT,
    _C.QUANTITY, _C.PRICE, _C.COMMISSION, _C.TIP, _C.OPENING_BALANCE, _C.CLOSING_BALANCE, _C.SELLER,
    _C.BUYER, _C.ADVERTISER, _C.SHIP_TO, _C.ADDRESS, _C.CONTACT, _C.BANK, _C.COURTESY,
)  # fmt: skip
"""Meanings of labels whose counts are features; a change of them needs a newly trained model."""
_TITLE_FEATURES = ("total", "heading", "strongest", "phrases", "less_best")
FEATURES = (
    *_LAYOUT_FEATURES,
    *(f"{kind} {name}" for kind in TRAINED_TYPES for name in _TITLE_FEATURES),
    *(f"says {concept}" for concept in _CONCEPTS),
)
"""The columns of `type_features`."""


@dataclass(frozen=True, slots=True)
class TypeModel:
    """Boosted trees that score the types. temperature: of the softmax over their scores."""

    trees: Trees
    temperature: float = 1.0

    def probabilities(self, row: NDArray[np.float32]) -> Mapping[DocumentType, float]:
        """The probability of each type. row: of `type_features`."""
        scores = self.trees.scores(row[None])
        return dict(zip(TRAINED_TYPES, softmax(scores, self.temperature)[0].tolist(), strict=True))

    def dumps(self) -> bytes:
        """As stored. The same model gives the same bytes."""
        arrays = {f"trees/{name}": array for name, array in self.trees.arrays().items()}
        arrays["temperature"] = np.array([self.temperature], np.float32)
        arrays["features"] = np.array(FEATURES, np.str_)
        file = io.BytesIO()
        np.savez_compressed(file, allow_pickle=False, **arrays)
        return file.getvalue()


def softmax(scores: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """Softmax of the scores of each row; a temperature above 1 makes it less sure."""
    scaled = scores / temperature
    weights = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def loads(content: bytes) -> TypeModel:
    """Load what `TypeModel.dumps` wrote. Raises ValueError for a model with other features than ours."""
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        if tuple(map(str, file["features"])) != FEATURES:
            raise ValueError("the model of document types was made for other features; train it anew")
        trees = Trees.of(
            {name.removeprefix("trees/"): file[name] for name in file.files if name.startswith("trees/")}
        )
        return TypeModel(trees, float(file["temperature"][0]))


@cache
def shipped() -> TypeModel:
    """The model that comes with docmill; see MODEL_CARD.md beside it."""
    return loads(resources.files("docmill.understanding.types").joinpath(FILE).read_bytes())


def type_features(
    candidates: Candidates, title_scores: Mapping[DocumentType, TitleScore]
) -> NDArray[np.float32]:
    """The features of a document as a row, one for each of FEATURES. title_scores: of the same document."""
    row = _layout_features(candidates, title_scores)
    for name in TRAINED_TYPES:
        score = title_scores[name]
        best = max(other.total for each, other in title_scores.items() if each != name)
        row += [score.total, score.heading, score.strongest, len(score.phrases), score.total - best]
    counts = Counter(
        meaning
        for segment in candidates.layout.segments
        for label in candidates.labels(segment)
        for meaning in label.meanings
    )
    row += [math.log1p(min(_MOST, counts[concept])) for concept in _CONCEPTS]
    return np.array(row, np.float32)


def is_narrow(layout: Layout) -> bool:
    """True if a till may have printed it: few characters to the line, one page, taller than wide."""
    if len(layout.document.pages) != 1:
        return False
    page = layout.sheets[0].page
    return _line_length(page) <= NARROW_CHARACTERS and page.height_pt > _TALL * page.width_pt


def _line_length(page: Page) -> int:
    """The ninth decile of the lengths of the lines, in characters."""
    widths = sorted(len(line.text.strip()) for line in page.lines)
    return widths[int(0.9 * (len(widths) - 1))] if widths else 0


def _layout_features(candidates: Candidates, title_scores: Mapping[DocumentType, TitleScore]) -> list[float]:
    layout = candidates.layout
    segments = layout.segments
    count = max(1, len(segments))
    words = [segment.stop - segment.start for segment in segments]
    labels = [candidates.labels(segment) for segment in segments]
    texts = [segment.text for segment in segments]
    letters = sum(map(len, texts))
    amounts = candidates.amounts
    page = layout.sheets[0].page
    totals = sorted((score.total for score in title_scores.values()), reverse=True)
    return [
        is_narrow(layout),
        math.log1p(len(layout.document.pages)),
        math.log1p(len(segments)),
        math.log1p(sum(words)),
        sum(words) / count,
        sum(number >= _PROSE_WORDS for number in words) / count,
        sum(sum(map(str.isdecimal, text)) for text in texts) / max(1, letters),
        math.log1p(len(amounts)),
        len(amounts) / count,
        math.log1p(len(candidates.dates)),
        math.log1p(sum(not amount.plain for amount in amounts)),
        bool(candidates.conventions.currency),
        sum(map(bool, labels)) / count,
        len({meaning for each in labels for label in each for meaning in label.meanings}),
        page.height_pt / max(1.0, page.width_pt),
        math.log1p(_line_length(page)),
        page.source == "ocr",
        letters / count,
        math.log1p(len(candidates.identifiers)),
        len(candidates.ibans),
        len(candidates.vat_ids),
        totals[0] - totals[1],
        sum(totals) / math.sqrt(count),
    ]
