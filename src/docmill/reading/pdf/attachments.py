"""XML that states an invoice for programs, found by its root element, or by a name of the standards."""

import contextlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from docmill.errors import CorruptError
from docmill.model.document import Embedded
from docmill.reading.pdf.attached_files import AttachedFile, attached_files
from docmill.reading.pdf.pdf_file import PdfDocument
from docmill.schemas.einvoice_kinds import ATTACHED, ENVELOPE, ROOTS, is_misnamed

XML = "application/xml"
MAX_BYTES = 10_000_000
"""An invoice of 10,000 lines takes as much, without the files in it."""
MAX_BYTES_WITH_FILES = 50_000_000
_FILE = re.compile(
    rb"(<(?:[\w.-]+:)?(?:(?:EmbeddedDocument|Attachment)BinaryObject|Attachment)\b[^<>]*>)[^<]+"
)
"""A file in base64, in UBL and in CII (BT-125), and in FatturaPA."""
_BEFORE_XML = b"\xef\xbb\xbf \t\r\n"
_HEAD_BYTES = 65_536
"""Licences have been seen to stand before the root."""
MISNAMED = (
    "the file is XML meant as an e-invoice, but its outermost element is not that of an invoice, an order or "
    "a delivery note, so that no program can rely on it; ask whoever sent it for a correct file or for a PDF"
)
_SIGNS_WITHIN = 1_000_000
"""Bytes of a file by which its purpose is told: parties and sums come first."""


def in_file(path: Path) -> tuple[Embedded, ...]:
    """The file itself, if it is such XML. Raises CorruptError if it is meant as such and its root is not."""
    if path.stat().st_size > MAX_BYTES_WITH_FILES:
        return ()
    content = without_large_files(path.read_bytes())
    if len(content) > MAX_BYTES:
        return ()
    if root(content) in ROOTS:
        return (Embedded(path.name, XML, content),)
    # The first elements, without Peppol's envelope and its header.
    parser = etree.XMLPullParser(("start",), resolve_entities=False, no_network=True, recover=True)
    try:
        parser.feed(content.lstrip(_BEFORE_XML)[:_SIGNS_WITHIN])
        tags = [str(element.tag) for _, element in parser.read_events()]
    except (etree.XMLSyntaxError, ValueError, LookupError):
        return ()
    if tags[:1] == [ENVELOPE]:
        namespace = ENVELOPE.rpartition("}")[0]
        tags = [tag for tag in tags if not tag.startswith(namespace)]
    if tags and is_misnamed(tags):
        raise CorruptError(MISNAMED)
    return ()


class PdfAttachments(NamedTuple):
    """The files attached to a PDF, each kind in its order. sources: the e-invoices as they are attached."""

    einvoices: tuple[Embedded, ...] = ()
    sources: tuple[AttachedFile, ...] = ()
    others: tuple[AttachedFile, ...] = ()


def without_large_files(content: bytes) -> bytes:
    """The XML as it is, or without the files within it if it is too large with them."""
    return content if len(content) <= MAX_BYTES else without_files(content)


def without_files(content: bytes) -> bytes:
    """The XML without the files within it."""
    return _FILE.sub(rb"\1", content)


def in_pdf(document: PdfDocument, path: Path, passwords: Sequence[str] = ()) -> PdfAttachments:
    """The files attached to a PDF. E-invoices are found by their content, whatever their names.

    document, path, passwords: of the same PDF.
    """
    files = [(file, _einvoice(file)) for file in attached_files(document, path, passwords)]
    return PdfAttachments(
        tuple(einvoice for _, einvoice in files if einvoice is not None),
        tuple(file for file, einvoice in files if einvoice is not None),
        tuple(file for file, einvoice in files if einvoice is None),
    )


def _einvoice(file: AttachedFile) -> Embedded | None:
    """The file, if its root is that of an e-invoice or its name is one of the standards'; None for others.

    Only the beginning of other files is decoded.
    """
    with contextlib.suppress(CorruptError):
        if ATTACHED.fullmatch(file.name) or root(file.read(_HEAD_BYTES)) in ROOTS:
            content = without_large_files(file.read(MAX_BYTES_WITH_FILES))
            return Embedded(file.name, XML, content) if 0 < len(content) <= MAX_BYTES else None
    return None


def root(content: bytes) -> str | None:
    """The name of the root element, its namespace in braces; None for what does not begin as XML.

    In Peppol's envelope, the root of the document within it.
    """
    parser = etree.XMLPullParser(("start",), resolve_entities=False, no_network=True)
    try:
        parser.feed(content.lstrip(_BEFORE_XML)[:_HEAD_BYTES])
        names = (str(element.tag) for _, element in parser.read_events())
        first = next(names, None)
        return next(filter(ROOTS.__contains__, names), first) if first == ENVELOPE else first
    except (etree.XMLSyntaxError, ValueError, LookupError):
        return None
