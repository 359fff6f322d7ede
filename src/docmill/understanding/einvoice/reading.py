"""E-invoices read from the bytes of an XML, and from the files embedded in a document."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from docmill.model.document import Document
from docmill.model.paths import leaves
from docmill.model.result import Failure
from docmill.schemas.document_types import DocumentType, type_of_xml
from docmill.schemas.einvoice_kinds import ENVELOPE, ROOTS, EInvoiceKind, Message, Syntax
from docmill.schemas.registry import REGISTRY
from docmill.understanding.einvoice import cii, ubl
from docmill.understanding.einvoice.codelists import Profile, find_profile
from docmill.understanding.einvoice.mapping import map_terms
from docmill.understanding.einvoice.rules import check_rules
from docmill.understanding.einvoice.terms import (
    Element,
    SyntaxBinding,
    TermValues,
    UnreadableError,
    local_name,
    parse_xml,
    read_terms,
)

UNREADABLE = "xml_unreadable"
CONTRADICTION = "xml_contradicts"
_BINDINGS: Mapping[tuple[Syntax, Message], SyntaxBinding] = {
    ("cii", "billing"): cii.INVOICE,
    ("cio", "ordering"): cii.ORDER,
    ("ubl", "billing"): ubl.INVOICE,
    ("ubl", "ordering"): ubl.ORDER,
    ("ubl", "despatch"): ubl.DESPATCH,
}
_NAMESPACES: Mapping[str, tuple[str, ...]] = {
    "cii": ("{urn:un:unece:uncefact:data:", "{urn:ferd:CrossIndustryDocument:"),
    "cio": ("{urn:un:unece:uncefact:data:",),
    "ubl": ("{urn:oasis:names:specification:ubl:schema:xsd:",),
    "ZUGFeRD draft": ("",),
}
"""Beginnings of the namespaces of a syntax or, as drafts had none, of a kind."""
XML = "application/xml"
_SHOWN = 5
"""Elements or fields that a message names."""
_LONGEST_FILE_NAME = 100


@dataclass(frozen=True, slots=True)
class EInvoice:
    """An e-invoice. profile: None if unknown. data: by the schema of its type. failures: of broken rules."""

    kind: EInvoiceKind
    document_type: DocumentType
    profile: Profile | None
    terms: TermValues
    data: BaseModel
    failures: tuple[Failure, ...]

    @property
    def name(self) -> str:
        """The name for people: its profile, and the syntax if the profile does not imply it."""
        if self.profile is None or self.profile.level == "other":
            return self.kind.name
        name = self.profile.name
        return name if name.startswith(("Factur-X", "ZUGFeRD", "Order-X")) else f"{name}, {self.kind.name}"


def einvoice(content: bytes) -> EInvoice:
    """Read the invoice, order or delivery note of an XML. Raises UnreadableError if it is none of these."""
    root = parse_xml(content)
    if str(root.tag) == ENVELOPE:
        root = next((child for child in root if str(child.tag) in ROOTS), root)
    kind = ROOTS.get(str(root.tag))
    if kind is None:
        raise UnreadableError(f"{str(root.tag)[:100]!r} is no invoice, order or delivery note")
    terms = read_terms(root, _BINDINGS[kind.syntax, kind.message])
    profile = find_profile(terms.text("BT-24"), kind)
    document_type = type_of_xml(kind.message, kind.type_code or terms.text("BT-3"))
    return EInvoice(
        kind=kind,
        document_type=document_type,
        profile=profile,
        terms=terms,
        data=map_terms(terms, REGISTRY[document_type].fields),
        failures=(*_check_namespaces(root, kind), *check_rules(terms, kind, profile)),
    )


def _check_namespaces(root: Element, kind: EInvoiceKind) -> Iterator[Failure]:
    """A failure if elements, but for extensions, are of namespaces that the standard does not have."""
    namespaces = _NAMESPACES.get(kind.name, _NAMESPACES[kind.syntax])
    unknown: dict[str, None] = {}
    pending = [root]
    while pending:
        element = pending.pop()
        if not str(element.tag).startswith(namespaces):
            unknown[local_name(element)] = None
        pending += (child for child in reversed(element) if local_name(child) != "UBLExtensions")
    if unknown:
        shown = ", ".join(list(unknown)[:_SHOWN])
        message = f"The XML has elements that its standard does not know: {shown}."
        yield Failure(check="xml_namespace", message=message)


@dataclass(frozen=True, slots=True)
class EmbeddedInvoice:
    """The first readable e-invoice among the files embedded in a document; None if there is none.

    failures: one for each file before it that cannot be read and each e-invoice after it with other values.
    """

    invoice: EInvoice | None
    failures: tuple[Failure, ...]


def find_einvoice(document: Document) -> EmbeddedInvoice:
    """Find the e-invoice among the embedded files of a document. Raises nothing for unreadable files."""
    failures: list[Failure] = []
    first: tuple[str, EInvoice] | None = None
    for file in document.embedded:
        if file.media_type != XML:
            continue
        name = file.name[:_LONGEST_FILE_NAME]
        try:
            invoice = einvoice(file.content)
        except UnreadableError as error:
            if first is None:  # behind an e-invoice, any other file may stand
                message = f"The embedded XML {name!r} cannot be read: {error}."
                failures.append(Failure(check=UNREADABLE, message=message))
            continue
        if first is None:
            first = name, invoice
            continue
        values, others = dict(leaves(first[1].data)), dict(leaves(invoice.data))
        paths = [path for path in {**values, **others} if values.get(path) != others.get(path)]
        if paths:
            shown = ", ".join(path.replace("_", " ").replace(".", " ") for path in paths[:_SHOWN])
            message = f"The e-invoices {first[0]!r} and {name!r} do not say the same: {shown}."
            fields = tuple(path for path in paths if path in values)
            failures.append(Failure(check=CONTRADICTION, message=message, fields=fields))
    return EmbeddedInvoice(first and first[1], tuple(failures))
