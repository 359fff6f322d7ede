"""An evaluation as JSON, for people and for later comparisons, and its comparison with an earlier one."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from docmill.errors import MisconfiguredError
from docmill.evaluation.judge import Judge, JudgedValue
from docmill.evaluation.metrics import (
    Floats,
    JudgedDocument,
    compute_scores,
    count_values,
    draw_weights,
    fields_of,
    score_confidences,
    score_types,
    select_field,
)
from docmill.evaluation.truth import Truth

Report = dict[str, Any]

Ratio = tuple[Floats, Floats]
"""Of each document, what is above and what is below the line."""

VERSION = 1
"""Version of the report's format."""
SIGNIFICANCE = 0.05


def judge_document(
    source: str, truth: Truth, record: Mapping[str, Any] | None, judge: Judge
) -> JudgedDocument:
    """A document's values against its truth. Nothing is read of a document that failed or has no record."""
    record = record or {"status": "failed"}
    error: Mapping[str, Any] = record.get("error") or {}
    has_failed = record["status"] == "failed"
    return JudgedDocument(
        source=source,
        group=truth.group or source,
        status=record["status"],
        cells=judge.cells(truth.data, {} if has_failed else (record.get("data") or {})),
        evidence=record.get("evidence") or {},
        true_type=truth.document_type,
        read_type=None if has_failed else record.get("document_type"),
        error=error.get("code"),
        is_labelled=bool(truth.data),
    )


def build_report(documents: Sequence[JudgedDocument], *, with_types: bool = True) -> Report:
    """All figures. with_types: unless a schema was given, which leaves nothing to classify."""
    return {
        "version": VERSION,
        "statuses": dict(Counter(document.status for document in documents)),
        "errors": dict(Counter(document.error for document in documents if document.error)),
        "figures": compute_scores(documents),
        "classification": score_types(documents) if with_types else None,
        "confidence": score_confidences(documents),
        "documents": [
            {
                "source": document.source,
                "group": document.group,
                "status": document.status,
                "error": document.error,
                "true_type": document.true_type,
                "said_type": document.read_type,
                "right": document.is_right,
                "values": [
                    {
                        "field": cell.field,
                        "true": cell.true,
                        "said": cell.read,
                        "path": cell.path,
                        "tiers": list(cell.tiers),
                    }
                    for cell in document.cells
                ],
            }
            for document in documents
        ],
    }


