"""Simulated recognition of printed lines: misread letters, lost spaces, split lines, skewed boxes."""

import random

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Document, Page
from docmill.reading.ocr.page import RecognisedLines, page_words
from docmill.reading.text.quality import page_quality

_ALIKE = {
    "0": "O", "O": "0Q", "o": "0", "1": "lI", "l": "1I", "I": "l1", "5": "S", "S": "5", "8": "B", "B": "8",
    "6": "G", "G": "6", "2": "Z", "Z": "2", "E": "F", "F": "E", "R": "P", "n": "r", "u": "n", "e": "c",
    "c": "e", "a": "o", "t": "l", "i": "l", "M": "N", "H": "N", "W": "N", "U": "O", "m": "n", "D": "O",
    "Q": "O", "A": "4", "h": "b", "s": "5", "w": "v", "K": "X", "T": "I", ",": ".", ".": ",",
}  # fmt: skip
_PLAIN = str.maketrans("áàâäãåçéèêëíìîïñóòôöõøúùûüýżźśłńćęąğşışđ", "aaaaaaceeeeiiiinoooooouuuuyzzslnceagsisd")
_DROPPED = 0.15
"""Share of the misread characters that are not read at all."""
_SPLIT = 0.05
"""Share of the lines that are taken for two."""
_MARGIN_PX = 10
_PX = 200 / 72
"""Pixels to a point of a picture of a page."""
_GAP = 1.2
"""Heights of print between the words of two stretches that are read apart."""
_LETTERS = "ABCDEGHIKLNORSTU"


class SimulatedOcr:
    """Reads one picture, as well or badly as it has drawn."""

    def __init__(self, random_: random.Random) -> None:
        choose = random_.choice
        self._random = random_
        self._noise = choose((0.0, 0.0, 0.002, 0.005, 0.012, 0.03))
        self._lost_spaces = choose((0.0, 0.0, 0.02, 0.1, 0.4))
        self._loses_accents = random_.random() < 0.6  # noqa: PLR2004 - a share
        self._slant = random_.gauss(0, 0.012)
        self._jitter_px = choose((0.0, 1.0, 3.0))
        self._texts: list[str] = []
        self._corners: list[NDArray[np.float32]] = []
        self._scores: list[float] = []

    def read(self, text: str, left: float, top: float, *, width: float, height: float) -> str:
        """Read a printed line at this place, in pixels; what was read."""
        read = self._misread(text.translate(_PLAIN) if self._loses_accents else text)
        if not read.strip():
            return ""
        score = (1.0 if read == text else 0.96) - self._random.random() ** 3 * (0.05 + 6 * self._noise)
        for piece, start, stop in self._pieces(read):
            self._texts.append(piece)
            self._corners.append(self._quadrilateral(left + start * width, left + stop * width, top, height))
            self._scores.append(max(0.5, score))
        return read

    def add_background(self, left: float, right: float, bottom: float) -> None:
        """Now and then read a word from beside the paper."""
        for _ in range(self._random.choice((0, 0, 0, 0, 0, 1, 2))):
            text = "".join(self._random.choices(_LETTERS, k=self._random.randint(1, 7)))
            top, height = self._random.random() * bottom, self._random.uniform(25, 60)
            self.read(text, self._random.choice((left, right)), top, width=18 * len(text), height=height)

    def document(self, key: str, *, size_px: tuple[float, float] | None = None) -> Document:
        """All lines as the page of a photograph. size_px: of a scan; a photograph is cropped to the print."""
        corners = np.array(self._corners, np.float32).reshape(-1, 4, 2)
        if size_px is not None:
            width, height = size_px
            corners = corners.clip(0, np.array(size_px, np.float32))
        else:
            if len(corners):
                corners = corners - corners.reshape(-1, 2).min(axis=0) + _MARGIN_PX
            width, height = (corners.reshape(-1, 2).max(axis=0, initial=1) + _MARGIN_PX).tolist()
        recognised = RecognisedLines(self._texts, corners, np.array(self._scores, np.float32))
        words = page_words(recognised, width_px=round(width), height_px=round(height))
        quality = page_quality(words)
        page = Page(number=1, width_pt=width, height_pt=height, words=words, source="ocr", quality=quality)
        return Document(key.encode().hex()[-64:].rjust(64, "0"), "image/jpeg", [page])

    def _misread(self, text: str) -> str:
        return misread(text, self._random, self._noise, lost_spaces=self._lost_spaces)

    def _pieces(self, text: str) -> list[tuple[str, float, float]]:
        """The line, or its two parts if it was taken for two, with their places as shares of its width."""
        spaces = [index for index, character in enumerate(text) if character == " "]
        if not spaces or self._random.random() >= _SPLIT:
            return [(text, 0.0, 1.0)]
        at = self._random.choice(spaces)
        return [(text[:at], 0.0, (at - 0.2) / len(text)), (text[at + 1 :], (at + 1.2) / len(text), 1.0)]

    def _quadrilateral(self, left: float, right: float, top: float, height: float) -> NDArray[np.float32]:
        above, below = (self._random.gauss(0, self._jitter_px) for _ in range(2))
        corners = (
            (left, top, above),
            (right, top, above),
            (right, top + height, below),
            (left, top + height, below),
        )
        return np.array([(x - self._slant * y, y + self._slant * x + by) for x, y, by in corners], np.float32)


def misread(text: str, random_: random.Random, noise: float, *, lost_spaces: float = 0.0) -> str:
    """The text with this share of its characters taken for others or dropped, and of its spaces lost."""
    characters: list[str] = []
    for character in text:
        if character == " " and random_.random() < lost_spaces:
            continue
        if random_.random() >= noise:
            characters.append(character)
        elif random_.random() >= _DROPPED:
            characters.append(random_.choice(_ALIKE.get(character, character)))
    return "".join(characters)


def simulate_recognition(page: Page, random_: random.Random, *, is_cropped: bool = False) -> Document:
    """The page as recognition reads a picture of it. is_cropped: the picture ends at the print."""
    ocr = SimulatedOcr(random_)
    scale = np.array([page.width_pt, page.height_pt] * 2) * _PX
    boxes = page.words.boxes * scale
    for line in page.lines:
        stretches: list[list[int]] = []
        for index in range(line.start, line.stop):
            height = boxes[index, 3] - boxes[index, 1]
            if not stretches or boxes[index, 0] - boxes[index - 1, 2] > _GAP * height:
                stretches.append([])
            stretches[-1].append(index)
        for stretch in stretches:
            left, top, _, bottom = boxes[stretch[0]].tolist()
            width = float(boxes[stretch[-1], 2]) - left
            text = " ".join(page.words.texts[index] for index in stretch)
            ocr.read(text, left, top, width=width, height=bottom - top)
    return ocr.document("picture", size_px=None if is_cropped else (float(scale[0]), float(scale[1])))
