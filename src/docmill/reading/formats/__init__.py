"""Readers of formats without pages."""

from collections.abc import Callable, Mapping
from pathlib import Path

from docmill.reading.files.options import ReadingOptions
from docmill.reading.formats import docx, einvoice_xml, html, markdown, odf, plain_text, pptx, rtf, xls, xlsx
from docmill.reading.layout.typeset import Block

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
    "application/json": plain_text.read,
    "application/rtf": rtf.read,
    "application/vnd.ms-excel": xls.read,
    "application/xml": einvoice_xml.read,
    "text/csv": plain_text.read_table,
    "text/html": html.read,
    "text/markdown": markdown.read,
    "text/plain": plain_text.read,
    "text/tab-separated-values": plain_text.read_table,
}
"""Media type to reader. A reader raises CorruptError, EncryptedError or TooLargeError."""
