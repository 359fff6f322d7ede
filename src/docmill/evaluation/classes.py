"""Accuracy of the classification: confusion matrix and F1."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from docmill.evaluation.metrics import JudgedDocument, share

NOT_READ = "not read"
"""What stands for the type of a document that failed."""


def score_types(documents: Sequence[JudgedDocument]) -> dict[str, Any] | None:
    """Macro-F1 over the true types and the confusion matrix; None where the truth names no types.

    confusion: by true type, how many were taken for which.
    """
    pairs = Counter(
        (one.true_type, one.said_type or NOT_READ) for one in documents if one.true_type is not None
    )
    if not pairs:
        return None
    names = sorted({true for true, _ in pairs})
    by_type = {name: _of_type(pairs, name) for name in names}
    return {
        "documents": pairs.total(),
        "accuracy": share(sum(count for (true, said), count in pairs.items() if true == said), pairs.total()),
        "macro_f1": sum(of_type["f1"] for of_type in by_type.values()) / len(names),
        "types": by_type,
        "confusion": {
            name: {said: count for (true, said), count in sorted(pairs.items(), key=str) if true == name}
            for name in names
        },
    }


def _of_type(pairs: Counter[tuple[str, str]], name: str) -> dict[str, Any]:
    right = pairs[name, name]
    true = sum(count for (one, _), count in pairs.items() if one == name)
    said = sum(count for (_, one), count in pairs.items() if one == name)
    return {
        "documents": true,
        "precision": share(right, said),
        "recall": share(right, true),
        "f1": 2 * right / (true + said),
    }
