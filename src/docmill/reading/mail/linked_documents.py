"""Documents that a mail does not hold but links to. They are named, and no link is followed."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from urllib.parse import unquote, urlsplit

from docmill.errors import CorruptError, TooLargeError
from docmill.reading.files.containers import Member
from docmill.reading.formats import html
from docmill.reading.mail.message import MailText

ONLY_LINKED = "the mail only links to it, and links are not followed; open it in the mail and upload the file"
_MOST = 5
_LONGEST_TEXT = 80
_ADDRESS = re.compile(r"https?://[^\s<>\"']{4,2000}", re.IGNORECASE)
_FILE = re.compile(r"\.(?:pdf|xml)$", re.IGNORECASE)
_WORDS = re.compile(
    r"\b(?:e-?)?(?:invoice|receipt|bill|statement|credit note|rechnung|gutschrift|quittung|beleg"
    r"|facture|reçu|factura|recibo|fattura|ricevuta|factuur|faktura|fatura)s?(?:en|e|n|i)?\b"
    r"|\w+rechnung\b",
    re.IGNORECASE,
)
"""Words by which links to invoices and receipts are called, in the languages that docmill reads best."""


def linked_documents(writings: Sequence[MailText]) -> list[Member]:
    """The documents that the text of a mail links to, as members that are not to be had.

    A link counts by its text, or by the file that it leads to. The first few are named, each address once.
    """
    found: dict[str, Member] = {}
    for text, address in _links(writings):
        name = _name(text, address)
        if name is not None and address not in found and len(found) < _MOST:
            found[address] = Member(name, "attachment", bytes, ONLY_LINKED)
    return list(found.values())


def _links(writings: Sequence[MailText]) -> Iterator[tuple[str, str]]:
    for writing in writings:
        if writing.page:
            with contextlib.suppress(CorruptError, TooLargeError):
                yield from html.links(writing.page, writing.charset)
        elif writing.plain:
            for match in _ADDRESS.finditer(writing.plain):
                yield "", match[0].rstrip(".,;:!?)]}")


def _name(text: str, address: str) -> str | None:
    """The name of a link, with the host to which it leads; None if it leads to no document."""
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError:
        return None
    if parts.scheme.lower() not in ("http", "https") or not host:
        return None
    file = unquote(parts.path).rstrip("/").rpartition("/")[2]
    if not (_WORDS.search(text) or _FILE.search(file)):
        return None
    # Not the address as the text of a link: it may lie, and may hold a key.
    shown = text if text and not _ADDRESS.search(text) else file
    shown = shown.replace("/", " ").replace("\\", " ")[:_LONGEST_TEXT].strip()
    return f"link to {shown or 'a file'} ({host})"
