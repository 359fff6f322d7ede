"""Features of candidates: the words around one, its place and its form, hashed to numbers."""

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Document
from docmill.understanding.fields.candidates import AnyCandidate
from docmill.understanding.fields.name_candidates import FORM_WORDS
from docmill.understanding.fields.scoring import Scored
from docmill.understanding.text.folding import fold

SIZE = 1 << 17
MOST = 120
"""Candidates of a field that have features, the best by the scores without learned weights."""
_SHORTEST_WORD = 3
_TEXTS = 4096
"""Kept, of one document and a few fields: many candidates have the same around them."""
_GRID = 40

Rows = list[NDArray[np.int32]]


@dataclass(frozen=True, slots=True)
class CandidateFeatures:
    """The features of the best candidates of a field. indices: among all of them; rows: of each."""

    indices: NDArray[np.intp]
    rows: Rows


def layout_words(document: Document) -> frozenset[str]:
    """The words of the first page by which a layout is recognised; none with a digit."""
    texts = document.pages[0].words.texts if document.pages else []
    words = (re.sub(r"[\W\d_]+", "", fold(text)) for text in texts if not any(map(str.isdecimal, text)))
    return frozenset(word for word in words if len(word) >= _SHORTEST_WORD)


def best_features(field: Scored, page_count: int) -> CandidateFeatures:
    """Features of the best candidates of a field, in the document's order, hashed to numbers below SIZE."""
    best = np.sort(np.argsort(-field.scores, kind="stable")[:MOST])
    candidates = field.candidates
    counts = Counter(candidate.key for candidate in candidates)
    values: list[object] = []
    if candidates and candidates[0].form in ("money", "number", "date"):
        values = sorted({candidate.value for candidate in candidates})  # type: ignore[type-var]
    ranks = {value: rank for rank, value in enumerate(values)}
    rows: Rows = []
    chosen: list[int] = best.tolist()
    for index in chosen:
        candidate = candidates[index]
        features = [
            *_context_features(candidate, page_count),
            *_form_features(candidate),
            f"rep{min(4, int(math.log2(counts[candidate.key])))}",
        ]
        if values:
            rank = ranks[candidate.value]
            above = min(4, len(values) - 1 - rank)
            features += [f"down{above}", f"up{min(4, rank)}", f"seq{min(6, index)}"]
        hashes = [zlib.crc32(feature.encode()) % SIZE for feature in features]
        rows.append(np.unique(np.array(hashes, np.int32)))
    return CandidateFeatures(best, rows)


@lru_cache(maxsize=_TEXTS)
def _last_words(text: str, count: int) -> tuple[str, ...]:
    """The last words of a text, with every digit replaced by the same one."""
    return tuple(re.findall(r"[^\W\d_]+|#|\$|0+", re.sub(r"\d", "0", fold(text)))[-count:])


def _context_features(candidate: AnyCandidate, page_count: int) -> Iterator[str]:
    """The words around a candidate, its place on the page, and its marks."""
    around, segment = candidate.around, candidate.segment
    label = around.before or around.left
    yield from (f"L:{word}" for word in _last_words(label, 5))
    yield f"LF:{' '.join(_last_words(label, 3))}"
    yield "LP:before" if around.before else "LP:left" if around.left else "LP:"
    yield from (f"L2:{word}" for word in _last_words(around.left if around.before else around.left2, 3))
    yield from (f"A:{word}" for word in _last_words(around.above, 5))
    yield f"AF:{' '.join(_last_words(around.above, 3))}"
    yield from (f"H:{word}" for word in _last_words(around.head, 5))
    yield from (f"R:{word}" for word in _last_words(around.row, 4))
    yield from (f"RT:{word}" for word in _last_words(around.right, 3))
    yield from (f"B:{word}" for word in _last_words(around.below, 3))
    page = "first" if segment.page_index == 0 else "last" if segment.page_index == page_count - 1 else "other"
    x, y = (segment.box.x0 + segment.box.x1) / 2, segment.middle
    yield f"page:{page}"
    yield f"y{int(y * 8)}"
    yield f"x{int(x * 5)}"
    yield f"xy{int(y * 4)},{int(x * 3)}"
    for shift in (0.0, 0.5):  # two grids, so that what moves a little still shares one
        yield f"at{shift}:{page},{int(segment.box.x0 * _GRID + shift)},{int(y * _GRID + shift)}"
    yield f"role:{candidate.role}"
    yield f"plain{candidate.plain}"
    yield f"marked{candidate.marked}"


def _form_features(candidate: AnyCandidate) -> Iterator[str]:
    """The shape of a code, number or date; for a name or text, its words and the words beside it."""
    text = candidate.text
    if candidate.form not in ("name", "text"):
        shape = re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", re.sub(r"\d", "0", text)))
        yield f"shape:{re.sub(r'0{4,}', lambda run: f'0+{len(run[0])}', shape)[:14]}"
        if candidate.form == "code":
            yield f"len{min(12, len(str(candidate.key)))}"
            yield f"letters{any(map(str.isalpha, text))}"
        if isinstance(candidate.value, Decimal):
            yield f"negative{candidate.value < 0}"
        return
    words = re.findall(r"[^\W_]+", fold(text)) or [""]
    starts, ends = not candidate.previous, not candidate.following
    last, first = candidate.previous[-1:], candidate.following[:1]
    yield f"words{min(7, len(words))}"
    yield f"starts{starts}"
    yield f"ends{ends}"
    yield f"whole{starts}{ends}"
    yield f"previous:{'word' if last.isalnum() else last}"
    yield f"next:{'word' if first.isalnum() else first}"
    yield f"joined{len(candidate.spans) > 1}"
    yield f"forms{round(3 * sum(word in FORM_WORDS for word in words) / len(words))}"
    yield f"digit{any(map(str.isdecimal, text))}"
    yield f"bracket{'(' in text}"
    yield f"ends in bracket{text.endswith(')')}"
    yield f"colon{':' in text}"
    yield f"last form{words[-1] in FORM_WORDS}"
    yield f"capitals{round(3 * sum(word[:1].isupper() for word in text.split()) / len(text.split()))}"
