"""Probabilities that mean what they say: a logistic curve per class, or a temperature with the shares of the classes.

Tested in ``tests/unit/decision/test_blending.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp, softmax
from sklearn.base import BaseEstimator

from ..evaluate.classifier_mixin import CostClassifierMixin
from ..validation.arrays import check_probabilities, check_scores

Floats = NDArray[np.float64]
LEAST = 1e-6  # probabilities are kept this far from 0 and 1 before their logarithm is taken
FEWEST_FOR_SIGMOID = 40  # rows of the rarest class; with fewer, two numbers per class fit noise
_RIDGE = 0.01  # pull of slope to 1 and offset to 0: keeps separable data finite
_PRIOR_ROWS = 2.0  # of the classes' shares, that stand beside the rows of every answer where only answers are known
_STEPS = 50
_FEWEST_OF_A_CLASS = 0.5  # rows that a class without any counts for
_POWERS = (0.2, 5.0)  # least and greatest temperature, as a power
_FLAT = 1e-9  # added to curvatures: where the probabilities are all alike, the loss has none


class Calibration(NamedTuple):
    """Curves on log-odds, one per class (one in all for two classes), or a temperature.

    A temperature has one slope, the power of all probabilities, and an offset per class of their logarithms, or none.
    """

    slopes: Floats
    offsets: Floats | None

    @property
    def is_temperature(self) -> bool:
        """Whether it is one power for all classes."""
        return self.offsets is None or len(self.offsets) > len(self.slopes)

    def apply(self, proba: NDArray[Any]) -> Floats:
        """Calibrated probabilities; rows sum to one."""
        clipped = np.clip(np.asarray(proba, dtype=np.float64), LEAST, 1.0 - LEAST)
        if self.is_temperature:
            return _powered(clipped, float(self.slopes[0]), 0.0 if self.offsets is None else self.offsets)
        assert self.offsets is not None
        log_odds = np.log(clipped / (1.0 - clipped))
        if len(self.slopes) == 1:
            positive = expit(self.slopes[0] * log_odds[:, 1] + self.offsets[0])
            return np.column_stack([1.0 - positive, positive])
        curves = np.maximum(expit(self.slopes * log_odds + self.offsets), LEAST)
        return np.asarray(curves / curves.sum(axis=1, keepdims=True))


def fit_calibration(proba: NDArray[Any], codes: NDArray[np.intp], weight: Floats | None = None) -> Calibration:
    """Fit to probabilities of held-out rows and their class codes; ``weight`` says how much each row counts.

    Where only answers are known (all probabilities are 0 or 1): how often each answer was right. Else a sigmoid per
    class where the rarest class has :data:`FEWEST_FOR_SIGMOID` rows, whatever they weigh, and otherwise one temperature
    for all, with the shares that the classes have among these rows: a candidate fitted on weighted or resampled rows
    believes in others.
    """
    count = np.ones(len(codes)) if weight is None else weight
    clipped = np.clip(np.asarray(proba, dtype=np.float64), LEAST, 1.0 - LEAST)
    n_classes = clipped.shape[1]
    counts = np.bincount(codes, minlength=n_classes)
    answers_only = bool(((clipped == LEAST) | (clipped == 1.0 - LEAST)).all())
    if counts.min() < FEWEST_FOR_SIGMOID and not answers_only:
        return _temperature(clipped, codes, count)
    log_odds = np.log(clipped / (1.0 - clipped))
    columns = (1,) if n_classes == 2 else range(n_classes)
    curve = _answer_rates if answers_only else _sigmoid
    curves = [curve(log_odds[:, j], codes == j, count) for j in columns]
    return Calibration(np.array([a for a, _ in curves]), np.array([b for _, b in curves]))


def _sigmoid(score: Floats, truth: NDArray[np.bool_], count: Floats) -> tuple[float, float]:
    """Slope and offset by Newton's method with step halving; the slope never turns negative: then the share is all."""
    point = np.array([1.0, 0.0])
    centre = point.copy()

    def loss(at: Floats) -> float:
        margin = np.where(truth, 1.0, -1.0) * (at[0] * score + at[1])
        return float(count @ np.logaddexp(0.0, -margin) + 0.5 * _RIDGE * ((at - centre) ** 2).sum())

    best = loss(point)
    for _ in range(_STEPS):
        proba = expit(point[0] * score + point[1])
        error, weight = count * (proba - truth), count * proba * (1.0 - proba)
        gradient = np.array([error @ score, error.sum()]) + _RIDGE * (point - centre)
        cross = weight @ score
        hessian = np.array([[weight @ score**2 + _RIDGE, cross], [cross, weight.sum() + _RIDGE]])
        step = np.linalg.solve(hessian, gradient)
        size = 1.0
        while size > 1e-6 and (found := loss(point - size * step)) > best:
            size /= 2
        if size <= 1e-6 or best - found < 1e-9 * max(best, 1.0):
            break
        point, best = point - size * step, found
    return (float(point[0]), float(point[1])) if point[0] > 0 else (0.0, _log_odds_of(count @ truth / count.sum()))


