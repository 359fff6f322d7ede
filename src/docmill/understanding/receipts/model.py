"""The receipts' model, and the shipped copy of it."""

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from docmill.understanding.receipts.amounts import Amounts
from docmill.understanding.receipts.head import Head
from docmill.understanding.receipts.mending import Mender
from docmill.understanding.receipts.scorers import CharNgramModel, Trees
from docmill.understanding.receipts.spans import Choices, Field

_CLIP = 1e-4
FARTHEST = 3.0
"""Widths from the middle at which a sign says all it can say: farther out nothing was held out."""
SIGNS = (
    "belief",
    "lead",
    "lead_seen",
    "recognised",
    "quality",
    "length",
    "mended",
    "agrees",
    "known",
    "repeated",
)
"""The features of a confidence; see `signs`."""


def signs(
    scores: Sequence[float],
    *,
    recognised: float,
    quality: float,
    length: int,
    mended: bool,
    agrees: bool,
    known: float = 0.0,
    repeated: bool = False,
) -> NDArray[np.float64]:
    """The features that an answer's confidence is computed from.

    scores: of the answer and its rivals, the best first, repeated answers left out. recognised: the least
    confidence of the words it was read from. quality: of the page. length: of its letters. mended: whether
    letters were put right. agrees: whether the rules found the same. known: share of its letters in known
    words. repeated: whether it stands on the page again.
    """
    best = np.clip(scores[0], _CLIP, 1 - _CLIP)
    rival = np.clip(scores[1] if len(scores) > 1 else 0.0, _CLIP, 1 - _CLIP)
    return np.array(
        [
            np.log(best / (1 - best)),
            np.log(best / (1 - best)) - np.log(rival / (1 - rival)),
            np.log1p(50 * rival),
            np.log(1.002 - recognised),
            quality,
            length / 50,
            mended,
            agrees,
            known,
            repeated,
        ],
        np.float64,
    )


@dataclass(frozen=True, slots=True)
class Calibration:
    """A logistic curve over signs: what share of held-out answers was right.

    middle, width: of each sign among the held-out answers.
    """

    middle: NDArray[np.float64]
    width: NDArray[np.float64]
    weights: NDArray[np.float64]
    offset: float

    def confidence(self, found: NDArray[np.float64]) -> float:
        """The share of answers with such signs that are right."""
        scaled: NDArray[np.float64] = np.clip((found - self.middle) / self.width, -FARTHEST, FARTHEST)
        return 1 / (1 + math.exp(-(float((scaled * self.weights).sum()) + self.offset)))

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """As stored."""
        return {
            "middle": self.middle,
            "width": self.width,
            "weights": self.weights,
            "offset": np.array(self.offset),
        }

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[np.generic]]) -> "Calibration":
        """From `arrays`."""
        offsets: list[float] = arrays["offset"].astype(np.float64).reshape(1).tolist()
        return cls(
            arrays["middle"].astype(np.float64),
            arrays["width"].astype(np.float64),
            arrays["weights"].astype(np.float64),
            offsets[0],
        )


FIELDS: tuple[Field, ...] = ("name", "address")
PATHS = {"name": "seller.name", "address": "seller.address", "date": "issue_date", "total": "gross_total"}
"""The fields that are learned, and where they stand in the schema."""
FILE = "receipts.npz"


@dataclass(frozen=True, slots=True)
class ReceiptModel:
    """Taggers of lines, scorers of spans and amounts, and how far to believe each field.

    calibrations: by path. currencies: of the receipts it was trained on; with others the rules are heard too.
    """

    letters: CharNgramModel
    tagger: Trees
    contexts: CharNgramModel
    spans: Mapping[Field, Trees]
    totals: Trees
    mender: Mender
    calibrations: Mapping[str, Calibration]
    currencies: frozenset[str]

    def tags(self, head: Head) -> NDArray[np.float64]:
        """The probabilities of each line to be neither, a name, an address."""
        return self.tagger.shares(head.rows(self.letters.scores(head.texts)))

    def span_scores(self, choices: Choices, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of each span to be the field."""
        return self.spans[choices.field].shares(choices.rows(shares))

    def total_scores(self, amounts: Amounts) -> NDArray[np.float64]:
        """The probability of each value to be the total."""
        return self.totals.shares(amounts.rows(spoken(self.contexts, amounts)))

    def dumps(self) -> bytes:
        """As stored. The same model gives the same bytes."""
        parts: dict[str, Mapping[str, NDArray[np.generic]]] = {
            "letters": self.letters.arrays(),
            "tagger": self.tagger.arrays(),
            "contexts": self.contexts.arrays(),
            "totals": self.totals.arrays(),
            "mender": self.mender.arrays(),
            "currencies": {"codes": np.array(sorted(self.currencies), np.str_)},
            **{f"spans {field}": trees.arrays() for field, trees in self.spans.items()},
            **{f"calibration {path}": one.arrays() for path, one in self.calibrations.items()},
        }
        arrays = {f"{part}/{name}": array for part, found in parts.items() for name, array in found.items()}
        file = io.BytesIO()
        np.savez_compressed(file, allow_pickle=False, **arrays)
        return file.getvalue()


def loads(content: bytes) -> ReceiptModel:
    """The model of `ReceiptModel.dumps`."""
    parts: dict[str, dict[str, NDArray[np.generic]]] = {}
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        for key in file.files:
            part, _, name = key.partition("/")
            parts.setdefault(part, {})[name] = file[key]
    return ReceiptModel(
        letters=CharNgramModel.of(parts["letters"]),
        tagger=Trees.of(parts["tagger"]),
        contexts=CharNgramModel.of(parts["contexts"]),
        spans={field: Trees.of(parts[f"spans {field}"]) for field in FIELDS},
        totals=Trees.of(parts["totals"]),
        mender=Mender.of(parts["mender"]),
        calibrations={path: Calibration.of(parts[f"calibration {path}"]) for path in PATHS.values()},
        currencies=frozenset(map(str, parts["currencies"]["codes"])),
    )


@cache
def shipped() -> ReceiptModel:
    """The model that comes with docmill; see MODEL_CARD.md beside it."""
    return loads(resources.files("docmill.understanding.receipts").joinpath(FILE).read_bytes())


def spoken(contexts: CharNgramModel, amounts: Amounts) -> NDArray[np.float32]:
    """The highest, lowest and last score of the words around each value's places."""
    found: list[list[float]] = []
    for texts in amounts.contexts:
        scores = contexts.scores(texts)
        lead = scores[:, 1] - scores[:, 0]
        found.append([float(lead.max()), float(lead.min()), float(lead[-1])])
    return np.array(found, np.float32)
