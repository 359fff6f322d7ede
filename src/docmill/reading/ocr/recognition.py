"""From a page's picture to the page, by one engine: read, judged, and where it reads badly read again."""

from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Page
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images.image_file import Picture
from docmill.reading.images.preprocess import Preprocessed, preprocessed
from docmill.reading.ocr import orientation
from docmill.reading.ocr.page import Engine, Recognised, page_words
from docmill.reading.text.quality import page_quality


class Shown(Protocol):
    """What is to be known of a picture to tell where on its page something stands. rotation: as in `Page`."""

    @property
    def width_px(self) -> int: ...  # noqa: D102
    @property
    def height_px(self) -> int: ...  # noqa: D102
    @property
    def width_pt(self) -> float: ...  # noqa: D102
    @property
    def height_pt(self) -> float: ...  # noqa: D102
    @property
    def rotation(self) -> int: ...  # noqa: D102


class Seen(NamedTuple):
    """A page, and the preprocessed picture in which it was read, upright; None for one read as it is."""

    page: Page
    preprocessed: NDArray[np.uint8] | None = None


def read_picture(engine: Engine, picture: Picture, options: ReadingOptions, *, number: int = 1) -> Page:
    """The page of `seen_in`."""
    return seen_in(engine, picture, options, number=number).page


def seen_in(engine: Engine, picture: Picture, options: ReadingOptions, *, number: int = 1) -> Seen:
    """The page as the engine reads it; below `options.quality_threshold` the better of two readings.

    The second is of the picture preprocessed and, for an engine that does not tell which way up a page
    stands, turned. Boxes are those of the page as displayed. number: of the page in its document.
    """
    first = engine.recognise(picture.pixels)
    page = page_of(first, picture, number)
    if page.quality >= options.quality_threshold:
        return Seen(page)
    readings = [Seen(page), _again(engine, picture, number)]
    if first.turn is None:
        readings += [
            Seen(_turned_page(engine, picture, number, turn)) for turn in orientation.doubts(picture.pixels)
        ]
    return max(readings, key=lambda seen: characters_right(seen.page))


def characters_right(page: Page) -> float:
    """How many characters are probably right: a part of a page that reads well is not the better page."""
    return page.quality * sum(map(len, page.words.texts))


def _again(engine: Engine, picture: Picture, number: int) -> Seen:
    """What the engine reads in the preprocessed picture."""
    better = preprocessed(picture.pixels)
    read = engine.recognise(better.pixels)
    upright = orientation.turned(better.pixels, read.turn or 0)
    return Seen(page_of(_brought_back(read, better, picture), picture, number), upright)


def _brought_back(read: Recognised, better: Preprocessed, picture: Picture) -> Recognised:
    """What was read in the preprocessed picture, as if it had been read in the picture itself."""
    height_px, width_px = better.pixels.shape[:2]
    turn = read.turn or 0
    if turn % 180:
        height_px, width_px = width_px, height_px
    lying = orientation.turned_corners(read.corners, -turn % 360, width_px=width_px, height_px=height_px)
    height_px, width_px = picture.pixels.shape[:2]
    corners = orientation.turned_corners(better.back(lying), turn, width_px=width_px, height_px=height_px)
    return replace(read, corners=corners)


def _turned_page(engine: Engine, picture: Picture, number: int, turn: int) -> Page:
    read = engine.recognise(orientation.turned(picture.pixels, turn))
    return page_of(replace(read, turn=turn), picture, number)


def page_of(read: Recognised, shown: Shown, number: int) -> Page:
    """The page on which an engine saw this, standing as it turned it."""
    turn = read.turn or 0
    width_pt, height_pt, width_px, height_px = (
        shown.width_pt,
        shown.height_pt,
        shown.width_px,
        shown.height_px,
    )
    if turn % 180:
        width_pt, height_pt, width_px, height_px = height_pt, width_pt, height_px, width_px
    words = page_words(read, width_px=width_px, height_px=height_px)
    return Page(
        number=number,
        width_pt=width_pt,
        height_pt=height_pt,
        words=words,
        source="ocr",
        quality=page_quality(words),
        rotation=(shown.rotation + turn) % 360,
    )
