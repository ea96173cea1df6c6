"""Expected cost: the cheapest answer under the class probabilities of any classifier."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from ..costs import CostRule, Costs, as_costs
from ..costs.rules import CostsLike
from ..evaluate.classifier_mixin import CostClassifierMixin
from ..validation.arrays import (
    check_base_rows,
    check_labels,
    check_probabilities,
    check_same_length,
    check_sample_weight,
    check_table,
    check_takes_weight,
    unchanged_on_error,
)
from ..validation.types import ArrayLike, CVLike, Estimator, LabelsLike, MatrixLike
from ..validation.values import check_choice, invalid

Floats = NDArray[np.float64]
CALIBRATIONS = (None, "sigmoid", "isotonic", "temperature")


class ExpectedCostClassifier(CostClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The Bayes decision: answer argmin_k of sum_i P(i | x) C[i, k], with P from any probabilistic classifier.

    Costs play no part in learning P, so they may change from one prediction to the next: ``predict(X, costs=)`` takes
    a matrix for all rows or one per row. Ties go to the first class. Paper 002, sec. 1 (the MetaCost line).

    Parameters
    ----------
    estimator : classifier or None
        With ``predict_proba`` (with ``decision_function`` if calibrated); logistic regression if None.
    calibration : {"sigmoid", "isotonic", "temperature"} or None
        How cross-validated scores become probabilities.
    cv : int, splitter, iterable or None
        Folds of the calibration, as in scikit-learn's CalibratedClassifierCV.
    costs : Costs, cost rule, mapping, array-like or None
        What mistakes cost, ``C[true, predicted]``; 0/1 costs if None. ``fit(costs=)`` wins. Of costs per training
        example the mean of each true class is kept, since for new rows the truth is not known.

    Examples
    --------
    >>> model = ExpectedCostClassifier(costs=[[0, 1], [9, 0]])
    >>> model.fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).predict([[1.0]])
    array([1])
    >>> model.predict([[1.0], [1.0]], costs=[[[0, 1], [1, 0]], [[0, 1], [9, 0]]])
    array([0, 1])
    """

    def __init__(
        self,
        estimator: Estimator | None = None,
        *,
        calibration: str | None = None,
        cv: CVLike = None,
        costs: CostsLike | None = None,
    ):
        self.estimator = estimator
        self.calibration = calibration
        self.cv = cv
        self.costs = costs

    def fit(
        self, X: MatrixLike, y: LabelsLike, sample_weight: ArrayLike | None = None, *, costs: CostsLike | None = None
    ) -> Self:
        """Learn probabilities from rows and labels, and keep the costs for later."""
        with unchanged_on_error(self):
            X = check_base_rows(self, X, reset=True)
            if self.estimator is None:
                check_table("X", X)  # another learner may take missing cells and texts
            classes, codes = check_labels(y)
            check_same_length(X=X, y=codes)
            if len(classes) < 2:
                raise invalid("y", "hold two or more classes", classes.tolist(), "With one class there is no choice.")
            weight = check_sample_weight(sample_weight, len(codes))
            agreed = as_costs(self.costs, y, classes, per_example=costs).class_means(y, weight)
            estimator = self._probabilistic()
            metadata = {}
            if sample_weight is not None:
                check_takes_weight(estimator)
                metadata["sample_weight"] = weight
            self.estimator_ = estimator.fit(X, classes[codes], **metadata)
            self.classes_, self.costs_ = classes, agreed
        return self

    def with_fitted(self, estimator: Estimator, X: MatrixLike, costs: Costs) -> Self:
        """Decide by a classifier that is fitted already, on rows like ``X``; labels are not looked at.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``predict_proba``.
        X : array-like, sparse matrix or frame
            Rows it was fitted on.
        costs : Costs
            One matrix over the classes of the estimator.

        Returns
        -------
        self : ExpectedCostClassifier
            The fitted classifier.
        """
        check_base_rows(self, X, reset=True)
        self.estimator_, self.classes_, self.costs_ = estimator, np.asarray(costs.classes), costs
        return self

    def predict_proba(self, X: MatrixLike) -> Floats:
        """Class probabilities of the (calibrated) estimator, columns as in ``classes_``."""
        check_is_fitted(self)
        rows = check_base_rows(self, X, reset=False)
        if isinstance(self.estimator_, LogisticRegression):
            check_table("X", rows)
        return check_probabilities(self.estimator_, rows)

    def expected_costs(self, X: MatrixLike, *, costs: CostsLike | None = None) -> Floats:
        """Expected cost of every answer, (n, K); one column more where the costs price abstaining.

        Parameters
        ----------
        X : array-like, sparse matrix or frame
            Rows.
        costs : Costs, array-like or None
            Prices of these rows.

        Returns
        -------
        ndarray of shape (n, K)
            Expected cost of every answer.
        """
        proba = self.predict_proba(X)
        return self._costs_of(costs).expected(proba)

    def predict(self, X: MatrixLike, *, costs: CostsLike | None = None) -> NDArray[Any]:
        """The answer of least expected cost; ``costs`` C[true, predicted], or one such matrix per row, (n, K, K)."""
        proba, agreed = self.predict_proba(X), self._costs_of(costs)
        return np.asarray(agreed.answers[agreed.expected(proba).argmin(axis=1)])

    def _costs_of(self, costs: Any) -> Costs:
        if costs is None:
            return self.costs_
        if isinstance(costs, CostRule):
            raise invalid("costs", "not depend on y", costs, "Give rules to the constructor or fit.")
        if not isinstance(costs, Costs) and np.ndim(costs) == 3:
            return Costs.from_matrices(costs, classes=self.classes_)
        return as_costs(costs, None, self.classes_)

    def _probabilistic(self) -> Any:
        check_choice("calibration", self.calibration, CALIBRATIONS)
        estimator = LogisticRegression() if self.estimator is None else clone(self.estimator)
        if self.calibration is not None:
            return CalibratedClassifierCV(estimator, method=self.calibration, cv=self.cv)
        if not hasattr(estimator, "predict_proba"):
            raise invalid(
                "estimator",
                "have predict_proba",
                estimator,
                'Use calibration="sigmoid" to make probabilities of scores.',
            )
        return estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(LogisticRegression() if self.estimator is None else self.estimator).input_tags
        return tags
