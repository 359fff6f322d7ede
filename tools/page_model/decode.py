"""Values of fields from the classes of words: spans with their probability, the best and its rivals."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import letters_and_digits
from docmill.understanding.page_model.model import PageReading

_THRESHOLDS = (0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9)
_LINKED = 0.5
_NEAR = 12
"""Words before and behind a span that it could have taken."""
_TOGETHER, _ALIGNED, _HOLE = 0.6, 2.0, 3.0
"""Weights of the words' chances, of an end where a segment ends, and of a word that is left out."""
_MOST_RIVALS = 4


_WHOLE = 1.0
"""Power of the share of its words' characters that a value takes."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A value with its probability, the words it stands on, and numbers from which belief is fitted."""

    value: object
    words: tuple[int, ...]
    probability: float


class PlacedValue(NamedTuple):
    """A possible value, the words it stands on, and the share of their characters that it takes."""

    value: object
    words: tuple[int, ...]
    coverage: float


def text_spans(
    texts: Sequence[str], segments: Sequence[tuple[int, int]], reading: PageReading, role: int
) -> list[Scored]:
    """The texts of a role, the most probable first: runs of words that go on from each other.

    segments: start and stop of each run of words without a column gap, at whose ends texts mostly end, too.
    The probability of a span is its share among all, each as likely as that its words have the role, and that
    those around it have not.
    """
    shares = reading.roles[:, role].clip(1e-4, 1 - 1e-4)
    chains = {chain for threshold in _THRESHOLDS for chain in _chains(shares, reading.goes_on, threshold)}
    ordered = sorted(chains)
    chains |= {
        (*first, *second)
        for first in ordered
        for second in ordered
        if first[-1] < second[0] <= first[-1] + _NEAR
    }
    spans = sorted({span for chain in chains for span in _snapped(chain, segments)})
    if not spans:
        return []
    starts, stops = {start for start, _ in segments}, {stop for _, stop in segments}
    logs = np.array([_log_likelihood(span, shares, starts, stops) for span in spans])
    weights = np.exp(logs - logs.max())
    weights *= float(shares.max()) / weights.sum()
    scored = (
        Scored(" ".join(texts[index] for index in span), span, weight)
        for span, weight in zip(spans, weights.tolist(), strict=True)
    )
    return pooled(scored)


def value_spans(placed: Iterable[PlacedValue], reading: PageReading, role: int) -> list[Scored]:
    """Candidates with their probability, the most probable first.

    A part of a word, or of words of the role that go on from each other, is less probable than the whole.
    """
    shares, goes_on = (
        np.concatenate([column, [0.0]]) for column in (reading.roles[:, role], reading.goes_on)
    )
    scored: list[Scored] = []
    for value, words, coverage in placed:
        if words:
            before = shares[words[0] - 1] * goes_on[words[0]]
            behind = shares[words[-1] + 1] * goes_on[words[-1] + 1]
            mean = float(np.exp(np.log(shares[list(words)].clip(1e-6)).mean()))
            scored.append(Scored(value, words, mean * coverage**_WHOLE * (1 - before) * (1 - behind)))
    return pooled(scored)


def pooled(scored: Iterable[Scored]) -> list[Scored]:
    """One for each value, at its most probable place; its places add up."""
    best: dict[object, Scored] = {}
    sums: dict[object, float] = {}
    for item in scored:
        key = letters_and_digits(item.value) if isinstance(item.value, str) else item.value
        sums[key] = sums.get(key, 0.0) + item.probability
        if key and (key not in best or item.probability > best[key].probability):
            best[key] = item
    whole = [Scored(item.value, item.words, min(sums[key], 1.0)) for key, item in best.items()]
    return sorted(whole, key=lambda item: -item.probability)[: _MOST_RIVALS + 1]


def _chains(
    shares: NDArray[np.float32], goes_on: NDArray[np.float32], threshold: float
) -> list[tuple[int, ...]]:
    """Runs of words of at least this share, cut where a word does not go on from the one before."""
    chains: list[list[int]] = []
    for index in np.flatnonzero(shares >= threshold).tolist():
        if chains and goes_on[index] >= _LINKED:
            chains[-1].append(index)
        else:
            chains.append([index])
    return [tuple(chain) for chain in chains]


def _snapped(chain: tuple[int, ...], segments: Sequence[tuple[int, int]]) -> set[tuple[int, ...]]:
    """The chain with its holes filled, and the same from and up to the ends of segments."""
    touched = [
        range(start, stop) for start, stop in segments if any(start <= index < stop for index in chain)
    ]
    whole = [[index for index in segment if chain[0] <= index <= chain[-1]] for segment in touched]
    filled = tuple(index for part in whole for index in part)
    from_start = tuple(index for segment in touched for index in segment if index <= chain[-1])
    to_end = tuple(index for segment in touched for index in segment if index >= chain[0])
    both = tuple(index for segment in touched for index in segment)
    without_last, without_first = both[: -len(touched[-1])], both[len(touched[0]) :]
    spans = (chain, filled, from_start, to_end, both, without_last, without_first)
    return {span for span in spans if span}


def _log_likelihood(
    span: tuple[int, ...], shares: NDArray[np.float64], starts: set[int], stops: set[int]
) -> float:
    """The logarithm of the chance that just these words have the role, with what is usual of its ends."""
    inside = np.zeros(len(shares), np.bool_)
    inside[list(span)] = True
    near = np.zeros(len(shares), np.bool_)
    near[max(0, span[0] - _NEAR) : span[-1] + _NEAR + 1] = True
    logs = np.log(shares[inside]).sum() + np.log(1 - shares[near & ~inside]).sum()
    # The words of a value are right or wrong together.
    aligned = (span[0] in starts) + (span[-1] + 1 in stops)
    holes = span[-1] - span[0] + 1 - len(span)
    return float(_TOGETHER * logs + _ALIGNED * aligned - _HOLE * min(holes, 3))
