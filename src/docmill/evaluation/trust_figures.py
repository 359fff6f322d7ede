"""Trust: how often documents that are called ready are wrong, and what confidences are worth."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from docmill.evaluation.judge import JudgedValue
from docmill.evaluation.metrics import (
    Floats,
    JudgedDocument,
    bootstrap_interval,
    calibration_error,
    draw_weights,
    risk_coverage_curve,
    share,
    wilson_interval,
)
from docmill.schemas.outline import Kind

SURE = 0.9
"""Values from this confidence on are counted apart."""
READY = "completed"
_VITAL: frozenset[Kind] = frozenset({"date", "datetime", "decimal"})
"""The kinds of value of which an error costs money."""


def score_trust(documents: Sequence[JudgedDocument], kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """The trust figures of all documents, by document type and by source.

    kinds: by field. The type is that of the truth, else the one that was read; the source is the folder where
    the document lies, `.` for the folder that was evaluated. Documents whose truth names no field are left
    out.
    """
    labelled = [document for document in documents if document.is_labelled]
    by_type: dict[str, list[JudgedDocument]] = {}
    by_source: dict[str, list[JudgedDocument]] = {}
    for document in labelled:
        by_type.setdefault(document.true_type or document.read_type or "other", []).append(document)
        folder, separator, _ = document.source.rpartition("/")
        by_source.setdefault(folder if separator else ".", []).append(document)
    return {
        "all": _figures(labelled, kinds),
        "types": {name: _figures(some, kinds) for name, some in sorted(by_type.items())},
        "sources": {name: _figures(some, kinds) for name, some in sorted(by_source.items())},
    }


def without_computed(document: JudgedDocument) -> JudgedDocument:
    """The document without values that the page need not print: computed ones, of which the truth has none.

    A truth of what is printed says nothing on an amount due that is the total.
    """
    return replace(
        document,
        cells=[cell for cell in document.cells if cell.true is not None or not _is_computed(document, cell)],
    )


def _is_computed(document: JudgedDocument, cell: JudgedValue) -> bool:
    proof: Mapping[str, Any] = document.evidence.get(cell.path or "", {})
    return proof.get("match") == "computed"


def _figures(documents: Sequence[JudgedDocument], kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """The figures of some documents; a share is null where there is nothing to divide by.

    A value is wrong if it is not the true one, or if the page has none. Values of lists count in
    `ready_wrong_item` and among the confidences only.
    """
    weights = draw_weights([document.group for document in documents])
    ready = np.array([document.status == READY for document in documents], np.float64)
    wrong = [[cell for cell in document.cells if _is_wrong(cell)] for document in documents]
    header = [[cell for cell in cells if "[]" not in cell.field] for cells in wrong]
    counts = {
        "ready_wrong_vital": [any(kinds.get(cell.field) in _VITAL for cell in cells) for cells in header],
        "ready_wrong_header": [bool(cells) for cells in header],
        "ready_wrong_item": [len(cells) > len(others) for cells, others in zip(wrong, header, strict=True)],
    }
    errors = np.array([len(cells) for cells in header], np.float64)
    read = [(_confidence(document, cell), cell) for document in documents for cell in document.cells]
    read = [(confidence, cell) for confidence, cell in read if cell.read is not None]
    confidences = np.array([confidence for confidence, _ in read])
    is_right = np.array([cell.is_right for _, cell in read], np.bool_)
    owners = [index for index, document in enumerate(documents) for cell in document.cells if cell.read]
    sure = np.zeros(len(documents))
    sure_wrong = np.zeros(len(documents))
    for owner, (confidence, cell) in zip(owners, read, strict=True):
        sure[owner] += confidence >= SURE
        sure_wrong[owner] += confidence >= SURE and not cell.is_right
    every = np.ones(len(documents))
    return {
        "documents": len(documents),
        "ready": _share(ready, every, weights),
        **{
            name: _share(ready * np.array(flags, np.float64), ready, weights)
            for name, flags in counts.items()
        },
        "silent_errors_per_100_ready": _errors_per_100(ready * errors, ready, weights),
        "sure_wrong": _share(sure_wrong, sure, weights),
        "ece": calibration_error(confidences, is_right) if read else None,
        "values_curve": risk_coverage_curve(confidences, is_right) if read else [],
        "documents_curve": _documents_curve(documents, header),
    }


def _is_wrong(cell: JudgedValue) -> bool:
    return cell.read is not None and not cell.is_right


def _confidence(document: JudgedDocument, cell: JudgedValue) -> float:
    return float(document.evidence.get(cell.path or "", {}).get("confidence", 0.0))


def _share(tops: Floats, bottoms: Floats, weights: Floats) -> dict[str, Any]:
    """A share, with Wilson's interval; a wider one where what is wrong stands in groups of documents."""
    whole = int(bottoms.sum())
    quotient = share(tops.sum(), bottoms.sum())
    interval = bootstrap_interval(tops, bottoms, weights)
    if quotient is not None and interval is not None:
        low, high = wilson_interval(quotient, whole)
        interval = min(low, interval[0]), max(high, interval[1])
    return {"count": int(tops.sum()), "of": whole, "share": quotient, "interval": interval and [*interval]}


def _errors_per_100(errors: Floats, documents: Floats, weights: Floats) -> dict[str, Any]:
    """The number of errors in a hundred documents, each of which may have several."""
    mean = share(errors.sum(), documents.sum())
    interval = bootstrap_interval(errors, documents, weights)
    if mean and interval is not None and interval[0] == interval[1]:
        interval = None  # all documents are alike, and nothing tells what the next one has
    return {
        "count": int(errors.sum()),
        "of": int(documents.sum()),
        "share": None if mean is None else 100 * mean,
        "interval": interval and [100 * bound for bound in interval],
    }


def _documents_curve(
    documents: Sequence[JudgedDocument], wrong: Sequence[Sequence[JudgedValue]]
) -> list[dict[str, float]]:
    """Risk and coverage of documents: each is as sure as the least sure value of its header."""
    least: list[float] = []
    for document in documents:
        header = [cell for cell in document.cells if cell.read is not None and "[]" not in cell.field]
        least.append(min((_confidence(document, cell) for cell in header), default=-1.0))
    levels = np.array(least)
    return (
        risk_coverage_curve(levels, np.array([not cells for cells in wrong])) if (levels >= 0).any() else []
    )
