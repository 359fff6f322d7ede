"""Features of candidates: the words around one, its place and its form, hashed to numbers."""

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Document
from docmill.understanding.fields.schema_candidates import AnyCandidate
from docmill.understanding.fields.scoring import FORM_WORDS, Scored
from docmill.understanding.text.folding import fold

SIZE = 1 << 17
MOST = 120
"""Candidates of a field that are looked at, the best by the untaught score."""
_SHORTEST_WORD = 3
_TEXTS = 4096
"""Kept, of one document and a few fields: many candidates have the same around them."""
_GRID = 40

Rows = list[NDArray[np.int32]]


@dataclass(frozen=True, slots=True)
class Looked:
    """The best candidates of a field. indices: among all of them; rows: the features of each."""

    indices: NDArray[np.intp]
    rows: Rows


def signature(document: Document) -> frozenset[str]:
    """The words of the first page, by which a layout is known again; nothing with a digit."""
    texts = document.pages[0].words.texts if document.pages else []
    words = (re.sub(r"[\W\d_]+", "", fold(text)) for text in texts if not any(map(str.isdecimal, text)))
    return frozenset(word for word in words if len(word) >= _SHORTEST_WORD)


def looked_at(field: Scored, page_count: int) -> Looked:
    """The features of the field's best candidates, in the document's order."""
    best = np.sort(np.argsort(-field.scores, kind="stable")[:MOST])
    chosen: list[int] = best.tolist()
    candidates = field.candidates
    counts = Counter(one.key for one in candidates)
    ranks = _ranks(candidates)
    rows = [
        hashed(
            (
                *_surrounding(candidates[index]),
                *_place(candidates[index], page_count),
                *_form(candidates[index]),
                f"rep{min(4, int(math.log2(counts[candidates[index].key])))}",
                *ranks.get(index, ()),
            )
        )
        for index in chosen
    ]
    return Looked(best, rows)


def hashed(features: Iterable[str]) -> NDArray[np.int32]:
    """The features as numbers below SIZE, each once."""
    return np.unique(np.array([zlib.crc32(one.encode()) % SIZE for one in features], np.int32))


@lru_cache(maxsize=_TEXTS)
def _last_words(text: str, count: int) -> tuple[str, ...]:
    """The last words of a text; digits all look the same."""
    return tuple(re.findall(r"[^\W\d_]+|#|\$|0+", re.sub(r"\d", "0", fold(text)))[-count:])


def _surrounding(one: AnyCandidate) -> Iterator[str]:
    around = one.around
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


def _place(one: AnyCandidate, page_count: int) -> Iterator[str]:
    segment = one.segment
    page = "first" if segment.page_index == 0 else "last" if segment.page_index == page_count - 1 else "other"
    x, y = (segment.box.x0 + segment.box.x1) / 2, segment.middle
    yield f"page:{page}"
    yield f"y{int(y * 8)}"
    yield f"x{int(x * 5)}"
    yield f"xy{int(y * 4)},{int(x * 3)}"
    for shift in (0.0, 0.5):  # two grids, so that what moves a little still shares one
        yield f"at{shift}:{page},{int(segment.box.x0 * _GRID + shift)},{int(y * _GRID + shift)}"


def _form(one: AnyCandidate) -> Iterator[str]:
    text = one.text
    yield f"role:{one.role}"
    yield f"plain{one.plain}"
    yield f"marked{one.marked}"
    if one.form in ("name", "text"):
        yield from _form_of_name(one, text)
        return
    shape = re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", re.sub(r"\d", "0", text)))
    yield f"shape:{re.sub(r'0{4,}', lambda run: f'0+{len(run[0])}', shape)[:14]}"
    if one.form == "code":
        yield f"len{min(12, len(str(one.key)))}"
        yield f"letters{any(map(str.isalpha, text))}"
    if isinstance(one.value, Decimal):
        yield f"negative{one.value < 0}"


def _form_of_name(one: AnyCandidate, text: str) -> Iterator[str]:
    words = re.findall(r"[^\W_]+", fold(text)) or [""]
    starts, ends = not one.previous, not one.following
    yield f"words{min(7, len(words))}"
    yield f"starts{starts}"
    yield f"ends{ends}"
    yield f"whole{starts}{ends}"
    yield f"previous:{_mark(one.previous[-1:])}"
    yield f"next:{_mark(one.following[:1])}"
    yield f"joined{len(one.spans) > 1}"
    yield f"forms{round(3 * sum(word in FORM_WORDS for word in words) / len(words))}"
    yield f"digit{any(map(str.isdecimal, text))}"
    yield f"bracket{'(' in text}"
    yield f"ends in bracket{text.endswith(')')}"
    yield f"colon{':' in text}"
    yield f"last form{words[-1] in FORM_WORDS}"
    yield f"capitals{round(3 * sum(word[:1].isupper() for word in text.split()) / len(text.split()))}"


def _mark(character: str) -> str:
    return "word" if character.isalnum() else character


def _ranks(candidates: Sequence[AnyCandidate]) -> dict[int, tuple[str, ...]]:
    """Of amounts and dates: how many are larger, how many smaller."""
    if not candidates or candidates[0].form not in ("money", "number", "date"):
        return {}
    order = sorted({one.value for one in candidates})  # type: ignore[type-var]
    rank = {value: index for index, value in enumerate(order)}
    last = len(order) - 1
    return {
        index: (
            f"down{min(4, last - rank[one.value])}",
            f"up{min(4, rank[one.value])}",
            f"seq{min(6, index)}",
        )
        for index, one in enumerate(candidates)
    }
