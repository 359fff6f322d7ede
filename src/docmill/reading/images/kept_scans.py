"""Preprocessed pictures of pages, bound into a PDF that is kept beside the transcription."""

import io
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from docmill.model.document import Page

QUALITIES = (75, 50, 25)
"""JPEG qualities, tried in turn until the picture is small enough. No engine reads it again."""
MOST_BYTES = 2_000_000
"""Limit of one picture; a usual one takes a tenth of it."""
MOST_BYTES_IN_ALL = 40_000_000
"""Limit of one document; the pictures of further pages are not kept."""
MOST_TITLE = 200


class KeptScan(NamedTuple):
    """A picture in grey as JPEG, upright."""

    jpeg: bytes
    width_px: int
    height_px: int


PageScan: TypeAlias = tuple[Page, KeptScan]


def encode_scan(pixels: NDArray[np.uint8]) -> KeptScan | None:
    """Encode the picture as grey JPEG; None if it is too large even at the lowest quality."""
    grey = Image.fromarray(pixels).convert("L")
    for quality in QUALITIES:
        file = io.BytesIO()
        grey.save(file, "JPEG", quality=quality)
        if file.tell() <= MOST_BYTES:
            return KeptScan(file.getvalue(), grey.width, grey.height)
    return None


class KeptScans:
    """Collection of the preprocessed pictures of a document's pages, as many as may be kept."""

    def __init__(self) -> None:
        self._scans: dict[tuple[int, str | None], KeptScan] = {}
        self._room = MOST_BYTES_IN_ALL

    def add(self, page: Page, scan: KeptScan) -> None:
        """Keep the picture in which the engine that the page names has read it."""
        if len(scan.jpeg) <= self._room:
            self._room -= len(scan.jpeg)
            self._scans[page.number, page.engine] = scan

    def of(self, page: Page) -> KeptScan | None:
        """The picture in which the page was read, as far as it is kept."""
        return self._scans.get((page.number, page.engine))


def bind_scans(pages: Sequence[PageScan], name: str) -> bytes:
    """Bind the pictures into a PDF, each page labelled with the number of the page it shows.

    The pictures are not looked into. name: of the document. The same pictures give the same bytes.
    """
    out = io.BytesIO()
    out.write(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    starts: list[int] = []
    for content in _objects(pages, name):
        starts.append(out.tell())
        out.write(b"%d 0 obj\n%b\nendobj\n" % (len(starts), content))
    table = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(starts) + 1))
    out.writelines(b"%010d 00000 n \n" % start for start in starts)
    out.write(b"trailer\n<</Size %d/Root 1 0 R/Info 3 0 R>>\n" % (len(starts) + 1))
    out.write(b"startxref\n%d\n%%%%EOF\n" % table)
    return out.getvalue()


_PAGES, _OUTLINE, _FIRST = 2, 4, 5
"""Numbers of PDF objects: catalogue, pages, title and outline, then four for each page."""


def _objects(pages: Sequence[PageScan], name: str) -> Iterator[bytes]:
    """The objects in order: each page, its drawing commands, its picture, and its line in the outline."""
    numbers = [page.number for page, _ in pages]
    last = _FIRST + 4 * (len(pages) - 1)
    labels = b"".join(b"%d<</S/D/St %d>>" % (index, number) for index, number in enumerate(numbers))
    yield (
        b"<</Type/Catalog/Pages %d 0 R/Outlines %d 0 R/PageMode/UseOutlines/PageLabels<</Nums[%b]>>>>"
        % (_PAGES, _OUTLINE, labels)
    )
    kids = b" ".join(b"%d 0 R" % (_FIRST + 4 * index) for index in range(len(pages)))
    yield b"<</Type/Pages/Count %d/Kids[%b]>>" % (len(pages), kids)
    title = f"{name[:MOST_TITLE]}: {format_page_numbers(numbers)} as preprocessed for reading"
    yield b"<</Title%b>>" % _text(title)
    yield b"<</Type/Outlines/Count %d/First %d 0 R/Last %d 0 R>>" % (len(pages), _FIRST + 3, last + 3)
    for at, (page, scan) in zip(range(_FIRST, last + 1, 4), pages, strict=True):
        scale = max(page.width_pt, page.height_pt) / max(scan.width_px, scan.height_px)
        size = scan.width_px * scale, scan.height_px * scale
        drawing = b"q %.2f 0 0 %.2f 0 0 cm /P Do Q" % size
        yield (
            b"<</Type/Page/Parent %d 0 R/MediaBox[0 0 %.2f %.2f]/Contents %d 0 R"
            b"/Resources<</XObject<</P %d 0 R>>>>>>" % (_PAGES, *size, at + 1, at + 2)
        )
        yield b"<</Length %d>>\nstream\n%b\nendstream" % (len(drawing), drawing)
        yield (
            b"<</Type/XObject/Subtype/Image/Width %d/Height %d/ColorSpace/DeviceGray/BitsPerComponent 8"
            b"/Filter/DCTDecode/Length %d>>\nstream\n%b\nendstream"
            % (scan.width_px, scan.height_px, len(scan.jpeg), scan.jpeg)
        )
        before = b"/Prev %d 0 R" % (at - 1) if at > _FIRST else b""
        after = b"/Next %d 0 R" % (at + 7) if at < last else b""
        yield (
            b"<</Title%b/Parent %d 0 R/Dest[%d 0 R/Fit]%b%b>>"
            % (_text(f"Page {page.number}"), _OUTLINE, at, before, after)
        )


def _text(text: str) -> bytes:
    return b"<feff%b>" % text.encode("utf-16-be", "replace").hex().encode()


def format_page_numbers(numbers: Sequence[int]) -> str:
    """Page numbers as people write them: `pages 2, 4-6`."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in runs]
    return f"page{'' if len(set(numbers)) == 1 else 's'} {', '.join(texts)}"
