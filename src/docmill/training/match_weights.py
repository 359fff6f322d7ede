"""Fitting of the weights of matching to labelled pairs.

A conditional logistic regression for each relation (McFadden, 1974): at each place for only one link,
such as the order of an invoice, the candidates and "none of them" compete by their odds. Weights have three
restrictions: they never fall from one level of evidence to the next; an unknown level has the weight zero;
and they are drawn to those before, so that what was seldom seen stays as it was. Maximised by L-BFGS-B.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from docmill.matching.assignment import places_of
from docmill.matching.decision import with_context
from docmill.matching.evidence import LEVELS, Evidence
from docmill.matching.match_record import MatchRecord
from docmill.matching.outcome import Relation
from docmill.matching.pairs import pairs_of
from docmill.matching.scoring import Weights

Array = NDArray[np.float64]

_UNKNOWN = tuple(levels["UNKNOWN"].value for levels in LEVELS)
_STRENGTH = 0.02
"""Weight of the squared distance to the weights before, against one labelled place."""
_BIAS_STRENGTH = 0.003
_MOST_FOR_ALTERNATIVES = 3.0
"""Most that it counts that nothing else fits: generated documents hardly contradict it, real ones may."""
_LEAST_LOG_ODDS = -9.0
_POOLED: tuple[Relation, ...] = (
    "order_to_delivery",
    "order_to_invoice",
    "delivery_to_invoice",
    "invoice_to_payment",
    "invoice_to_credit_note",
    "receipt_to_payment",
)
"""The relations whose common weights the others begin with, since they are seen too seldom."""
_KEPT: frozenset[Relation] = frozenset({"duplicate", "payment_to_return"})
"""The relations whose weights are not fitted."""


class LabelledPair(NamedTuple):
    """A candidate pair. places: see `places_of`. is_right: whether its records belong together."""

    relation: Relation
    evidence: Evidence
    places: tuple[Hashable, ...]
    is_right: bool


def labelled_pairs(
    records: Sequence[MatchRecord],
    true: Collection[frozenset[str]],
    copies: AbstractSet[str],
    weights: Mapping[Relation, Weights],
) -> list[LabelledPair]:
    """The candidate pairs of a set of records, with the evidence that others give them.

    true: right pairs of ids. copies: ids of records that are taken into account for duplicates alone.
    weights: by which sums and common links are looked for. Pairs that hardly anything speaks for are left
    out: they would only lengthen the fit.
    """
    pairs = [
        pair
        for pair in pairs_of(records, weights, least=_LEAST_LOG_ODDS)
        if pair.relation == "duplicate" or not copies & {pair.first.id, pair.second.id}
    ]
    return [
        LabelledPair(
            pair.relation,
            pair.evidence,
            tuple(place for place in places_of(pair) if place != pair.key) or (pair.key,),
            frozenset((pair.first.id, pair.second.id)) in true,
        )
        for pair in with_context(pairs, weights)
    ]


def fit(labelled: Iterable[LabelledPair], before: Mapping[Relation, Weights]) -> dict[Relation, Weights]:
    """The weights of each relation that explain the labelled pairs best.

    Those of duplicates and of returns stay: the generated documents have no booking that several files of a
    bank tell, and no payment that is returned.
    """
    by_relation: defaultdict[Relation, list[LabelledPair]] = defaultdict(list)
    for each in labelled:
        by_relation[each.relation].append(each)
    shared = [pair for relation in _POOLED for pair in by_relation[relation]]
    pooled = _fit_relation(shared, before["order_to_invoice"])
    return {
        relation: before[relation] if relation in _KEPT else _fit_relation(by_relation[relation], pooled)
        for relation in before
    }


def _fit_relation(labelled: Sequence[LabelledPair], before: Weights) -> Weights:
    if not any(pair.is_right for pair in labelled):
        return before
    design, unique = np.unique(
        np.array([_design_row(pair.evidence) for pair in labelled]), axis=0, return_inverse=True
    )
    members, choices = _choices(labelled)
    start = _steps_of(before)
    strength = np.full(len(start), _STRENGTH)
    strength[0] = _BIAS_STRENGTH
    rows = unique.ravel()[members]
    starts, chosen = choices[:, 0], choices[:, 1]
    lengths = np.diff(np.append(starts, len(rows)))

    def loss(steps: Array) -> tuple[float, Array]:
        logits = (design @ steps)[rows]
        odds = np.exp(np.minimum(logits, 50))
        sums = 1 + np.add.reduceat(odds, starts)
        is_chosen = chosen >= 0
        value = float(np.log(sums).sum() - logits[chosen[is_chosen]].sum())
        shares = odds / np.repeat(sums, lengths)
        shares[chosen[is_chosen]] -= 1
        by_row = np.bincount(rows, weights=shares, minlength=len(design))
        apart = steps - start
        return value + float(strength @ apart**2), design.T @ by_row + 2 * strength * apart

    bounds: list[tuple[float | None, float | None]] = [(None, None), *((0, None) for _ in start[1:])]
    bounds[-1] = (0, _MOST_FOR_ALTERNATIVES)
    result = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 500})
    return _weights_of(result.x)


def _choices(labelled: Sequence[LabelledPair]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The choices at all places: one for each right pair, against the wrong ones; of none if all are wrong.

    Where all are wrong, those are left out whose other record is taken by a right pair that is named: the
    decision never takes them, whatever their odds.

    Result: the indices of the pairs of all choices, one choice behind the other; and for each choice its
    start among them and the position of the right pair, or -1.
    """
    at: defaultdict[Hashable, list[int]] = defaultdict(list)
    for index, pair in enumerate(labelled):
        for place in pair.places:
            at[place].append(index)
    taken = {place for pair in labelled if pair.is_right and pair.evidence.is_named for place in pair.places}
    members: list[int] = []
    choices: list[tuple[int, int]] = []
    for indices in at.values():
        wrong = [index for index in indices if not labelled[index].is_right]
        right = [index for index in indices if labelled[index].is_right]
        free = [index for index in wrong if not taken.intersection(labelled[index].places)]
        if not right and free:
            choices.append((len(members), -1))
            members.extend(free)
        for chosen in right:
            choices.append((len(members), len(members)))
            members.extend((chosen, *wrong))
    return np.array(members, np.intp), np.array(choices, np.intp)


