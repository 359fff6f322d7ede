"""From a scorer's belief to the share of answers that are right at it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
"""What a confidence is made of; see `signs`."""


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
    """The signs by which an answer is believed.

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
        """What `arrays` gave."""
        offsets: list[float] = arrays["offset"].astype(np.float64).reshape(1).tolist()
        return cls(
            arrays["middle"].astype(np.float64),
            arrays["width"].astype(np.float64),
            arrays["weights"].astype(np.float64),
            offsets[0],
        )
