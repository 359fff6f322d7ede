"""Pages per second of PDFs with a text layer: reading in this process against bare PDFium.

Bare PDFium loads the page, extracts its text and asks for every character's box; reading also finds words,
lines and reading order. Both read the same files from disk in the same run, alternating.
"""

import argparse
import ctypes
import sys
import time
from pathlib import Path

from docmill.model import Page
from docmill.reading.options import ReadingOptions
from docmill.reading.pdf import opened, pdfium, raw
from docmill.reading.tasks import open_original

DATA = Path(__file__).parents[2] / "shared" / "data"
OPTIONS = ReadingOptions()
TARGET = 0.3


def born_digital() -> list[Path]:
    """The PDFs of which every page has a text layer, and none is a picture with old OCR under it."""
    every = sorted([*(DATA / "adbuy" / "pdf").glob("*.pdf"), *(DATA / "einvoice").rglob("*.pdf")])
    return [path for path in every if all(page and page.words.texts for page in read(path))]


def read(path: Path) -> list[Page | None]:
    return open_original(path, OPTIONS).pages


def bare(path: Path) -> int:
    with opened(path) as document:
        for index in range(len(document)):
            page = document[index]
            text = page.get_textpage()
            text.get_text_range()
            left, right, bottom, top = (ctypes.c_double() for _ in range(4))
            for character in range(text.count_chars()):
                raw.FPDFText_GetCharBox(text.raw, character, left, right, bottom, top)
            text.close()
            page.close()
        return len(document)


def reading(path: Path) -> int:
    return len(read(path))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    if not DATA.exists():
        sys.exit(f"{DATA} is absent: nothing to measure")
    files = [path for path in born_digital() if reading(path) < OPTIONS.pages_per_task]
    best = {bare: float("inf"), reading: float("inf")}
    pages = 0
    for _ in range(rounds):
        for way, fastest in list(best.items()):
            started = time.perf_counter()
            pages = sum(way(path) for path in files)
            best[way] = min(fastest, time.perf_counter() - started)
    print(f"{len(files)} files, {pages} pages, best of {rounds} rounds; PDFium {pdfium.PDFIUM_INFO}")
    print(f"bare PDFium  {pages / best[bare]:8.0f} pages/s")
    print(f"reading      {pages / best[reading]:8.0f} pages/s")
    ratio = best[bare] / best[reading]
    print(f"ratio        {ratio:8.2f} (target {TARGET}: {'met' if ratio >= TARGET else 'missed'})")


if __name__ == "__main__":
    main()
