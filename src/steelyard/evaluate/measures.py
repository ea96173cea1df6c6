"""Measures of answers against truths: pure functions in scikit-learn's order, ``measure(y_true, y_pred, *, ...)``.

All take ``costs`` (anything :func:`as_costs` reads; None for 0/1), ``positive`` (default: the positive class of the
costs, else the last of two ``classes``), ``classes`` (default: those of the costs, else all that occur) and
``sample_weight``. A rate over nothing is 0. For accuracy, balanced accuracy and the like use scikit-learn's own
functions: intervals, streams and scorers of this package take those as well.
"""

from __future__ import annotations

from typing import Any

from ._formulas import G_MEAN, MEAN_COST, PRECISION, SAVINGS, SENSITIVITY, SPECIFICITY, TOTAL_COST, WEIGHTED_SUM, F
from ._predictions import Floats, read_answers


def sensitivity_score(
    y_true: Any,
    y_pred: Any,
    *,
    costs: Any = None,
    positive: Any = None,
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    """Share of the positives that were found: TP / (TP + FN). Paper 000, sec. III.

    ``positive`` names the positive class; the keyword parameters are those of every measure, see the module's head.

    >>> sensitivity_score(["ill", "ill", "fit"], ["ill", "fit", "fit"], positive="ill")
    0.5
    """
    answers = read_answers(y_true, y_pred, costs=costs, positive=positive, classes=classes, sample_weight=sample_weight)
    return SENSITIVITY.value(answers)


def specificity_score(
    y_true: Any,
    y_pred: Any,
    *,
    costs: Any = None,
    positive: Any = None,
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    """Share of the negatives (all other classes) that were not called positive: TN / (TN + FP). Paper 000, sec. III.

    >>> specificity_score([1, 1, 0, 0], [1, 0, 0, 1])
    0.5
    """
    answers = read_answers(y_true, y_pred, costs=costs, positive=positive, classes=classes, sample_weight=sample_weight)
    return SPECIFICITY.value(answers)


def precision_score(
    y_true: Any,
    y_pred: Any,
    *,
    costs: Any = None,
    positive: Any = None,
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    """Share of the positive answers that are right: TP / (TP + FP).

    >>> precision_score([1, 1, 0, 0], [1, 0, 0, 0])
    1.0
    """
    answers = read_answers(y_true, y_pred, costs=costs, positive=positive, classes=classes, sample_weight=sample_weight)
    return PRECISION.value(answers)


def f_score(
    y_true: Any,
    y_pred: Any,
    *,
    beta: float = 1.0,
    costs: Any = None,
    positive: Any = None,
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    """(1 + b^2) TP / ((1 + b^2) TP + b^2 FN + FP) with b = ``beta``; 0 without a true positive. Paper 003, eq. (38).

    ``beta`` > 0 says how many times recall matters more than precision.

    >>> round(f_score([1, 1, 0, 0], [1, 0, 0, 0]), 3)
    0.667
    """
    answers = read_answers(y_true, y_pred, costs=costs, positive=positive, classes=classes, sample_weight=sample_weight)
    return F.value(answers, beta=beta)


def weighted_sum_score(
    y_true: Any,
    y_pred: Any,
    *,
    eta_pos: float = 0.5,
    costs: Any = None,
    positive: Any = None,
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    """eta_p * sensitivity + (1 - eta_p) * specificity. Paper 000, eq. (1).

    ``eta_pos`` in [0, 1] is the weight of sensitivity; at 0.5 and two classes this is the balanced accuracy.

    >>> weighted_sum_score([1, 1, 0, 0], [1, 0, 0, 0])
    0.75
    """
    answers = read_answers(y_true, y_pred, costs=costs, positive=positive, classes=classes, sample_weight=sample_weight)
    return WEIGHTED_SUM.value(answers, eta_pos=eta_pos)


def g_mean_score(
    y_true: Any,
    y_pred: Any,
    *,
    costs: Any = None,
    positive: Any = None,
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    """Geometric mean of the recalls of all classes, 0 as soon as one class is never found. Paper 003, eq. (39).

    Classes without a true example have no recall and do not count.

    >>> g_mean_score(["a", "a", "b", "c"], ["a", "b", "b", "c"]).__round__(4)
    0.7937
    """
    answers = read_answers(y_true, y_pred, costs=costs, positive=positive, classes=classes, sample_weight=sample_weight)
    return G_MEAN.value(answers)


def total_cost(
    y_true: Any,
    y_pred: Any,
    *,
    costs: Any = None,
    positive: Any = None,
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    """What the answers cost altogether: sum_i C(y_i, answer_i). Paper 000, eq. (2).

    >>> total_cost([1, 1, 0, 0], [1, 0, 0, 1], costs={0: 1, 1: 5})
    6.0
    """
    answers = read_answers(y_true, y_pred, costs=costs, positive=positive, classes=classes, sample_weight=sample_weight)
    return TOTAL_COST.value(answers)


def mean_cost(
    y_true: Any,
    y_pred: Any,
    *,
    costs: Any = None,
    positive: Any = None,
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    """What an answer costs on average; with 0/1 costs the error rate. Paper 002, sec. 2.

    >>> mean_cost([1, 1, 0, 0], [1, 0, 0, 1], costs={0: 1, 1: 5})
    1.5
    """
    answers = read_answers(y_true, y_pred, costs=costs, positive=positive, classes=classes, sample_weight=sample_weight)
    return MEAN_COST.value(answers)


def savings_score(
    y_true: Any,
    y_pred: Any,
    *,
    costs: Any = None,
    positive: Any = None,
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    """What the answers save against the cheapest constant answer, as a share of its cost; 0 is no better than it.

    The cheapest constant answer is found on these very examples; where abstaining has a price, always abstaining is
    one of them. With costs above 0 the score is 1 - cost / cost of that answer, and 1 is free of cost. Where that
    answer gains (its cost is below 0), the score is the gain beyond it as a share of its gain: 1 is twice its gain.
    Where it costs nothing, the score is 0 for answers that cost nothing too, minus infinity for answers that cost
    something and plus infinity for answers that gain.

    >>> savings_score([1, 1, 0, 0], [1, 0, 0, 0], costs={0: 2, 1: 3})
    0.25
    >>> savings_score([1, 0, 0, 0], [1, 0, 0, 0], costs=[[-1, 1], [1, -6]])  # always 0 gains 2, these gain 9
    3.5
    """
    answers = read_answers(y_true, y_pred, costs=costs, positive=positive, classes=classes, sample_weight=sample_weight)
    return SAVINGS.value(answers)


def costs_paid(y_true: Any, y_pred: Any, *, costs: Any = None, classes: Any = None) -> Floats:
    """Cost of every single answer, (n,): what paired comparisons are made on.

    >>> costs_paid([1, 1, 0], [0, 1, 1], costs={0: 1, 1: 5})
    array([5., 0., 1.])
    """
    return read_answers(y_true, y_pred, costs=costs, classes=classes).paid()