def read_report(path: Path) -> list[JudgedDocument]:
    """The documents of a report. Raises MisconfiguredError if the file is none that this docmill can read."""
    content = read_report_content(path)
    try:
        return documents_of(content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise MisconfiguredError(f"{str(path)!r} is no report of docmill eval") from error


def read_report_content(path: Path) -> Report:
    """A report as it was written. Raises MisconfiguredError as `read_report`."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["version"] != VERSION:
            raise MisconfiguredError(f"{str(path)!r} is a report of another docmill; make it anew")
    except OSError as error:
        raise MisconfiguredError(f"cannot read {str(path)!r}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise MisconfiguredError(f"{str(path)!r} is no report of docmill eval") from error
    return content


def documents_of(report: Mapping[str, Any]) -> list[JudgedDocument]:
    """The documents of a report, without evidence, which reports do not have."""
    return [
        JudgedDocument(
            source=row["source"],
            group=row["group"],
            status=row["status"],
            cells=[
                JudgedValue(cell["field"], cell["true"], cell["said"], cell["path"], tuple(cell["tiers"]))
                for cell in row["values"]
            ],
            evidence={},
            true_type=row["true_type"],
            read_type=row["said_type"],
            error=row["error"],
        )
        for row in report["documents"]
    ]


@dataclass(frozen=True, slots=True)
class PairedDocuments:
    """The documents of two reports that both have with the same truth, and the numbers of the others."""

    pairs: Sequence[tuple[JudgedDocument, JudgedDocument]]
    truth_changed: int
    only_before: int
    only_now: int

    def describe(self) -> dict[str, int]:
        """The numbers, as reports have them."""
        return {
            "documents": len(self.pairs),
            "truth_changed": self.truth_changed,
            "only_before": self.only_before,
            "only_now": self.only_now,
        }


def pair_documents(before: Sequence[JudgedDocument], now: Sequence[JudgedDocument]) -> PairedDocuments:
    """Pair the documents of two reports. Raises MisconfiguredError if there is no pair."""
    earlier = {document.source: document for document in before}
    common = [(earlier[document.source], document) for document in now if document.source in earlier]
    pairs = [(old, new) for old, new in common if _true_values(old) == _true_values(new)]
    if not pairs:
        raise MisconfiguredError("the baseline has no document with the same truth; nothing can be compared")
    return PairedDocuments(
        pairs, len(common) - len(pairs), len(earlier) - len(common), len(now) - len(common)
    )


def compare_reports(
    before: Sequence[JudgedDocument], now: Sequence[JudgedDocument], *, max_regression: float
) -> dict[str, Any]:
    """The difference on the documents that both have with the same truth, and whether it is a regression.

    max_regression: in points of 100, by how much F1, of all values or of a field, may fall. A greater fall is
    a regression only if the 95 % interval of the paired difference is below zero, too; for fields the
    significance level is shared among them, since one of many falls by chance alone. Raises
    MisconfiguredError if they have no document in common.
    """
    paired = pair_documents(before, now)
    pairs = paired.pairs
    weights = draw_weights([new.group for _, new in pairs])
    allowed = max_regression / 100
    f1 = _compare_f1(pairs, weights, significance=SIGNIFICANCE, allowed=allowed)
    fields: dict[str, dict[str, Any]] = {}
    names = fields_of([*(old for old, _ in pairs), *(new for _, new in pairs)])
    for name in names:
        old_values = select_field([old for old, _ in pairs], name)
        of_field = list(zip(old_values, select_field([new for _, new in pairs], name), strict=True))
        gains = [
            sum(not cell.is_right for cell in old.cells) - sum(not cell.is_right for cell in new.cells)
            for old, new in of_field
        ]
        if any(gains):
            change = _compare_f1(of_field, weights, significance=SIGNIFICANCE / len(names), allowed=allowed)
            better, worse = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
            fields[name] = {"better": better, "worse": worse, **change}
    return {
        **paired.describe(),
        "f1": f1,
        "fields": fields,
        "regressions": [name for name, change in {"F1": f1, **fields}.items() if change["is_regression"]],
    }


def _true_values(document: JudgedDocument) -> Counter[tuple[str, str]]:
    return Counter((cell.field, cell.true) for cell in document.cells if cell.true is not None)


def _compare_f1(
    pairs: Sequence[tuple[JudgedDocument, JudgedDocument]],
    weights: Floats,
    *,
    significance: float,
    allowed: float,
) -> dict[str, Any]:
    """The change of F1 from the first documents of the pairs to the second ones."""
    ratios: list[Ratio] = []
    for documents in ([old for old, _ in pairs], [new for _, new in pairs]):
        correct, surplus, missing = count_values(documents)
        ratios.append((2 * correct, 2 * correct + surplus + missing))
    return compare_ratios(ratios[0], ratios[1], weights, significance=significance, allowed=allowed)


def compare_ratios(
    before: Ratio, now: Ratio, weights: Floats, *, significance: float, allowed: float
) -> dict[str, Any]:
    """The change of a ratio of sums over paired documents, and whether it is a regression.

    weights: of the pairs, see `draw_weights`. It is a regression if the ratio has fallen by more than
    `allowed` and the interval of the difference, at this level of significance, is below zero.
    """
    ones = np.ones((1, weights.shape[1]))
    values = [float(_quotient(*ratio, ones)[0]) for ratio in (before, now)]
    drawn = [_quotient(*ratio, weights) for ratio in (before, now)]
    low, high = np.quantile(drawn[1] - drawn[0], [significance / 2, 1 - significance / 2])
    difference = values[1] - values[0]
    return {
        "before": values[0],
        "now": values[1],
        "difference": difference,
        "interval": [float(low), float(high)],
        "is_regression": bool(difference < -allowed and high < 0),
    }


def _quotient(tops: Floats, bottoms: Floats, weights: Floats) -> Floats:
    above, below = weights @ tops, weights @ bottoms
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
