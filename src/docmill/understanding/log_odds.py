"""Log-odds of probabilities: independent evidence for and against a value is added on this scale."""

import math


def log_odds(probability: float, *, clip: float) -> float:
    """Natural logarithm of p / (1 - p).

    clip: values of `probability` that are nearer than this to 0 or 1 are taken for `clip` or `1 - clip`.
    """
    clipped = min(max(probability, clip), 1 - clip)
    return math.log(clipped / (1 - clipped))


def shift_probability(probability: float, change: float, *, clip: float) -> float:
    """The probability whose log-odds are those of `probability` plus `change`. clip: see `log_odds`."""
    return 1 / (1 + math.exp(-(log_odds(probability, clip=clip) + change)))
