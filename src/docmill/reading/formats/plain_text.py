"""Plain text, and what is read as if it were."""

from pathlib import Path

from docmill.reading.files.options import ReadingOptions
from docmill.reading.layout.typeset import Block, PageBreak, Paragraph
from docmill.reading.text import encodings


def read(path: Path, options: ReadingOptions) -> list[Block]:
    """Lines as they are; a form feed starts a new page. Nothing for a text of spaces."""
    del options
    return blocks(encodings.decode(path.read_bytes()))


def blocks(text: str) -> list[Block]:
    """See `read`."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    pages = [page.strip("\n") for page in lines.split("\f")]
    return [block for page in pages if page.strip() for block in (Paragraph(page, is_set=True), PageBreak())]
