"""What a score can do at every threshold and under every cost: plain data, drawn by the displays.

A score says how positive an example is; the answer at threshold t is positive where ``score >= t``. All curves are over
two classes and read ``costs``, ``positive`` and ``classes`` as the measures do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn import metrics

from ..costs.rules import CostsLike
from ..validation.arrays import check_same_length
from ..validation.docstrings import documented
from ..validation.types import ArrayLike, Label, LabelsLike
from ..validation.values import invalid
from ._measure_forms import Measure, form_of, ratio
from ._predictions import Codes, Floats, Predictions, numbers, read_predictions
from .measures import mean_cost


@dataclass(frozen=True, eq=False)
class ThresholdCurve:
    """``values[i]`` of the measure when all with a score of at least ``thresholds[i]`` are called positive.

    Parameters
    ----------
    measure : str
        Name of the measure.
    thresholds : ndarray
        Thresholds, rising.
    values : ndarray
        The measure at each of them.
    best : int
        Position of the best value.
    """

    measure: str
    thresholds: Floats
    values: Floats
    best: int

    @property
    def best_threshold(self) -> float:
        """The threshold with the best value; the lowest of equals."""
        return float(self.thresholds[self.best])

    @property
    def best_value(self) -> float:
        """The best value of all."""
        return float(self.values[self.best])


@dataclass(frozen=True, eq=False)
class RocHull:
    """ROC points from (0, 0) to (1, 1), those on the convex hull, and the cheapest of them.

    Parameters
    ----------
    fpr : ndarray
        False positive rates, rising.
    tpr : ndarray
        True positive rates.
    thresholds : ndarray
        Thresholds of the points.
    hull : ndarray of int
        Positions of the points on the convex hull.
    iso_cost : float
        Slope along which cost does not change: P(-) C(-,+) / (P(+) C(+,-)).
    best : int
        Position of the cheapest point.
    """

    fpr: Floats
    tpr: Floats
    thresholds: Floats
    hull: Codes
    iso_cost: float
    best: int

    @property
    def area(self) -> float:
        """Area under the curve."""
        return float(np.trapezoid(self.tpr, self.fpr))

    @property
    def hull_area(self) -> float:
        """Area under the hull."""
        return float(np.trapezoid(self.tpr[self.hull], self.fpr[self.hull]))


@dataclass(frozen=True, eq=False)
class CostCurve:
    """Normalised expected cost against the probability cost of the positives (Drummond and Holte 2006).

    With x = P(+) C(+,-) / (P(+) C(+,-) + P(-) C(-,+)), a threshold is the line (1 - TPR) x + FPR (1 - x); ``x`` and
    ``cost`` are the corners of their lower envelope, ``thresholds[i]`` is the best one between corners i and i + 1.
    ``operating`` is the x of the given costs at the class shares of the data.

    Parameters
    ----------
    x : ndarray
        Corners of the lower envelope: x = P(+) C(+,-) / (P(+) C(+,-) + P(-) C(-,+)).
    cost : ndarray
        Its height at each corner.
    thresholds : ndarray
        ``thresholds[i]`` is the best one between corners i and i + 1.
    fpr : ndarray
        False positive rates of these thresholds.
    tpr : ndarray
        True positive rates of these thresholds.
    operating : float
        The x of the given costs at the class shares of the data.
    """

    x: Floats
    cost: Floats
    thresholds: Floats
    fpr: Floats
    tpr: Floats
    operating: float

    @property
    def area(self) -> float:
        """Area under the envelope: expected cost when every x is as likely; 0.25 for answers that ignore the score."""
        return float(np.trapezoid(self.cost, self.x))

    def at(self, x: ArrayLike) -> Floats:
        """Height of the envelope.

        Parameters
        ----------
        x : float or array-like
            Probability costs of the positives, in [0, 1].

        Returns
        -------
        ndarray
            Normalised expected cost at each of them.
        """
        return np.asarray(np.interp(np.asarray(x, dtype=np.float64), self.x, self.cost))


@dataclass(frozen=True, eq=False)
class BrierCurve:
    """Loss of probabilities taken at their word, by the cost proportion of a false negative (Hernandez-Orallo 2011).

    Parameters
    ----------
    c : ndarray
        Cost proportions c = C(+,-) / (C(+,-) + C(-,+)), at which the threshold is 1 - c. Jumps are given by two
        points with one ``c``.
    loss : ndarray
        Loss at each of them.
    operating : float
        The c of the given costs.
    """

    c: Floats
    loss: Floats
    operating: float

    @property
    def area(self) -> float:
        """Area under the curve: the Brier score."""
        return float(np.trapezoid(self.loss, self.c))


@documented()
def threshold_curve(
    y_true: LabelsLike,
    y_score: ArrayLike,
    *,
    measure: Measure = mean_cost,
    costs: CostsLike | None = None,
    positive: Label | None = None,
    classes: LabelsLike | None = None,
    sample_weight: ArrayLike | None = None,
    **params: Any,
) -> ThresholdCurve:
    """A measure at every threshold that makes a difference, from the lowest score to infinity (all negative).

    ``measure`` may be any of this package; costs may differ from example to example.

    Parameters
    ----------
    y_score : array-like of shape (n,)
        Scores, higher for the positive class.
    measure : callable
        A measure of this package.
    **params : Any
        Further parameters of the measure.

    Returns
    -------
    ThresholdCurve
        Thresholds, values and the best of them.

    Examples
    --------
    >>> curve = threshold_curve([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], costs={0: 1, 1: 5})
    >>> curve.thresholds, curve.values
    (array([0.1, 0.4, 0.6, 0.9, inf]), array([0.5 , 0.25, 1.5 , 1.25, 2.5 ]))
    >>> curve.best_threshold
    0.4
    """
    form = form_of(measure)
    answers, score = read_scores(
        y_true, y_score, costs=costs, positive=positive, classes=classes, sample_weight=sample_weight
    )
    order = np.argsort(score, kind="stable")
    ordered = answers.take(order)
    plus = np.full(len(order), answers.positive())
    as_positive = form.statistics(replace(ordered, answer=plus))
    as_negative = form.statistics(replace(ordered, answer=1 - plus))
    # at threshold score[i] the rows before i are called negative, the rest positive
    sums = np.zeros((len(order) + 1, as_positive.shape[1]))
    sums[1:] = np.cumsum(as_negative, axis=0)
    sums[:-1] += np.cumsum(as_positive[::-1], axis=0)[::-1]
    thresholds, first = np.unique(np.append(score[order], np.inf), return_index=True)
    values = form.finalize(sums[first], answers.positive, **params)
    lower = not measure.__name__.endswith("_score")
    return ThresholdCurve(measure.__name__, thresholds, values, int(np.argmin(values) if lower else np.argmax(values)))


@documented()
def roc_hull(
    y_true: LabelsLike,
    y_score: ArrayLike,
    *,
    costs: CostsLike | None = None,
    positive: Label | None = None,
    classes: LabelsLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> RocHull:
    """ROC curve (scikit-learn's, all points), its convex hull and the point where the iso-cost line touches it.

    Costs that differ from example to example enter by their class means.

    Parameters
    ----------
    y_score : array-like of shape (n,)
        Scores, higher for the positive class.

    Returns
    -------
    RocHull
        Points, hull and the cheapest point.

    Examples
    --------
    >>> curve = roc_hull([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], costs={0: 1, 1: 5})
    >>> curve.hull.tolist(), curve.iso_cost, float(curve.thresholds[curve.best])
    ([0, 1, 3, 4], 0.2, 0.4)
    """
    answers, score = read_scores(
        y_true, y_score, costs=costs, positive=positive, classes=classes, sample_weight=sample_weight
    )
    fn, fp = _stakes(answers)
    truth = answers.truth == answers.positive()
    fpr, tpr, thresholds = metrics.roc_curve(truth, score, sample_weight=answers.weight, drop_intermediate=False)
    hull = _upper_hull(fpr, tpr)
    best = hull[int(np.argmin(fp * fpr[hull] - fn * tpr[hull]))]
    slope = fp / fn if fn > 0 else np.inf
    return RocHull(fpr, tpr, thresholds, hull, float(slope), int(best))


@documented()
def cost_curve(
    y_true: LabelsLike,
    y_score: ArrayLike,
    *,
    costs: CostsLike | None = None,
    positive: Label | None = None,
    classes: LabelsLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> CostCurve:
    """The cost curve of a score: its lower envelope over all thresholds, exact at every corner.

    Parameters
    ----------
    y_score : array-like of shape (n,)
        Scores, higher for the positive class.

    Returns
    -------
    CostCurve
        The envelope, its thresholds and the operating point.

    Examples
    --------
    >>> curve = cost_curve([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> curve.x.round(3).tolist(), curve.cost.round(3).tolist()
    ([0.0, 0.0, 0.5, 1.0, 1.0], [0.0, 0.0, 0.25, 0.0, 0.0])
    >>> curve.operating
    0.5
    """
    given: dict[str, Any] = {"costs": costs, "positive": positive, "classes": classes, "sample_weight": sample_weight}
    roc = roc_hull(y_true, y_score, **given)
    fn, fp = _stakes(read_scores(y_true, y_score, **given)[0])
    fpr, tpr = roc.fpr[roc.hull], roc.tpr[roc.hull]
    right, up = np.diff(fpr), np.diff(tpr)
    x = np.concatenate([[0.0], right / (right + up), [1.0]])  # where the lines of two neighbours on the hull cross
    line = np.append(np.arange(len(fpr)), len(fpr) - 1)
    cost = (1 - tpr[line]) * x + fpr[line] * (1 - x)
    return CostCurve(x, cost, roc.thresholds[roc.hull], fpr, tpr, float(ratio(fn, fn + fp)))


@documented()
def brier_curve(
    y_true: LabelsLike,
    y_proba: Any,
    *,
    costs: CostsLike | None = None,
    positive: Label | None = None,
    classes: LabelsLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> BrierCurve:
    """The loss 2 [(1 - c) P(-) FPR + c P(+) FNR] of answering positive where the probability is at least 1 - c.

    Parameters
    ----------
    y_proba : array-like of shape (n,)
        Probabilities of the positive class, in [0, 1].

    Returns
    -------
    BrierCurve
        Corners of the curve, its area and the operating point.

    Examples
    --------
    >>> curve = brier_curve([0, 1], [0.2, 0.7])
    >>> round(curve.area, 3)  # (0.2^2 + 0.3^2) / 2
    0.065
    """
    answers, p = read_scores(
        y_true, y_proba, costs=costs, positive=positive, classes=classes, sample_weight=sample_weight, name="y_proba"
    )
    if p.min() < 0 or p.max() > 1:
        raise invalid("y_proba", "lie between 0 and 1", float(p.min() if p.min() < 0 else p.max()))
    weight = np.ones(len(p)) if answers.weight is None else answers.weight
    share = weight / weight.sum()
    truth = answers.truth == answers.positive()
    # between neighbouring values low < t <= high, those with p >= high are called positive
    ends = np.unique(np.concatenate([[0.0, 1.0], p]))
    low, high = ends[:-1], ends[1:]
    false_pos = _share_at_least(p[~truth], share[~truth], high)
    false_neg = share[truth].sum() - _share_at_least(p[truth], share[truth], high)
    loss = 2 * np.stack([low * false_pos + (1 - low) * false_neg, high * false_pos + (1 - high) * false_neg])
    fn, fp = _unit_stakes(answers)
    return BrierCurve(1 - np.stack([low, high]).T.ravel()[::-1], loss.T.ravel()[::-1], float(ratio(fn, fn + fp)))


def read_scores(y_true: Any, y_score: Any, *, name: str = "y_score", **given: Any) -> tuple[Predictions, Floats]:
    """Truths of two classes, both of which occur and count, and finite scores."""
    score = numbers(name, y_score, ndim=1)
    answers = read_predictions(y_true, y_true, **given)
    check_same_length(**{"y_true": answers.truth, name: score})
    if answers.abstains:
        hint = "A threshold answers every row: give the same costs without it."
        raise invalid("costs", "not price abstaining for a curve", answers.classes[-1], hint)
    present = np.unique(answers.truth if answers.weight is None else answers.truth[answers.weight > 0])
    if answers.n_classes != 2 or len(present) != 2:
        what = "two classes" if answers.weight is None else "two classes of positive weight"
        named = answers.classes if answers.n_classes != 2 else answers.classes[present]
        raise invalid("y_true", f"hold {what} for a curve", named.tolist())
    return answers, score


def _stakes(answers: Predictions) -> tuple[float, float]:
    """What all misses and all alarms together would cost, beyond the right answers."""
    table, plus = answers.per_example(), answers.positive()
    weight = np.ones(len(table)) if answers.weight is None else answers.weight
    gap = weight * (table[:, 1 - plus] - table[:, plus])
    truth = answers.truth == plus
    fn, fp = float(gap[truth].sum()), float(-gap[~truth].sum())
    if fn < 0 or fp < 0 or fn + fp == 0:
        raise invalid("costs", "make mistakes cost more than right answers", {"fn": fn, "fp": fp})
    return fn, fp


def _unit_stakes(answers: Predictions) -> tuple[float, float]:
    """Mean cost of a false negative and of a false positive."""
    fn, fp = _stakes(answers)
    truth = answers.truth == answers.positive()
    weight = np.ones(len(truth)) if answers.weight is None else answers.weight
    return fn / weight[truth].sum(), fp / weight[~truth].sum()


def _upper_hull(fpr: Floats, tpr: Floats) -> Codes:
    """Positions of the corners of the upper convex hull, left to right."""
    hull: list[int] = []
    for k in range(len(fpr)):
        while len(hull) > 1 and _turns_left(fpr, tpr, hull[-2], hull[-1], k):
            hull.pop()
        if not hull or fpr[k] > fpr[hull[-1]] or tpr[k] > tpr[hull[-1]]:
            hull.append(k)
    return np.array(hull, dtype=np.intp)


def _turns_left(x: Floats, y: Floats, a: int, b: int, c: int) -> bool:
    """True when b lies on or below the line from a to c, up to the rounding of rates."""
    return bool((x[b] - x[a]) * (y[c] - y[a]) - (y[b] - y[a]) * (x[c] - x[a]) >= -1e-14)


def _share_at_least(values: Floats, share: Floats, limits: Floats) -> Floats:
    order = np.argsort(values, kind="stable")
    tail = np.append(np.cumsum(share[order][::-1])[::-1], 0.0)
    return np.asarray(tail[np.searchsorted(values[order], limits, side="left")])
