"""From the bytes of an XML to the object of a schema, and what is wrong with it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from docmill.model.document import Document, Embedded
from docmill.model.paths import leaves
from docmill.model.result import Failure
from docmill.schemas.document_types import DocumentType, type_of_xml
from docmill.schemas.einvoice_kinds import ENVELOPE, ROOTS, EInvoiceKind, Message
from docmill.schemas.registry import REGISTRY
from docmill.understanding.einvoice import cii, cio, ubl
from docmill.understanding.einvoice.codelists import Profile, profile
from docmill.understanding.einvoice.mapping import mapped
from docmill.understanding.einvoice.rules import failures
from docmill.understanding.einvoice.terms import Table, Terms, read
from docmill.understanding.einvoice.tree import Element, UnreadableError, name, parsed

_UBL: Mapping[Message, Table] = {
    "billing": ubl.INVOICE,
    "ordering": ubl.ORDER,
    "despatch": ubl.DESPATCH,
}
_NAMESPACES: Mapping[str, tuple[str, ...]] = {
    "cii": ("{urn:un:unece:uncefact:data:", "{urn:ferd:CrossIndustryDocument:"),
    "cio": ("{urn:un:unece:uncefact:data:",),
    "ubl": ("{urn:oasis:names:specification:ubl:schema:xsd:",),
    "ZUGFeRD draft": ("",),
}
"""Of a syntax or, as drafts had none, of a kind."""
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class EInvoice:
    """The terms and values of an XML. profile: None if unknown. failures: the rules that it breaks."""

    kind: EInvoiceKind
    document_type: DocumentType
    profile: Profile | None
    terms: Terms
    data: BaseModel
    failures: tuple[Failure, ...]

    @property
    def name(self) -> str:
        """The name for people: its profile, and the syntax where that does not tell."""
        if self.profile is None or self.profile.level == "other":
            return self.kind.name
        known = self.profile.name
        return known if known.startswith(("Factur-X", "ZUGFeRD", "Order-X")) else f"{known}, {self.kind.name}"


def einvoice(content: bytes) -> EInvoice:
    """The invoice, order or delivery note of an XML. Raises UnreadableError if it is none."""
    root = _unwrapped(parsed(content))
    kind = ROOTS.get(str(root.tag))
    if kind is None:
        raise UnreadableError(f"{str(root.tag)[:100]!r} is no invoice, order or delivery note")
    terms = read(root, _table(kind))
    known = profile(terms.text("BT-24"), kind)
    document_type = type_of_xml(kind.message, kind.type_code or terms.text("BT-3"))
    return EInvoice(
        kind=kind,
        document_type=document_type,
        profile=known,
        terms=terms,
        data=mapped(terms, REGISTRY[document_type].fields),
        failures=(*_strangers(root, kind), *failures(terms, kind, known)),
    )


def _unwrapped(root: Element) -> Element:
    """The element inside Peppol's envelope, or the root itself."""
    within = [child for child in root if str(child.tag) in ROOTS] if str(root.tag) == ENVELOPE else []
    return within[0] if within else root


def _table(kind: EInvoiceKind) -> Table:
    if kind.syntax == "ubl":
        return _UBL[kind.message]
    return cio.ORDER if kind.syntax == "cio" else cii.INVOICE


def _strangers(root: Element, kind: EInvoiceKind) -> Iterator[Failure]:
    """Elements of namespaces that the standard does not have, whatever their name."""
    known = _NAMESPACES.get(kind.name, _NAMESPACES[kind.syntax])
    names: dict[str, None] = {}
    for element in _own(root):
        if not str(element.tag).startswith(known):
            names[name(element)] = None
    if names:
        shown = ", ".join(list(names)[:_SHOWN])
        message = f"The XML has elements that its standard does not know: {shown}."
        yield Failure(check="xml_namespace", message=message)


def _own(element: Element) -> Iterator[Element]:
    """The elements but those of extensions, which may be of any kind."""
    yield element
    for child in element:
        if name(child) != "UBLExtensions":
            yield from _own(child)


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
    """The e-invoice among the embedded files; nothing for a document that carries none."""
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
    """Tell whether the document is the XML itself, so that its pages show nothing else."""
    return document.media_type == XML
