"""Where the pages show what an XML says."""

from docmill.model.document import Document, Place
from docmill.model.paths import is_same_value
from docmill.model.result import Evidence
from docmill.schemas.registry import REGISTRY
from docmill.understanding.constraints.extractor import ruled_findings
from docmill.understanding.einvoice.reading import EInvoice
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.locate.evidence import located

EMBEDDED = Evidence(page=None, box=None, text=None, match="embedded", confidence=1.0)


class Places:
    """Where the rules found the same value, else where it stands at all.

    shown: what the rules read on the pages.
    """

    def __init__(self, document: Document, invoice: EInvoice) -> None:
        document_type = invoice.kind.document_type
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
