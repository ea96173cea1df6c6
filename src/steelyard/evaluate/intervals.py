"""How far a measure can be trusted: the stratified bootstrap with bias correction and acceleration (BCa)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..costs import ExampleCosts
from ..validation.arrays import check_same_length
from ..validation.types import LabelsLike
from ..validation.values import check_count, check_flag, check_number, invalid
from ._measure_forms import MeasureForm, find_form, grouped, is_measure
from ._predictions import Floats, read_predictions
from ._resampling import ResampleStatistics, bca_limits, spread


@dataclass(frozen=True)
class Interval:
    """A value with the interval that covers the true one with the stated ``confidence``.

    Parameters
    ----------
    value, low, high : float
        The value on the data and the ends of its interval.
    confidence : float
        Coverage of the interval, between 0 and 1.
    standard_error : float
        Standard deviation of the resampled values, or the one a formula gives.
    method : str
        Where the interval comes from.
    """

    value: float
    low: float
    high: float
    confidence: float
    standard_error: float
    method: str = "BCa bootstrap"

    def __str__(self) -> str:
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"

    def _repr_html_(self) -> str:
        return (
            f"<p><b>{self.value:.4g}</b> [{self.low:.4g}, {self.high:.4g}] "
            f"<small>{100 * self.confidence:g}% {self.method}</small></p>"
        )


def bootstrap_interval(
    measure: Callable[..., float],
    y_true: LabelsLike,
    y_pred: LabelsLike,
    *,
    stratify: bool = True,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    random_state: int | np.random.Generator | None = None,
    **given: Any,
) -> Interval:
    """BCa bootstrap interval of a measure on these examples.

    A rate of exactly 0 or 1 gives an interval without width: resampling cannot show what did not happen once.

    Parameters
    ----------
    measure : callable
        Any function ``measure(y_true, y_pred, **given)``. Measures of this package, accuracy and balanced accuracy
        are resampled as counts or sums, thousands at once; any other is called once per resample.
    y_true : array-like of shape (n,)
        True labels.
    y_pred : array-like of shape (n,)
        Answers given for the same rows.
    stratify : bool
        Resample within each true class, so that every resample has the class counts of the data.
    confidence : float
        Coverage of the interval, between 0 and 1.
    n_resamples : int
        Number of bootstrap resamples, at least 100.
    random_state : int, Generator or None
        Seed or source of random numbers.
    **given : Any
        Passed on to the measure (``costs``, ``positive``, ``classes``, ``sample_weight``, ``beta``, ...).

    Returns
    -------
    Interval
        The value with its BCa interval.

    Examples
    --------
    >>> from steelyard import sensitivity_score
    >>> y, predicted = [1] * 40 + [0] * 60, [1] * 30 + [0] * 70
    >>> print(bootstrap_interval(sensitivity_score, y, predicted, random_state=0))
    0.75 [0.6, 0.875]
    """
    if not callable(measure):
        raise invalid("measure", "be a function of truths and answers", measure, "Pass the function, not its name.")
    level = check_number("confidence", confidence, above=0, below=1)
    count = check_count("n_resamples", n_resamples, at_least=100)
    by_class = check_flag("stratify", stratify)
    rng = np.random.default_rng(random_state)
    form = find_form(measure)
    if form is not None and (is_measure(measure) or set(given) <= {"sample_weight", "adjusted"}):
        statistics = _read_statistics(form, y_true, y_pred, by_class, given)
        value, resampled, jackknife = statistics.value(), statistics.resampled(count, rng), statistics.jackknife()
    else:
        value, resampled, jackknife = _call_by_call(measure, y_true, y_pred, by_class, count, rng, given)
    low, high = bca_limits(value, resampled, jackknife, level)
    return Interval(value, low, high, level, spread(resampled))


def _read_statistics(
    form: MeasureForm, y_true: Any, y_pred: Any, by_class: bool, given: dict[str, Any]
) -> ResampleStatistics:
    reading = {k: given.pop(k) for k in ("costs", "positive", "classes", "sample_weight") if k in given}
    answers = read_predictions(y_true, y_pred, **reading)
    cells = grouped(answers)
    stratum = cells.answers.truth if by_class else np.zeros(len(cells.size), dtype=np.intp)
    return ResampleStatistics.of(
        form.statistics(cells.answers), cells.size, stratum, lambda s: form.finalize(s, answers.positive, **given)
    )


def _call_by_call(
    measure: Callable[..., float],
    y_true: Any,
    y_pred: Any,
    by_class: bool,
    count: int,
    rng: np.random.Generator,
    given: dict[str, Any],
) -> tuple[float, Floats, list[tuple[Floats, Floats]]]:
    """The slow way, for any measure at all."""
    check_same_length(y_true=y_true, y_pred=y_pred)
    y, p = np.asarray(y_true), np.asarray(y_pred)
    whole, per_example = _split_arguments(given, len(y))
    stratum = np.unique(y, return_inverse=True)[1] if by_class else np.zeros(len(y), dtype=np.intp)
    members = [np.flatnonzero(stratum == s) for s in np.unique(stratum)]

    def value_of(rows: NDArray[np.intp]) -> float:
        return float(measure(y[rows], p[rows], **whole, **{k: v[rows] for k, v in per_example.items()}))

    picked = (np.concatenate([rng.choice(m, len(m)) for m in members]) for _ in range(count))
    resampled = np.fromiter((value_of(rows) for rows in picked), dtype=float, count=count)
    everything = np.arange(len(y))
    jackknife = [
        (np.array([value_of(np.delete(everything, i)) for i in m]), np.ones(len(m))) for m in members if len(m) > 1
    ]
    return value_of(everything), resampled, jackknife


def _split_arguments(given: dict[str, Any], n: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments for all examples, and those with one entry per example as arrays.

    Rows go by position, whatever index a frame brings along.
    """
    whole, per_example = {}, {}
    for name, value in given.items():
        if name in ("classes", "positive") or not _has_entries(value, n):
            whole[name] = value
        else:
            by_position = isinstance(value, ExampleCosts) or hasattr(value, "tocsr")
            per_example[name] = value if by_position else np.asarray(value)
    return whole, per_example


def _has_entries(value: Any, n: int) -> bool:
    shape = getattr(value, "shape", None)
    if shape is None and isinstance(value, (list, tuple)):
        shape = (len(value),)
    return bool(shape) and next(iter(shape or ())) == n
