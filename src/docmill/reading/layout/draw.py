"""Drawing of pages that exist only as words, so that a person sees where each stands."""

import contextlib
from collections.abc import Sequence
from functools import cache
from typing import cast

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from docmill.errors import DocumentError
from docmill.model.document import Page
from docmill.reading.images import image_file
from docmill.reading.images.image_file import Picture
from docmill.reading.layout.typesetter import CELL_PT, COLUMN_GAP, SetFigure

PAPER, INK, RULE = "#ffffff", "#000000", "#c4ccd4"
TEXT_SHARE = 0.94
"""The size of a word's letters in heights of its box."""
FACES = ("DejaVuSans.ttf", "NotoSansCJK-Regular.ttc", "NotoSansThai-Regular.ttf", "unifont.otf")
"""Typefaces of the system for scripts that Pillow's own, a Latin one, lacks; each where it is installed."""
MOST_TOGETHER = 0.9
"""Least width of a word, in shares of the width that its typeface asks for."""
LAST_UNJOINED = "\u02ff"
"""Letters of later scripts may be joined, or stand on others, and are drawn together."""
SMALLEST_PX = 2
DRAWN_PX = 1600
FINEST = 4
BOLD_FROM = 4
BOLDER_PX = 0.5
"""Narrower pictures are drawn up to four times larger and reduced, so that letters do not jump to whole
pixels. Those that are reduced most are drawn bolder, since their strokes would pale."""
NOT_A_CHARACTER = "\uffff"
"""Every typeface draws it as a missing glyph, which mostly is a box."""


def draw(page: Page, fit: tuple[int, int], figures: Sequence[SetFigure] = ()) -> Picture:
    """The page on white, as large as `fit` allows, with thin lines around the cells of tables."""
    scale = min(fit[0] / page.width_pt, fit[1] / page.height_pt)
    target = (max(1, round(page.width_pt * scale)), max(1, round(page.height_pt * scale)))
    finer = min(FINEST, max(1, -(-DRAWN_PX // target[0])))
    scale, size = scale * finer, (target[0] * finer, target[1] * finer)
    image = Image.new("RGB", size, PAPER)
    canvas = ImageDraw.Draw(image)
    pad = COLUMN_GAP * CELL_PT * scale / 2
    across = np.array([*size, *size], np.float64)
    for table in page.tables:
        for cell in table.cells:
            x0, y0, x1, y1 = (np.array(cell.box) * across).tolist()
            canvas.rectangle(
                (round(x0 - pad), round(y0), round(x1 + pad), round(y1)), outline=RULE, width=finer
            )
    for figure in figures:
        x0, y0, x1, y1 = (round(edge * side) for edge, side in zip(figure.box, size * 2, strict=True))
        room = max(1, x1 - x0), max(1, y1 - y0)
        with contextlib.suppress(DocumentError):  # a figure that cannot be decoded leaves its place empty
            picture = Image.fromarray(image_file.load_bytes(figure.content, room).pixels)
            image.paste(picture.resize(room, Image.Resampling.LANCZOS), (x0, y0))
    boxes: list[list[float]] = (page.words.boxes * across).tolist()
    for text, box in zip(page.words.texts, boxes, strict=True):
        _draw_word(canvas, text, box, BOLDER_PX if finer >= BOLD_FROM else 0)
    if finer > 1:
        image = image.resize(target, Image.Resampling.LANCZOS)
    return Picture(np.asarray(image), page.width_pt, page.height_pt, 0)


def _draw_word(canvas: ImageDraw.ImageDraw, text: str, box: Sequence[float], stroke: float) -> None:
    """Draw a word across the whole of its box: letters move apart, or together, or become smaller."""
    x0, y0, x1, y1 = box
    size_px = max(SMALLEST_PX, round((y1 - y0) * TEXT_SHARE))
    font = _font(size_px, text)
    width = font.getlength(text)
    if width * MOST_TOGETHER > x1 - x0:
        font = _font(max(SMALLEST_PX, int(size_px * (x1 - x0) / (width * MOST_TOGETHER))), text)
        width = font.getlength(text)
    middle = (y0 + y1) / 2
    if max(text) > LAST_UNJOINED:
        canvas.text((x0, middle), text, fill=INK, font=font, anchor="lm", stroke_width=stroke)
        return
    apart = (x1 - x0 - width) / len(text)
    for letter in text:
        canvas.text((x0, middle), letter, fill=INK, font=font, anchor="lm", stroke_width=stroke)
        x0 += font.getlength(letter) + apart


def _font(size_px: int, text: str) -> ImageFont.FreeTypeFont:
    """The first typeface that has all of the letters, else Pillow's own."""
    fonts = _fonts(size_px)
    if text.isascii():
        return fonts[0]
    letters = set(text)
    return next(
        (font for index, font in enumerate(fonts) if all(_has(index, letter) for letter in letters)), fonts[0]
    )


@cache
def _fonts(size_px: int) -> tuple[ImageFont.FreeTypeFont, ...]:
    fonts = [cast("ImageFont.FreeTypeFont", ImageFont.load_default(size_px))]
    for name in FACES:
        with contextlib.suppress(OSError):
            fonts.append(ImageFont.truetype(name, size_px))
    return tuple(fonts)


@cache
def _has(index: int, character: str) -> bool:
    """True if the typeface has a glyph for the character: it is drawn otherwise than a missing one."""
    return character.isascii() or _drawn(index, character) != _drawn(index, NOT_A_CHARACTER)


def _drawn(index: int, character: str) -> bytes:
    image = Image.new("L", (40, 40))
    ImageDraw.Draw(image).text((5, 5), character, fill=255, font=_fonts(20)[index])
    return image.tobytes()
