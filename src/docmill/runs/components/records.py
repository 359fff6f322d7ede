"""The record of a document, as exporters write it."""

from typing import Any

from docmill.model.document import Document
from docmill.runs.context import CurrentDocument
from docmill.runs.roles import ExtractionResult

Record = dict[str, Any]

LONGEST_TEXT = 100_000
"""Characters of a text that are kept. Matching looks at no more, either."""


def record_of(
    document: Document, extracted: ExtractionResult[Any], current: CurrentDocument, *, with_text: bool = False
) -> Record:
    """Everything that is known of a document, as JSON. with_text: what it says, as far as needed.

    key: names the result, see `CurrentDocument`.
    """
    classification, verdict = current.classification, extracted.verdict
    described = {} if classification is None else classification.model_dump(mode="json")
    return {
        "source": current.ref.key,
        "key": current.key,
        "content_hash": current.content_hash,
        "status": "completed" if verdict.passed else "needs_review",
        "document_type": described.get("document_type"),
        "title": described.get("title"),
        "summary": described.get("summary"),
        "document_date": described.get("document_date"),
        "tags": described.get("tags", []),
        "language": document.language,
        "data": extracted.data.model_dump(mode="json"),
        "evidence": {path: proof.model_dump(mode="json") for path, proof in extracted.evidence.items()},
        "suggestions": {
            path: [one.model_dump(mode="json") for one in several]
            for path, several in extracted.suggestions.items()
        },
        "verdict": {"passed": verdict.passed, **verdict.model_dump(mode="json")},
        "metadata": {**current.ref.metadata, **extracted.metadata},
        "attempts": current.attempt,
        "usage": {"tokens": current.tokens, "cost": str(current.cost)},
        **({"text": document.text[:LONGEST_TEXT]} if with_text else {}),
    }
