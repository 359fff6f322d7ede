"""What children do for engines that work elsewhere: a picture to send, and a page from the answer."""

import io
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from PIL import Image

from docmill.model import Page
from docmill.reading import recognition, tasks
from docmill.reading.ocr import LONG, Recognised
from docmill.reading.options import ReadingOptions
from docmill.reading.orientation import turned_corners

JPEG_QUALITY = 92


class Drawn(NamedTuple):
    """A page's picture to be sent. jpeg: upright as far as its file says; rotation: as in `Page`."""

    jpeg: bytes
    width_px: int
    height_px: int
    width_pt: float
    height_pt: float
    rotation: int


def draw(source: tasks.Source, media_type: str, number: int, options: ReadingOptions) -> Drawn:
    """The picture of page `number`. Raises CorruptError, TooLargeError."""
    picture = tasks.draw(source, media_type, number, options)
    file = io.BytesIO()
    Image.fromarray(picture.pixels).save(file, "JPEG", quality=JPEG_QUALITY)
    _, width_pt, height_pt, rotation = picture
    return Drawn(file.getvalue(), picture.width_px, picture.height_px, width_pt, height_pt, rotation)


def page_of(recognised: Recognised, drawn: Drawn, number: int, engine: str) -> Page:
    """The page on which an engine saw `recognised`, turned so that its text is upright."""
    turn = turn_of(recognised)
    turned = turned_corners(recognised.corners, turn, width_px=drawn.width_px, height_px=drawn.height_px)
    corners = np.roll(turned, -turn // 90, axis=-2)  # they began with the text's own top left before, too
    upright = replace(recognised, corners=corners, turn=turn)
    return replace(recognition.page_of(upright, drawn, number), engine=engine)


def turn_of(recognised: Recognised) -> int:
    """Degrees clockwise, a multiple of 90, after which most of the text is upright."""
    lengths = np.array([len(text) for text in recognised.texts])
    if not lengths.size:
        return 0
    long = lengths >= min(LONG, int(lengths.max()))
    across = (recognised.corners[:, 1] - recognised.corners[:, 0])[long]
    quarters = np.rint(np.degrees(np.arctan2(across[:, 1], across[:, 0])) / 90).astype(int) % 4
    return int(-np.bincount(quarters, weights=lengths[long], minlength=4).argmax() * 90) % 360
