"""What fitting the winner again tells: whether more rows would help, and which columns its cost hangs on."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ...costs import Costs
from ...evaluate.weighted import weighted_mean
from ...models.model import Model
from ...report.amounts import money
from ...validation.arrays import is_sparse, take_rows
from ..data import ComparisonData
from ..data_checks import by_association
from ..evaluation import CandidateRun, Evaluation
from ..fold import single_threaded
from ..refit import refit

Floats = NDArray[np.float64]
_SHARES = (0.5, 0.25, 0.125)  # of the training part of a fold
_MOST_ROWS = 20_000  # enough to see where a learning curve goes
_FEWEST_OF_A_CLASS = 6
_MOST_COLUMNS = 60
_FEWEST_COLUMNS = 5  # are looked at, however little time is left
_MORE = 1_000  # rows that the page speaks of
_Z = 1.96


class HeldRows(NamedTuple):
    """A number for each held-out row, and how much the row counts."""

    values: Floats
    weights: Floats

    @property
    def mean(self) -> float:
        """Over these rows."""
        return float(np.average(self.values, weights=self.weights))


def _pooled(folds: Mapping[int, HeldRows]) -> tuple[float, float]:
    """Mean and standard error over the rows of all folds."""
    values, weights = (np.concatenate(parts) for parts in zip(*folds.values(), strict=True))
    return weighted_mean(values, weights)


@dataclass
class Refits:
    """What was paid on held-out rows: ``sizes`` of training rows to costs by fold, ``rises`` of cost by column."""

    sizes: dict[int, dict[int, HeldRows]] = field(default_factory=dict)  # training rows -> fold -> costs of its rows
    rises: dict[Any, dict[int, HeldRows]] = field(default_factory=dict)  # column -> fold -> rise of cost of each row
    columns_left: int = 0  # that were not looked at


def refits(evaluation: Evaluation, winner: CandidateRun, seconds: float) -> Refits:
    """Fit the winner on parts of the training rows, fold after fold, as long as the CPU time lasts.

    Not after Ctrl-C: the page is wanted now.
    """
    found = Refits()
    problem = evaluation.problem
    if winner.family == "constant" or is_sparse(problem.X) or evaluation.interrupted:
        return found
    columns = by_association(problem)[:_MOST_COLUMNS]  # where time ends before the columns, what matters was looked at
    clock = _Clock(seconds)
    least = min(_MOST_ROWS, len(evaluation.judged.fold) - int(np.bincount(evaluation.judged.fold).max()))
    for fold, fit_on, held_out in _folds(evaluation):
        held, fit = problem.subset(held_out), problem.subset(fit_on)
        done = found.sizes.setdefault(len(fit_on), {})
        if not clock.allows(1.0):
            break
        with clock, single_threaded():
            model = refit(winner, fit)
        done[fold] = HeldRows(_paid(model, held, held.X), held.row_weights)
        for column in columns:
            if not clock.lasts and len(found.rises) >= _FEWEST_COLUMNS:
                break
            rise = _rise(model, held, column, done[fold].values)
            found.rises.setdefault(column, {})[fold] = HeldRows(rise, held.row_weights)
        for share in _SHARES:
            part = fit_on[: int(share * least)]  # the same size in every fold, though folds differ by a row
            if _too_few(problem.codes[part], len(problem.classes)) or not clock.allows(share):
                continue
            with clock, single_threaded():
                smaller = refit(winner, problem.subset(np.sort(part)))
            found.sizes.setdefault(len(part), {})[fold] = HeldRows(_paid(smaller, held, held.X), held.row_weights)
    found.columns_left = len(problem.columns.used) - len(found.rises)
    return found


class _Clock:
    """CPU time that is left, and how long the last full fit took."""

    def __init__(self, seconds: float) -> None:
        self._end, self._longest, self._began = time.process_time() + seconds, 0.0, 0.0

    @property
    def lasts(self) -> bool:
        return time.process_time() < self._end

    def allows(self, share: float) -> bool:
        """Whether a fit on this share of the rows would end in time; the first always may."""
        return self._longest == 0 or time.process_time() + share * self._longest < self._end

    def __enter__(self) -> None:
        self._began = time.process_time()

    def __exit__(self, *error: object) -> None:
        self._longest = max(self._longest, time.process_time() - self._began, 1e-6)


def _folds(evaluation: Evaluation) -> Iterator[tuple[int, NDArray[np.intp], NDArray[np.intp]]]:
    """Every fold with its rows to fit on in a drawn order, no more than are needed, and those held out."""
    for fold in range(evaluation.judged.n_folds):
        fit_on, held_out = evaluation.judged.split(fold)
        rng = np.random.default_rng([evaluation.problem.seed, 41, fold])
        yield fold, rng.permutation(fit_on)[:_MOST_ROWS], held_out[:_MOST_ROWS]


def _too_few(codes: NDArray[np.intp], n_classes: int) -> bool:
    return int(np.bincount(codes, minlength=n_classes).min()) < _FEWEST_OF_A_CLASS


def _paid(model: Model, held: ComparisonData, X: Any) -> Floats:
    with single_threaded():
        return held.paid(model.weigh(X, costs=held.costs_at_predict()).decided)


def _rise(model: Any, held: ComparisonData, column: Any, before: Floats) -> Floats:
    """What each held-out row costs more when the cells of one column are dealt out anew."""
    order = np.random.default_rng([held.seed, 43]).permutation(len(held.codes))
    frame = nw.from_native(held.X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        dealt = nw.from_native(take_rows(frame.select(column).to_native(), order), eager_only=True)[column]
        cells = nw.new_series(column, dealt.to_list(), dealt.dtype, backend=frame.implementation)
        mixed = frame.with_columns(**{column: cells}).to_native()
    else:
        mixed = held.X.copy()
        mixed[:, column] = held.X[order, column]
    return _paid(model, held, mixed) - before


@dataclass(frozen=True)
class Importance:
    """Rise of the mean cost when a column is permuted, with a 95% interval."""

    column: str
    rise: float
    low: float
    high: float


def importances(found: Refits) -> list[Importance]:
    """The columns, the one that matters most first."""
    lines = []
    for column, folds in found.rises.items():
        mean, error = _pooled(folds)
        lines.append(Importance(str(column), mean, mean - _Z * error, mean + _Z * error))
    return sorted(lines, key=lambda line: -line.rise)


@dataclass(frozen=True)
class LearningCurve:
    """Mean cost after so many training rows with a 95% band, ending at the promised figure."""

    sizes: list[int]
    means: list[float]
    lows: list[float]
    highs: list[float]
    folds: int
    more: str


def learning_curve(
    evaluation: Evaluation, winner: CandidateRun, found: Refits, promised: float
) -> LearningCurve | None:
    """None where there are not two sizes.

    Choosing the winner by the same rows made it look a little cheaper than it is; the curve is raised by what the
    promise corrects for that, so that it ends at the promised figure.
    """
    ends = _whole(evaluation, winner)
    whole = len(evaluation.judged.rows) - len(evaluation.judged.rows) // evaluation.judged.n_folds
    points = {size: folds for size, folds in sorted(found.sizes.items()) if size < 0.9 * whole}
    if not points:
        return None
    points[whole] = ends
    lift = promised - winner.cost
    drawn = [_pooled(folds) for folds in points.values()]
    means = [mean + lift for mean, _ in drawn]
    half_widths = [_Z * error for _, error in drawn]
    return LearningCurve(
        list(points),
        means,
        [m - h for m, h in zip(means, half_widths, strict=True)],
        [m + h for m, h in zip(means, half_widths, strict=True)],
        min(len(folds) for size, folds in points.items() if size != whole),
        _more(points, whole, evaluation.data.costs),
    )


def _whole(evaluation: Evaluation, winner: CandidateRun) -> dict[int, HeldRows]:
    fold, paid, weights = evaluation.judged.fold, np.asarray(winner.paid), evaluation.data.row_weights
    return {k: HeldRows(paid[fold == k], weights[fold == k]) for k in range(evaluation.judged.n_folds)}


def _more(points: dict[int, dict[int, HeldRows]], whole: int, costs: Costs) -> str:
    """What so many more rows would change, by a straight line over the logarithm of rows in every fold."""
    shared = sorted(set.intersection(*(set(folds) for folds in points.values())))
    sizes = np.log2(np.array(list(points), dtype=np.float64))
    slopes = [float(np.polyfit(sizes, [points[s][fold].mean for s in points], 1)[0]) for fold in shared]
    step = math.log2((whole + _MORE) / whole)
    if len(slopes) < 2:
        return f"{_MORE:,} more rows: too uncertain to say"
    change = step * float(np.mean(slopes))
    error = step * float(np.std(slopes, ddof=1)) / math.sqrt(len(slopes))
    if abs(change) <= _Z * error or change >= 0:
        return f"{_MORE:,} more rows: too uncertain to say"
    return f"{_MORE:,} more rows: about {money(-change, -change / 20, costs.currency)} less a row"
