"""Decoding of a line recogniser's answer (CTC): text with places, and the consensus of several readings.

The recogniser's own spaces are the weakest part of it: it joins what is printed apart, and takes a faint dot
between digits for a space. Both are decided here (docs/decisions/016).
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

HEIGHT = 48
"""Height in pixels of the line pictures that the recogniser takes."""
SPACE = 0.1
"""Probability from which on there is a space between two characters. The recogniser takes the best of
thousands of characters at each step, and between two words that is often none at all."""
INKLESS = 1
"""So few dark pixels in a column are dirt and no ink."""
EDGE = 3
"""Rows at the top and bottom of a line's picture in which neighbouring lines may show."""
MARKS = ".:,"
"""Characters between digits that are easily taken for a space."""
MARK = 0.02
"""Probability from which on one of them stands rather than a space."""
RIVAL = 0.03
"""Probability from which on a character is a rival of a more probable one."""


class RecogniserSteps(NamedTuple):
    """A recogniser's answer for one line.

    For each step the best character (0 is none), its probability, those of a space and of each of `MARKS`.
    step_px: width of a step in columns of the line's picture. rivals: of a step in doubt, other characters
    and their probabilities.
    """

    best: NDArray[np.intp]
    probabilities: NDArray[np.float32]
    spaces: NDArray[np.float32]
    marks: NDArray[np.float32]
    step_px: float
    rivals: Mapping[int, Sequence[tuple[int, float]]]


class LineText(NamedTuple):
    """A line as it was recognised.

    places: float32, shape (len(text), 2): start and end of each character as shares of the line's width.
    certainties: shape (len(text),), the probability of each character; 1 of a space.
    score: the mean of those of the characters that are printed.
    rivals: of each character, others that it may be, and their probabilities.
    """

    text: str
    places: NDArray[np.float32]
    certainties: NDArray[np.float32]
    score: float
    rivals: Sequence[Sequence[tuple[str, float]]]


class _Glyph(NamedTuple):
    """A printed character, first and last of its steps."""

    text: str
    first: int
    last: int
    probability: float
    rivals: Sequence[tuple[str, float]]


NO_TEXT = LineText("", np.zeros((0, 2), np.float32), np.zeros(0, np.float32), 0.0, ())


def summarise_steps(
    probabilities: NDArray[np.float32], *, space: int, marks: Sequence[int], step_px: float
) -> RecogniserSteps:
    """Summarise probabilities of shape (steps, characters). space, marks: indices of those characters."""
    best = probabilities.argmax(axis=1)
    certainty = probabilities[np.arange(len(best)), best]
    doubtful: list[int] = np.flatnonzero((best != 0) & (certainty < 1 - RIVAL)).tolist()
    rivals: dict[int, list[tuple[int, float]]] = {}
    for step in doubtful:
        others: list[int] = np.flatnonzero(probabilities[step] >= RIVAL).tolist()
        rivals[step] = [
            (other, float(probabilities[step, other])) for other in others if other not in (0, best[step])
        ]
    return RecogniserSteps(
        best, certainty, probabilities[:, space], probabilities[:, list(marks)], step_px, rivals
    )


