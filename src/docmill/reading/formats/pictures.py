"""Pictures within documents that are not pages themselves: which of them are worth reading."""

import hashlib
import io
from collections.abc import Callable, Iterator
from typing import NamedTuple

import cv2
import numpy as np
from PIL import Image, UnidentifiedImageError

from docmill.errors import CorruptError, DocmillError
from docmill.reading.images import image_file
from docmill.reading.layout.typeset import Block, FigureBlock, UnreadNote
from docmill.reading.pdf.page_objects import LETTERS, LOOK_PX, letter_centres

MOST = 20
"""Pictures of one document that are read."""
MOST_LOOKED_AT = 100
MOST_BYTES = 100_000_000
"""Of all that are looked at."""
MOST_PIXELS = 100_000_000
LEAST_PT2 = 12_000.0
"""Displayed smaller, say 6 cm by 7, a picture is an icon, a logo or a signature."""
LEAST_PX = 48
LEAST_PX2 = 30_000
"""With fewer pixels there are no lines of text that could be told."""
PT_PER_PX = 0.75
"""Of a picture that says nothing about its size: 96 dpi."""
LOOK_PX_PER_PT = LOOK_PX / 842

BEYOND = f"the document has more than {MOST} pictures with text, and those here were not read; split it"
BROKEN = "a picture here is damaged and was not read"
TOO_LARGE = "a picture here has too many pixels and was not read; reduce it"
DRAWN = "a picture here is stored as {kind} and was not read; save the document as a PDF to have its text"
_DRAWINGS = (
    (b"\x01\0\0\0", "EMF"),
    (b"\xd7\xcd\xc6\x9a", "WMF"),
    (b"\x01\0\x09\0", "WMF"),
    (b"\x02\0\x09\0", "WMF"),
    (b"VCLMTF", "SVM"),
    (b"<svg", "SVG"),
    (b"<?xml", "SVG"),
    (b"\x1f\x8b", "packed drawing"),
)


class Size(NamedTuple):
    """Displayed size of a picture; 0 where nothing says so."""

    width_pt: float = 0.0
    height_pt: float = 0.0


UNKNOWN = Size()


class Album:
    """The pictures of one document, each once."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()
        self._looked_at = 0
        self._bytes_left = MOST_BYTES
        self._read = 0

    def blocks(self, load: Callable[[], bytes | None], size: Size = UNKNOWN) -> Iterator[Block]:
        """The picture if it may hold text, or what is to be said of it; nothing of an icon or photograph."""
        if size.width_pt > 0 and size.height_pt > 0 and size.width_pt * size.height_pt < LEAST_PT2:
            return
        try:
            content = load()
        except DocmillError:
            yield UnreadNote(BROKEN)
            return
        if not content or self._is_known(content):
            return
        if self._looked_at >= MOST_LOOKED_AT or len(content) > self._bytes_left:
            yield UnreadNote(BEYOND)
            return
        self._looked_at += 1
        self._bytes_left -= len(content)
        yield from self._judged(content, size)

    def _is_known(self, content: bytes) -> bool:
        digest = hashlib.sha256(content).digest()
        known = digest in self._seen
        self._seen.add(digest)
        return known

    def _judged(self, content: bytes, size: Size) -> Iterator[Block]:
        try:
            figure = _figure(content, size)
        except UnidentifiedImageError:
            yield UnreadNote(DRAWN.format(kind=_kind(content)))
        except Image.DecompressionBombError:
            yield UnreadNote(TOO_LARGE)
        except (CorruptError, *image_file.DAMAGED):
            yield UnreadNote(BROKEN)
        else:
            if figure is not None and self._read < MOST:
                self._read += 1
                yield figure
            elif figure is not None:
                yield UnreadNote(BEYOND)


def _kind(content: bytes) -> str:
    head = content[:64].lstrip()
    return next((kind for mark, kind in _DRAWINGS if head.startswith(mark)), "something unknown")


def _figure(content: bytes, size: Size) -> FigureBlock | None:
    """The picture, or None if there is nothing to read in it."""
    with Image.open(io.BytesIO(content), formats=image_file.FORMATS) as image:
        width_px, height_px = image.size
    if min(width_px, height_px) < LEAST_PX or width_px * height_px < LEAST_PX2:
        return None
    if width_px * height_px > MOST_PIXELS:
        raise Image.DecompressionBombError
    picture = image_file.load_bytes(content, (LOOK_PX, LOOK_PX))
    height_px, width_px = picture.pixels.shape[:2]
    if picture.rotation % 180:
        size = Size(size.height_pt, size.width_pt) if size.width_pt < size.height_pt else size
    shown = _shown(size, width_px, height_px, image.size)
    if not _holds_text(picture.pixels, shown):
        return None
    return FigureBlock(content, *shown)


def _shown(size: Size, width_px: int, height_px: int, stored: tuple[int, int]) -> Size:
    """The displayed size; what is not said of it by the picture itself."""
    width, height = size
    if width <= 0 and height <= 0:
        scale = PT_PER_PX * max(stored) / max(width_px, height_px)
        return Size(width_px * scale, height_px * scale)
    if width <= 0:
        width = height * width_px / height_px
    elif height <= 0:
        height = width * height_px / width_px
    return Size(width, height)


def _holds_text(pixels: image_file.Pixels, shown: Size) -> bool:
    """True if letters are seen in the picture at its displayed or its stored size."""
    gray = np.asarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY), np.uint8)
    if len(letter_centres(gray)) >= LETTERS:
        return True
    scale = shown.width_pt * LOOK_PX_PER_PT / gray.shape[1]
    if scale >= 1 or scale * min(gray.shape) < 1:
        return False
    displayed = cv2.resize(gray, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    return len(letter_centres(np.asarray(displayed, np.uint8))) >= LETTERS