def _log_odds_of(share: float) -> float:
    kept = min(max(float(share), LEAST), 1.0 - LEAST)
    return float(np.log(kept / (1.0 - kept)))


def _answer_rates(score: Floats, truth: NDArray[np.bool_], count: Floats) -> tuple[float, float]:
    """The curve through the rates of a class among rows answered with it and among the others.

    A few rows more, of the usual share, stand beside each: an answer given to ten rows, all of one class, is not
    certain, and is the likelier to be followed the luckier these rows were.
    """
    usual = float(count @ truth / count.sum())
    rates = []
    for side in (score < 0, score >= 0):
        rows, found = float(count[side].sum()), float(count[side & truth].sum())
        rates.append((found + _PRIOR_ROWS * usual) / (rows + _PRIOR_ROWS))
    low, high = (_log_odds_of(rate) for rate in rates)
    if high <= low:
        return 0.0, _log_odds_of(usual)
    return (high - low) / (2 * _log_odds_of(1.0 - LEAST)), (high + low) / 2


def _powered(clipped: Floats, power: float, offsets: Floats | float = 0.0) -> Floats:
    logs = power * np.log(clipped) + offsets
    raised = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _temperature(clipped: Floats, codes: NDArray[np.intp], count: Floats) -> Calibration:
    """The power of the probabilities and the offsets of the classes with the least log loss, by Newton's method.

    The loss is convex in both; at its least the mean probabilities are the shares of the classes. A class without rows
    has a small share all the same, or its offset would fall without end.
    """
    logs, weight = np.log(clipped), count / count.sum()
    shares = np.maximum(np.bincount(codes, weights=count, minlength=logs.shape[1]), _FEWEST_OF_A_CLASS)
    shares /= shares.sum()
    true_logs = float(weight @ logs[np.arange(len(codes)), codes])

    def loss(at: Floats) -> float:
        return float(weight @ logsumexp(at[0] * logs + at[1:], axis=1) - at[0] * true_logs - shares @ at[1:])

    point = np.r_[1.0, np.zeros(len(shares))]
    best = loss(point)
    for _ in range(_STEPS):
        proba = softmax(point[0] * logs + point[1:], axis=1)
        weighted = weight[:, None] * proba
        centred = logs - (proba * logs).sum(axis=1, keepdims=True)
        gradient = np.r_[(weighted * logs).sum() - true_logs, weighted.sum(axis=0) - shares]
        hessian = np.empty((len(point), len(point)))
        hessian[0, 0] = (weighted * centred**2).sum() + _FLAT
        hessian[0, 1:] = hessian[1:, 0] = (weighted * centred).sum(axis=0)
        # Offsets that are all raised alike change nothing: the ones keep such a step at zero.
        hessian[1:, 1:] = np.diag(weighted.sum(axis=0) + _FLAT) - weighted.T @ proba + 1.0
        at_end = point[0] == _POWERS[int(gradient[0] < 0)]  # and the loss falls beyond it
        free = slice(1, None) if at_end else slice(None)
        step = np.zeros(len(point))
        step[free] = np.linalg.solve(hessian[free, free], gradient[free])
        size, moved = 1.0, point
        while size > 1e-6:
            moved = point - size * step
            moved[0] = np.clip(moved[0], *_POWERS)
            if (found := loss(moved)) < best:
                break
            size /= 2
        if size <= 1e-6 or best - found < 1e-12:
            break
        point, best = moved, found
    return Calibration(point[:1], point[1:])


class CalibratedClassifier(CostClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted classifier whose probabilities go through a :class:`Calibration`.

    The curves are fitted to probabilities of held-out rows, so nothing is fitted twice.

    Parameters
    ----------
    classifier : fitted classifier with ``predict_proba``
    """

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, proba: Any, y: Any) -> CalibratedClassifier:
        """Fit the curves to held-out probabilities and the truth."""
        codes = np.searchsorted(self.classifier.classes_, np.asarray(y))
        return self.with_calibration(fit_calibration(np.asarray(proba), codes))

    def with_calibration(self, calibration: Calibration) -> CalibratedClassifier:
        """Take curves that were fitted elsewhere."""
        self.classes_ = self.classifier.classes_
        self.calibration_ = calibration
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Calibrated probabilities, columns as in ``classes_``."""
        return check_scores(self.calibration_.apply(check_probabilities(self.classifier, X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])
