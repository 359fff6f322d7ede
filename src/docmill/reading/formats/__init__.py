"""Readers of formats without pages."""

from collections.abc import Callable, Mapping
from pathlib import Path

from docmill.reading.formats import docx, html, odf, pptx, rtf, text_files, xls, xlsx
from docmill.reading.layout.typeset import Block

Read = Callable[[Path], list[Block]]

OPEN_XML = "application/vnd.openxmlformats-officedocument"
OPEN_DOCUMENT = "application/vnd.oasis.opendocument"

READERS: Mapping[str, Read] = {
    f"{OPEN_XML}.presentationml.presentation": pptx.read,
    f"{OPEN_XML}.spreadsheetml.sheet": xlsx.read,
    f"{OPEN_XML}.wordprocessingml.document": docx.read,
    f"{OPEN_DOCUMENT}.presentation": odf.read,
    f"{OPEN_DOCUMENT}.spreadsheet": odf.read_sheets,
    f"{OPEN_DOCUMENT}.text": odf.read,
    "application/json": text_files.read,
    "application/rtf": rtf.read,
    "application/vnd.ms-excel": xls.read,
    "application/xml": text_files.read_xml,
    "text/csv": text_files.read_table,
    "text/html": html.read,
    "text/markdown": text_files.read_markdown,
    "text/plain": text_files.read,
    "text/tab-separated-values": text_files.read_table,
}
"""Media type to reader. A reader raises CorruptError, EncryptedError or TooLargeError."""
