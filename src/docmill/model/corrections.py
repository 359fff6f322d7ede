"""Values that people confirmed or corrected, as far as they help to read other documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Box

CORRECTION_FORMAT = 3
"""Grows when a correction is made in another way, so that those stored before are made anew."""
_PRECISION = 4


@dataclass(frozen=True, slots=True)
class CorrectedValue:
    """A value that a person confirmed or corrected, as text; None where it was cleared.

    is_corrected: whether it differs from what is read without corrections. page, box: where it stands, or was
    read before it was cleared. goes_on: whether the page goes on behind it with a part in brackets.
    """

    value: str | None
    is_corrected: bool = False
    page: int | None = None
    box: Box | None = None
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class Correction:
    """The reviewed values of one document.

    name: of its file. identifiers: numbers on it by which its counterparty is known. words: of its first
    page, by which its layout is known. values: by path.
    """

    name: str
    identifiers: frozenset[str]
    words: frozenset[str]
    values: Mapping[str, CorrectedValue]

    def content(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "name": self.name,
            "marks": sorted(self.identifiers),
            "words": sorted(self.words),
            "values": {
                path: [value.value, value.is_corrected, value.page, value.box, value.goes_on]
                for path, value in self.values.items()
            },
        }

    @classmethod
    def of_content(cls, content: Mapping[str, Any]) -> "Correction":
        """From JSON."""
        values = {
            path: CorrectedValue(value, corrected, page, Box(*box) if box else None, *goes_on)
            for path, (value, corrected, page, box, *goes_on) in content["values"].items()
        }
        return cls(content["name"], frozenset(content["marks"]), frozenset(content["words"]), values)


@dataclass(frozen=True, slots=True)
class Weights:
    """A linear scorer of one field's candidates. scale: of the score without corrections.

    cuts: whether it also decides where in its text a value begins and ends.
    """

    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    scale: float = 1.0
    cuts: bool = True

    @classmethod
    def none(cls) -> "Weights":
        """Nothing learned."""
        return cls(np.zeros(0, np.int32), np.zeros(0), 1.0)

    @property
    def is_learned(self) -> bool:
        """True if any feature has a weight."""
        return len(self.indices) > 0

    def of(self, rows: Sequence[NDArray[np.int32]]) -> NDArray[np.float64]:
        """The sum of the weights of each row."""
        if not self.is_learned or not rows:
            return np.zeros(len(rows))
        flat = np.concatenate(rows)
        at = np.minimum(np.searchsorted(self.indices, flat), len(self.indices) - 1)
        worth = np.where(self.indices[at] == flat, self.values[at], 0.0)
        lengths = np.array([len(row) for row in rows])
        ends = np.cumsum(lengths)
        sums = np.concatenate([[0.0], np.cumsum(worth)])
        return sums[ends] - sums[ends - lengths]

    def content(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "scale": round(self.scale, _PRECISION),
            "indices": self.indices.tolist(),
            "values": [round(value, _PRECISION) for value in self.values.tolist()],
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
class LayoutWeights:
    """The scorers of one layout's fields, by path. pages: the words of the documents it was learned from.

    sources: by path, the name of the document that showed the place.
    """

    pages: tuple[frozenset[str], ...] = ()
    weights: Mapping[str, Weights] = field(default_factory=dict[str, Weights])
    sources: Mapping[str, str] = field(default_factory=dict[str, str])

    def content(self) -> dict[str, Any]:
        """As JSON."""
        content: dict[str, Any] = {
            "pages": [sorted(page) for page in self.pages],
            "weights": {path: weights.content() for path, weights in self.weights.items()},
        }
        return {**content, "sources": dict(self.sources)} if self.sources else content

    @classmethod
    def of_content(cls, content: Mapping[str, Any]) -> "LayoutWeights":
        """From JSON."""
        return cls(
            tuple(map(frozenset, content["pages"])),
            {path: Weights.of_content(weights) for path, weights in content["weights"].items()},
            dict(content.get("sources", {})),
        )


@dataclass(frozen=True, slots=True)
class Corrections:
    """Corrections for one document from reviews of others.

    documents: of the same counterparty or layout, the latest review first. layout: where values stand in its
    layout, as far as that was learned.
    """

    documents: tuple[Correction, ...] = ()
    layout: LayoutWeights = LayoutWeights()

    def __bool__(self) -> bool:
        return bool(self.documents)


@dataclass(frozen=True, slots=True)
class ReviewedValues:
    """The values that people gave a document. values: by path, as in its data; places: where they stand."""

    name: str
    values: Mapping[str, object]
    places: Mapping[str, tuple[int, Box]]
