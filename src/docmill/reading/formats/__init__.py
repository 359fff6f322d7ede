"""Formats without pages: what reads each of them."""

from collections.abc import Callable, Mapping
from pathlib import Path

from docmill.reading.flow import Block
from docmill.reading.formats import docx, text, xlsx
from docmill.reading.options import ReadingOptions

Read = Callable[[Path, ReadingOptions], list[Block]]

OPEN_XML = "application/vnd.openxmlformats-officedocument"
READERS: Mapping[str, Read] = {
    f"{OPEN_XML}.wordprocessingml.document": docx.read,
    f"{OPEN_XML}.spreadsheetml.sheet": xlsx.read,
    "application/json": text.read,
    "application/xml": text.read,
    "text/csv": text.read,
    "text/html": text.read,
    "text/markdown": text.read,
    "text/plain": text.read,
    "text/tab-separated-values": text.read,
}
"""Media type to reader. A reader raises CorruptError, EncryptedError or TooLargeError."""
