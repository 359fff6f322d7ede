"""What children do for engines that work elsewhere: a picture to send, and a page from the answer."""

import io
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from docmill.model.document import Page
from docmill.reading.child import tasks
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images.image_file import Picture
from docmill.reading.images.kept_scans import Print, printed
from docmill.reading.images.preprocess import back, preprocessed
from docmill.reading.ocr import recognition
from docmill.reading.ocr.orientation import turned, turned_corners
from docmill.reading.ocr.page import LONG, Recognised

JPEG_QUALITY = 92


class Drawn(NamedTuple):
    """A page's picture to be sent. jpeg: upright as far as its file says; rotation: as in `Page`."""

    jpeg: bytes
    width_px: int
    height_px: int
    width_pt: float
    height_pt: float
    rotation: int


class Improved(NamedTuple):
    """A page's preprocessed picture to be sent. drawn: the picture in its own pixels, points of the page.

    matrix: shape (3, 3), from its pixels to those of the picture that `draw` gives, both as they lie.
    """

    drawn: Drawn
    matrix: NDArray[np.float64]


def draw(source: tasks.Source, media_type: str, number: int, options: ReadingOptions) -> Drawn:
    """The picture of page `number`. Raises CorruptError, TooLargeError."""
    return _encoded(tasks.draw(source, media_type, number, options))


def draw_preprocessed(
    source: tasks.Source, media_type: str, number: int, options: ReadingOptions, turn: int = 0
) -> Improved:
    """The preprocessed picture of page `number`, turned clockwise. Raises CorruptError, TooLargeError."""
    picture = tasks.draw(source, media_type, number, options)
    better = preprocessed(picture.pixels)
    return Improved(_encoded(picture._replace(pixels=turned(better.pixels, turn))), better.matrix)


def _encoded(picture: Picture) -> Drawn:
    file = io.BytesIO()
    Image.fromarray(picture.pixels).save(file, "JPEG", quality=JPEG_QUALITY)
    _, width_pt, height_pt, rotation = picture
    return Drawn(file.getvalue(), picture.width_px, picture.height_px, width_pt, height_pt, rotation)


def page_in_preprocessed(
    recognised: Recognised, improved: Improved, drawn: Drawn, number: int, engine: str
) -> tasks.Recognition:
    """The page on which an engine saw `recognised` in the preprocessed picture, and that picture upright.

    drawn: the picture as it was before; boxes are those of the page as displayed.
    """
    corners = back(recognised.corners, improved.matrix)
    page = page_of(replace(recognised, corners=corners), drawn, number, engine)
    return tasks.Recognition(page, print_of(improved, turn_of(recognised)))


def print_of(improved: Improved, turn: int = 0) -> Print | None:
    """The preprocessed picture as it is kept, turned clockwise."""
    with Image.open(io.BytesIO(improved.drawn.jpeg)) as image:
        return printed(turned(np.asarray(image, np.uint8), turn))


def page_of(recognised: Recognised, drawn: Drawn, number: int, engine: str) -> Page:
    """The page on which an engine saw `recognised`, turned so that its text is upright."""
    turn = turn_of(recognised)
    lying = turned_corners(recognised.corners, turn, width_px=drawn.width_px, height_px=drawn.height_px)
    corners = np.roll(lying, -turn // 90, axis=-2)  # they began with the text's own top left before, too
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