def decode(steps: RecogniserSteps, characters: list[str], line: NDArray[np.uint8]) -> LineText:
    """Decode the steps to text with places. line: its picture, grey, `HEIGHT` high."""
    glyphs = _glyphs(steps, characters)
    if not glyphs:
        return NO_TEXT
    _, dark = cv2.threshold(line, 0, 1, cv2.THRESH_BINARY_INV + cv2.THRESH_OTSU)
    ink = np.asarray(dark, np.bool_)[EDGE:-EDGE]
    if ink.mean() > 0.5:  # noqa: PLR2004 - the half; print is on the rarer side
        ink = ~ink
    width = line.shape[1]
    centres = [min((glyph.first + glyph.last + 1) / 2 * steps.step_px, width) for glyph in glyphs]
    text, certainties, rivals = glyphs[0].text, [glyphs[0].probability], [glyphs[0].rivals]
    starts, stops = [_edge(ink, 0, centres[0])[1]], list[float]()
    for (left, right), (from_px, to_px) in zip(pairwise(glyphs), pairwise(centres), strict=True):
        start, stop = _edge(ink, from_px, to_px)
        stops.append(start)
        between = ""
        if steps.spaces[left.last : right.first + 1].max() > SPACE:
            marks = steps.marks[left.last + 1 : right.first].max(axis=0, initial=0)
            is_mark = left.text.isdigit() and right.text.isdigit() and marks.max() >= MARK
            between = MARKS[int(marks.argmax())] if is_mark else " "
        if between:
            starts.append(start)
            stops.append(stop)
            certainties.append(1.0)
            rivals.append(())
        starts.append(stop)
        text += between + right.text
        certainties.append(right.probability)
        rivals.append(right.rivals)
    stops.append(_edge(ink, centres[-1], width)[0])
    places = np.stack([starts, stops], axis=1).astype(np.float32) / width
    score = float(np.mean([glyph.probability for glyph in glyphs]))
    return LineText(text, places, np.array(certainties, np.float32), score, rivals)


def _glyphs(steps: RecogniserSteps, characters: list[str]) -> list[_Glyph]:
    """The characters but spaces: repetitions of a character are one, unless parted by class 0."""
    changes: list[int] = np.flatnonzero(np.diff(steps.best, prepend=-1)).tolist()
    glyphs: list[_Glyph] = []
    for first, end in pairwise([*changes, len(steps.best)]):
        index = int(steps.best[first])
        if index and not characters[index].isspace():
            clearest = first + int(steps.probabilities[first:end].argmax())
            rivals = [
                (characters[other], probability) for other, probability in steps.rivals.get(clearest, ())
            ]
            certainty = float(steps.probabilities[first])
            glyphs.append(_Glyph(characters[index], first, end - 1, certainty, rivals))
    return glyphs


def _edge(ink: NDArray[np.bool_], start_px: float, stop_px: float) -> tuple[float, float]:
    """The widest gap without ink between two columns, else the middle twice."""
    start, stop = int(start_px), int(stop_px)
    flags = ink[:, start:stop].sum(axis=0) <= INKLESS
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    runs = list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
    if not runs:
        middle = (start_px + stop_px) / 2
        return middle, middle
    first, last = max(runs, key=lambda run: run[1] - run[0])
    return float(start + first), float(start + last)


IMPOSSIBLE = 1e-7
"""Least probability of a character: one look must not forbid a letter."""
BOLDNESS = 0.5
"""Share of a letter's thickened copy in the bolder letter."""

_PEN = np.ones((2, 2), np.uint8)


class LineReading(NamedTuple):
    """One reading of a line. answer: probabilities, shape (steps, characters)."""

    answer: NDArray[np.float32]
    line: LineText


def embolden(line: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The line's picture with its dark print half a pixel thicker."""
    thick = cv2.erode(line, _PEN)
    return np.asarray(cv2.addWeighted(line, 1 - BOLDNESS, thick, BOLDNESS, 0), np.uint8)


def without_spaces(line: LineText) -> str:
    """The text without its spaces."""
    return "".join(line.text.split())


def most_likely_reading(looks: Sequence[LineReading], indices: Mapping[str, int], *, space: int) -> LineText:
    """The reading whose text is most probable on the mean of all readings.

    At least one must have seen text. indices: of the recogniser's characters. space: the index of that one.
    """
    lines = [look.line for look in looks if look.line.text]
    ranks: list[tuple[float, float]] = []
    for line in lines:
        text = [indices[character] for character in without_spaces(line)]
        likelihoods = [likelihood(look.answer, text, space=space) for look in looks]
        ranks.append((float(np.logaddexp.reduce(likelihoods)), line.score))
    return lines[ranks.index(max(ranks))]


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
    logarithm = 0.0
    for step in seen[1:]:
        ways[2:] += ways[1:-1] + jumps[2:] * ways[:-2]
        ways[1] += ways[0]
        ways *= step
        total = ways.sum()
        logarithm += math.log(total)
        ways /= total
    return logarithm + math.log(max(float(ways[-2:].sum()), IMPOSSIBLE))
