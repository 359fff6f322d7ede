"""How large a picture is searched for lines, and how wide lines are read: as little as their letters allow.

Both models take time by the pixel; letters larger than they need gain nothing (docs/decisions/013).
"""

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from docmill.reading.spelling import IDEOGRAPHIC

LARGEST = 1_800_000
"""Pixels among which lines are searched at most, to be recognised from all (docs/decisions/013)."""
SMALLEST = 600_000
"""Pixels below which a picture is not made smaller."""
SHORT_SIDE = 736
"""RapidOCR's own: pictures whose short side is shorter are enlarged, where letters are not to be seen."""
MULTIPLE = 32
"""The detector takes pictures whose sides are multiples of it."""
LETTERS = (10, 15)
"""Pixels that the middle one of a page's letters should be high for its line to be found."""
SIGNS = 30
"""Letters that a picture must show for their height to be believed."""
SPECK = 5
HEADLINE = 100
"""Pixels between which letters are high."""
PITCH = 15.5
"""Pixels from one letter to the next that the recogniser needs, in lines `ctc.HEIGHT` high."""
TOO_NARROW = 13.5
"""Pixels from letter to letter below which a line was made too narrow and is read again."""
NARROWEST = 0.7
"""How much narrower a line is made at most."""
TELLING = 6
"""Characters from which on a line tells how wide the page's letters are."""


def letter_height(bgr: NDArray[np.uint8]) -> float | None:
    """Pixels that the middle one of the letters is high; None where too few are to be seen."""
    grey = cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY)
    ink = cv2.adaptiveThreshold(grey, 1, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY_INV, 31, 15)
    _, _, found, _ = cv2.connectedComponentsWithStats(ink, connectivity=8)
    widths, heights = found[1:, cv2.CC_STAT_WIDTH], found[1:, cv2.CC_STAT_HEIGHT]
    letters = heights[(heights >= SPECK) & (heights < HEADLINE) & (widths > 1) & (widths < HEADLINE)]
    return float(np.median(letters)) if len(letters) >= SIGNS else None


def detection_size(height: int, width: int, letter: float | None = None) -> tuple[int, int]:
    """Height and width in which lines are searched in a picture of that height and width.

    letter: see `letter_height`.
    """
    area = height * width
    if letter is None:
        smallest = SHORT_SIDE / min(height, width)
        scale = max(min(1.0, math.sqrt(LARGEST / area)), smallest)
    else:
        small, large = LETTERS
        wished = min(1.0, large / letter) if letter > small else small / letter
        scale = min(max(wished, min(1.0, math.sqrt(SMALLEST / area))), math.sqrt(LARGEST / area))
    return _multiple(height * scale), _multiple(width * scale)


def _multiple(side: float) -> int:
    return max(MULTIPLE, round(side / MULTIPLE) * MULTIPLE)


class Pitch:
    """How wide a page's letters are, learned from the lines that have been read."""

    def __init__(self) -> None:
        self._seen: list[float] = []

    def learn(self, text: str, width: float) -> None:
        """width: of the line of that text, in pixels, as high as the recogniser takes it."""
        if len(text) >= TELLING and not IDEOGRAPHIC.search(text):
            self._seen.append(width / len(text))

    def squeeze(self) -> float:
        """How much narrower the next line may be made."""
        if not self._seen:
            return 1.0
        return min(1.0, max(NARROWEST, PITCH / float(np.percentile(self._seen, 25))))


def too_narrow(text: str, width: float) -> bool:
    """Whether a line of that text should not have been made as narrow. Ideographs need all they have."""
    return width < TOO_NARROW * len(text) or bool(IDEOGRAPHIC.search(text))
