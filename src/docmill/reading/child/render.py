"""Pictures of pages, and of places on them, for people to look at; upright as the boxes are."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from docmill.errors import DocumentError, ValidationError
from docmill.model.document import Box, Page
from docmill.reading.child import tasks
from docmill.reading.child.tasks import CONTAINERS, TEXT_READERS
from docmill.reading.files import file_types
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images import image_file
from docmill.reading.images.image_file import Picture
from docmill.reading.layout.typeset import Paragraph, typeset
from docmill.reading.layout.typesetter import CELL_PT, COLUMN_GAP, SetFigure
from docmill.reading.pdf import pdf_file, text_layer
from docmill.workers.fair_semaphore import urgently
from docmill.workers.pool import Pool

MAX_HEIGHT_PX = 8000
"""Enough for a till roll, and a limit for a page with a forged box."""
PAGE_PX = 1200
"""Width of the page from which a place is cut: letters are as large as on a screen."""
_AROUND_PX = 60
_ASIDE_PX = 160
_EDGE_PX = 4
_COLOUR = (193, 53, 45)
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


@dataclass(frozen=True, slots=True)
class LocalRenderer:
    """Draws pages, and cuts places out of them, in the processes of a pool."""

    pool: Pool
    options: ReadingOptions = field(default_factory=ReadingOptions)

    async def render(
        self, original: Path, *, page_number: int, width_px: int, rotation: int | None = None
    ) -> bytes:
        """The page as WebP, `width_px` wide unless that makes it too high, never larger than it is stored.

        rotation: `Page.rotation`, where the page has been read; else it is detected again.
        Raises ValidationError for a page that does not exist, UnsupportedFileTypeError, EncryptedError,
        CorruptError, TooLargeError, TimeLimitError or CrashedError.
        """
        arguments = (original, page_number, width_px, rotation, self.options)
        with urgently():
            return await self.pool.run(draw_page, *arguments, limit_s=self.options.render_limit_s)

    async def clip(self, original: Path, page_number: int, box: Box) -> bytes:
        """The place with a frame and its surroundings, as WebP. Raises what `render` does."""
        arguments = (original, page_number, box, self.options)
        return await self.pool.run(draw_clip, *arguments, limit_s=self.options.render_limit_s)


def draw_page(
    path: Path, page_number: int, width_px: int, rotation: int | None, options: ReadingOptions
) -> bytes:
    """`LocalRenderer.render` in the child."""
    return image_file.webp(picture(path, page_number, (width_px, MAX_HEIGHT_PX), rotation, options))


def picture(
    path: Path, page_number: int, fit: tuple[int, int], rotation: int | None, options: ReadingOptions
) -> Picture:
    """The page as displayed, not larger than `fit`. Raises what `LocalRenderer.render` does of a file."""
    media_type = file_types.media_type(path)
    if media_type in TEXT_READERS:  # typeset as when it was read, but no further than needed
        most_pages = min(page_number, options.max_flow_pages)
        pages, figures = tasks.set_flow(path, media_type, replace(options, max_flow_pages=most_pages))
        _check_number(page_number, len(pages))
        page = pages[page_number - 1]
        if page.source == "none" and page.problem:
            (page,) = typeset([Paragraph(page.problem)])
        return draw_words(page, fit, [figure for figure in figures if figure.page_number == page_number])
    if media_type in CONTAINERS:
        _check_number(page_number, 0)
    if media_type == file_types.PDF:
        with pdf_file.open_document(path, options.passwords) as document:
            _check_number(page_number, len(document))
            with pdf_file.open_page(document, page_number) as page:
                if rotation is None:
                    rotation = text_layer.read_layer(page, page_number).rotation
                return pdf_file.render(page, fit, rotation=rotation)
    _check_number(page_number, image_file.count_frames(path, options))
    return image_file.load(path, page_number, fit, options, rotation=rotation)


def _check_number(page_number: int, count: int) -> None:
    if not 1 <= page_number <= count:
        raise ValidationError(f"there is no page {page_number}; the document has {count}")


def draw_clip(path: Path, page_number: int, box: Box, options: ReadingOptions) -> bytes:
    """`LocalRenderer.clip` in the child."""
    page = picture(path, page_number, (PAGE_PX, MAX_HEIGHT_PX), None, options)
    x0, x1 = round(box.x0 * page.width_px), round(box.x1 * page.width_px)
    y0, y1 = round(box.y0 * page.height_px), round(box.y1 * page.height_px)
    around = (
        max(0, x0 - _ASIDE_PX),
        max(0, y0 - _AROUND_PX),
        min(page.width_px, x1 + _ASIDE_PX),
        min(page.height_px, y1 + _AROUND_PX),
    )
    image = Image.fromarray(page.pixels).crop(around)
    left, top = around[:2]
    frame = (x0 - left - _EDGE_PX, y0 - top - _EDGE_PX, x1 - left + _EDGE_PX, y1 - top + _EDGE_PX)
    ImageDraw.Draw(image).rectangle(frame, outline=_COLOUR, width=2)
    return image_file.webp(page._replace(pixels=np.asarray(image)))


def draw_words(page: Page, fit: tuple[int, int], figures: Sequence[SetFigure] = ()) -> Picture:
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
            picture = Image.fromarray(image_file.load(figure.content, 1, room).pixels)
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
