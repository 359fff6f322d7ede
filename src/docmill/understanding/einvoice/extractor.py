"""Classification and extraction of a document by the XML that it carries."""

from collections.abc import Sequence

from docmill.model.document import Document, Place
from docmill.model.paths import is_same_value, leaves
from docmill.model.result import Classification, Evidence, Extraction, Failure
from docmill.model.steps_taken import StepTaken
from docmill.schemas.document_types import DEFINITIONS
from docmill.schemas.registry import REGISTRY
from docmill.understanding.constraints.extractor import ruled_findings
from docmill.understanding.einvoice.crosscheck import Printed, mismatches
from docmill.understanding.einvoice.reading import EInvoice, is_bare
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.locate.evidence import located
from docmill.understanding.types.tags import chosen, said

EMBEDDED = Evidence(page=None, box=None, text=None, match="embedded", confidence=1.0)


class Places:
    """Evidence on the pages for values of the XML: where the rules read the same, else where it stands.

    shown: what the rules read on the pages.
    """

    def __init__(self, document: Document, invoice: EInvoice) -> None:
        document_type = invoice.document_type
        candidates = candidates_of(document)
        self._layout = candidates.layout
        self._located = located(document, invoice.data, REGISTRY[document_type])
        self.shown = ruled_findings(candidates, document_type)

    def evidence(self, path: str, value: object) -> Evidence:
        """Of a value; `embedded` for one that the pages do not show, or not so that one can be sure of it.

        What the XML says is certain, wherever it is shown.
        """
        place = self._ruled(path, value)
        if place is not None:
            match = "exact" if place.text == str(value) else "normalised"
            return Evidence(
                page=place.page_number, box=place.box, text=place.text, match=match, confidence=1.0
            )
        found = self._located.get(path)
        if found is None or found.match not in ("exact", "normalised"):
            return EMBEDDED
        return found.model_copy(update={"confidence": 1.0})

    def _ruled(self, path: str, value: object) -> Place | None:
        finding = self.shown.get(path)
        if finding is None or len(finding.spans) != 1 or not is_same_value(finding.value, value):
            return None
        (span,) = finding.spans
        page = self._layout.sheet(span.segment).page
        return page.place(*span.segment.words(span.start, span.stop))


_CREDIT_NOTES = frozenset({"81", "83", "261", "262", "296", "308", "381", "396", "420", "458", "532"})
"""UNTDID 1001, those of EN 16931's credit notes."""


def extraction(document: Document, invoice: EInvoice) -> Extraction:
    """The values of the XML, with their places on the pages and the failures of its rules."""
    said = dict(leaves(invoice.data))
    evidence: dict[str, Evidence] = dict.fromkeys(said, EMBEDDED)
    differences: tuple[Failure, ...] = ()
    if not is_bare(document):
        printed = Printed(document)
        places = Places(document, invoice)
        evidence = {path: places.evidence(path, value) for path, value in said.items()}
        differences = mismatches(said, places.shown, printed)
    return Extraction(
        document_type=invoice.document_type,
        data=invoice.data,
        evidence=evidence,
        steps=(StepTaken(kind="read", by=f"{'' if is_bare(document) else 'embedded '}{invoice.name} XML"),),
        failures=(*invoice.failures, *differences),
    )


def classification(document: Document, invoice: EInvoice, tags_in_use: Sequence[str] = ()) -> Classification:
    """The classification by the XML."""
    terms = invoice.terms
    document_type = invoice.document_type
    name = "Credit note" if terms.text("BT-3") in _CREDIT_NOTES else DEFINITIONS[document_type].label
    number, seller, buyer = (" ".join((terms.text(one) or "").split()) for one in ("BT-1", "BT-27", "BT-44"))
    issued, total = terms.date("BT-2"), terms.number("BT-112")
    called = f"{name} {number}" if number else name
    party = buyer if DEFINITIONS[document_type].counterparty == "buyer.name" else seller
    summary = [called]
    summary += [f"from {seller}"] if seller else []
    summary += [f"to {buyer}"] if buyer else []
    summary += [f"of {issued}"] if issued else []
    summary += [f"over {total} {terms.text('BT-5') or ''}".rstrip()] if total is not None else []
    title = ", ".join(filter(None, (called, party)))
    return Classification(
        document_type=document_type,
        title=title,
        summary=" ".join(summary).rstrip(".") + ".",
        document_date=issued,
        tags=chosen([*said([title], tags_in_use), party, name, issued and str(issued.year)], tags_in_use),
        language=document.language,
        confidence=1.0,
    )
