"""Calibration of scores to what the people of one organisation decide: a monotone correction (Platt scaling).

It is fitted to the scores of links that people confirmed and declined, and taken only if it predicts
decisions that it has not seen better than the shipped scores do.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from docmill.matching.assignment import places_of
from docmill.matching.decision import AUTOMATIC, SUGGESTED, may_be_automatic
from docmill.matching.outcome import Link
from docmill.matching.pairs import ScoredPair
from docmill.matching.scoring import probability

LEAST_LABELS = 50
LEAST_OF_EACH = 15
"""Fewer decisions, or fewer of one kind, are too few to fit anything to."""
LEAST_GAIN = 0.02
"""By so much the mean log loss of a correction must be lower, in nats, and by twice its standard error."""
LEAST_TO_RAISE = math.ceil(math.log(0.05) / math.log(AUTOMATIC))
"""Confirmed links without a declined one, by which the probability of an automatic link can be said with 95 %
confidence: would it be lower, so many would be without a declined one in at most 5 % of the cases."""

_FOLDS = 5
_STEPS = 50
_PRIOR = 1.0
"""Strength with which the correction is drawn towards none, as the number of decisions it counts for."""
_SLOPES = (0.05, 20.0)
_EDGE = 1e-6
_BELOW_AUTOMATIC = math.nextafter(AUTOMATIC, 0)


@dataclass(frozen=True, slots=True)
class Label:
    """A decision. score: of the link when it was made, without a correction."""

    score: float
    is_right: bool


@dataclass(frozen=True, slots=True)
class Correction:
    """A correction of log-odds to `slope * log_odds + offset`. slope: positive, so that it is monotone.

    may_raise: whether a link may become automatic by it. may_lower: whether an automatic one may become a
    suggestion. Where it may not, the score stays on its side of the threshold.
    """

    slope: float = 1.0
    offset: float = 0.0
    may_raise: bool = False
    may_lower: bool = False

    def corrected(self, score: float) -> float:
        """The score as it should be."""
        corrected = self._probability(score)
        if score >= AUTOMATIC:
            return corrected if self.may_lower else max(corrected, AUTOMATIC)
        return corrected if self.may_raise else min(corrected, _BELOW_AUTOMATIC)

    def _probability(self, score: float) -> float:
        return probability(self.slope * _log_odds(score) + self.offset)


Outcome = Literal["promoted", "rejected", "withdrawn"]


@dataclass(frozen=True, slots=True)
class Trial:
    """A correction that was tried. outcome: `withdrawn` if the one in use is no better than none any more.

    shipped_loss, corrected_loss: mean log loss over decisions that the correction was not fitted to.
    """

    outcome: Outcome
    confirmed: int
    declined: int
    shipped_loss: float
    corrected_loss: float
    correction: Correction


def try_correction(labels: Collection[Label], current: Correction | None = None) -> Trial | None:
    """The trial of a correction fitted to the labels; None if there are too few. The order is no matter.

    It may raise if no declined link was automatic or would be, by the correction or by those fitted without
    it, and `LEAST_TO_RAISE` confirmed links would become so. It may lower if a declined link was automatic.
    current: the correction in use.
    """
    ordered = sorted(labels, key=lambda label: (label.score, label.is_right))
    confirmed = sum(label.is_right for label in ordered)
    declined = len(ordered) - confirmed
    if len(ordered) < LEAST_LABELS or min(confirmed, declined) < LEAST_OF_EACH:
        return None
    folds = [_fit([each for at, each in enumerate(ordered) if at % _FOLDS != fold]) for fold in range(_FOLDS)]
    correction = _fit(ordered)
    limits = {
        "may_raise": _may_raise(ordered, folds, correction),
        "may_lower": any(not label.is_right and label.score >= AUTOMATIC for label in ordered),
    }
    correction = replace(correction, **limits)
    unseen = [
        replace(folds[at % _FOLDS], **limits).corrected(label.score) for at, label in enumerate(ordered)
    ]
    shipped = _losses(ordered, [label.score for label in ordered])
    corrected = _losses(ordered, unseen)
    gains = shipped - corrected
    least = max(LEAST_GAIN, 2 * float(gains.std(ddof=1)) / math.sqrt(len(gains)))
    outcome: Outcome = "promoted" if gains.mean() > least else "rejected"
    if outcome == "rejected" and current is not None:
        in_use = _losses(ordered, [current.corrected(label.score) for label in ordered])
        outcome = "withdrawn" if in_use.mean() >= shipped.mean() else "rejected"
    return Trial(outcome, confirmed, declined, float(shipped.mean()), float(corrected.mean()), correction)


def _may_raise(labels: Sequence[Label], folds: Sequence[Correction], correction: Correction) -> bool:
    raised: list[bool] = []
    for at, label in enumerate(labels):
        if label.score >= AUTOMATIC:
            if not label.is_right:
                return False
        elif max(correction.corrected(label.score), folds[at % _FOLDS].corrected(label.score)) >= AUTOMATIC:
            raised.append(label.is_right)
    return all(raised) and len(raised) >= LEAST_TO_RAISE


def _fit(labels: Sequence[Label]) -> Correction:
    """The correction with the least log loss, by Newton's method, drawn towards none.

    Source: Platt, Probabilistic Outputs for Support Vector Machines, 1999.
    """
    inputs = np.array([[_log_odds(label.score), 1.0] for label in labels])
    targets = np.array([label.is_right for label in labels], dtype=float)
    prior = np.array([1.0, 0.0])
    parameters = prior.copy()
    for _ in range(_STEPS):
        predicted = 1 / (1 + np.exp(-np.clip(inputs @ parameters, -30, 30)))
        gradient = inputs.T @ (predicted - targets) + _PRIOR * (parameters - prior)
        curvature = (inputs * (predicted * (1 - predicted))[:, None]).T @ inputs + _PRIOR * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        parameters -= np.clip(step, -1, 1)
        if np.abs(step).max() < _EDGE:
            break
    slope = float(np.clip(parameters[0], *_SLOPES))
    return Correction(slope, float(parameters[1]), may_raise=True, may_lower=True)


def _losses(
    labels: Sequence[Label], scores: Sequence[float]
) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    right = np.array([label.is_right for label in labels])
    clipped = np.clip(np.array(scores), _EDGE, 1 - _EDGE)
    return -np.log(np.where(right, clipped, 1 - clipped))


def _log_odds(score: float) -> float:
    clipped = min(max(score, _EDGE), 1 - _EDGE)
    return math.log(clipped / (1 - clipped))


def with_correction(
    links: Iterable[Link],
    pairs: Iterable[ScoredPair],
    correction: Correction,
    *,
    confirmed: Collection[tuple[str, str]] = (),
) -> list[Link]:
    """The links with corrected scores, and states that follow from them.

    A suggestion becomes automatic only if nothing speaks against it, and no other link that may be right
    excludes it. Duplicates stay as they are: which records take part in the rest follows from them.
    So do confirmed links: pairs of ids that a person has linked.
    """
    links = list(links)
    by_key = {pair.key: pair for pair in pairs}
    corrected: list[Link] = []
    for link in links:
        if link.relation == "duplicate" or (link.first_id, link.second_id) in confirmed:
            corrected.append(link)
            continue
        score, state = correction.corrected(link.score), link.state
        if state == "automatic" and score < AUTOMATIC:
            state = "suggested"
        elif state == "suggested" and score >= AUTOMATIC:
            pair = by_key[link.first_id, link.second_id, link.relation]
            if may_be_automatic(pair) and not competitors(link, links, by_key.values()):
                state = "automatic"
        if score >= SUGGESTED or state == "outranked":
            corrected.append(replace(link, score=score, state=state))
    return corrected


def competitors(link: Link, links: Iterable[Link], pairs: Iterable[ScoredPair]) -> list[Link]:
    """The other links that claim a place of a link, also outranked ones, but for those that are unlikely."""
    by_key = {pair.key: pair for pair in pairs}

    def places(each: Link) -> set[object]:
        return set(places_of(by_key[each.first_id, each.second_id, each.relation]))

    own = places(link)
    return [
        other for other in links if other is not link and other.score >= SUGGESTED and own & places(other)
    ]
