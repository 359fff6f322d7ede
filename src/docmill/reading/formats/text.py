"""Plain text, and what is read as if it were."""

from pathlib import Path

from docmill.errors import CorruptError
from docmill.reading import encodings
from docmill.reading.flow import Block, PageBreak, Paragraph
from docmill.reading.options import ReadingOptions


def read(path: Path, options: ReadingOptions) -> list[Block]:
    """Lines as they are; a form feed starts a new page."""
    del options
    text = encodings.decode(path.read_bytes()).replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise CorruptError("the file holds no text; save or send it again")
    blocks: list[Block] = []
    for page in text.split("\f"):
        blocks += [Paragraph(page.strip("\n"), is_set=True), PageBreak()]
    return blocks
