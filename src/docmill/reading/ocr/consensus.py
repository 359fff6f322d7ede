"""Several looks at one line: of the texts that they give, the one that all of them allow most.

Their probabilities are not averaged step by step, for the looks see a letter a step earlier or later.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from docmill.reading.ocr.ctc import LineText

IMPOSSIBLE = 1e-7
"""Probability of whatever a recogniser holds to be less probable: one look must not forbid a letter."""
BOLDNESS = 0.5
"""How much of a letter's thickened copy is in the bolder letter."""

_PEN = np.ones((2, 2), np.uint8)


class Look(NamedTuple):
    """What a recogniser says of a line. answer: probabilities, shape (steps, characters)."""

    answer: NDArray[np.float32]
    line: LineText


def bolder(line: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The line's picture with its dark print half a pixel thicker."""
    thick = cv2.erode(line, _PEN)
    return np.asarray(cv2.addWeighted(line, 1 - BOLDNESS, thick, BOLDNESS, 0), np.uint8)


def letters(line: LineText) -> str:
    """The text without its spaces."""
    return "".join(line.text.split())


def agreed(looks: Sequence[Look], indices: Mapping[str, int], *, space: int) -> LineText:
    """The line as that look saw it whose text is most probable on the mean of all.

    At least one must have seen text. indices: of the recogniser's characters. space: the index of that one.
    """

    def probability(line: LineText) -> float:
        text = [indices[character] for character in letters(line)]
        return float(np.logaddexp.reduce([likelihood(look.answer, text, space=space) for look in looks]))

    return max(
        (look.line for look in looks if look.line.text), key=lambda line: (probability(line), line.score)
    )


def likelihood(answer: NDArray[np.float32], text: Sequence[int], *, space: int) -> float:
    """The logarithm of the probability of a text, wherever its characters begin and end; spaces are none.

    Source: Graves et al., Connectionist Temporal Classification, ICML 2006, section 4.1.
    """
    seen = np.empty((len(answer), 2 * len(text) + 1))
    seen[:, ::2] = (answer[:, 0] + answer[:, space])[:, None]
    seen[:, 1::2] = answer[:, text]
    seen = np.maximum(seen, IMPOSSIBLE)
    jumps = np.zeros(seen.shape[1])
    jumps[3::2] = np.diff(text) != 0
    ways = np.zeros(seen.shape[1])
    ways[:2] = seen[0, :2]
    found = 0.0
    for step in seen[1:]:
        ways[2:] += ways[1:-1] + jumps[2:] * ways[:-2]
        ways[1] += ways[0]
        ways *= step
        total = ways.sum()
        found += math.log(total)
        ways /= total
    return found + math.log(max(float(ways[-2:].sum()), IMPOSSIBLE))
