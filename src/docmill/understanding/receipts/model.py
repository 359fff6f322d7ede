"""The receipts' model, and the shipped copy of it."""

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from docmill.understanding.log_odds import log_odds
from docmill.understanding.receipts.amounts import Amounts
from docmill.understanding.receipts.scorers import CharNgramModel, Trees
from docmill.understanding.receipts.spans import Field
from docmill.understanding.receipts.word_correction import WordCorrector

FIELDS: tuple[Field, ...] = ("name", "address")
PATHS = {"name": "seller.name", "address": "seller.address", "date": "issue_date", "total": "gross_total"}
"""The learned fields with their paths in the schema."""
FILE = "receipts.npz"
FARTHEST = 3.0
"""Standard deviations at which a feature of a confidence is clipped: farther out nothing was held out."""
_CLIP = 1e-4
"""Least distance of a probability from 0 and 1 in its log-odds."""


def confidence_features(
    scores: Sequence[float],
    *,
    recognition: float,
    quality: float,
    length: int,
    corrected: bool,
    agrees: bool,
    known_share: float = 0.0,
    repeated: bool = False,
) -> NDArray[np.float64]:
    """The features that an answer's confidence is computed from.

    scores: of the answer and its rivals, the best first, repeated answers left out. recognition: the lowest
    confidence of the answer's words. quality: of the page. length: of the text, in letters; of other answers
    a count. corrected: whether misread letters were corrected. agrees: whether the rules have the same value.
    known_share: the share of the letters in known words. repeated: whether the page has the text again.
    """
    best, rival = (*scores[:2], 0.0)[:2]
    best_odds = log_odds(best, clip=_CLIP)
    return np.array(
        [
            best_odds,
            best_odds - log_odds(rival, clip=_CLIP),
            np.log1p(50 * np.clip(rival, _CLIP, 1 - _CLIP)),
            np.log(1.002 - recognition),
            quality,
            length / 50,
            corrected,
            agrees,
            known_share,
            repeated,
        ],
        np.float64,
    )


@dataclass(frozen=True, slots=True)
class Calibration:
    """A logistic curve from the features of held-out answers to the share of right ones.

    middle, width: mean and standard deviation of each feature among these answers.
    """

    middle: NDArray[np.float64]
    width: NDArray[np.float64]
    weights: NDArray[np.float64]
    offset: float

    def confidence(self, features: NDArray[np.float64]) -> float:
        """The probability that an answer with these features is right."""
        scaled: NDArray[np.float64] = np.clip((features - self.middle) / self.width, -FARTHEST, FARTHEST)
        return 1 / (1 + math.exp(-(float((scaled * self.weights).sum()) + self.offset)))

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The stored form."""
        offset = np.array(self.offset)
        return {"middle": self.middle, "width": self.width, "weights": self.weights, "offset": offset}

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[np.generic]]) -> "Calibration":
        """The curve with these `arrays`."""
        middle, width, weights = (arrays[name].astype(np.float64) for name in ("middle", "width", "weights"))
        return cls(middle, width, weights, float(arrays["offset"].astype(np.float64).item()))


@dataclass(frozen=True, slots=True)
class ReceiptModel:
    """Taggers of lines, scorers of spans and amounts, and the calibrations of their confidences.

    calibrations: by path.
    """

    letters: CharNgramModel
    tagger: Trees
    contexts: CharNgramModel
    spans: Mapping[Field, Trees]
    totals: Trees
    corrector: WordCorrector
    calibrations: Mapping[str, Calibration]

    def dumps(self) -> bytes:
        """The stored form. The same model gives the same bytes in one version of Python."""
        parts: dict[str, Mapping[str, NDArray[np.generic]]] = {
            "letters": self.letters.arrays(),
            "tagger": self.tagger.arrays(),
            "contexts": self.contexts.arrays(),
            "totals": self.totals.arrays(),
            "mender": self.corrector.arrays(),
            **{f"spans {field}": trees.arrays() for field, trees in self.spans.items()},
            **{f"calibration {path}": curve.arrays() for path, curve in self.calibrations.items()},
        }
        file = io.BytesIO()
        np.savez_compressed(
            file,
            allow_pickle=False,
            **{f"{part}/{name}": array for part, arrays in parts.items() for name, array in arrays.items()},
        )
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
        corrector=WordCorrector.of(parts["mender"]),
        calibrations={path: Calibration.of(parts[f"calibration {path}"]) for path in PATHS.values()},
    )


@cache
def shipped() -> ReceiptModel:
    """The model that comes with docmill; see MODEL_CARD.md beside it."""
    return loads(resources.files("docmill.understanding.receipts").joinpath(FILE).read_bytes())


def context_scores(contexts: CharNgramModel, amounts: Amounts) -> NDArray[np.float32]:
    """The highest, lowest and last score of the texts before each value's places."""
    rows: list[list[float]] = []
    for texts in amounts.contexts:
        scores = contexts.scores(texts)
        lead = scores[:, 1] - scores[:, 0]
        rows.append([float(lead.max()), float(lead.min()), float(lead[-1])])
    return np.array(rows, np.float32)
