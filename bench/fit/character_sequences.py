"""Count the kinds of characters that follow each other, for `docmill.reading.ocr.spelling.FOLLOWING`.

python -m bench character_sequences

In the text layers of PDFs, up to 4,000 characters of each, of four collections that hold no receipts.
"""

import math
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pypdfium2

from bench.arguments import argument_parser
from bench.data.shared import DATA
from docmill.reading.ocr.spelling import KINDS, kind_of

COLLECTIONS = ("adbuy", "einvoice", "invoices", "orders")
PAGES, CHARACTERS = 4, 4000
SMOOTHING = 5
"""Weight of the shorter context beside the longer one, in occurrences."""


def main() -> None:
    argument_parser(__doc__).parse_args()
    counts = Counter[str]()
    documents = 0
    for text in texts():
        documents += 1
        for line in text[:CHARACTERS].splitlines():
            kinds = "  " + "".join(kind_of(character) or "." for character in " ".join(line.split())) + " "
            for length, end in product((1, 2, 3), range(3, len(kinds) + 1)):
                counts[kinds[end - length : end]] += 1
    print(f"# {documents} documents, {sum(counts[kind] for kind in KINDS)} characters")
    for before in map("".join, product(KINDS, repeat=2)):
        logs = ", ".join(f"{math.log(share(counts, before, kind)):.2f}" for kind in KINDS)
        print(f'    "{before}": ({logs}),')


def texts() -> Iterator[str]:
    for collection in COLLECTIONS:
        for path in sorted((DATA / collection).rglob("*.pdf")):
            text = text_of(path)
            if text.strip():
                yield text


def text_of(path: Path) -> str:
    try:
        document = pypdfium2.PdfDocument(path)
        pages = [document[index] for index in range(min(PAGES, len(document)))]
        return "\n".join(page.get_textpage().get_text_range() for page in pages)
    except pypdfium2.PdfiumError:
        return ""


def share(counts: Counter[str], before: str, kind: str) -> float:
    """Return the smoothed probability of a class after the classes before it."""
    shorter = share(counts, before[1:], kind) if before else 1 / len(KINDS)
    seen = sum(counts[before + item] for item in KINDS)
    return (counts[before + kind] + SMOOTHING * shorter) / (seen + SMOOTHING)


if __name__ == "__main__":
    main()
