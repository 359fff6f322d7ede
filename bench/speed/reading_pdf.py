"""Measure the pages per second of PDFs with a text layer, beside bare PDFium and pdfplumber.

Bare PDFium loads the page, extracts its text and asks for every character's box; reading also finds words,
lines and reading order, form values, and pictures that hold text. Both read the same files from disk in the
same run, alternating. pdfplumber's `extract_words` takes every n-th file, in a process of its own; and one
PDF of 400 pages must not cost more than its share of those pages.
"""

import ctypes
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pikepdf

from bench.arguments import argument_parser
from bench.data.shared import DATA, ROOT
from docmill.model.document import Page
from docmill.reading.child.tasks import open_original, read_text
from docmill.reading.files.options import ReadingOptions
from docmill.reading.pdf.pdf_file import open_document, pdfium, raw

OPTIONS = ReadingOptions()
TARGET = 0.3
FASTER_THAN_PDFPLUMBER = 5
FASTER_THAN_DOCLING = 20
DOCLING = 1.34
"""Pages per second without a GPU, by its authors: arXiv 2408.09869, native backend, M3 Max (Xeon: 0.92)."""
LONG_PAGES = 400
MOST_LONG = 1.2


def born_digital() -> list[Path]:
    """List the PDFs of which every page has a text layer that is not old OCR of a picture."""
    every = sorted([*(DATA / "adbuy" / "pdf").glob("*.pdf"), *(DATA / "einvoice").rglob("*.pdf")])
    return [path for path in every if all(page and page.words.texts for page in read(path))]


def read(path: Path) -> list[Page | None]:
    return open_original(path, OPTIONS).pages


def bare(path: Path) -> int:
    with open_document(path) as document:
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


def long_document(files: list[Path], folder: Path) -> Path:
    """Make one PDF of the pages of many."""
    path = folder / "long.pdf"
    with pikepdf.new() as made:
        for file in files:
            with pikepdf.open(file) as document:
                made.pages.extend(list(document.pages)[: LONG_PAGES - len(made.pages)])
            if len(made.pages) == LONG_PAGES:
                break
        made.save(path)
    return path


def whole(path: Path) -> int:
    """Read every page, in as many steps as the service does; return their number."""
    opened = open_original(path, OPTIONS)
    for first in range(OPTIONS.pages_per_task + 1, opened.page_count + 1, OPTIONS.pages_per_task):
        read_text(path, first, min(first + OPTIONS.pages_per_task - 1, opened.page_count), OPTIONS)
    return opened.page_count


def seconds_of(path: Path) -> float:
    started = time.perf_counter()
    whole(path)
    return time.perf_counter() - started


def linearity(files: list[Path]) -> float:
    """Return the seconds of a long document, divided by those of its four quarters."""
    with tempfile.TemporaryDirectory() as folder:
        path = long_document(files, Path(folder))
        quarters: list[Path] = []
        with pikepdf.open(path) as document:
            for first in range(0, LONG_PAGES, LONG_PAGES // 4):
                with pikepdf.new() as part:
                    part.pages.extend(list(document.pages)[first : first + LONG_PAGES // 4])
                    part.save(quarter := Path(folder) / f"{first}.pdf")
                quarters.append(quarter)
        long = min(seconds_of(path) for _ in range(2))
        return long / sum(min(seconds_of(quarter) for _ in range(2)) for quarter in quarters)


def pdfplumber(files: list[Path]) -> float:
    """Return the pages per second of pdfplumber, run in an environment of its own."""
    subprocess.run([ROOT / "scripts" / "emulators", "peers"], check=True)
    python = ROOT / ".emulators" / "peers" / "bin" / "python"
    script = ROOT / "bench" / "peers" / "pdfplumber_words.py"
    done = subprocess.run(
        [python, script],
        input="\n".join(map(str, files)),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    pages, seconds = done.stdout.split()
    return int(pages) / float(seconds)


def judged(what: str, ratio: float, *, at_least: float) -> str:
    return f"{what} {ratio:8.2f} (target {at_least:g}: {'met' if ratio >= at_least else 'missed'})"


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--every", type=int, default=4, help="pdfplumber reads every n-th file")
    arguments = parser.parse_args()
    if not DATA.exists():
        sys.exit(f"{DATA} is absent: nothing to measure")
    files = [path for path in born_digital() if reading(path) < OPTIONS.pages_per_task]
    best = {bare: float("inf"), reading: float("inf")}
    pages = 0
    for _ in range(arguments.rounds):
        for way, fastest in list(best.items()):
            started = time.perf_counter()
            pages = sum(way(path) for path in files)
            best[way] = min(fastest, time.perf_counter() - started)
    print(f"{len(files)} files, {pages} pages, best of {arguments.rounds}; PDFium {pdfium.PDFIUM_INFO}")
    ours, some = pages / best[reading], files[:: arguments.every]
    print(f"bare PDFium  {pages / best[bare]:8.0f} pages/s")
    print(f"reading      {ours:8.0f} pages/s")
    print(judged("beside bare PDFium", best[bare] / best[reading], at_least=TARGET))
    started = time.perf_counter()
    same = sum(map(reading, some)) / (time.perf_counter() - started)
    theirs = pdfplumber(some)
    print(f"{len(some)} of the files: reading {same:.0f} pages/s, pdfplumber {theirs:.1f}")
    print(judged("beside pdfplumber", same / theirs, at_least=FASTER_THAN_PDFPLUMBER))
    print(judged("beside docling's published rate", ours / DOCLING, at_least=FASTER_THAN_DOCLING))
    share = linearity(files)
    print(f"{LONG_PAGES} pages in one file: {share:.2f} x the time of four parts (target {MOST_LONG})")


if __name__ == "__main__":
    main()
