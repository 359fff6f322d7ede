"""The lessons of one tenant and schema, found by the numbers and the words of a document."""

import asyncio
import json
import sys
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Document
from docmill.understanding.corrections.memory import marks
from docmill.understanding.user_schemas.features import signature
from docmill.understanding.user_schemas.learned import ALIKE

if TYPE_CHECKING:
    from docmill.service.store.reviewed_documents import Version

OF_COUNTERPARTY = 12
OF_LAYOUT = 6
"""Lessons that a document is given, the latest of those that speak of it."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one document teaches. content: JSON, see `Precedent.content`; words: hashed."""

    document_id: UUID
    number: int
    content: bytes
    marks: tuple[str, ...]
    words: NDArray[np.uint32]

    @classmethod
    def of(cls, document_id: UUID, number: int, text: str) -> "Lesson":
        """From its content as text."""
        content = json.loads(text)
        marks_ = tuple(sys.intern(mark) for mark in content["marks"])
        return cls(document_id, number, text.encode(), marks_, _hashed(content["words"]))

    def read(self) -> dict[str, Any]:
        """Its content."""
        return json.loads(self.content)


class Chosen(NamedTuple):
    """Lessons for a document, the latest first. of_layout: those of its own layout."""

    lessons: list[Lesson]
    of_layout: list[Lesson]


class Shelf:
    """Lessons in the order of their reviews, the latest first. version: None while some are not made yet."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.version: Version | None = None
        self._index = _Index(())

    def __len__(self) -> int:
        return len(self._index.lessons)

    def missing(self, numbers: Collection[int]) -> list[int]:
        """Those of the lessons that are not here."""
        here = {one.number for one in self._index.lessons}
        return [number for number in numbers if number not in here]

    def take(self, numbers: Mapping[int, int], lessons: Iterable[Lesson]) -> None:
        """Hold the lessons of these numbers and no others. numbers: to the review that each heeds."""
        held = {one.number: one for one in (*self._index.lessons, *lessons)}
        order = sorted(held.keys() & numbers.keys(), key=lambda number: -numbers[number])
        self._index = _Index([held[number] for number in order])

    def chosen(self, document: Document, itself: UUID) -> Chosen:
        """The latest lessons of the same numbers and of the same layout. itself: the document's id.

        May be called in a thread: what is taken meanwhile is another index.
        """
        return self._index.chosen(document, itself)


class _Index:
    """Lessons that do not change, by their marks and words."""

    def __init__(self, lessons: Sequence[Lesson]) -> None:
        self.lessons = lessons
        self._by_mark: dict[str, list[int]] = defaultdict(list)
        for index, one in enumerate(lessons):
            for mark in one.marks:
                self._by_mark[mark].append(index)
        sizes = [len(one.words) for one in lessons]
        words = np.concatenate([np.zeros(0, np.uint32), *(one.words for one in lessons)])
        by_word = np.argsort(words, kind="stable")
        self._words = words[by_word]
        self._owners = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)[by_word]
        self._sizes = np.array(sizes, np.float64)

    def chosen(self, document: Document, itself: UUID) -> Chosen:
        of_layout = self._others(self._alike(_hashed(signature(document))), itself)[:OF_LAYOUT]
        of_marks = self._others(self._marked(marks(document)), itself)[:OF_COUNTERPARTY]
        every = sorted({*of_layout, *of_marks})
        return Chosen(
            [self.lessons[index] for index in every], [self.lessons[index] for index in sorted(of_layout)]
        )

    def _others(self, indices: Sequence[int], itself: UUID) -> list[int]:
        return [index for index in indices if self.lessons[index].document_id != itself]

    def _marked(self, found: Collection[str]) -> list[int]:
        """The lessons with any of the marks; those that few share say most."""
        score: dict[int, float] = defaultdict(float)
        for mark in sorted(found):
            owners = self._by_mark.get(mark, ())
            for index in owners:
                score[index] += 1 / len(owners)
        return sorted(score, key=lambda index: (-round(score[index], 6), index))

    def _alike(self, words: NDArray[np.uint32]) -> list[int]:
        """The lessons of the same layout, the latest first."""
        starts, stops = (np.searchsorted(self._words, words, side=side) for side in ("left", "right"))
        hits = [self._owners[start:stop] for start, stop in zip(starts, stops, strict=True) if stop > start]
        if not hits:
            return []
        shared = np.bincount(np.concatenate(hits), minlength=len(self.lessons))
        likeness = shared / np.sqrt(np.maximum(1, self._sizes * len(words)))
        found: list[int] = np.flatnonzero(likeness >= ALIKE).tolist()
        return found


def _hashed(words: Iterable[str]) -> NDArray[np.uint32]:
    return np.unique(np.array([zlib.crc32(word.encode()) for word in words], np.uint32))
