"""Who came where: costs with intervals, and whether the winner's lead is more than chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..evaluate import Interval
from ..evaluate.weighted import effective_rows, weighted_mean
from .choice import SAME, lead_by_chance
from .data import ComparisonData
from .evaluation import CandidateRun, Evaluation

_RESAMPLES = 1000
_DRAWN = 2_000  # rows of a class that are resampled one by one; means of more are drawn as normal
_CONFIDENCE = 0.95
Floats = NDArray[np.float64]
_Rate = Callable[[Floats], Floats]  # of confusion counts (..., K, K)


@dataclass(frozen=True)
class LeaderboardRow:
    """One line of the leaderboard; intervals are 95% stratified bootstrap intervals of out-of-fold answers."""

    name: str
    family: str
    mean_cost: Interval
    total_cost: float
    savings: Interval
    g_mean: Interval
    f1: Interval | None
    sensitivity: Interval | None
    specificity: Interval | None
    fit_seconds: float
    predict_seconds: float
    folds: int
    rows: int | None  # judged on, where these are fewer than all
    p_value: float | None  # one-tailed, of "not cheaper" for the winner against this one; None for the winner
    weight: float | None  # in the blend
    stopped: str | None = None
    beats_the_best: bool = False  # today's rule, cheaper than the winner by more than chance

    @property
    def tied_with_best(self) -> bool:
        """Whether chance alone could put it behind the winner; today's rule, which is never named, also before it."""
        return self.p_value is None or (self.p_value > SAME and not self.beats_the_best)


def leaderboard(evaluation: Evaluation, runs: Sequence[CandidateRun], winner: CandidateRun) -> list[LeaderboardRow]:
    """The winner, then all that answered every judged row, the cheapest first."""
    data = evaluation.data
    weights = {id(member): weight for run in runs for member, weight in run.members}
    rest = sorted((r for r in runs if r is not winner), key=lambda r: (r.cost, r.family != "constant", r.name))
    return [_row(data, run, winner, weights.get(id(run))) for run in [winner, *rest]]


def _row(data: ComparisonData, run: CandidateRun, winner: CandidateRun, weight: float | None) -> LeaderboardRow:
    assert run.answers is not None
    assert run.paid is not None
    rng = np.random.default_rng([data.seed, 31])
    n_classes = len(data.classes)
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (data.codes, run.answers), data.row_weights)
    drawn = _resampled_counts(counts, _rows_behind(data), rng)
    cost = _interval(run.cost, _resampled_costs(data, run.paid, rng))
    constant = float(np.average(data.cost_table, axis=0, weights=data.weights).min())
    saved = _interval(_saved(run.cost, constant), np.array([_saved(cost.low, constant), _saved(cost.high, constant)]))
    two = n_classes == 2
    positive = data.costs.positive_index() if two else 0
    rates = {name: _interval(float(rate(counts)), rate(drawn)) for name, rate in _rates(positive, two).items()}
    return LeaderboardRow(
        name=run.name,
        family=run.family,
        mean_cost=cost,
        total_cost=float(data.row_weights @ run.paid),
        savings=saved,
        g_mean=rates["g_mean"],
        f1=rates.get("f1"),
        sensitivity=rates.get("sensitivity"),
        specificity=rates.get("specificity"),
        fit_seconds=run.fit_seconds,
        predict_seconds=run.predict_seconds,
        folds=run.folds,
        rows=run.rows,
        p_value=None if run is winner else lead_by_chance(run, winner),
        weight=weight,
        beats_the_best=run.family == "current" and lead_by_chance(winner, run) <= SAME,
    )


def _saved(cost: float, constant: float) -> float:
    """As :func:`steelyard.savings_score` has it: a share of what the cheapest constant answer costs, or gains."""
    if constant == 0:
        return 0.0 if cost == 0 else -np.inf if cost > 0 else np.inf
    return 1.0 - cost / constant if constant > 0 else cost / constant - 1.0


def _interval(value: float, drawn: Floats) -> Interval:
    tails = (1 - _CONFIDENCE) / 2
    low, high = np.quantile(drawn, [tails, 1 - tails]) if len(drawn) > 2 else (drawn.min(), drawn.max())
    error = float(drawn.std()) if np.isfinite(drawn).all() else np.inf
    return Interval(value, float(min(low, value)), float(max(high, value)), _CONFIDENCE, error)


def _rows_behind(data: ComparisonData) -> Floats:
    """Of each class, the rows of equal weight that would be as certain; without weights its rows."""
    weights = data.row_weights
    parts = [weights[data.codes == k] for k in range(len(data.classes))]
    return np.array([round(effective_rows(part)) if len(part) else 0 for part in parts], dtype=np.float64)


def _resampled_counts(counts: Floats, rows: Floats, rng: np.random.Generator) -> Floats:
    """Confusion tables of rows drawn again within their classes."""
    drawn = np.zeros((_RESAMPLES, *counts.shape))
    for k, row in enumerate(counts):
        if row.sum() > 0:
            drawn[:, k] = rng.multinomial(int(rows[k]), row / row.sum(), _RESAMPLES) * (row.sum() / rows[k])
    return drawn


def _resampled_costs(data: ComparisonData, paid: Floats, rng: np.random.Generator) -> Floats:
    total = np.zeros(_RESAMPLES)
    weights = data.row_weights
    for k in range(len(data.classes)):
        pool, count = paid[data.codes == k], weights[data.codes == k]
        if len(pool) == 0:
            continue
        if len(pool) <= _DRAWN:
            at = rng.integers(0, len(pool), (_RESAMPLES, len(pool)))
            total += count.sum() * (count * pool)[at].sum(axis=1) / count[at].sum(axis=1)
        else:
            mean, error = weighted_mean(pool, count)
            total += count.sum() * (mean + error * rng.standard_normal(_RESAMPLES))
    return np.asarray(total / weights.sum())


def _rates(positive: int, two: bool) -> dict[str, _Rate]:
    named: dict[str, _Rate] = {"g_mean": _g_mean}
    if two:
        named["sensitivity"] = lambda c: _recalls(c)[..., positive]
        named["specificity"] = lambda c: _recalls(c)[..., 1 - positive]
        named["f1"] = lambda c: _f1(c, positive)
    return named


def _recalls(counts: Floats) -> Floats:
    right = np.diagonal(counts, axis1=-2, axis2=-1)
    rows = counts.sum(axis=-1)
    return np.asarray(right / np.where(rows > 0, rows, 1.0))


def _g_mean(counts: Floats) -> Floats:
    return np.asarray(np.prod(_recalls(counts), axis=-1) ** (1.0 / counts.shape[-1]))


def _f1(counts: Floats, positive: int) -> Floats:
    found = counts[..., positive, positive]
    wrong = counts[..., positive, 1 - positive] + counts[..., 1 - positive, positive]
    rows = 2 * found + wrong
    return np.asarray(2 * found / np.where(rows > 0, rows, 1.0))
