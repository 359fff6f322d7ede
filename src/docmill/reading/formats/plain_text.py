"""Plain text, and tables saved as delimited text (CSV, TSV)."""

import csv
import re
from pathlib import Path

from docmill.reading.files import file_types
from docmill.reading.files.options import ReadingOptions
from docmill.reading.layout.typeset import Block, MissingBlock, PageBreak, Paragraph, TableBlock
from docmill.reading.text import encodings


def read(path: Path, options: ReadingOptions) -> list[Block]:
    """Read lines as they are; a form feed starts a new page. Nothing for a text of spaces."""
    del options
    return blocks(encodings.decode(path.read_bytes()))


def blocks(text: str) -> list[Block]:
    """See `read`."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    pages = [page.strip("\n") for page in lines.split("\f")]
    return [block for page in pages if page.strip() for block in (Paragraph(page, is_set=True), PageBreak())]


MAX_CELLS = 1_000_000
LONGEST_CELL = 1_000_000
NAMED = re.compile(r"\Asep=(.)\n", re.IGNORECASE)
"""First line of a table that states its delimiter, as Excel reads it."""
REST = "the table has more than {count:,} rows, and the rest was not read; split it to have all of it"

csv.field_size_limit(LONGEST_CELL)


def read_table(path: Path, options: ReadingOptions) -> list[Block]:
    """Read one table, whose first row names the columns; plain text if the content is no table."""
    del options
    content = encodings.decode(path.read_bytes()).replace("\r\n", "\n").replace("\r", "\n")
    named = NAMED.match(content)
    if named:
        delimiter = named[1]
    else:
        is_whole = len(content) <= file_types.SAMPLE
        delimiter = file_types.delimiter(content[: file_types.SAMPLE], is_whole=is_whole)
    if delimiter is None:
        return blocks(content)
    lines = content[named.end() if named else 0 :].splitlines(keepends=True)
    rows: list[list[str]] = []
    left = MAX_CELLS
    try:
        for row in csv.reader(lines, delimiter=delimiter):
            left -= len(row)
            if left < 0:
                return [TableBlock(rows, 1), MissingBlock(REST.format(count=len(rows)))]
            rows.append([cell.strip() for cell in row])
    except csv.Error:  # a cell of a megabyte: a quotation mark that is none
        return blocks(content)
    return [TableBlock(rows, 1)]
