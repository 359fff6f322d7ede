"""Models of own schemas in files."""

import base64
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docmill.errors import MisconfiguredError
from docmill.model.document import Document
from docmill.understanding.fields.scoring import Scored
from docmill.understanding.user_schemas.features import Looked, Rows, looked_at, signature


def model_in(path: Path) -> str:
    """What was learned, without the lessons. Raises MisconfiguredError if the file holds no model."""
    try:
        return dumps(loads(path.read_text(encoding="utf-8")).worn())
    except (OSError, UnicodeDecodeError) as error:
        raise MisconfiguredError(f"cannot read the model {str(path)!r}") from error


FORMAT = 1
ALIKE = 0.55
"""Cosine of two first pages' words from which on they are of one layout."""
_PRECISION = 4
_NEVER = -1e3
_BROKEN = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, zlib.error)
"""What reading a file raises that is no model, or half of one."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What a field's features are worth. scale: of the untaught score.

    cuts: whether they also tell where in its text a value begins and ends.
    """

    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    scale: float = 1.0
    cuts: bool = True

    @classmethod
    def none(cls) -> "Weights":
        """Nothing learned."""
        return cls(np.zeros(0, np.int32), np.zeros(0), 1.0)

    def of(self, rows: Rows) -> NDArray[np.float64]:
        """The sum of the weights of each row."""
        if not len(self.indices) or not rows:
            return np.zeros(len(rows))
        flat = np.concatenate(rows)
        at = np.minimum(np.searchsorted(self.indices, flat), len(self.indices) - 1)
        worth = np.where(self.indices[at] == flat, self.values[at], 0.0)
        ends = np.cumsum([len(row) for row in rows])
        sums = np.concatenate([[0.0], np.cumsum(worth)])
        return sums[ends] - sums[ends - np.array([len(row) for row in rows])]

    def content(self) -> dict[str, Any]:
        """As JSON."""
        values = [round(value, _PRECISION) for value in self.values.tolist()]
        return {
            "scale": round(self.scale, _PRECISION),
            "indices": self.indices.tolist(),
            "values": values,
            "cuts": self.cuts,
        }

    @classmethod
    def of_content(cls, content: Mapping[str, Any]) -> "Weights":
        """From JSON."""
        return cls(
            np.array(content["indices"], np.int32),
            np.array(content["values"], np.float64),
            float(content["scale"]),
            bool(content.get("cuts", True)),
        )


@dataclass(frozen=True, slots=True)
class Lesson:
    """One field of a document whose value is known.

    scores: untaught. keys: equal for equal values. right: which candidates are the value. is_known: whether
    there is one to be found. cuts: which candidates are the best untaught one, cut otherwise; none if empty.
    """

    rows: Rows
    scores: NDArray[np.float64]
    keys: NDArray[np.int32]
    right: NDArray[np.bool_]
    is_known: bool = True
    cuts: frozenset[int] = frozenset()

    def best(self, weights: Weights) -> int:
        """The index of the candidate that these weights choose; -1 if there is none."""
        if not self.rows:
            return -1
        best = int((weights.scale * self.scores + weights.of(self.rows)).argmax())
        return best if weights.cuts or best not in self.cuts else int(self.scores.argmax())

    def content(self) -> dict[str, Any]:
        """As JSON."""
        flat = np.concatenate(self.rows) if self.rows else np.zeros(0, np.int32)
        return {
            "rows": base64.b64encode(zlib.compress(flat.astype("<i4").tobytes())).decode(),
            "lengths": [len(row) for row in self.rows],
            "scores": [round(score, _PRECISION) for score in self.scores.tolist()],
            "keys": self.keys.tolist(),
            "right": np.flatnonzero(self.right).tolist(),
            "is_known": self.is_known,
            "cuts": sorted(self.cuts),
        }

    @classmethod
    def of_content(cls, content: Mapping[str, Any]) -> "Lesson":
        """From JSON."""
        flat = np.frombuffer(zlib.decompress(base64.b64decode(content["rows"])), "<i4").astype(np.int32)
        right = np.zeros(len(content["lengths"]), np.bool_)
        right[content["right"]] = True
        return cls(
            np.split(flat, np.cumsum(content["lengths"])[:-1]) if content["lengths"] else [],
            np.array(content["scores"], np.float64),
            np.array(content["keys"], np.int32),
            right,
            bool(content["is_known"]),
            frozenset(content.get("cuts", ())),
        )


@dataclass(frozen=True, slots=True)
class Taught:
    """A document whose values are known. words: see `signature`."""

    words: frozenset[str]
    lessons: Mapping[str, Lesson]


@dataclass(frozen=True, slots=True)
class Known:
    """A layout of which documents were corrected. pages: the words of each. weights: for the general ones."""

    pages: tuple[frozenset[str], ...]
    weights: Mapping[str, Weights]


