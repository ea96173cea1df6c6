"""Measures of answers against truths: pure functions in scikit-learn's order, ``measure(y_true, y_pred, *, ...)``.

All take ``costs`` (anything :func:`as_costs` reads; None for 0/1), ``positive`` (default: the positive class of the
costs, else the last of two ``classes``), ``classes`` (default: those of the costs, else all that occur) and
``sample_weight``. A rate over nothing is 0. For accuracy, balanced accuracy and the like use scikit-learn's own
functions: intervals, streams and scorers of this package take those as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..costs.rules import CostsLike
from ..validation.docstrings import documented
from ..validation.types import LabelsLike
from ..validation.values import check_number
from ._measure_forms import (
    MeasureForm,
    Positive,
    class_recalls,
    constant_costs,
    cost_sums,
    counts,
    measure,
    outcomes,
    ratio,
    recalls,
    tables,
)
from ._predictions import Floats, read_predictions

__all__ = [
    "costs_paid",
    "f_score",
    "g_mean_score",
    "mean_cost",
    "precision_score",
    "savings_score",
    "sensitivity_score",
    "specificity_score",
    "total_cost",
    "weighted_sum_score",
]


@measure(counts)
def sensitivity_score(sums: Floats, positive: Positive) -> Floats:
    """Share of the positives that were found: TP / (TP + FN). Paper 000, sec. III.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> sensitivity_score(["ill", "ill", "fit"], ["ill", "fit", "fit"], positive="ill")
    0.5
    """
    tp, fn, _, _ = outcomes(sums, positive)
    return ratio(tp, tp + fn)


@measure(counts)
def specificity_score(sums: Floats, positive: Positive) -> Floats:
    """Share of the negatives (all other classes) that were not called positive: TN / (TN + FP). Paper 000, sec. III.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> specificity_score([1, 1, 0, 0], [1, 0, 0, 1])
    0.5
    """
    _, _, fp, tn = outcomes(sums, positive)
    return ratio(tn, tn + fp)


@measure(counts)
def precision_score(sums: Floats, positive: Positive) -> Floats:
    """Share of the positive answers that are right: TP / (TP + FP).

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> precision_score([1, 1, 0, 0], [1, 0, 0, 0])
    1.0
    """
    tp, _, fp, _ = outcomes(sums, positive)
    return ratio(tp, tp + fp)


@measure(counts)
def f_score(sums: Floats, positive: Positive, *, beta: float = 1.0) -> Floats:
    """(1 + b^2) TP / ((1 + b^2) TP + b^2 FN + FP) with b = ``beta``; 0 without a true positive. Paper 003, eq. (38).

    Parameters
    ----------
    beta : float
        How many times recall matters more than precision, > 0.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> round(f_score([1, 1, 0, 0], [1, 0, 0, 0]), 3)
    0.667
    """
    square = check_number("beta", beta, above=0) ** 2
    tp, fn, fp, _ = outcomes(sums, positive)
    return ratio((1 + square) * tp, (1 + square) * tp + square * fn + fp)


@measure(counts)
def weighted_sum_score(sums: Floats, positive: Positive, *, eta_pos: float = 0.5) -> Floats:
    """eta_p * sensitivity + (1 - eta_p) * specificity. Paper 000, eq. (1).

    Parameters
    ----------
    eta_pos : float
        Weight of sensitivity, in [0, 1]; at 0.5 and with two classes this is the balanced accuracy.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> weighted_sum_score([1, 1, 0, 0], [1, 0, 0, 0])
    0.75
    """
    eta = check_number("eta_pos", eta_pos, at_least=0, at_most=1)
    return eta * sensitivity_score.form.finalize(sums, positive) + (1 - eta) * specificity_score.form.finalize(
        sums, positive
    )


@measure(class_recalls)
def g_mean_score(sums: Floats, _: Positive) -> Floats:
    """Geometric mean of the recalls of all classes, 0 as soon as one class is never found. Paper 003, eq. (39).

    Classes without a true example have no recall and do not count.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> g_mean_score(["a", "a", "b", "c"], ["a", "b", "b", "c"]).__round__(4)
    0.7937
    """
    found, present = recalls(sums)
    with np.errstate(divide="ignore"):  # log 0 = -inf is meant: one recall of 0 makes the whole 0
        logs = np.where(present, np.log(found), 0.0)
    return np.where(present.any(axis=-1), np.exp(ratio(logs.sum(axis=-1), present.sum(axis=-1))), 0.0)


@measure(cost_sums)
def total_cost(sums: Floats, _: Positive) -> Floats:
    """What the answers cost altogether: sum_i C(y_i, answer_i). Paper 000, eq. (2).

    Returns
    -------
    float
        In the unit of the costs.

    Examples
    --------
    >>> total_cost([1, 1, 0, 0], [1, 0, 0, 1], costs={0: 1, 1: 5})
    6.0
    """
    return sums[..., 0]


@measure(cost_sums)
def mean_cost(sums: Floats, _: Positive) -> Floats:
    """What an answer costs on average; with 0/1 costs the error rate. Paper 002, sec. 2.

    Returns
    -------
    float
        In the unit of the costs, per row.

    Examples
    --------
    >>> mean_cost([1, 1, 0, 0], [1, 0, 0, 1], costs={0: 1, 1: 5})
    1.5
    """
    return ratio(sums[..., 0], sums[..., 1])


@measure(constant_costs)
def savings_score(sums: Floats, _: Positive) -> Floats:
    """What the answers save against the cheapest constant answer, as a share of its cost; 0 is no better than it.

    The cheapest constant answer is found on these very examples; where abstaining has a price, always abstaining is
    one of them. With costs above 0 the score is 1 - cost / cost of that answer, and 1 is free of cost. Where that
    answer gains (its cost is below 0), the score is the gain beyond it as a share of its gain: 1 is twice its gain.
    Where it costs nothing, the score is 0 for answers that cost nothing too, minus infinity for answers that cost
    something and plus infinity for answers that gain.

    Returns
    -------
    float
        1 is free of cost, 0 no better than the cheapest constant answer.

    Examples
    --------
    >>> savings_score([1, 1, 0, 0], [1, 0, 0, 0], costs={0: 2, 1: 3})
    0.25
    >>> savings_score([1, 0, 0, 0], [1, 0, 0, 0], costs=[[-1, 1], [1, -6]])  # always 1 gains 3, these gain 9
    2.0
    """
    cost, best = sums[..., 0], sums[..., 2:].min(axis=-1)
    share: Any = np.divide(cost, best, out=np.ones(cost.shape), where=best != 0)
    against_nothing = np.where(cost == 0, 0.0, np.where(cost > 0, -np.inf, np.inf))
    return np.where(best == 0, against_nothing, np.where(best < 0, share - 1, 1 - share))


def _balanced_accuracy(sums: Floats, _: Positive, *, adjusted: bool = False) -> Floats:
    found, present = recalls(sums)
    classes = present.sum(axis=-1)
    mean = ratio((found * present).sum(axis=-1), classes)
    chance = ratio(np.ones_like(mean), classes)
    return ratio(mean - chance, 1 - chance) if adjusted else mean


def _accuracy(sums: Floats, _: Positive) -> Floats:
    counts = tables(sums)
    return ratio(np.trace(counts, axis1=-2, axis2=-1), counts.sum(axis=(-2, -1)))


SCIKIT_LEARN = {  # functions of scikit-learn's that are formulas over sums, by their names
    "accuracy_score": MeasureForm(counts, _accuracy),
    "balanced_accuracy_score": MeasureForm(class_recalls, _balanced_accuracy),
}


@documented()
def costs_paid(
    y_true: LabelsLike, y_pred: LabelsLike, *, costs: CostsLike | None = None, classes: LabelsLike | None = None
) -> Floats:
    """Cost of every single answer, (n,): what paired comparisons are made on.

    Returns
    -------
    ndarray of shape (n,)
        Cost of each row, in the unit of the costs.

    Examples
    --------
    >>> costs_paid([1, 1, 0], [0, 1, 1], costs={0: 1, 1: 5})
    array([5., 0., 1.])
    """
    return read_predictions(y_true, y_pred, costs=costs, classes=classes).paid()
