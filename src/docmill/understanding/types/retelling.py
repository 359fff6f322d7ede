"""Title, summary, day and tags once the fields are known: others may have put them right since."""

from datetime import date
from decimal import Decimal

from docmill.model.document import Document
from docmill.model.paths import leaves
from docmill.model.result import Classification, DocumentType, Extraction, known_type
from docmill.schemas.registry import REGISTRY
from docmill.understanding.fields.findings import Finding
from docmill.understanding.types.summary import DAYS, counterparty, named, summary_of
from docmill.understanding.types.tags import LONGEST, chosen, one_line

_TRADE: frozenset[DocumentType] = frozenset({"invoice", "receipt", "purchase_order", "delivery_note"})
"""The types whose fields hold what they are called by; a statement has no number and no bank."""
_WITHOUT_EVIDENCE = 1.0
"""A value without evidence was computed, or is said by who sent the document."""


class FieldNamer:
    """`Namer` by the fields, for documents told offline; what a model called it stays."""

    def named(
        self, document: Document, classification: Classification, extraction: Extraction
    ) -> Classification:
        """See `Namer.named`."""
        kind = known_type(extraction.document_type)
        told = classification.title is not None and classification.usage.model is None
        if kind not in _TRADE or kind != classification.document_type or not told or document.embedded:
            return classification
        if not isinstance(extraction.data, REGISTRY[kind].fields):
            return classification  # a schema of the user's own has other fields
        found = {
            path: Finding(value, (), _confidence(extraction, path))
            for path, value in leaves(extraction.data)
            if isinstance(value, str | date | Decimal)
        }
        party = counterparty(kind, found)
        days = [one.value for path in DAYS if (one := found.get(path)) and isinstance(one.value, date)]
        return classification.model_copy(
            update={
                "title": named(kind, found),
                "summary": summary_of(kind, found),
                "document_date": days[0] if days else classification.document_date,
                "tags": _with_party(classification, party, document.tags_in_use),
            }
        )


def _confidence(extraction: Extraction, path: str) -> float:
    proof = extraction.evidence.get(path)
    return _WITHOUT_EVIDENCE if proof is None else proof.confidence


def _with_party(classification: Classification, party: str | None, used: tuple[str, ...]) -> tuple[str, ...]:
    """The tags, with this party in the place of the one in the title."""
    before = one_line((classification.title or "").partition(", ")[2], LONGEST)
    others = [tag for tag in classification.tags if tag != before]
    if party is None or len(others) == len(classification.tags):
        return classification.tags
    return chosen([party if tag == before else tag for tag in classification.tags], used)
