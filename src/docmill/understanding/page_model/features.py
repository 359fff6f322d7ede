"""The words of a page as arrays for the page model: hashes of characters, numbers of place, neighbours."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from docmill.understanding.page.labels import LABELS
from docmill.understanding.vocabulary import Concept

BUCKETS = 1 << 15
"""Rows of the embedding table; the first two are padding and the hidden word."""
PADDING, HIDDEN = 0, 1
_MOST_MEANINGS = 3
_FIRST = 2
GRAMS = 48
"""Most hashes of one word, the last ones of its label's meanings; the rest of a longer word is left out."""
NUMBERS, LOOKS = 30, 17
"""Numbers that describe a word: of its place, and from the second index on of its look."""
NEIGHBOURS = 6
"""Words beside a word that are looked at directly: two before, two behind, one above, one below."""
MOST_WORDS = 1024

_LONGEST_GRAM = 4
_CENTS = re.compile(r"\d[.,]\d\d$")
_AMOUNT = re.compile(r"(?<![\d.,])\d{1,3}(?:[.,']?\d{3}){0,2}[.,]\d\d(?!\d)")
_WHOLES = 3
_WHOLE_MEANING = 6
"""Salt of the hashes of meanings, as 1 to 5 are those of characters and words."""
_MULTIPLIERS = np.array([2654435761, 2246822519, 3266489917, 668265263], np.uint64)
_MASK = np.uint64(0xFFFFFFFF)


class PageFeatures(NamedTuple):
    """Inputs of the network for a page of n words.

    grams: int32, shape (n, GRAMS), rows of the embedding table. numbers: float32, shape (n, NUMBERS).
    neighbours: int32, shape (n, NEIGHBOURS), indices of words, n for none. places: float32, shape (n, 5):
    left, right and middle in line heights, the line, and the index.
    """

    grams: NDArray[np.int32]
    numbers: NDArray[np.float32]
    neighbours: NDArray[np.int32]
    places: NDArray[np.float32]


def label_meanings(texts: Sequence[str], lines: NDArray[np.int32]) -> list[tuple[int, ...]]:
    """Rows of the table for the meanings of the label that each word is part of; none for most words."""
    found: list[tuple[int, ...]] = [()] * len(texts)
    starts = np.flatnonzero(np.diff(lines, prepend=lines[0] - 1)).tolist()
    for start, stop in zip(starts, [*starts[1:], len(texts)], strict=True):
        labels = LABELS.find(" ".join(texts[start:stop]))
        at = 0
        for index in range(start, stop if labels else start):
            end = at + len(texts[index])
            found[index] = tuple(
                _meaning_row(meaning)
                for label in labels
                if label.start < end and label.stop > at
                for meaning in label.meanings
            )[:_MOST_MEANINGS]
            at = end + 1
    return found


def page_features(
    texts: Sequence[str],
    boxes: NDArray[np.float32],
    lines: NDArray[np.int32],
    meanings: Sequence[tuple[int, ...]],
) -> PageFeatures:
    """The features of a page's words in reading order.

    boxes: shape (n, 4): x0, y0, x1, y1 in fractions of the page's width. lines: the line of each word.
    meanings: see `label_meanings`.
    """
    height = float(np.median(boxes[:, 3] - boxes[:, 1])) or 0.01
    grams = word_hashes(texts)
    for row, several in enumerate(meanings):
        for column, meaning in enumerate(several):
            grams[row, GRAMS - _MOST_MEANINGS + column] = meaning
    neighbours = _neighbours(boxes, lines)
    places = np.stack([boxes[:, 0], boxes[:, 2], (boxes[:, 1] + boxes[:, 3]) / 2], axis=1) / max(height, 1e-4)
    index = np.arange(len(texts), dtype=np.float32)
    return PageFeatures(
        grams,
        _numbers(texts, boxes, lines, height),
        neighbours,
        np.hstack([places, lines[:, None], index[:, None]]).astype(np.float32),
    )


