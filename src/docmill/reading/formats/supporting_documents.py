"""Files within the XML of an e-invoice: supporting documents (EN 16931, BG-24), attachments of FatturaPA."""

import base64
import mimetypes
from collections.abc import Iterator
from functools import partial

from lxml import etree

from docmill.errors import CorruptError
from docmill.reading.files.containers import LINK, Member
from docmill.reading.formats.package import Element, local

FILES = frozenset({"EmbeddedDocumentBinaryObject", "AttachmentBinaryObject"})
"""Elements that hold a file in base64: BT-125 in UBL and in CII."""
_REFERENCES = frozenset({"AdditionalDocumentReference", "AdditionalReferencedDocument"})
_LINKS = frozenset({"ExternalReference", "URIID"})
"""BT-124: the address of a document that is kept elsewhere."""
_NAMES = ("DocumentDescription", "Name", "ID", "IssuerAssignedID")
"""Elements that name a reference: BT-123 and BT-122 in UBL and in CII."""
_FATTURA, _ATTACHED, _ATTACHED_FILE = "FatturaElettronica", "Allegati", "Attachment"
"""FatturaPA, 2.5: its root, an attachment, and its content in base64."""
DAMAGED = "this file in the XML is damaged; have it sent again"


def supporting_documents(content: bytes) -> list[Member]:
    """The files in an XML, in its order; documents that it only has links to have a problem.

    None for XML that is not well-formed or has a document type declaration.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)  # of files in base64
    try:
        root = etree.fromstring(content.lstrip(b"\xef\xbb\xbf \t\r\n"), parser)
    except (etree.XMLSyntaxError, ValueError, LookupError):
        return []
    if root.getroottree().docinfo.internalDTD is not None:  # no e-invoice may declare one
        return []
    if local(root) == _FATTURA:
        return [_attached(element) for element in root.iter() if local(element) == _ATTACHED]
    references = [element for element in root.iter() if local(element) in _REFERENCES]
    return [member for reference in references for member in _members(reference)]


def _members(reference: Element) -> Iterator[Member]:
    texts = {local(child): (child.text or "").strip() for child in reference}
    name = next((texts[key] for key in _NAMES if texts.get(key)), "document")
    files = [element for element in reference.iter() if local(element) in FILES]
    for file in files:
        ending = mimetypes.guess_extension(file.get("mimeCode", "")) or ""
        yield Member(
            file.get("filename") or f"{name}{ending}", "attachment", partial(_decode, file.text or "")
        )
    if not files and any(local(element) in _LINKS for element in reference.iter()):
        yield Member(name, "attachment", bytes, LINK)


def _attached(attached: Element) -> Member:
    """An attachment of FatturaPA: its name may lack the ending, which it states beside it."""
    texts = {local(child): (child.text or "").strip() for child in attached}
    name, ending = texts.get("NomeAttachment") or "attachment", texts.get("FormatoAttachment", "").lower()
    if texts.get("AlgoritmoCompressione", "").lower() == "zip":
        ending = "zip"
    if ending and not name.lower().endswith(f".{ending}"):
        name = f"{name}.{ending}"
    return Member(name, "attachment", partial(_decode, texts.get(_ATTACHED_FILE, "")))


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except ValueError as error:
        raise CorruptError(DAMAGED) from error
