"""Classification and extraction of a document by the XML that it carries."""

from collections.abc import Sequence

from docmill.model.document import Document
from docmill.model.paths import is_same_value, leaves
from docmill.model.result import Classification, Evidence, Extraction, StepTaken
from docmill.schemas.document_types import DEFINITIONS, DocumentType
from docmill.schemas.registry import REGISTRY
from docmill.understanding.constraints.extractor import ruled_findings
from docmill.understanding.einvoice.crosscheck import PrintedValues, check_pages
from docmill.understanding.einvoice.mapping import map_terms
from docmill.understanding.einvoice.reading import EInvoice
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.findings import Finding
from docmill.understanding.locate.evidence import located
from docmill.understanding.page.layout import Layout
from docmill.understanding.types.tags import choose_tags, tags_in

EMBEDDED = Evidence(page=None, box=None, text=None, match="embedded", confidence=1.0)
"""Evidence of a value found only in the XML. The values of an XML are certain, wherever they are printed."""


def extract_einvoice(document: Document, invoice: EInvoice, document_type: DocumentType) -> Extraction:
    """The values of the XML, with their places on the pages and the failures of its rules.

    document_type: the type that is asked for; it may be another one of such messages than the XML says.
    """
    is_own = document_type == invoice.document_type
    data = invoice.data if is_own else map_terms(invoice.terms, REGISTRY[document_type].fields)
    values = dict(leaves(data))
    evidence = dict.fromkeys(values, EMBEDDED)
    failures = invoice.failures
    is_xml_alone = document.media_type == "application/xml"
    if not is_xml_alone:
        candidates = candidates_of(document)
        findings = ruled_findings(candidates, invoice.document_type)
        places = located(document, invoice.data, REGISTRY[invoice.document_type])
        for path, value in values.items():
            place = _place_of_finding(findings.get(path), value, candidates.layout) or places.get(path)
            if place is not None and place.match in ("exact", "normalised"):
                evidence[path] = place.model_copy(update={"confidence": 1.0})
        failures = (*failures, *check_pages(values, findings, PrintedValues(document)))
    by = f"{'' if is_xml_alone else 'embedded '}{invoice.name} XML"
    return Extraction(
        document_type=document_type,
        data=data,
        evidence=evidence,
        steps=(StepTaken(kind="read", by=by, is_from_xml=True),),
        failures=failures,
    )


def _place_of_finding(finding: Finding | None, value: object, layout: Layout) -> Evidence | None:
    """The place of a finding of the rules on the pages, if it is in one piece and has the value."""
    if finding is None or len(finding.spans) != 1 or not is_same_value(finding.value, value):
        return None
    (span,) = finding.spans
    place = layout.sheet(span.segment).page.place(*span.segment.words(span.start, span.stop))
    match = "exact" if place.text == str(value) else "normalised"
    return Evidence(page=place.page_number, box=place.box, text=place.text, match=match, confidence=1.0)


def classify_einvoice(
    document: Document, invoice: EInvoice, tags_in_use: Sequence[str] = ()
) -> Classification:
    """The classification by the XML."""
    terms, definition = invoice.terms, DEFINITIONS[invoice.document_type]
    name = definition.label
    number, seller, buyer = (
        " ".join((terms.text(term) or "").split()) for term in ("BT-1", "BT-27", "BT-44")
    )
    issued, total = terms.date("BT-2"), terms.number("BT-112")
    party = buyer if definition.counterparty == "buyer.name" else seller
    name_and_number = f"{name} {number}" if number else name
    title = ", ".join(filter(None, (name_and_number, party)))
    summary = [name_and_number]
    summary += [f"from {seller}"] if seller else []
    summary += [f"to {buyer}"] if buyer else []
    summary += [f"of {issued}"] if issued else []
    summary += [f"for {total} {terms.text('BT-5') or ''}".rstrip()] if total is not None else []
    return Classification(
        document_type=invoice.document_type,
        title=title,
        summary=" ".join(summary).rstrip(".") + ".",
        document_date=issued,
        tags=choose_tags(
            [*tags_in([title], tags_in_use), party, name, issued and str(issued.year)], tags_in_use
        ),
        language=document.language,
        confidence=1.0,
    )
