"""The page model, run by onnxruntime on one core, and the shipped copy of it."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module, resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from docmill.understanding.page_model.features import page_features

INPUTS = ("grams", "numbers", "neighbours", "places", "mask")
FACTS = ("type", "country", "language", "currency")
FILE = "page_model.onnx"


class Vocabulary(NamedTuple):
    """The classes of the network: roles, of which `none` is the first, and the values of each of `FACTS`."""

    roles: tuple[str, ...]
    facts: tuple[tuple[str, ...], ...]

    def to_json(self) -> str:
        """The text that is kept beside the weights."""
        return json.dumps({"roles": self.roles, "facts": self.facts}, indent=1) + "\n"

    @classmethod
    def of_json(cls, text: str) -> "Vocabulary":
        """The vocabulary with this text."""
        content = json.loads(text)
        return cls(tuple(content["roles"]), tuple(tuple(values) for values in content["facts"]))


class PageReading(NamedTuple):
    """Answer of the model for a page of n words.

    names: of the roles. roles: the probabilities of each, shape (n, roles). goes_on: that a word goes on with
    the value before it, shape (n,). facts: for each of `FACTS` the probability of its values.
    """

    names: Sequence[str]
    roles: NDArray[np.float32]
    goes_on: NDArray[np.float32]
    facts: Mapping[str, Mapping[str, float]] = {}

    def of_role(self, role: str) -> NDArray[np.float32]:
        """The probability of a role for each word; zeros for a role that the model does not know."""
        if role not in self.names:
            return np.zeros(len(self.roles), np.float32)
        return self.roles[:, self.names.index(role)]


class PageModel:
    """A model as `export` writes it: weights in an ONNX file, and its vocabulary in JSON beside it."""

    def __init__(self, path: Path) -> None:
        runtime: Any = import_module("onnxruntime")  # it has no types
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.vocabulary = Vocabulary.of_json(path.with_suffix(".json").read_text(encoding="utf-8"))

    def read(
        self,
        texts: list[str],
        boxes: NDArray[np.float32],
        lines: NDArray[np.int32],
        meanings: list[tuple[int, ...]],
    ) -> PageReading:
        """Read a page with at least one word. The arguments are those of `page_features`."""
        features = page_features(texts, boxes, lines, meanings)
        inputs = (
            features.grams.astype(np.int64),
            features.numbers,
            features.neighbours.astype(np.int64),
            features.places,
            np.ones(len(texts), np.float32),
        )
        named = {name: array[None] for name, array in zip(INPUTS, inputs, strict=True)}
        outputs: list[NDArray[np.float32]] = self._session.run(None, named)
        roles, goes_on, *facts = (output[0].astype(np.float64) for output in outputs)
        shares = [_softmax(logits).tolist() for logits in facts]
        return PageReading(
            self.vocabulary.roles,
            _softmax(roles).astype(np.float32),
            (1 / (1 + np.exp(-goes_on))).astype(np.float32),
            {
                name: dict(zip(values, some, strict=True))
                for name, values, some in zip(FACTS, self.vocabulary.facts, shares, strict=True)
            },
        )


@cache
def shipped() -> PageModel:
    """The model that comes with docmill; see MODEL_CARD.md beside it."""
    with resources.as_file(resources.files(__package__ or "").joinpath(FILE)) as path:
        return PageModel(path)


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)
