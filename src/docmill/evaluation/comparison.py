"""Comparison of an evaluation with an earlier one, field by field."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docmill.errors import MisconfiguredError
from docmill.evaluation.metrics import JudgedDocument, counts, draws, fields_of

Floats = NDArray[np.float64]

_DOUBT = 0.05


def compare_reports(
    before: Sequence[JudgedDocument], now: Sequence[JudgedDocument], *, max_regression: float
) -> dict[str, Any]:
    """The difference on the documents that both have with the same truth, and whether it is a regression.

    max_regression: in points of 100, by how much F1, of all values or of a field, may fall. What falls by
    more is a regression only where the 95 % interval of the paired difference is below zero too; for fields
    the doubt of 5 % is shared among them, since one of many falls by chance alone. Raises
    MisconfiguredError if they have no document in common.
    """
    earlier = {document.source: document for document in before}
    both = [(earlier[one.source], one) for one in now if one.source in earlier]
    pairs = [(old, new) for old, new in both if _truth_of(old) == _truth_of(new)]
    if not pairs:
        raise MisconfiguredError("the baseline has no document with the same truth; nothing can be compared")
    drawn = draws([new.group for _, new in pairs])
    allowed = max_regression / 100
    olds, news = [old for old, _ in pairs], [new for _, new in pairs]
    names = fields_of([*olds, *news])
    fields = {
        name: change
        for name in names
        if (change := _field(olds, news, name, drawn, doubt=_DOUBT / len(names), allowed=allowed))
    }
    f1 = _change(_f1_parts(olds), _f1_parts(news), drawn, doubt=_DOUBT, allowed=allowed)
    return {
        "documents": len(pairs),
        "truth_changed": len(both) - len(pairs),
        "only_before": len(earlier) - len(both),
        "only_now": len(now) - len(both),
        "f1": f1,
        "fields": fields,
        "regressions": [name for name, change in {"F1": f1, **fields}.items() if change["is_regression"]],
    }


def _truth_of(document: JudgedDocument) -> Counter[tuple[str, str]]:
    return Counter((cell.field, cell.true) for cell in document.cells if cell.true is not None)


def _f1_parts(documents: Sequence[JudgedDocument]) -> tuple[Floats, Floats]:
    table = np.array([counts(document) for document in documents], np.float64).reshape(-1, 3)
    right, surplus, lacking = table.T
    return 2 * right, 2 * right + surplus + lacking


def _field(
    olds: Sequence[JudgedDocument],
    news: Sequence[JudgedDocument],
    name: str,
    drawn: Floats,
    *,
    doubt: float,
    allowed: float,
) -> dict[str, Any] | None:
    """The change of F1 of one field; None if it is the same in every document."""
    before, now = ([_only(one, name) for one in documents] for documents in (olds, news))
    gained = np.array([_wrong(old) - _wrong(new) for old, new in zip(before, now, strict=True)])
    if not gained.any():
        return None
    change = _change(_f1_parts(before), _f1_parts(now), drawn, doubt=doubt, allowed=allowed)
    return {"better": int((gained > 0).sum()), "worse": int((gained < 0).sum()), **change}


def _only(document: JudgedDocument, name: str) -> JudgedDocument:
    return replace(document, cells=[cell for cell in document.cells if cell.field == name])


def _wrong(document: JudgedDocument) -> int:
    return sum(not cell.is_right for cell in document.cells)


def _change(
    before: tuple[Floats, Floats], now: tuple[Floats, Floats], drawn: Floats, *, doubt: float, allowed: float
) -> dict[str, Any]:
    old, new = _quotient(before, np.ones((1, len(before[0])))), _quotient(now, np.ones((1, len(now[0]))))
    difference = float(new[0] - old[0])
    low, high = _bounds(_quotient(now, drawn) - _quotient(before, drawn), doubt)
    return {
        "before": float(old[0]),
        "now": float(new[0]),
        "difference": difference,
        "interval": [low, high],
        "is_regression": difference < -allowed and high < 0,
    }


def _quotient(parts: tuple[Floats, Floats], drawn: Floats) -> Floats:
    above, below = drawn @ parts[0], drawn @ parts[1]
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def _bounds(differences: Floats, doubt: float) -> tuple[float, float]:
    low, high = np.quantile(differences, [doubt / 2, 1 - doubt / 2])
    return float(low), float(high)
