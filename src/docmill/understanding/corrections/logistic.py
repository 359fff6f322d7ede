"""A listwise conditional logit: which candidate of a document is the value, as a softmax over all."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from docmill.model.corrections import Weights
from docmill.understanding.user_schemas.learned import FieldExample

_STEPS = 40
_MEMORY = 8
_SMALL = 1e-4
_STIFF = 5.0
"""Factor on the stiffness of the scale of the score with nothing learned."""
_LEAST_WEIGHT = 1e-3

Vector = NDArray[np.float64]
Loss = Callable[[Vector], tuple[float, Vector]]


def fit_weights(
    examples: Sequence[FieldExample], *, prior: Weights | None = None, stiffness: float = 0.5
) -> Weights:
    """The weights that make the right values likely, no farther from `prior` than that is worth.

    Every occurrence of a value counts as right. Examples whose value is no candidate teach nothing.
    """
    prior = prior or Weights.none()
    examples = [example for example in examples if example.right.any()]
    if not examples:
        return prior
    flat = np.concatenate([row for example in examples for row in example.rows])
    indices = np.unique(np.concatenate([flat, prior.indices])).astype(np.int32)
    start = np.zeros(len(indices) + 1)
    start[np.searchsorted(indices, prior.indices)] = prior.values
    start[-1] = prior.scale
    best = _minimise(_loss(examples, np.searchsorted(indices, flat), start, stiffness), start)
    kept = np.abs(best[:-1]) > _LEAST_WEIGHT
    return Weights(indices[kept], best[:-1][kept], float(best[-1]))


def _loss(
    examples: Sequence[FieldExample], features: NDArray[np.intp], start: Vector, stiffness: float
) -> Loss:
    """The negative log likelihood of the right values, with a pull to `start`, and its gradient."""
    lengths = np.array([len(row) for example in examples for row in example.rows])
    begins = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    sizes = np.array([len(example.rows) for example in examples])
    groups = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    scores = np.concatenate([example.scores for example in examples])
    right = np.concatenate([example.right for example in examples])
    pull = np.full(len(start), stiffness)
    pull[-1] *= _STIFF

    def loss(point: Vector) -> tuple[float, Vector]:
        total = np.add.reduceat(point[features], begins) + point[-1] * scores
        powers = np.exp(total - np.repeat(np.maximum.reduceat(total, groups), sizes))
        good = powers * right
        all_sum, good_sum = np.add.reduceat(powers, groups), np.add.reduceat(good, groups) + 1e-300
        slope = np.repeat(1 / all_sum, sizes) * powers - np.repeat(1 / good_sum, sizes) * good
        away = point - start
        gradient = pull * away
        gradient[:-1] += np.bincount(features, np.repeat(slope, lengths), len(point) - 1)
        gradient[-1] += float(slope @ scores)
        value = float((np.log(all_sum) - np.log(good_sum)).sum()) + 0.5 * float(pull @ (away * away))
        return value, gradient

    return loss


def _minimise(loss: Loss, point: Vector) -> Vector:
    """Minimise by L-BFGS; the loss is convex but for values that stand in several places."""
    value, gradient = loss(point)
    steps: list[tuple[Vector, Vector]] = []
    for _ in range(_STEPS):
        direction = _direction(gradient, steps)
        slope = float(direction @ gradient)
        length = 1.0 if steps else min(1.0, 1.0 / float(np.abs(gradient).sum() + 1e-12) * 10)
        while True:
            new = point + length * direction
            new_value, new_gradient = loss(new)
            if new_value <= value + 1e-4 * length * slope or length < _SMALL:
                break
            length *= 0.5
        moved, turned = new - point, new_gradient - gradient
        done = value - new_value < _SMALL
        point, value, gradient = new, new_value, new_gradient
        if done:
            break
        if float(moved @ turned) > 0:
            steps = [*steps, (moved, turned)][-_MEMORY:]
    return point


def _direction(gradient: Vector, steps: Sequence[tuple[Vector, Vector]]) -> Vector:
    """The descent direction. Source: Nocedal and Wright, Numerical Optimization, algorithm 7.4."""
    direction = -gradient
    factors: list[float] = []
    for moved, turned in reversed(steps):
        factor = float(moved @ direction) / float(moved @ turned)
        direction = direction - factor * turned
        factors.append(factor)
    if steps:
        moved, turned = steps[-1]
        direction = direction * (float(moved @ turned) / float(turned @ turned))
    for (moved, turned), factor in zip(steps, reversed(factors), strict=True):
        direction = direction + moved * (factor - float(turned @ direction) / float(moved @ turned))
    return direction
