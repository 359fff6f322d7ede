"""Recognition of a page's picture by an engine of this machine, and the page made from its lines."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from docmill.errors import MisconfiguredError
from docmill.model.document import Page, Words
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images.cut_edges import find_cut_edges
from docmill.reading.images.image_file import Picture
from docmill.reading.images.preprocess import map_back, preprocess_picture
from docmill.reading.layout.reading_order import arrange_words
from docmill.reading.ocr import text_lines
from docmill.reading.ocr.levelling import level_lines
from docmill.reading.text.quality import page_quality

WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class RecognisedLines:
    """Lines of text as an engine recognised them.

    corners: float32, shape (n, 4, 2), pixels: top left, top right, bottom right, bottom left of the text.
    scores: float32, shape (n,), in [0, 1].
    places: of each line, float32, shape (characters, 2): start and end of each character as shares of the
    line's width; None from engines that do not tell, whose characters are taken to be equally wide.
    turn: degrees clockwise by which the engine had to turn the picture; corners are those of the turned one.
    None from engines that do not look.
    """

    texts: Sequence[str]
    corners: NDArray[np.float32]
    scores: NDArray[np.float32]
    places: Sequence[NDArray[np.float32]] | None = None
    turn: int | None = None


class Engine(Protocol):
    """Recognises text in pictures."""

    def recognise(self, pixels: NDArray[np.uint8]) -> RecognisedLines:
        """The lines in an RGB picture of shape (height, width, 3), in any order."""
        ...


def page_words(recognised: RecognisedLines, *, width_px: int, height_px: int) -> Words:
    """Words in rows: a label and its value that stand side by side are one line."""
    upright = level_lines(recognised.corners, recognised.texts)
    pieces = np.concatenate([upright.min(axis=1), upright.max(axis=1)], axis=1)
    texts: list[str] = []
    owners: list[int] = []
    boxes: list[NDArray[np.float32]] = []
    for line, text in enumerate(recognised.texts):
        places = recognised.places[line] if recognised.places else None
        if places is None:
            edges = np.linspace(0, 1, len(text) + 1, dtype=np.float32)
            places = np.stack([edges[:-1], edges[1:]], axis=1)
        for match in WORD.finditer(text):
            start, stop = float(places[match.start(), 0]), float(places[match.end() - 1, 1])
            corners = recognised.corners[line]
            top, bottom = corners[1] - corners[0], corners[2] - corners[3]
            above = corners[0] + top * start, corners[0] + top * stop
            below = corners[3] + bottom * start, corners[3] + bottom * stop
            stretch = np.array([*above, *below])
            texts.append(match.group())
            owners.append(line)
            boxes.append(np.concatenate([stretch.min(axis=0), stretch.max(axis=0)]))
    scale = np.array([width_px, height_px] * 2, np.float32)
    owner_column = np.array(owners, np.int32)
    return arrange_words(
        pieces,
        owner_column,
        texts,
        np.array(boxes, np.float32).reshape(-1, 4) / scale,
        confidences=recognised.scores[owner_column] if texts else np.zeros(0, np.float32),
    )


class PictureSize(NamedTuple):
    """Size of a page's picture, in pixels and points. rotation: as in `Page`."""

    width_px: int
    height_px: int
    width_pt: float
    height_pt: float
    rotation: int


class PictureReading(NamedTuple):
    """A page, and the preprocessed picture in which it was read, upright; None for one read as it is."""

    page: Page
    preprocessed: NDArray[np.uint8] | None = None


def recognise_page(
    engine: Engine, picture: Picture, options: ReadingOptions, *, number: int = 1
) -> PictureReading:
    """Recognise a page, and find the edges of its picture that cut through its text.

    Below `options.quality_threshold` it is the better of two readings. The second is of the picture
    preprocessed and, for an engine that does not turn pages upright, turned.
    Boxes are those of the page as displayed. number: of the page in its document.
    """
    first = engine.recognise(picture.pixels)
    page = build_page(first, _picture_size(picture), number)
    reading = PictureReading(page)
    if page.quality < options.quality_threshold:
        reading = _read_again(engine, picture, first, reading)
    upright = text_lines.turn_picture(picture.pixels, reading.page.rotation - picture.rotation)
    cut_edges = find_cut_edges(upright, reading.page.words.boxes)
    return reading._replace(page=replace(reading.page, cut_edges=cut_edges))


def _read_again(
    engine: Engine, picture: Picture, first: RecognisedLines, reading: PictureReading
) -> PictureReading:
    """The better of this reading and others. first: the lines from which its page was built."""
    height_px, width_px = picture.pixels.shape[:2]
    size, number = _picture_size(picture), reading.page.number
    better = preprocess_picture(picture.pixels)
    read = engine.recognise(better.pixels)
    turn = read.turn or 0
    upright = text_lines.turn_picture(better.pixels, turn)
    # The lines read in the preprocessed picture, where they stand in the picture itself.
    height, width = upright.shape[:2]
    lying = text_lines.turn_corners(read.corners, -turn % 360, width_px=width, height_px=height)
    corners = map_back(lying, better.matrix)
    corners = text_lines.turn_corners(corners, turn, width_px=width_px, height_px=height_px)
    readings = [
        reading,
        PictureReading(build_page(replace(read, corners=corners), size, number), upright),
    ]
    if first.turn is None:
        for turn in text_lines.likely_turns(picture.pixels):
            read = engine.recognise(text_lines.turn_picture(picture.pixels, turn))
            readings.append(PictureReading(build_page(replace(read, turn=turn), size, number)))
    return max(readings, key=lambda reading: characters_right(reading.page))


def _picture_size(picture: Picture) -> PictureSize:
    return PictureSize(
        picture.width_px, picture.height_px, picture.width_pt, picture.height_pt, picture.rotation
    )


def characters_right(page: Page) -> float:
    """Expected number of correct characters: a part of a page that reads well is not the better page."""
    return page.quality * sum(map(len, page.words.texts))


def build_page(read: RecognisedLines, size: PictureSize, number: int) -> Page:
    """Build the page from recognised lines, upright as the engine turned it."""
    turn = read.turn or 0
    width_px, height_px, width_pt, height_pt, rotation = size
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
        rotation=(rotation + turn) % 360,
    )


LOCAL = ("rapidocr", "tesseract")
"""Names of the engines of this machine."""


@cache
def local_engine(name: str, options: ReadingOptions) -> Engine:
    """This process's engine of that name. Raises MisconfiguredError for an unknown name."""
    match name:
        case "rapidocr":
            from docmill.reading.ocr import rapid  # noqa: PLC0415 - takes memory that others can do without

            return rapid.rapid_engine()
        case "tesseract":
            from docmill.reading.ocr import tesseract  # noqa: PLC0415 - as above

            return tesseract.TesseractEngine(options.languages)
        case _:
            raise MisconfiguredError(
                f"there is no engine {name!r} on this machine; there are {', '.join(LOCAL)}"
            )
