"""Formats without pages: what reads each of them."""

from collections.abc import Callable, Mapping
from pathlib import Path

from docmill.reading.flow import Block
from docmill.reading.formats import (
    docx,
    einvoice_text,
    html,
    markdown,
    odf,
    pptx,
    rtf,
    table_text,
    text,
    xls,
    xlsx,
)
from docmill.reading.options import ReadingOptions

Read = Callable[[Path, ReadingOptions], list[Block]]

OPEN_XML = "application/vnd.openxmlformats-officedocument"
OPEN_DOCUMENT = "application/vnd.oasis.opendocument"

READERS: Mapping[str, Read] = {
    f"{OPEN_XML}.presentationml.presentation": pptx.read,
    f"{OPEN_XML}.spreadsheetml.sheet": xlsx.read,
    f"{OPEN_XML}.wordprocessingml.document": docx.read,
    f"{OPEN_DOCUMENT}.presentation": odf.read,
    f"{OPEN_DOCUMENT}.spreadsheet": odf.read_sheets,
    f"{OPEN_DOCUMENT}.text": odf.read,
    "application/json": text.read,
    "application/rtf": rtf.read,
    "application/vnd.ms-excel": xls.read,
    "application/xml": einvoice_text.read,
    "text/csv": table_text.read,
    "text/html": html.read,
    "text/markdown": markdown.read,
    "text/plain": text.read,
    "text/tab-separated-values": table_text.read,
}
"""Media type to reader. A reader raises CorruptError, EncryptedError or TooLargeError."""
