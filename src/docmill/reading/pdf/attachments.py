"""XML that states an invoice for programs, found by its name or its root element."""

import contextlib
import mmap
from collections.abc import Sequence
from pathlib import Path

import pypdfium2
from lxml import etree

from docmill.errors import CorruptError, EncryptedError
from docmill.model.document import Embedded
from docmill.reading.pdf.pdf_file import MALFORMED, PdfDocument, open_by_qpdf
from docmill.schemas.einvoice_kinds import ATTACHED, ENVELOPE, ROOTS, is_misnamed

XML = "application/xml"
ENDING = ".xml"
MAX_BYTES = 10_000_000
"""An invoice of 10,000 lines takes as much."""
MAX_ATTACHMENTS = 100
"""Attachments of a PDF that are looked at."""
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
    if path.stat().st_size > MAX_BYTES:
        return ()
    content = path.read_bytes()
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


def in_pdf(document: PdfDocument, path: Path, passwords: Sequence[str] = ()) -> tuple[Embedded, ...]:
    """The files attached to a PDF, in its order. One that cannot be extracted is left out.

    path, passwords: of the PDF, which is looked into with qpdf if it holds files that PDFium does not list.
    """
    count = min(document.count_attachments(), MAX_ATTACHMENTS)
    listed: list[tuple[str, bytes]] = []
    for index in range(count):
        with contextlib.suppress(pypdfium2.PdfiumError, *MALFORMED):
            attachment = document.get_attachment(index)
            name = str(attachment.get_name())
            if name.lower().endswith(ENDING):
                listed.append((name, bytes(attachment.get_data())))
    if not count:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            has_files = content.find(b"/EmbeddedFile") >= 0  # a file's own dictionary is never compressed
        listed = _associated(path, passwords) if has_files else []
    return tuple(
        Embedded(name, XML, content)
        for name, content in listed
        if 0 < len(content) <= MAX_BYTES and (ATTACHED.fullmatch(name) or root(content) in ROOTS)
    )


def _associated(path: Path, passwords: Sequence[str]) -> list[tuple[str, bytes]]:
    """Files that the document is associated with (ISO 32000-2, 14.13), or that are pinned to a page of it."""
    files: list[tuple[str, bytes]] = []
    with contextlib.suppress(CorruptError, EncryptedError), open_by_qpdf(path, passwords) as file:
        pinned = [note for page in file.pages for note in page.obj.get("/Annots", ())]
        attachments = [*file.Root.get("/AF", ()), *(note["/FS"] for note in pinned if "/FS" in note)]
        for attachment in attachments[:MAX_ATTACHMENTS]:
            name = str(attachment.get("/UF", attachment.get("/F", "")))
            if name.lower().endswith(ENDING):
                files.append((name, attachment["/EF"]["/F"].read_bytes()))
    return list(dict.fromkeys(files))


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
