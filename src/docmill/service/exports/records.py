"""The record of a document of the vault: that of a run, with the reviews by people."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from docmill.model.paths import value_at
from docmill.service.review.reviews import DocumentReviews
from docmill.service.store.documents import DocumentRow
from docmill.service.store.exported_results import ExportedResult

Record = dict[str, Any]

_STATUSES = {
    "ready": "completed",
    "needs_review": "needs_review",
    "needs_classification": "needs_review",
    "failed": "failed",
    "processing": "processing",
    "stale": "processing",
}


def vault_record(
    row: DocumentRow,
    result: ExportedResult,
    *,
    source: str,
    reviewed: DocumentReviews | None,
    sources: Mapping[UUID, str],
) -> Record:
    """The record of a document, with the members of a run's record and those of the vault.

    reviewed: given where people reviewed values. sources: of the documents that were written before.
    """
    verdict = row.verdict or result.verdict
    suggestions: dict[str, Any] = result.suggestions or {}
    if reviewed is not None:
        suggestions = {
            path: [suggestion.model_dump(mode="json") for suggestion in some]
            for path, some in reviewed.suggestions.items()
        }
    evidence = reviewed.evidence if reviewed is not None else result.evidence or {}
    return {
        "source": source,
        "content_hash": row.content_hash,
        "media_type": row.media_type,
        "status": _STATUSES[row.state],
        "document_type": row.document_type,
        "title": row.title,
        "summary": row.summary,
        "document_date": row.document_date and row.document_date.isoformat(),
        "tags": row.tags or [],
        "language": row.language,
        "data": row.structured_data,
        "evidence": {
            path: proof for path, proof in evidence.items() if value_at(row.structured_data, path) is not None
        },
        "suggestions": suggestions,
        "reason": result.extraction_reason,
        "verdict": verdict and {"passed": not verdict.get("failures"), **verdict},
        "error": row.error_code
        and {"code": row.error_code, "step": result.failed_step, "message": row.error_message},
        "attempts": result.attempts,
        "usage": _usage(result),
        "timings_s": {},
        "parts": [
            {"source": sources.get(UUID(part["document_id"])) if part["document_id"] else None, **part}
            for part in result.parts
        ],
        "document_id": str(row.id),
        "file_name": row.file_name,
        "archive_serial_number": row.archive_serial_number,
        "state": row.outcome,
        "page_count": row.page_count,
        "byte_size": row.byte_size,
        "created_at": row.created_at.isoformat(),
        "updated_at": row.updated_at.isoformat(),
        "reviews": result.reviews,
    }


def _usage(result: ExportedResult) -> dict[str, Any] | None:
    if result.extraction_input_tokens is None and result.cost is None:
        return None
    return {
        "input_tokens": result.extraction_input_tokens or 0,
        "output_tokens": result.extraction_output_tokens or 0,
        "model": result.extraction_model,
        "cost": str(result.cost or 0),
    }
