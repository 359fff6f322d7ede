"""The XML that says for programs what an invoice says: found by its name or its root, not looked into."""

from pathlib import Path

import pypdfium2
from lxml import etree

from docmill.model import Embedded
from docmill.reading.pdf import MALFORMED, PdfDocument
from docmill.schemas.einvoices import ATTACHED, ROOTS

XML = "application/xml"
MAX_BYTES = 10_000_000
"""An invoice of 10,000 lines takes as much."""
MAX_ATTACHMENTS = 100
"""So many of a PDF's attachments are looked at."""
_HEAD_BYTES = 65_536
"""Licences have been seen to stand before the root."""


def in_file(path: Path) -> tuple[Embedded, ...]:
    """The file itself, if it is such XML."""
    if path.stat().st_size > MAX_BYTES:
        return ()
    content = path.read_bytes()
    return (Embedded(path.name, XML, content),) if root(content) in ROOTS else ()


def in_pdf(document: PdfDocument) -> tuple[Embedded, ...]:
    """Those attached to a PDF, in its order. One that cannot be taken out is left out."""
    count = min(document.count_attachments(), MAX_ATTACHMENTS)
    found = (_attached(document, index) for index in range(count))
    return tuple(one for one in found if one is not None)


def _attached(document: PdfDocument, index: int) -> Embedded | None:
    try:
        attachment = document.get_attachment(index)
        name = str(attachment.get_name())
        content = bytes(attachment.get_data()) if name.lower().endswith(".xml") else b""
    except (pypdfium2.PdfiumError, *MALFORMED):
        return None
    if not content or len(content) > MAX_BYTES:
        return None
    is_known = ATTACHED.fullmatch(name) is not None or root(content) in ROOTS
    return Embedded(name, XML, content) if is_known else None


def root(content: bytes) -> str | None:
    """The name of the root element, its namespace in braces; None for what does not begin as XML."""
    parser = etree.XMLPullParser(("start",), resolve_entities=False, no_network=True)
    try:
        parser.feed(content.lstrip(b"\xef\xbb\xbf \t\r\n")[:_HEAD_BYTES])
        return next((str(element.tag) for _, element in parser.read_events()), None)
    except (etree.XMLSyntaxError, ValueError, LookupError):
        return None
