"""The measures as formulas over sums of examples; every sum may carry leading axes (rounds, resamples, thresholds)."""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..validation.values import check_number
from ._predictions import Floats
from ._sums import Form, counted, paid, priced, recalled

Positive = Callable[[], int]  # asked only by measures that have a positive class


def ratio(part: Any, whole: Any) -> Floats:
    """part / whole, and 0 over nothing."""
    result: Floats = np.zeros(np.broadcast(part, whole).shape)
    np.divide(part, whole, out=result, where=np.asarray(whole) > 0)
    return result


def tables(sums: Floats) -> Floats:
    """Counts[..., true, predicted] from the columns of a counted sheet."""
    K = isqrt(sums.shape[-1])
    return sums.reshape(*sums.shape[:-1], K, K)


def outcomes(sums: Floats, positive: Positive) -> tuple[Floats, Floats, Floats, Floats]:
    """True positives, misses, alarms, true negatives, the positive class against all others."""
    counts, plus = tables(sums), positive()
    hits = counts[..., plus, plus]
    misses = counts[..., plus, :].sum(axis=-1) - hits
    alarms = counts[..., :, plus].sum(axis=-1) - hits
    return hits, misses, alarms, counts.sum(axis=(-2, -1)) - hits - misses - alarms


def recalls(sums: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Recall of every class (..., K) and whether it has a true example, from the columns of a recalled sheet."""
    hits, support = np.split(sums, 2, axis=-1)
    return ratio(hits, support), support > 0


def _sensitivity(sums: Floats, positive: Positive) -> Floats:
    hits, misses, _, _ = outcomes(sums, positive)
    return ratio(hits, hits + misses)


def _specificity(sums: Floats, positive: Positive) -> Floats:
    _, _, alarms, passes = outcomes(sums, positive)
    return ratio(passes, passes + alarms)


def _precision(sums: Floats, positive: Positive) -> Floats:
    hits, _, alarms, _ = outcomes(sums, positive)
    return ratio(hits, hits + alarms)


def _f(sums: Floats, positive: Positive, *, beta: float = 1.0) -> Floats:
    square = check_number("beta", beta, above=0) ** 2
    hits, misses, alarms, _ = outcomes(sums, positive)
    return ratio((1 + square) * hits, (1 + square) * hits + square * misses + alarms)


def _weighted_sum(sums: Floats, positive: Positive, *, eta_pos: float = 0.5) -> Floats:
    eta = check_number("eta_pos", eta_pos, at_least=0, at_most=1)
    return eta * _sensitivity(sums, positive) + (1 - eta) * _specificity(sums, positive)


def _g_mean(sums: Floats, _: Positive) -> Floats:
    found, present = recalls(sums)
    with np.errstate(divide="ignore"):  # log 0 = -inf is meant: one recall of 0 makes the whole 0
        logs = np.where(present, np.log(found), 0.0)
    return np.where(present.any(axis=-1), np.exp(ratio(logs.sum(axis=-1), present.sum(axis=-1))), 0.0)


def _balanced_accuracy(sums: Floats, _: Positive, *, adjusted: bool = False) -> Floats:
    found, present = recalls(sums)
    classes = present.sum(axis=-1)
    mean = ratio((found * present).sum(axis=-1), classes)
    chance = ratio(np.ones_like(mean), classes)
    return ratio(mean - chance, 1 - chance) if adjusted else mean


def _accuracy(sums: Floats, _: Positive) -> Floats:
    counts = tables(sums)
    return ratio(np.trace(counts, axis1=-2, axis2=-1), counts.sum(axis=(-2, -1)))


def _total_cost(sums: Floats, _: Positive) -> Floats:
    return sums[..., 0]


def _mean_cost(sums: Floats, _: Positive) -> Floats:
    return ratio(sums[..., 0], sums[..., 1])


def _savings(sums: Floats, _: Positive) -> Floats:
    cost, best = sums[..., 0], sums[..., 2:].min(axis=-1)
    share: Any = np.divide(cost, best, out=np.ones(cost.shape), where=best != 0)
    against_nothing = np.where(cost == 0, 0.0, np.where(cost > 0, -np.inf, np.inf))
    return np.where(best == 0, against_nothing, np.where(best < 0, share - 1, 1 - share))


SENSITIVITY = Form(counted, _sensitivity)
SPECIFICITY = Form(counted, _specificity)
PRECISION = Form(counted, _precision)
F = Form(counted, _f)
WEIGHTED_SUM = Form(counted, _weighted_sum)
G_MEAN = Form(recalled, _g_mean)
BALANCED_ACCURACY = Form(recalled, _balanced_accuracy)
ACCURACY = Form(counted, _accuracy)
TOTAL_COST = Form(paid, _total_cost)
MEAN_COST = Form(paid, _mean_cost)
SAVINGS = Form(priced, _savings)
