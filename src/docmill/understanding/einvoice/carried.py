"""The e-invoice that a document carries, found among what came with it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from docmill.model.document import Document, Embedded
from docmill.model.paths import leaves
from docmill.model.result import Failure
from docmill.understanding.einvoice.reading import EInvoice, einvoice
from docmill.understanding.einvoice.tree import UnreadableError

UNREADABLE = "xml_unreadable"
CONTRADICTION = "xml_contradicts"
_LONGEST, _NAMED = 100, 5
"""Letters of a file's name, and fields, that are told."""
XML = "application/xml"


@dataclass(frozen=True, slots=True)
class Carried:
    """invoice: the first that can be read. failures: why those before cannot, and who says something else."""

    invoice: EInvoice | None
    failures: tuple[Failure, ...]


def carried(document: Document) -> Carried:
    """What the document carries; nothing for one that carries no e-invoice."""
    failures: list[Failure] = []
    for index, one in enumerate(document.embedded):
        try:
            invoice = einvoice(one.content)
        except UnreadableError as error:
            message = f"The embedded XML {one.name[:_LONGEST]!r} cannot be read: {error}."
            failures.append(Failure(check=UNREADABLE, message=message))
        else:
            others = _contradictions(one, invoice, document.embedded[index + 1 :])
            return Carried(invoice, (*failures, *others))
    return Carried(None, tuple(failures))


def _contradictions(first: Embedded, invoice: EInvoice, others: Sequence[Embedded]) -> Iterator[Failure]:
    """Other e-invoices in the same document that say something else. What is none is left alone."""
    said = dict(leaves(invoice.data))
    for other in others:
        try:
            also = dict(leaves(einvoice(other.content).data))
        except UnreadableError:
            continue
        paths = [path for path in {**said, **also} if said.get(path) != also.get(path)]
        if paths:
            names = ", ".join(path.replace("_", " ").replace(".", " ") for path in paths[:_NAMED])
            yield Failure(
                check=CONTRADICTION,
                message=f"The e-invoices {first.name[:_LONGEST]!r} and {other.name[:_LONGEST]!r} "
                f"do not say the same: {names}.",
                fields=tuple(path for path in paths if path in said),
            )


def is_bare(document: Document) -> bool:
    """Whether the document is the XML itself, so that its pages show nothing else."""
    return document.media_type == XML
