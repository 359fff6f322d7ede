"""Boosted trees over docmill's candidates with the page model's probabilities as features.

All probabilities, also those to train on, must come from models that were trained without the page's vendor.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import lightgbm
import numpy as np
from numpy.typing import NDArray

from docmill.training.receipts import Prepared
from docmill.understanding.page.layout import Span
from docmill.understanding.receipts.spans import Field, pruning_mask
from tools.page_model.candidate_trees import PARAMETERS, FieldCandidates, best_values
from tools.page_model.examples import FOLDS, fold_of
from tools.page_model.judging import FORMS, Answer, shown
from tools.page_model.samples import LABEL, Sample

_TEXTS: Mapping[str, Field] = {"seller.name": "name", "seller.address": "address"}
_ROUNDS = 200


class WordChances(NamedTuple):
    """Answer of the page model for a page of n words. roles: shape (n, roles); names: of the roles."""

    names: Sequence[str]
    roles: NDArray[np.float32]
    goes_on: NDArray[np.float32]

    def of_role(self, role: str) -> NDArray[np.float32]:
        """The probability of a role for each word; zeros for a role that the model does not know."""
        if role not in self.names:
            return np.zeros(len(self.roles), np.float32)
        return self.roles[:, self.names.index(role)]


def read_chances(paths: Sequence[Path]) -> dict[str, WordChances]:
    """Answers that `evaluate` kept, by source and key."""
    chances: dict[str, WordChances] = {}
    for path in paths:
        with np.load(path) as arrays:
            names = arrays["names"].tolist()
            for key in arrays["keys"].tolist():
                roles, goes_on = arrays[f"{key} roles"], arrays[f"{key} goes on"]
                chances[key] = WordChances(names, roles.astype(np.float32), goes_on.astype(np.float32))
    return chances


class _Rows(NamedTuple):
    """The candidates of one page for one field. right: None where nobody knows."""

    values: list[str]
    rows: NDArray[np.float32]
    right: NDArray[np.int64] | None


def by_stacked_trees(
    samples: Sequence[Sample], prepared: Sequence[Prepared], chances: Mapping[str, WordChances]
) -> Iterator[Answer]:
    """Values by trees that see the page model's probabilities, trained on the vendors of other folds."""
    folds = [fold_of(sample) for sample in samples]
    values: list[dict[str, list[tuple[str, float]]]] = [{} for _ in samples]
    for path in (*_TEXTS, *FORMS):
        rows = [
            _rows(sample, item, chances[f"{sample.source} {sample.key}"], path)
            for sample, item in zip(samples, prepared, strict=True)
        ]
        for fold in range(FOLDS):
            known = [
                row for row, own in zip(rows, folds, strict=True) if own != fold and row.right is not None
            ]
            known = [row for row in known if row.values]
            if not known:
                continue
            data = lightgbm.Dataset(
                np.vstack([row.rows for row in known]),
                np.concatenate([row.right for row in known if row.right is not None]),
            )
            # its types leave a parameter open
            booster = lightgbm.train(dict(PARAMETERS), data, _ROUNDS)  # pyright: ignore[reportUnknownMemberType]
            for index, own in enumerate(folds):
                if own == fold and rows[index].values:
                    scores: Any = booster.predict(rows[index].rows)
                    values[index][path] = best_values(rows[index].values, scores.tolist())
    for sample, fold, own in zip(samples, folds, values, strict=True):
        yield Answer(sample.key, sample.source, fold, own)


def _rows(sample: Sample, item: Prepared, chances: WordChances, path: str) -> _Rows:
    if path in _TEXTS:
        return _text_rows(item, chances, path)
    if path == "gross_total":
        places = [
            [index for amount in among for index in _words(amount.spans)] for among in item.amounts.places
        ]
        seen = np.array([_seen(chances, words, path) for words in places], np.float32).reshape(
            len(places), -1
        )
        right = item.total if item.total.any() else None
        return _Rows(
            [shown(value) for value in item.amounts.values], np.hstack([item.amounts.fixed, seen]), right
        )
    found = FieldCandidates(sample, item, path)
    seen = np.array([_seen(chances, words, path) for words in found.words], np.float32)
    rows = np.hstack([found.numbers, seen.reshape(len(found.values), -1)]) if found.values else found.numbers
    return _Rows(found.values, rows, found.right if found.is_labelled else None)


def _seen(chances: WordChances, words: Sequence[int], path: str) -> list[float]:
    """Numbers of the probabilities of a candidate's words."""
    inside = list(words)
    shares = chances.of_role(path)
    own = shares[inside]
    others = np.delete(
        chances.roles[inside], [chances.names.index(path)] if path in chances.names else [], axis=1
    )
    return [
        float(np.log(own.clip(1e-5)).mean()),
        float(own.min()),
        float(own.max()),
        float(own.max() - shares.max()),
        float((shares > own.max()).sum()),
        float(shares.sum()),
        float(others.max()),
        float(chances.of_role("none")[inside].mean()),
        float(chances.of_role(LABEL + path).max()),
        *(
            float(chances.of_role(role)[inside].max())
            for role in ("gross_total", "net_total", "tax_total", "tip")
        ),
    ]


def _text_rows(item: Prepared, chances: WordChances, path: str) -> _Rows:
    choices = item.choices[_TEXTS[path]]
    if not choices.choices:
        return _Rows([], np.zeros((0, 0), np.float32), None)
    shares = chances.of_role(path)
    name, address = chances.of_role("seller.name"), chances.of_role("seller.address")
    tags = np.array(
        [
            [0.0, name[segment.start : segment.stop].mean(), address[segment.start : segment.stop].mean()]
            for segment in choices.head.segments
        ],
        np.float64,
    )
    kept = np.flatnonzero(pruning_mask(choices, tags))
    padded = np.concatenate([shares, [0.0]])
    extra: list[list[float]] = []
    for index in kept.tolist():
        words = _words(choices.spans(index))
        inside, outside = shares[words].clip(1e-4, 1 - 1e-4), np.delete(shares, words).clip(1e-4, 1 - 1e-4)
        extra.append(
            [
                float(np.log(inside).sum() + np.log(1 - outside).sum()),
                float(np.log(inside).mean()),
                float(inside.min()),
                float(inside[0]),
                float(inside[-1]),
                float(padded[words[0] - 1]) if words[0] else 0.0,
                float(padded[words[-1] + 1]),
                float(chances.goes_on[words[0]]),
                float(chances.goes_on[words[1:]].min()) if len(words) > 1 else 1.0,
                float(np.append(chances.goes_on, 0)[words[-1] + 1]),
                float(inside.sum() / shares.sum()),
            ]
        )
    rows = np.hstack([choices.rows(tags)[kept], np.array(extra, np.float32)])
    right = item.right[_TEXTS[path]]
    return _Rows([choices.text(index) for index in kept.tolist()], rows, right[kept] if right.any() else None)


def _words(spans: Sequence[Span]) -> list[int]:
    return [index for span in spans for index in range(*span.segment.words(span.start, span.stop))]
