"""What children do for engines that work elsewhere: a picture to send, and a page from the answer."""

import io
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from docmill.model import Page
from docmill.reading import tasks
from docmill.reading.ocr import LONG, Recognised, page_words
from docmill.reading.options import ReadingOptions
from docmill.reading.quality import page_quality

JPEG_QUALITY = 92


class Drawn(NamedTuple):
    """A page's picture to be sent. jpeg: upright as far as its file says; rotation: as in `Page`."""

    jpeg: bytes
    width_px: int
    height_px: int
    width_pt: float
    height_pt: float
    rotation: int


def draw(path: Path, media_type: str, number: int, options: ReadingOptions) -> Drawn:
    """The picture of page `number`. Raises CorruptError, TooLargeError."""
    picture = tasks.draw(path, media_type, number, options)
    file = io.BytesIO()
    Image.fromarray(picture.pixels).save(file, "JPEG", quality=JPEG_QUALITY)
    height_px, width_px = picture.pixels.shape[:2]
    return Drawn(file.getvalue(), width_px, height_px, picture.width_pt, picture.height_pt, picture.rotation)


def page_of(recognised: Recognised, drawn: Drawn, number: int, engine: str) -> Page:
    """The page on which an engine saw `recognised`, turned so that its text is upright."""
    turn = turn_of(recognised)
    width_px, height_px, width_pt, height_pt = (
        drawn.width_px,
        drawn.height_px,
        drawn.width_pt,
        drawn.height_pt,
    )
    upright = Recognised(
        recognised.texts, _turned(recognised.corners, turn, width_px, height_px), recognised.scores
    )
    if turn % 180:
        width_px, height_px, width_pt, height_pt = height_px, width_px, height_pt, width_pt
    words = page_words(upright, width_px=width_px, height_px=height_px)
    return Page(
        number=number,
        width_pt=width_pt,
        height_pt=height_pt,
        words=words,
        source="ocr",
        quality=page_quality(words),
        rotation=(drawn.rotation + turn) % 360,
        engine=engine,
    )


def turn_of(recognised: Recognised) -> int:
    """Degrees clockwise, a multiple of 90, after which most of the text is upright."""
    lengths = np.array([len(text) for text in recognised.texts])
    if not lengths.size:
        return 0
    long = lengths >= min(LONG, int(lengths.max()))
    across = (recognised.corners[:, 1] - recognised.corners[:, 0])[long]
    quarters = np.rint(np.degrees(np.arctan2(across[:, 1], across[:, 0])) / 90).astype(int) % 4
    return int(-np.bincount(quarters, weights=lengths[long], minlength=4).argmax() * 90) % 360


def _turned(corners: NDArray[np.float32], turn: int, width: int, height: int) -> NDArray[np.float32]:
    x, y = corners[..., 0], corners[..., 1]
    match turn:
        case 90:
            return np.stack([height - y, x], axis=-1)
        case 180:
            return np.stack([width - x, height - y], axis=-1)
        case 270:
            return np.stack([y, width - x], axis=-1)
        case _:
            return corners
