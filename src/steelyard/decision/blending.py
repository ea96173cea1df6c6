"""Several classifiers as one: a weighted mean of their probabilities, the weights chosen greedily by log loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator

from ..evaluate.classifier_mixin import CostClassifierMixin
from ..validation.arrays import check_scores
from ..validation.values import invalid
from .calibration import LEAST

Floats = NDArray[np.float64]
_STEPS = 30
_ENOUGH = 1e-5  # of log loss: a smaller gain is not worth further members


def greedy_blend(true_proba: NDArray[Any], weight: Floats | None = None, steps: int = _STEPS) -> Floats:
    """Weights of members by forward selection with replacement (Caruana et al. 2004).

    Parameters
    ----------
    true_proba : array of shape (n, n_members)
        The probability that each member gives the true class of each held-out row.
    weight : array of shape (n,), optional
        How often each row counts.
    steps : int
        Members added at the most.

    Returns
    -------
    weights : array of shape (n_members,)
        Sums to one; members that did not help have 0.
    """
    true_proba = np.maximum(np.asarray(true_proba, dtype=np.float64), LEAST)
    count = np.ones(len(true_proba)) if weight is None else weight
    share = count / count.sum()
    order: list[int] = []
    losses: list[float] = []
    total = np.zeros(len(true_proba))
    for step in range(steps):
        loss = -(share @ np.log((total[:, None] + true_proba) / (step + 1)))
        order.append(int(loss.argmin()))
        losses.append(float(loss[order[-1]]))
        total = total + true_proba[:, order[-1]]
    kept = next(i for i, loss in enumerate(losses) if loss <= min(losses) + _ENOUGH)  # the shortest of the best
    return np.bincount(order[: kept + 1], minlength=true_proba.shape[1]) / (kept + 1)


class BlendClassifier(CostClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Fitted classifiers over class codes 0, 1, .. as one classifier over named classes.

    Parameters
    ----------
    members : sequence of (name, fitted classifier)
        Each answers ``predict_proba`` for the same rows; its ``classes_`` are codes.
    weights : array of shape (n_members,)
        Positive, summing to one.
    classes : array of shape (n_classes,)
        The label behind each code.
    """

    def __init__(self, members: Sequence[tuple[str, Any]], weights: Any, classes: Any) -> None:
        self.members = members
        self.weights = weights
        self.classes = classes

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in the order of the columns of ``predict_proba``."""
        return np.asarray(self.classes)

    def fit(self, X: Any, y: Any = None) -> BlendClassifier:
        """Not possible: the members are fitted elsewhere."""
        raise invalid("members", "be fitted before they are blended", "a call of fit", "Fit them one by one.")

    def predict_proba(self, X: Any) -> Floats:
        """The weighted mean of the members' probabilities."""
        mean: Any = 0.0
        for (_, member), weight in zip(self.members, np.asarray(self.weights).tolist(), strict=True):
            mean = mean + weight * code_probabilities(member, X, len(self.classes))
        return check_scores(np.asarray(mean))

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def __sklearn_is_fitted__(self) -> bool:
        return True


class ScoredClassifier(CostClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier without probabilities whose scores stand for log-odds until they are calibrated.

    Parameters
    ----------
    classifier : fitted classifier with ``decision_function``
    """

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes of the classifier."""
        return np.asarray(self.classifier.classes_)

    def fit(self, X: Any, y: Any = None) -> ScoredClassifier:
        """Nothing to learn: the classifier is fitted."""
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Scores through the logistic function, or the softmax for more than two classes."""
        score = check_scores(np.asarray(self.classifier.decision_function(X), dtype=np.float64))
        if score.ndim == 1:
            positive = expit(score)
            return np.column_stack([1.0 - positive, positive])
        return np.asarray(softmax(score, axis=1))

    def predict(self, X: Any) -> NDArray[Any]:
        """What the classifier itself answers."""
        return np.asarray(self.classifier.predict(X))

    def __sklearn_is_fitted__(self) -> bool:
        return True


class AnswerClassifier(CostClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of which only the answers count: probability one for what it answers, until it is calibrated.

    Parameters
    ----------
    classifier : fitted classifier
    """

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes of the classifier."""
        return np.asarray(self.classifier.classes_)

    def fit(self, X: Any, y: Any = None) -> AnswerClassifier:
        """Nothing to learn: the classifier is fitted."""
        return self

    def predict_proba(self, X: Any) -> Floats:
        """One for the answer of each row, zero for the others."""
        return np.asarray(self.predict(X)[:, None] == self.classes_, dtype=np.float64)

    def predict(self, X: Any) -> NDArray[Any]:
        """What the classifier answers."""
        return np.asarray(self.classifier.predict(X))

    def __sklearn_is_fitted__(self) -> bool:
        return True


def code_probabilities(model: Any, X: Any, n_classes: int) -> Floats:
    """Probabilities over all codes; a class that the model has never seen gets 0."""
    found = np.asarray(model.predict_proba(X), dtype=np.float64)
    if found.shape[1] == n_classes:
        return found
    proba = np.zeros((len(found), n_classes))
    proba[:, np.asarray(model.classes_, dtype=np.intp)] = found
    return proba
