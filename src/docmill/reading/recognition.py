"""From a page's picture to the page, by one engine."""

from docmill.model import Page
from docmill.reading.images import Picture
from docmill.reading.ocr import Engine, page_words, quality
from docmill.reading.options import ReadingOptions


def read_picture(engine: Engine, picture: Picture, options: ReadingOptions, *, number: int = 1) -> Page:  # noqa: ARG001
    """The page as the engine reads it. number: of the page in its document."""
    recognised = engine.recognise(picture.pixels)
    width_pt, height_pt = picture.width_pt, picture.height_pt
    height_px, width_px = picture.pixels.shape[:2]
    if recognised.turn % 180:
        width_pt, height_pt, width_px, height_px = height_pt, width_pt, height_px, width_px
    words = page_words(recognised, width_px=width_px, height_px=height_px)
    return Page(
        number=number,
        width_pt=width_pt,
        height_pt=height_pt,
        words=words,
        source="ocr",
        quality=quality(words),
        rotation=(picture.rotation + recognised.turn) % 360,
    )
