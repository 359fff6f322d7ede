"""The e-invoice that a document carries, found among what came with it."""

from dataclasses import dataclass

from docmill.model import Document, Failure
from docmill.understanding.einvoice.reading import EInvoice, einvoice
from docmill.understanding.einvoice.tree import UnreadableError

UNREADABLE = "xml_unreadable"
XML = "application/xml"


@dataclass(frozen=True, slots=True)
class Carried:
    """invoice: the first that can be read. failures: why others, or all, cannot."""

    invoice: EInvoice | None
    failures: tuple[Failure, ...]


def carried(document: Document) -> Carried:
    """What the document carries; nothing for one that carries no e-invoice."""
    failures: list[Failure] = []
    for one in document.embedded:
        try:
            return Carried(einvoice(one.content), tuple(failures))
        except UnreadableError as error:
            message = f"The embedded XML {one.name[:100]!r} cannot be read: {error}."
            failures.append(Failure(check=UNREADABLE, message=message))
    return Carried(None, tuple(failures))


def is_bare(document: Document) -> bool:
    """Whether the document is the XML itself, so that its pages show nothing else."""
    return document.media_type == XML
