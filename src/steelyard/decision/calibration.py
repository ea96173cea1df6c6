"""Probabilities that mean what they say: one logistic curve a class, fitted to out-of-fold probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from ..evaluate.classifier_mixin import CostClassifierMixin

Floats = NDArray[np.float64]
_LEAST = 1e-6  # probabilities are kept this far from 0 and 1 before their logarithm is taken


class CalibratedClassifier(CostClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted classifier whose probabilities go through one logistic curve a class (Platt), then sum to one.

    The curves are fitted to probabilities of rows that had not taught the classifier, so nothing is fitted twice.
    """

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, proba: Floats, y: Any) -> CalibratedClassifier:
        """Learn the curves from out-of-fold probabilities and the truth."""
        self.classes_ = self.classifier.classes_
        used = self.classes_[-1:] if len(self.classes_) == 2 else self.classes_
        columns = range(len(self.classes_) - len(used), len(self.classes_))
        self.curves_ = [
            LogisticRegression(C=100.0).fit(_log_odds(proba[:, j]), (np.asarray(y) == label).astype(int))
            for j, label in zip(columns, used, strict=True)
        ]
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Calibrated probabilities, columns as in ``classes_``."""
        proba = self.classifier.predict_proba(X)
        first = proba.shape[1] - len(self.curves_)
        told = [curve.predict_proba(_log_odds(proba[:, first + j]))[:, 1] for j, curve in enumerate(self.curves_)]
        if len(told) == 1:
            return np.column_stack([1.0 - told[0], told[0]])
        together = np.column_stack(told)
        return np.asarray(together / together.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def _log_odds(proba: Floats) -> Floats:
    kept = np.clip(proba, _LEAST, 1.0 - _LEAST)
    return np.log(kept / (1.0 - kept))[:, None]
