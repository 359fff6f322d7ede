"""Selection of the pictures within documents that are worth reading."""

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
"""Limit of all pictures of a file together."""
MOST_PIXELS = 100_000_000
LEAST_PT2 = 12_000.0
"""A picture that is displayed smaller, say 6 cm by 7, is an icon, a logo or a signature."""
LEAST_PX = 48
LEAST_PX2 = 30_000
"""With fewer pixels no lines of text can be made out."""
PT_PER_PX = 0.75
"""Scale of a picture whose file states no size: 96 dpi."""
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
    """Displayed size of a picture; 0 where it is not stated."""

    width_pt: float = 0.0
    height_pt: float = 0.0


UNKNOWN = Size()


class Album:
    """The pictures of one document, each once."""

    def __init__(self) -> None:
        self._digests: set[bytes] = set()
        self._looked_at = 0
        self._bytes_left = MOST_BYTES
        self._read = 0

    def blocks(self, load: Callable[[], bytes | None], size: Size = UNKNOWN) -> Iterator[Block]:
        """The picture if it may hold text, or a note why it is not read; nothing of an icon or photograph."""
        if size.width_pt > 0 and size.height_pt > 0 and size.width_pt * size.height_pt < LEAST_PT2:
            return
        try:
            content = load()
        except DocmillError:
            yield UnreadNote(BROKEN)
            return
        if not content or (digest := hashlib.sha256(content).digest()) in self._digests:
            return
        self._digests.add(digest)
        if self._looked_at >= MOST_LOOKED_AT or len(content) > self._bytes_left:
            yield UnreadNote(BEYOND)
            return
        self._looked_at += 1
        self._bytes_left -= len(content)
        block = _figure_or_note(content, size)
        if isinstance(block, FigureBlock):
            if self._read >= MOST:
                block = UnreadNote(BEYOND)
            self._read += 1
        if block is not None:
            yield block


def _figure_or_note(content: bytes, size: Size) -> FigureBlock | UnreadNote | None:
    """The picture, a note on one that cannot be read, or None if there is nothing to read in it."""
    try:
        return _figure(content, size)
    except UnidentifiedImageError:
        head = content[:64].lstrip()
        kind = next((kind for mark, kind in _DRAWINGS if head.startswith(mark)), "something unknown")
        return UnreadNote(DRAWN.format(kind=kind))
    except Image.DecompressionBombError:
        return UnreadNote(TOO_LARGE)
    except (CorruptError, *image_file.DAMAGED):
        return UnreadNote(BROKEN)


def _figure(content: bytes, size: Size) -> FigureBlock | None:
    """The picture at its displayed size, or None without letters at that size or at the stored one."""
    with Image.open(io.BytesIO(content), formats=image_file.FORMATS) as image:
        width_px, height_px = image.size
    if min(width_px, height_px) < LEAST_PX or width_px * height_px < LEAST_PX2:
        return None
    if width_px * height_px > MOST_PIXELS:
        raise Image.DecompressionBombError
    picture = image_file.load(content, 1, (LOOK_PX, LOOK_PX))
    height_px, width_px = picture.pixels.shape[:2]
    width_pt, height_pt = size
    if picture.rotation % 180 and width_pt < height_pt:
        width_pt, height_pt = height_pt, width_pt
    if width_pt <= 0 and height_pt <= 0:
        scale = PT_PER_PX * max(image.size) / max(width_px, height_px)
        width_pt, height_pt = width_px * scale, height_px * scale
    elif width_pt <= 0:
        width_pt = height_pt * width_px / height_px
    elif height_pt <= 0:
        height_pt = width_pt * height_px / width_px
    gray = np.asarray(cv2.cvtColor(picture.pixels, cv2.COLOR_RGB2GRAY), np.uint8)
    if len(letter_centres(gray)) < LETTERS:
        scale = width_pt * LOOK_PX_PER_PT / gray.shape[1]
        if scale >= 1 or scale * min(gray.shape) < 1:
            return None
        displayed = cv2.resize(gray, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        if len(letter_centres(np.asarray(displayed, np.uint8))) < LETTERS:
            return None
    return FigureBlock(content, width_pt, height_pt)
