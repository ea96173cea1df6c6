"""What the model will cost on new rows: the whole choice bootstrapped, then a new sample drawn (BBC-CV)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..decision.blending import greedy_blend
from .choice import clearly_cheaper
from .data import ComparisonData
from .evaluation import CandidateRun

Floats = NDArray[np.float64]
METHOD = "bootstrap of the whole choice with a new sample (BBC-CV)"
_RESAMPLES = 200
_ROWS_FOR_WEIGHTS = 3_000  # of a resample are enough to choose the weights of a blend
_STEPS = 15
_DRAWN = 2_000  # new rows of a class that are drawn one by one; more are drawn as a mean
_UNSEEN = 0.5  # mistakes of each class that the upper end counts beside those seen: Jeffreys' prior
_LEARNING = 0.5  # at the lower end, costs fall with this power of the rows that a fit sees
RARE = 20  # rows of a class below which it is named
CANNOT_TELL = 5


@dataclass(frozen=True)
class Promise:
    """A prediction interval for the mean cost of ``rows`` new rows."""

    value: float
    low: float
    high: float
    rows: int
    confidence: float
    method: str = METHOD

    def as_dict(self) -> dict[str, Any]:
        """Plain values for machines."""
        return asdict(self)


@dataclass(frozen=True)
class Choice:
    """What may win: singles and constants with what they paid, and whether a blend is made of the singles."""

    singles: Sequence[CandidateRun]
    constants: Sequence[CandidateRun]
    blend: bool


def promise(
    data: ComparisonData, choice: Choice, *, folds: int, rows: int, confidence: float
) -> tuple[Promise, dict[int, float]]:
    """The interval, and for every class the share of the uncertainty that hangs on it.

    In each resample the rows in the bag choose winner and blend weights, the rows out of the bag are paid for, and a
    new sample of the asked size is drawn from these, class by class. The classes keep their shares, but for a constant
    answer, which nothing else makes uncertain. Rows are drawn into the bag alike and count by their weights; new ones
    are drawn as often as their weights say.

    Each end allows for what no resample can show. The upper one: mistakes that were not seen, so a model without any
    among 30 rows of a class is not promised to make none. The lower one: the model is fitted on all rows, what was
    paid comes from fits on all but one of the ``folds``. Constant answers make the mistakes they make, and learn
    nothing.
    """
    rng = np.random.default_rng([data.seed, 23])
    paid, true_proba, proba = _tables(data, choice)
    n, n_classes = len(data.codes), len(data.classes)
    of_class = [np.flatnonzero(data.codes == k) for k in range(n_classes)]
    shares = data.class_weights / data.row_weights.sum()
    mistake = [_mean_mistake(data, rows_of) for rows_of in of_class]
    learned = (1.0 - 1.0 / folds) ** _LEARNING
    means, drawn, unseen, weights = (np.zeros((_RESAMPLES, n_classes)) for _ in range(4))
    lower = np.ones(_RESAMPLES)
    for b in range(_RESAMPLES):
        count = np.empty(n)
        for rows_of in of_class:
            count[rows_of] = np.bincount(rng.integers(0, len(rows_of), len(rows_of)), minlength=len(rows_of))
        costs, is_constant = _chosen_costs(data, choice, paid, true_proba, proba, count, rng)
        sizes = rng.multinomial(rows, shares) if is_constant else np.round(rows * shares)
        for k, rows_of in enumerate(of_class):
            outside = rows_of[count[rows_of] == 0]
            pool = outside if len(outside) else rows_of
            likely = None if data.weights is None else data.weights[pool] / data.weights[pool].sum()
            paid_outside = costs[pool]
            means[b, k] = np.average(paid_outside, weights=likely)
            size = max(1, int(sizes[k]))
            drawn[b, k] = _new_mean(paid_outside, likely, size, rng)
            weights[b, k] = sizes[k] / sizes.sum()
            if not is_constant:
                wrong = rng.binomial(size, rng.beta(_UNSEEN, _UNSEEN + len(rows_of))) / size
                unseen[b, k] = wrong * max(0.0, mistake[k] - drawn[b, k])
        if not is_constant:
            lower[b] = learned
    floor = weights @ [_least(data, rows_of) for rows_of in of_class]  # what gains nobody can learn to go below
    low = np.quantile(floor + ((drawn * weights).sum(axis=1) - floor) * lower, (1 - confidence) / 2)
    high = np.quantile(((drawn + unseen) * weights).sum(axis=1), (1 + confidence) / 2)
    value = float((means @ shares).mean())
    spread = (weights * (drawn + unseen)).var(axis=0)
    weight = spread / spread.sum() if spread.sum() > 0 else np.zeros(n_classes)
    rare = {k: float(weight[k]) for k in range(n_classes) if len(of_class[k]) < RARE}
    return Promise(value, float(min(low, value)), float(max(high, value)), rows, confidence), rare


def _least(data: ComparisonData, rows_of: NDArray[np.intp]) -> float:
    """What the cheapest answers to rows of one class cost on average: 0, or below it where right ones gain."""
    return float(np.average(data.cost_table[rows_of].min(axis=1), weights=data.row_weights[rows_of]))


def _mean_mistake(data: ComparisonData, rows_of: NDArray[np.intp]) -> float:
    """What a wrong answer costs on rows of one class, mean over the wrong answers."""
    table, truth = data.cost_table[rows_of], data.codes[rows_of[0]]
    return float(np.average(np.delete(table, truth, axis=1).mean(axis=1), weights=data.row_weights[rows_of]))


def _tables(data: ComparisonData, choice: Choice) -> tuple[Floats, Floats | None, NDArray[np.float32] | None]:
    everyone = [*choice.singles, *choice.constants]
    paid = np.column_stack([np.asarray(run.paid) for run in everyone])
    if not choice.blend or not choice.singles:
        return paid, None, None
    at = np.arange(len(data.codes))
    proba = np.stack([np.asarray(run.proba) for run in choice.singles], axis=2)
    return paid, proba[at, data.codes, :].astype(np.float64), proba


def _chosen_costs(
    data: ComparisonData,
    choice: Choice,
    paid: Floats,
    true_proba: Floats | None,
    proba: NDArray[np.float32] | None,
    count: Floats,
    rng: np.random.Generator,
) -> tuple[Floats, bool]:
    """What the winner of the rows in the bag pays on every row, and whether it is a constant answer."""
    weighed = count * data.row_weights
    means = weighed @ paid / weighed.sum()
    k = int(means.argmin())
    if true_proba is None or proba is None:
        return np.asarray(paid[:, k]), k >= len(choice.singles)
    inside = np.flatnonzero(count)
    if len(inside) > _ROWS_FOR_WEIGHTS:
        inside = np.sort(rng.choice(inside, _ROWS_FOR_WEIGHTS, replace=False))
    weights = greedy_blend(true_proba[inside], weighed[inside], _STEPS)
    used = np.flatnonzero(weights)
    blended = data.paid(data.decide(proba[:, :, used] @ weights[used].astype(np.float32)))
    first_constant = len(choice.singles)
    single = clearly_cheaper(paid[:, :first_constant], blended, count, data.weights)
    if single is not None:
        blended = np.asarray(paid[:, single])
    constants = means[first_constant:]
    if len(constants) and constants.min() <= weighed @ blended / weighed.sum():
        return np.asarray(paid[:, first_constant + int(constants.argmin())]), True
    return blended, False


def _new_mean(pool: Floats, likely: Floats | None, size: int, rng: np.random.Generator) -> float:
    """Mean cost of so many new rows of a class; ``likely`` are the chances of its rows, equal if None."""
    if size <= _DRAWN:
        return float(rng.choice(pool, size, p=likely).mean())
    mean = float(np.average(pool, weights=likely))
    spread = float(np.sqrt(np.average((pool - mean) ** 2, weights=likely)))
    return float(mean + spread / np.sqrt(size) * rng.standard_normal())
