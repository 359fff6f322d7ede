"""An evaluation as JSON: the figures, and what they are made of, for people and for later comparisons."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from docmill.errors import MisconfiguredError
from docmill.evaluation.confidence import score_confidences
from docmill.evaluation.judge import Judge, JudgedValue
from docmill.evaluation.metrics import JudgedDocument, compute_scores, score_types
from docmill.evaluation.truth import Truth

Report = dict[str, Any]

VERSION = 1
"""Of the report's form."""


def judge_document(
    source: str, truth: Truth, record: Mapping[str, Any] | None, judge: Judge
) -> JudgedDocument:
    """A document's values against its truth. A document that failed or has no record has read nothing."""
    record = record or {"status": "failed"}
    error: Mapping[str, Any] = record.get("error") or {}
    failed = record["status"] == "failed"
    return JudgedDocument(
        source=source,
        group=truth.group or source,
        status=record["status"],
        cells=judge.cells(truth.data, {} if failed else (record.get("data") or {})),
        evidence=record.get("evidence") or {},
        true_type=truth.document_type,
        said_type=None if failed else record.get("document_type"),
        error=error.get("code"),
        is_labelled=bool(truth.data),
    )


def build_report(documents: Sequence[JudgedDocument], *, with_types: bool = True) -> Report:
    """Every figure. with_types: unless a schema was given, which leaves nothing to classify."""
    return {
        "version": VERSION,
        "statuses": dict(Counter(document.status for document in documents)),
        "errors": dict(Counter(document.error for document in documents if document.error)),
        "figures": compute_scores(documents),
        "classification": score_types(documents) if with_types else None,
        "confidence": score_confidences(documents),
        "documents": [_told(document) for document in documents],
    }


def _told(document: JudgedDocument) -> dict[str, Any]:
    return {
        "source": document.source,
        "group": document.group,
        "status": document.status,
        "error": document.error,
        "true_type": document.true_type,
        "said_type": document.said_type,
        "right": document.is_right,
        "values": [
            {
                "field": cell.field,
                "true": cell.true,
                "said": cell.said,
                "path": cell.path,
                "tiers": list(cell.tiers),
            }
            for cell in document.cells
        ],
    }


def read_report(path: Path) -> list[JudgedDocument]:
    """The documents of a report. Raises MisconfiguredError if the file is none that this docmill can read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["version"] != VERSION:
            raise MisconfiguredError(f"{str(path)!r} is a report of another docmill; make it anew")
        return [_document(told) for told in content["documents"]]
    except OSError as error:
        raise MisconfiguredError(f"cannot read {str(path)!r}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise MisconfiguredError(f"{str(path)!r} is no report of docmill eval") from error


def _document(told: Mapping[str, Any]) -> JudgedDocument:
    cells = [
        JudgedValue(value["field"], value["true"], value["said"], value["path"], tuple(value["tiers"]))
        for value in told["values"]
    ]
    return JudgedDocument(
        source=told["source"],
        group=told["group"],
        status=told["status"],
        cells=cells,
        evidence={},
        true_type=told["true_type"],
        said_type=told["said_type"],
        error=told["error"],
    )