def word_hashes(texts: Sequence[str]) -> NDArray[np.int32]:
    """Rows of the table for each word, shape (n, GRAMS), padded with `PADDING`.

    Of itself, of itself with digits alike, of its shape, and of its 1- to 4-grams.
    """
    alike = [_folded(text) for text in texts]
    rows = np.zeros((len(texts), GRAMS), np.int32)
    rows[:, :_WHOLES] = _mixed(np.array([_wholes(text) for text in texts], np.uint64), 5)
    joined = "".join(f"\x02{text}\x03" for text in alike)
    codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    lengths = np.array([len(text) + 2 for text in alike])
    owner = np.repeat(np.arange(len(texts)), lengths)
    at = np.arange(len(codes)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    # The columns of a word: its wholes, then its 1-grams without edges, its 2-grams, and so on.
    used = np.full(len(texts), _WHOLES)
    for length in range(1, _LONGEST_GRAM + 1):
        edges = 1 if length == 1 else 0
        count = (lengths - length + 1 - 2 * edges).clip(0)
        windows = np.zeros(max(0, len(codes) - length + 1), np.uint64)
        for step in range(length):
            windows += codes[step : len(windows) + step] * _MULTIPLIERS[step]
        place = at[: len(windows)] - edges
        column = used[owner[: len(windows)]] + place
        valid = (place >= 0) & (place < count[owner[: len(windows)]]) & (column < GRAMS - _MOST_MEANINGS)
        rows[owner[: len(windows)][valid], column[valid]] = _mixed(windows[valid] & _MASK, length)
        used += count
    return rows


@lru_cache(maxsize=200_000)
def _wholes(text: str) -> tuple[int, int, int]:
    """The hashes of a word, of itself with digits alike, and of its shape."""
    return _whole(text.casefold()), _whole(_folded(text)), _whole(_shape(text))


@cache
def _meaning_row(meaning: Concept) -> int:
    """The row of a meaning by its name, so that new meanings move none of the others."""
    return int(_mixed(np.array([_whole(meaning.name)], np.uint64), _WHOLE_MEANING)[0])


def word_class(text: str, classes: int) -> int:
    """The class of a word that is to be guessed: its hash with all digits alike."""
    return _whole(_folded(text)) % classes


@lru_cache(maxsize=200_000)
def _folded(text: str) -> str:
    """Lower case without accents, every digit as 0."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join("0" if sign.isdecimal() else sign for sign in plain if not unicodedata.combining(sign))


def _shape(text: str) -> str:
    """The classes of characters, runs of letters as one: `Aa`, `00.00`, `A-0000`."""
    shape = ""
    for sign in text:
        kind = "0" if sign.isdecimal() else "A" if sign.isupper() else "a" if sign.isalpha() else sign
        if kind == "0" or not shape.endswith(kind):
            shape += kind
    return shape


def _whole(text: str) -> int:
    value = 2166136261
    for sign in text:
        value = (value ^ ord(sign)) * 16777619 & 0xFFFFFFFF
    return value


def _mixed(values: NDArray[np.uint64], salt: int) -> NDArray[np.int32]:
    values = (values + np.uint64(salt * 0x9E3779B1)) & _MASK
    values ^= values >> np.uint64(15)
    values = values * np.uint64(2246822519) & _MASK
    values ^= values >> np.uint64(13)
    return (values % np.uint64(BUCKETS - _FIRST)).astype(np.int32) + _FIRST


def _numbers(
    texts: Sequence[str], boxes: NDArray[np.float32], lines: NDArray[np.int32], height: float
) -> NDArray[np.float32]:
    x0, y0, x1, y1 = boxes.T
    left, right, top, bottom = x0.min(), x1.max(), y0.min(), y1.max()
    width, depth = max(right - left, 1e-4), max(bottom - top, 1e-4)
    same = np.diff(lines) == 0
    first, last = np.append(True, ~same), np.append(~same, True)
    gap = np.where(same, x0[1:] - x1[:-1], 9 * height) / height
    gap_before, gap_behind = np.append(9.0, gap), np.append(gap, 9.0)
    rank = np.cumsum(first) - 1
    count = rank[-1] + 1
    on_line = np.bincount(rank)[rank]
    looks = np.array([_look(text) for text in texts], np.float32)
    columns = [
        (x0 - left) / width,
        (x1 - left) / width,
        ((x0 + x1) / 2 - (left + right) / 2) / width,
        (y0 - top) / depth,
        (x1 - x0) / width,
        np.log1p((y0 - top) / height) / 4,
        np.log1p((bottom - y1).clip(0) / height) / 4,
        ((y1 - y0) / height).clip(0, 4) - 1,
        first,
        last,
        gap_before.clip(-1, 9) / 9,
        gap_behind.clip(-1, 9) / 9,
        rank / count,
        np.log1p(rank) / 4,
        np.log1p(count - 1 - rank) / 4,
        np.log1p(on_line) / 2,
        np.full(len(texts), np.log1p(len(texts)) / 6),
    ]
    return np.hstack([np.stack(columns, axis=1), looks, _sizes(texts)]).astype(np.float32)


def _sizes(texts: Sequence[str]) -> NDArray[np.float32]:
    """How large an amount is beside the largest, whether it is that, and how often a text is printed."""
    values = np.array(
        [float(re.sub(r"\D", "", match[0])) if (match := _AMOUNT.search(text)) else 0 for text in texts]
    )
    largest = max(values.max(initial=0), 1.0)
    counts = Counter(texts)
    repeated = np.log([min(counts[text], 8) for text in texts])
    return np.stack([np.sqrt(values / largest), values == largest, repeated], axis=1).astype(np.float32)


@lru_cache(maxsize=200_000)
def _look(text: str) -> tuple[float, ...]:
    count = max(1, len(text))
    digits, letters = sum(map(str.isdecimal, text)), sum(map(str.isalpha, text))
    return (
        min(len(text), 20) / 10,
        digits / count,
        letters / count,
        sum(map(str.isupper, text)) / max(1, letters),
        float(text.endswith((":", "#"))),
        float(text.endswith((",", "."))),
        float("%" in text),
        float(any(sign in text for sign in "$€£¥₹")),
        float("/" in text or "-" in text),
        float(_CENTS.search(text) is not None),
    )


def _neighbours(boxes: NDArray[np.float32], lines: NDArray[np.int32]) -> NDArray[np.int32]:
    """Indices of the words beside each word; above and below by the nearest that shares its columns."""
    count = len(boxes)
    found = np.full((count, NEIGHBOURS), count, np.int32)
    index = np.arange(count)
    for column, step in enumerate((-1, -2, 1, 2)):
        other = index + step
        inside = (other >= 0) & (other < count)
        inside[inside] = lines[other[inside]] == lines[index[inside]]
        found[inside, column] = other[inside]
    x0, y0, x1, y1 = boxes.T
    middle = (y0 + y1) / 2
    shared = np.minimum(x1[:, None], x1) - np.maximum(x0[:, None], x0)
    beside = shared > 0
    distance = middle - middle[:, None]
    for column, away in ((4, -distance), (5, distance)):
        reach = np.where(beside & (away > (y1 - y0)[:, None] / 2), away, np.inf)
        nearest = reach.argmin(axis=1)
        there = np.isfinite(reach[index, nearest])
        found[there, column] = nearest[there]
    return found