def _design_row(evidence: Evidence) -> list[float]:
    """A one for the bias, and for each step between two levels 1 above, -1 below the unknown level, or 0."""
    row = [1.0]
    for levels, level, unknown in zip(LEVELS, evidence, _UNKNOWN, strict=True):
        row.extend(
            float(unknown < step <= level) - float(level < step <= unknown) for step in range(1, len(levels))
        )
    return row


def _steps_of(weights: Weights) -> Array:
    steps = [weights["bias"][0]]
    for name in Evidence._fields:
        values = weights[name]
        steps.extend(values[step] - values[step - 1] for step in range(1, len(values)))
    return np.array(steps)


def _weights_of(steps: Array) -> Weights:
    weights: dict[str, tuple[float, ...]] = {"bias": (round(float(steps[0]), 4),)}
    at = 1
    for name, levels, unknown in zip(Evidence._fields, LEVELS, _UNKNOWN, strict=True):
        values = np.concatenate([[0.0], np.cumsum(steps[at : at + len(levels) - 1])])
        at += len(levels) - 1
        weights[name] = tuple(round(float(value), 4) for value in values - values[unknown])
    return weights


def as_json(weights: Mapping[Relation, Weights]) -> str:
    """The content of `weights.json`."""
    content = {
        "relations": {
            relation: {name: list(values) for name, values in each.items()}
            for relation, each in weights.items()
        }
    }
    return json.dumps(content, indent=1) + "\n"
