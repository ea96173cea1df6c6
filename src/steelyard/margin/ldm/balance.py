"""The balance point: the rho at which both classes are recognised equally often. Paper 004, sec. 5.1.

The gap between the two recalls is a step function of rho and not always monotone, so an interval is found, not a root.
Only the box moves with rho: nothing is factorised again, and a solution may start from its neighbour's.

Tested in ``tests/unit/margin/ldm/test_estimator.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from ...validation.values import invalid
from .dual import DualSolution, Examples, Floats
from .inputs import (
    LDMProblem,
    TrainingRows,
)

COARSE = np.linspace(0.0, 2.0, 21)
BISECTIONS = 7
FOLDS = 5

Solve = Callable[[Any, Examples, float, DualSolution | None], DualSolution]  # problem, examples, rho, start
Advantage = Callable[[float], float]  # rho -> recall of the rare class minus recall of the other


class Balance(NamedTuple):
    """The balance point and the interval [first rho with the rare class not behind, last with it not ahead]."""

    rho: float
    interval: tuple[float, float]
    advantage: float


def recalls(sign: Floats, scores: Floats, weight: Floats) -> tuple[float, float]:
    """TPR and TNR of the answers sign(score), a score of zero counting as negative."""
    right = (scores > 0) == (sign > 0)
    positive = sign > 0
    return (
        float(weight[right & positive].sum() / weight[positive].sum()),
        float(weight[right & ~positive].sum() / weight[~positive].sum()),
    )


def balance_point(advantage: Advantage) -> Balance:
    """Sweep a coarse grid, then bisect the first and the last change of sign.

    Without any change of sign the nearest end is the answer.
    """
    seen = {float(rho): advantage(float(rho)) for rho in COARSE}
    rhos = sorted(seen)
    behind = [rho for rho in rhos if seen[rho] < 0]
    ahead = [rho for rho in rhos if seen[rho] > 0]
    first = next((rho for rho in rhos if seen[rho] >= 0), rhos[-1])
    last = next((rho for rho in reversed(rhos) if seen[rho] <= 0), rhos[0])
    if behind and first > rhos[0]:
        before = max((rho for rho in rhos if rho < first), default=first)
        first = _bisect(advantage, seen, before, first, lambda value: value < 0)[1]
    if ahead and last < rhos[-1]:
        after = min((rho for rho in rhos if rho > last), default=last)
        last = _bisect(advantage, seen, last, after, lambda value: value <= 0)[0]
    interval = (min(first, last), max(first, last))
    middle = 0.5 * (first + last)
    rho = min(seen, key=lambda r: (abs(seen[r]), abs(r - middle)))
    return Balance(rho, interval, seen[rho])


def _bisect(
    advantage: Advantage, seen: dict[float, float], low: float, high: float, below: Callable[[float], bool]
) -> tuple[float, float]:
    """Halve [low, high] keeping ``below`` true at low and false at high."""
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        seen[middle] = advantage(middle)
        if below(seen[middle]):
            low = middle
        else:
            high = middle
    return low, high


def _nearest(starts: dict[float, DualSolution], rho: float) -> DualSolution | None:
    return starts[min(starts, key=lambda r: abs(r - rho))] if starts else None


def training_advantage(problem: LDMProblem, examples: Examples, solve: Solve) -> Advantage:
    """The advantage of the rare class on the training rows."""
    starts: dict[float, DualSolution] = {}

    def advantage(rho: float) -> float:
        found = solve(problem, examples, rho, _nearest(starts, rho))
        starts[rho] = found
        return recall_gap(examples, found.margins * examples.sign)

    return advantage


def stratified_folds(examples: Examples, seed: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """(training, held-out) positions, each class dealt out evenly."""
    smallest = int(min((examples.sign > 0).sum(), (examples.sign < 0).sum()))
    if smallest < 2:
        raise invalid("balance", 'be "train" or None where a class has one row', "cv", "None is left to hold out.")
    folds = StratifiedKFold(min(FOLDS, smallest), shuffle=True, random_state=seed)
    return list(folds.split(np.zeros(len(examples.sign)), examples.sign))


def cross_validated_advantage(
    rows: TrainingRows, examples: Examples, lambda1: float, solve: Solve, seed: int
) -> Advantage:
    """The advantage of the rare class on held-out rows, over five stratified folds."""
    parts = []
    for train, test in stratified_folds(examples, seed):
        kept = examples.rows(train)
        parts.append((train, test, kept, rows.prepare(kept, train)(lambda1)))
    starts: list[dict[float, DualSolution]] = [{} for _ in parts]

    def advantage(rho: float) -> float:
        scores = np.empty(len(examples.sign))
        for known, (train, test, kept, problem) in zip(starts, parts, strict=True):
            found = solve(problem, kept, rho, _nearest(known, rho))
            known[rho] = found
            scores[test] = rows.scores(problem, [found], train, test)[:, 0]
        return recall_gap(examples, scores)

    return advantage


def recall_gap(examples: Examples, scores: NDArray[np.float64]) -> float:
    """Recall of the rare class minus recall of the other, by the signs of scores."""
    tpr, tnr = recalls(examples.sign, scores, examples.weight)
    rare_is_positive = examples.weight[examples.sign > 0].sum() <= examples.size / 2
    return tpr - tnr if rare_is_positive else tnr - tpr
