"""Index of one tenant's corrections of a schema, by the identifiers and the words of their documents."""

import json
import sys
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from docmill.model.corrections import Correction
from docmill.model.document import Document
from docmill.service.store.reviewed_documents import StoredCorrection
from docmill.understanding.corrections.counterparties import identifiers
from docmill.understanding.user_schemas.features import signature
from docmill.understanding.user_schemas.learned import SAME_LAYOUT

OF_COUNTERPARTY = 12
OF_LAYOUT = 6
"""Corrections that a document is given, the latest of those that bear on it."""


@dataclass(frozen=True, slots=True)
class IndexedCorrection:
    """A correction with its keys. content: as JSON, which takes less memory; words: hashed."""

    document_id: UUID
    number: int
    content: bytes
    identifiers: tuple[str, ...]
    words: NDArray[np.uint32]

    @classmethod
    def of(cls, stored: StoredCorrection) -> "IndexedCorrection":
        """From a row of the database."""
        content = json.loads(stored.content)
        interned = tuple(sys.intern(identifier) for identifier in content["marks"])
        words = _hash(content["words"])
        return cls(stored.document_id, stored.number, stored.content.encode(), interned, words)

    def load(self) -> Correction:
        """The correction itself."""
        return Correction.of_content(json.loads(self.content))


class Matches(NamedTuple):
    """Corrections that bear on a document, the latest first. of_layout: those of its own layout."""

    every: Sequence[IndexedCorrection] = ()
    of_layout: Sequence[IndexedCorrection] = ()


class CorrectionIndex:
    """Corrections, the latest review first. It does not change, so that threads may read it."""

    def __init__(self, corrections: Sequence[IndexedCorrection] = ()) -> None:
        self._corrections = corrections
        self._by_identifier: dict[str, list[int]] = defaultdict(list)
        for index, one in enumerate(corrections):
            for identifier in one.identifiers:
                self._by_identifier[identifier].append(index)
        sizes = [len(one.words) for one in corrections]
        words = np.concatenate([np.zeros(0, np.uint32), *(one.words for one in corrections)])
        by_word = np.argsort(words, kind="stable")
        self._words = words[by_word]
        self._owners = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)[by_word]
        self._sizes = np.array(sizes, np.float64)

    def __len__(self) -> int:
        return len(self._corrections)

    def missing(self, numbers: Collection[int]) -> list[int]:
        """Those of the numbers whose corrections are not here."""
        here = {one.number for one in self._corrections}
        return [number for number in numbers if number not in here]

    def updated(self, reviews: Mapping[int, int], new: Iterable[IndexedCorrection]) -> "CorrectionIndex":
        """The index of these corrections and no others. reviews: the latest one, by their numbers."""
        held = {one.number: one for one in (*self._corrections, *new)}
        order = sorted(held.keys() & reviews.keys(), key=lambda number: -reviews[number])
        return CorrectionIndex([held[number] for number in order])

    def find(self, document: Document, document_id: UUID) -> Matches:
        """The latest corrections of the same counterparty and of the same layout, but the document's own."""
        every, own = self._corrections, document_id
        of_layout = [index for index in self._of_layout(document) if every[index].document_id != own]
        of_party = [index for index in self._of_counterparty(document) if every[index].document_id != own]
        del of_layout[OF_LAYOUT:], of_party[OF_COUNTERPARTY:]
        return Matches(
            [every[index] for index in sorted({*of_layout, *of_party})], [every[index] for index in of_layout]
        )

    def _of_counterparty(self, document: Document) -> list[int]:
        """The corrections with any of the document's identifiers; those that few share count most."""
        score: dict[int, float] = defaultdict(float)
        for identifier in sorted(identifiers(document)):
            owners = self._by_identifier.get(identifier, ())
            for index in owners:
                score[index] += 1 / len(owners)
        return sorted(score, key=lambda index: (-round(score[index], 6), index))

    def _of_layout(self, document: Document) -> list[int]:
        """The corrections of the same layout, the latest first."""
        words = _hash(signature(document))
        starts, stops = (np.searchsorted(self._words, words, side=side) for side in ("left", "right"))
        hits = [self._owners[start:stop] for start, stop in zip(starts, stops, strict=True) if stop > start]
        if not hits:
            return []
        shared = np.bincount(np.concatenate(hits), minlength=len(self))
        likeness = shared / np.sqrt(np.maximum(1, self._sizes * len(words)))
        alike: list[int] = np.flatnonzero(likeness >= SAME_LAYOUT).tolist()
        return alike


def _hash(words: Iterable[str]) -> NDArray[np.uint32]:
    return np.unique(np.array([zlib.crc32(word.encode()) for word in words], np.uint32))
