"""Log-odds of probabilities: independent evidence for and against a value is added on this scale."""

import math
from collections.abc import Sequence
from typing import NamedTuple

_STEPS = 40


class Outcome(NamedTuple):
    """A probability of something, whether it came to be, and how much it counts."""

    probability: float
    came: bool
    weight: float = 1.0


def log_odds(probability: float, *, clip: float) -> float:
    """Natural logarithm of p / (1 - p).

    clip: values of `probability` that are nearer than this to 0 or 1 are taken for `clip` or `1 - clip`.
    """
    clipped = min(max(probability, clip), 1 - clip)
    return math.log(clipped / (1 - clipped))


def shift_probability(probability: float, change: float, *, clip: float) -> float:
    """The probability whose log-odds are those of `probability` plus `change`. clip: see `log_odds`."""
    return 1 / (1 + math.exp(-(log_odds(probability, clip=clip) + change)))


def fitted_shift(outcomes: Sequence[Outcome], *, stiffness: float, clip: float) -> float:
    """The change of the log-odds of these probabilities that fits what came of them best.

    It is the intercept of a logistic regression with the log-odds as offset, with a normal prior around no
    change. stiffness: the inverse of the prior's variance.
    """
    low, high = -20.0, 20.0
    for _ in range(_STEPS):  # the slope falls all along, so halving finds where it is 0
        middle = (low + high) / 2
        slope = -stiffness * middle + sum(
            outcome.weight * (outcome.came - shift_probability(outcome.probability, middle, clip=clip))
            for outcome in outcomes
        )
        low, high = (middle, high) if slope > 0 else (low, middle)
    return (low + high) / 2
