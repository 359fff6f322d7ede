"""The trained model of document types, and its shipped copy."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from docmill.schemas.document_types import TRAINED_TYPES, DocumentType
from docmill.understanding.receipts.scorers import Trees
from docmill.understanding.types.signs import SIGNS

FILE = "document_types.npz"


@dataclass(frozen=True, slots=True)
class Kinds:
    """Trees that tell the types apart. warmth: by how much their scores are too sure."""

    trees: Trees
    warmth: float = 1.0

    def shares(self, row: NDArray[np.float32]) -> Mapping[DocumentType, float]:
        """The probability of each type. row: of `signs`."""
        found = shares(self.trees.scores(row[None]), self.warmth)[0]
        return dict(zip(TRAINED_TYPES, found.tolist(), strict=True))

    def dumps(self) -> bytes:
        """As stored. The same model gives the same bytes."""
        arrays = {f"trees/{name}": array for name, array in self.trees.arrays().items()}
        arrays["warmth"] = np.array([self.warmth], np.float32)
        arrays["signs"] = np.array(SIGNS, np.str_)
        file = io.BytesIO()
        np.savez_compressed(file, allow_pickle=False, **arrays)
        return file.getvalue()


def shares(scores: NDArray[np.float64], warmth: float) -> NDArray[np.float64]:
    """Softmax over the types, row by row."""
    scaled = scores / warmth
    weights = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def loads(content: bytes) -> Kinds:
    """Load the model that `Kinds.dumps` wrote. Raises ValueError for a model of other signs than ours."""
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        if tuple(map(str, file["signs"])) != SIGNS:
            raise ValueError("the model of document types was made for other signs; train it anew")
        trees = Trees.of(
            {name.removeprefix("trees/"): file[name] for name in file.files if name.startswith("trees/")}
        )
        return Kinds(trees, float(file["warmth"][0]))


@cache
def shipped() -> Kinds:
    """The model that comes with docmill; see MODEL_CARD.md beside it."""
    return loads(resources.files("docmill.understanding.types").joinpath(FILE).read_bytes())
