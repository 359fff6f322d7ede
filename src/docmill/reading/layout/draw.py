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
"""Faces of the system for what Pillow's own, which is Latin, does not have; each where it is installed."""
MOST_TOGETHER = 0.9
"""So much narrower a word may be set than its face asks for."""
LAST_UNJOINED = "\u02ff"
"""Letters of scripts beyond may be joined, or stand on others, and are left together."""
SMALLEST_PX = 2
DRAWN_PX = 1600
FINEST = 4
BOLD_FROM = 4
BOLDER_PX = 0.5
"""Narrower pictures are drawn up to so much larger and reduced: letters do not jump to whole pixels then.
Those that are reduced most are drawn bolder, since their strokes would pale."""
NOT_A_CHARACTER = "\uffff"
"""Drawn by every face as what it has no glyph for, which mostly is a box."""


def draw(page: Page, fit: tuple[int, int], figures: Sequence[SetFigure] = ()) -> Picture:
    """The page on white, as large as `fit` allows, with thin lines around the cells of tables."""
    scale = min(fit[0] / page.width_pt, fit[1] / page.height_pt)
    meant = (max(1, round(page.width_pt * scale)), max(1, round(page.height_pt * scale)))
    finer = min(FINEST, max(1, -(-DRAWN_PX // meant[0])))
    scale, size = scale * finer, (meant[0] * finer, meant[1] * finer)
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
        _paste(image, figure)
    boxes: list[list[float]] = (page.words.boxes * across).tolist()
    for text, box in zip(page.words.texts, boxes, strict=True):
        _word(canvas, text, box, BOLDER_PX if finer >= BOLD_FROM else 0)
    if finer > 1:
        image = image.resize(meant, Image.Resampling.LANCZOS)
    return Picture(np.asarray(image), page.width_pt, page.height_pt, 0)


def _paste(image: Image.Image, figure: SetFigure) -> None:
    """The figure in its place; one that cannot be decoded leaves it empty."""
    x0, y0, x1, y1 = (round(edge * size) for edge, size in zip(figure.box, image.size * 2, strict=True))
    size = max(1, x1 - x0), max(1, y1 - y0)
    with contextlib.suppress(DocumentError):
        picture = image_file.load_bytes(figure.content, size)
        image.paste(Image.fromarray(picture.pixels).resize(size, Image.Resampling.LANCZOS), (x0, y0))


def _word(canvas: ImageDraw.ImageDraw, text: str, box: Sequence[float], stroke: float) -> None:
    """The word across the whole of its box: letters move apart, or together, or become smaller."""
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
    """The first face that has all of the letters, else Pillow's own."""
    faces = _faces(size_px)
    if text.isascii():
        return faces[0]
    return next(
        (face for index, face in enumerate(faces) if all(_has(index, character) for character in set(text))),
        faces[0],
    )


@cache
def _faces(size_px: int) -> tuple[ImageFont.FreeTypeFont, ...]:
    own = cast("ImageFont.FreeTypeFont", ImageFont.load_default(size_px))
    return own, *filter(None, (_installed(name, size_px) for name in FACES))


def _installed(name: str, size_px: int) -> ImageFont.FreeTypeFont | None:
    try:
        return ImageFont.truetype(name, size_px)
    except OSError:
        return None


@cache
def _has(index: int, character: str) -> bool:
    """True if the face has a glyph for the character: it is drawn otherwise than one that no face has."""
    return character.isascii() or _look(index, character) != _look(index, NOT_A_CHARACTER)


def _look(index: int, character: str) -> bytes:
    image = Image.new("L", (40, 40))
    ImageDraw.Draw(image).text((5, 5), character, fill=255, font=_faces(20)[index])
    return image.tobytes()
