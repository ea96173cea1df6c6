"""From a score to what a decision is expected to cost: labels fitted on scores, weighted by how they were asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEAST_LABELS = 50
MOST_LABELS = 2000  # the last ones
GROWTH = 1.2  # labels since the last fit, as a factor
_STEPS = 100
_RIDGE = 1e-9  # keeps the second derivatives invertible where all scores are equal


class FittedPair(NamedTuple):
    """P(positive | score) = 1 / (1 + exp(-(a + b score))) from event ``seq`` on, and C[true, predicted] at that time.

    ``a`` None: from there on nothing is known, because the scores are those of another model.
    """

    seq: int
    a: float | None
    b: float
    labels: int
    costs: list[list[float]]


def fit_pair(
    scores: NDArray[np.float64], positive: NDArray[np.bool_], chances: NDArray[np.float64]
) -> tuple[float, float]:
    """Intercept and slope by weighted maximum likelihood, each label weighted by 1 / chance.

    The targets are Platt's (one label more of each kind), so that a pair exists where a score separates the classes.
    Weights add up to the effective size: a few labels of tiny chance do not look like many.
    """
    weights = 1.0 / chances
    weights *= weights.sum() / (weights**2).sum()
    ones, zeros = weights[positive].sum(), weights[~positive].sum()
    target = np.where(positive, (ones + 1) / (ones + 2), 1 / (zeros + 2))
    middle, spread = scores.mean(), scores.std() or 1.0
    x = np.column_stack([np.ones(len(scores)), (scores - middle) / spread])
    pair, worst = np.zeros(2), _loss(np.zeros(2), x, target, weights)
    for _ in range(_STEPS):
        chance = _logistic(x @ pair)
        gradient = x.T @ (weights * (chance - target))
        second = (x * (weights * chance * (1 - chance))[:, None]).T @ x + _RIDGE * np.eye(2)
        step = np.linalg.solve(second, gradient)
        while (loss := _loss(pair - step, x, target, weights)) > worst and np.abs(step).max() > 1e-15:
            step = step / 2
        if loss >= worst:
            break
        pair, worst = pair - step, loss
    slope = float(pair[1] / spread)
    return float(pair[0] - slope * middle), slope


def _logistic(value: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(0.5 * (1 + np.tanh(value / 2)))


def _loss(
    pair: NDArray[np.float64], x: NDArray[np.float64], target: NDArray[np.float64], weights: NDArray[np.float64]
) -> float:
    linear = x @ pair
    return float((weights * (np.logaddexp(0, linear) - target * linear)).sum())


def expected_costs(fits: Sequence[FittedPair], item: int, score: float) -> list[float] | None:
    """What each answer was expected to cost when an item was decided; None where nothing is known."""
    known = next((fit for fit in reversed(fits) if fit.seq < item), None)
    if known is None or known.a is None:
        return None
    positive = 0.5 * (1 + math.tanh((known.a + known.b * score) / 2))
    return [(1 - positive) * known.costs[0][answer] + positive * known.costs[1][answer] for answer in (0, 1)]
