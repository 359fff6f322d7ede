"""Readings of the scanned papers in ../shared/data/world, kept on disk because recognition is dear.

Each paper is read twice: its first page drawn as a picture, as a phone or a scanner without recognition
gives it, and the PDF as it is, with the text that the scanner's software laid over it. A reading that is kept
is not made again, so that the work can be stopped at any time and shared by several processes.
"""

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import pypdfium2
from bench.data.shared import DATA
from bench.data.text_layer import read_whole

from docmill.errors import DocumentError
from docmill.model import codec
from docmill.model.document import Document

WORLD = DATA / "world"
_DPI = 300
_LONGEST_PX = 4000
_MOST_PAGES = 3
"""Header fields stand on the first pages; the conditions behind them are not worth their recognition."""


def read_as_picture(path: Path, picture: Path) -> Document:
    """Draw the first page of a PDF into a PNG, if it is not there yet, and read that."""
    if not picture.exists():
        document = pypdfium2.PdfDocument(path)
        page = document[0]
        scale = min(_DPI / 72, _LONGEST_PX / max(page.get_size()))
        bitmap = cast("Any", page).render(scale=scale)  # the library's types are wrong
        bitmap.to_pil().save(picture)
        document.close()
    return read_whole(picture)


def read_as_pdf(path: Path) -> Document:
    """Read the first pages of a PDF as it is."""
    return read_whole(path, most_pages=_MOST_PAGES)


def kept_readings(folder: Path) -> Iterator[tuple[str, Document]]:
    """Yield the readings of a folder by the name of their paper."""
    for path in sorted(folder.glob("*.json.zst")):
        yield path.name.removesuffix(".json.zst"), codec.loads(path.read_bytes())


def keep_readings(folder: Path, *, share: int = 0, shares: int = 1, most: int | None = None) -> int:
    """Read the papers that have no reading yet, as pictures and as PDFs. Returns the number of readings made.

    share, shares: only each paper whose index leaves this rest; so several processes can share the work.
    most: stop after so many readings.
    """
    pictures = folder / "world-pictures"
    pdfs = folder / "world-pdf"
    for each in (pictures, pdfs):
        each.mkdir(parents=True, exist_ok=True)
    readers: dict[Path, Callable[[Path], Document]] = {
        pictures: lambda path: read_as_picture(path, pictures / f"{path.stem}.png"),
        pdfs: read_as_pdf,
    }
    made = 0
    papers = sorted(WORLD.glob("*.pdf"))[share::shares]
    for target, read in readers.items():
        for path in papers:
            kept = target / f"{path.stem}.json.zst"
            if kept.exists():
                continue
            if made == most:
                return made
            made += keep_reading(kept, path.name, partial(read, path))
    return made


def keep_reading(kept: Path, name: str, read: Callable[[], Document]) -> bool:
    """Read a paper and keep the reading, whole or not at all; False if the paper cannot be read."""
    try:
        content = codec.dumps(read())
    except DocumentError as error:
        sys.stderr.write(f"{name} cannot be read: {error.message}\n")
        return False
    unfinished = kept.with_suffix(f".{os.getpid()}")
    unfinished.write_bytes(content)
    unfinished.rename(kept)
    return True