@dataclass(frozen=True, slots=True)
class Model:
    """What is known about the fields of one schema, by path. taught: all that it was learned from."""

    schema: str
    general: Mapping[str, Weights] = field(default_factory=dict[str, Weights])
    layouts: tuple[Known, ...] = ()
    taught: tuple[Taught, ...] = ()

    def layout_of(self, words: frozenset[str]) -> Known | None:
        """The layout whose pages are most like these words, if any is alike."""
        best = max(self.layouts, key=lambda one: nearest(words, one.pages), default=None)
        return best if best is not None and nearest(words, best.pages) >= ALIKE else None

    def rescored(self, fields: Mapping[str, Scored], document: Document) -> dict[str, Scored]:
        """The fields with what was learned in their scores."""
        layout = self.layout_of(signature(document)) if self.layouts else None
        return dict(self._rescored(fields, layout, len(document.pages)))

    def worn(self) -> "Model":
        """The model without what it was learned from, to be handed around."""
        return replace(self, taught=())

    def _rescored(
        self, fields: Mapping[str, Scored], layout: Known | None, page_count: int
    ) -> Iterator[tuple[str, Scored]]:
        for path, one in fields.items():
            weights = (layout.weights.get(path) if layout else None) or self.general.get(path)
            yield path, taught_scores(one, weights, looked_at(one, page_count)) if weights else one


def taught_scores(one: Scored, weights: Weights, looked: Looked) -> Scored:
    """The field with the scores of its best candidates as learned; the others are out."""
    scores = np.full(len(one.candidates), _NEVER)
    scores[looked.indices] = weights.scale * one.scores[looked.indices] + weights.of(looked.rows)
    if not weights.cuts and len(scores):
        _keep_cut(one, scores)
    return replace(one, scores=scores, is_taught=True)


def _keep_cut(one: Scored, scores: NDArray[np.float64]) -> None:
    """Let the best untaught candidate stand for the best, if that is the same but for where it is cut."""
    best, before = int(scores.argmax()), int(one.scores.argmax())
    key = one.candidates[best].key
    if is_cut_otherwise(key, one.candidates[before].key):
        ahead = scores[best] - scores[before]
        scores[[other.key == key for other in one.candidates]] -= ahead
        scores[before] += ahead


def is_cut_otherwise(one: object, other: object) -> bool:
    """Whether two texts are the same but for where they begin or end."""
    if not isinstance(one, str) or not isinstance(other, str) or one == other:
        return False
    short, long = sorted((one, other), key=len)
    return long.startswith(short) or long.endswith(short)


def nearest(words: frozenset[str], pages: Sequence[frozenset[str]]) -> float:
    """How like the nearest of the pages is, in [0, 1]."""
    return max((_cosine(words, page) for page in pages), default=0.0)


def _cosine(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / (len(one) * len(other)) ** 0.5 if one and other else 0.0


def dumps(model: Model) -> str:
    """The model as JSON."""
    return json.dumps(
        {
            "format": FORMAT,
            "schema": model.schema,
            "general": {path: weights.content() for path, weights in model.general.items()},
            "layouts": [
                {
                    "pages": [sorted(page) for page in layout.pages],
                    "weights": {path: weights.content() for path, weights in layout.weights.items()},
                }
                for layout in model.layouts
            ],
            "taught": [
                {
                    "words": sorted(one.words),
                    "lessons": {path: lesson.content() for path, lesson in one.lessons.items()},
                }
                for one in model.taught
            ],
        },
        separators=(",", ":"),
    )


@lru_cache(maxsize=4)
def loads(text: str) -> Model:
    """The model of `dumps`. Raises MisconfiguredError if it is none."""
    try:
        content = json.loads(text)
        if content["format"] != FORMAT:
            raise MisconfiguredError(f"the model has format {content['format']}; this docmill reads {FORMAT}")
        return Model(
            content["schema"],
            _weights(content["general"]),
            tuple(Known(_pages(one["pages"]), _weights(one["weights"])) for one in content["layouts"]),
            tuple(_taught(one) for one in content["taught"]),
        )
    except _BROKEN as error:
        raise MisconfiguredError("this is no model that docmill learned") from error


def _weights(content: Mapping[str, Any]) -> dict[str, Weights]:
    return {path: Weights.of_content(one) for path, one in content.items()}


def _pages(content: Sequence[Sequence[str]]) -> tuple[frozenset[str], ...]:
    return tuple(map(frozenset, content))


def _taught(content: Mapping[str, Any]) -> Taught:
    lessons = {path: Lesson.of_content(one) for path, one in content["lessons"].items()}
    return Taught(frozenset(content["words"]), lessons)
