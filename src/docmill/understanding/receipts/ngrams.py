"""Texts as bags of hashed letter groups, and a logistic regression over them."""

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from docmill.understanding.text.folding import without_accents

BUCKETS = 1 << 13
SIZES = (2, 3, 4)
_DIGIT = re.compile(r"\d")
_REST = re.compile(r"[^A-Z0\s]+")


@lru_cache(maxsize=20_000)
def _groups(word: str) -> tuple[int, ...]:
    padded = f" {word} "
    return tuple(
        zlib.crc32(padded[at : at + size].encode()) % BUCKETS
        for size in SIZES
        for at in range(max(1, len(padded) - size + 1))
    )


def bag(text: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The buckets of a text's letter groups and their weights, which are one long together.

    Every digit counts as the same one: a vendor's own numbers say nothing of others.
    """
    plain = _DIGIT.sub("0", without_accents(text).upper())
    counts: dict[int, int] = {}
    for word in _REST.sub(" ", plain).split():
        for group in _groups(word):
            counts[group] = counts.get(group, 0) + 1
    marks = zlib.crc32("".join(sorted(set(re.sub(r"[\w\s]", "", plain)))).encode()) % BUCKETS
    counts[marks] = counts.get(marks, 0) + 1
    weights = np.log(np.fromiter(counts.values(), np.float32, len(counts))) + np.float32(1)
    return np.fromiter(counts, np.int32, len(counts)), (weights / np.linalg.norm(weights)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Letters:
    """Scores of texts. weights: shape (buckets, classes); offsets: shape (classes,)."""

    weights: NDArray[np.float16]
    offsets: NDArray[np.float32]

    def scores(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (texts, classes)."""
        found = np.empty((len(texts), len(self.offsets)), np.float32)
        for row, text in enumerate(texts):
            buckets, weights = bag(text)
            found[row] = weights @ self.weights[buckets].astype(np.float32) + self.offsets
        return found

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """As stored."""
        return {"weights": self.weights, "offsets": self.offsets}

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[np.generic]]) -> "Letters":
        """What `arrays` gave."""
        return cls(arrays["weights"].astype(np.float16), arrays["offsets"].astype(np.float32))
