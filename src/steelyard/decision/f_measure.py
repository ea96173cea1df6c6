"""The best F-measure by a few cost-sensitive fits. Paper 001, Propositions 1 and 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ..costs import Costs
from ..evaluate import f_score
from ..evaluate.classifier_mixin import CostClassifierMixin
from ..validation.arrays import check_base_rows, check_labels, check_same_length, take_rows, unchanged_on_error
from ..validation.values import check_count, invalid
from .expected_cost import ExpectedCostClassifier

Floats = NDArray[np.float64]


def _has_scores(classifier: FMeasureClassifier) -> bool:
    """Whether what is fitted, or would be, tells more than answers."""
    inner = vars(classifier).get("estimator_")
    inner = classifier._base() if inner is None else inner
    by_likelihood = hasattr(inner, "predict_proba") and not classifier._takes_costs()  # its answer is the likelier one
    return hasattr(inner, "decision_function") or hasattr(inner, "expected_costs") or by_likelihood


@dataclass(eq=False, repr=False)
class FMeasureClassifier(CostClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Maximise the F-measure by cost-sensitive fits along a grid.

    A classifier of the best F-measure F* minimises the cost of mistakes when a missed positive costs 1 - F*/2 and a
    false alarm F*/2. F* is unknown, so every theta of a grid is tried; the F-measure of each is estimated on held-out
    rows and the best one is fitted on all. Paper 001, Propositions 1 and 2.

    Parameters
    ----------
    estimator : estimator or None
        A classifier of two classes, which is cloned. It gets the costs by its parameter ``costs``, or, if it has none,
        every row's cost as ``sample_weight``. None for logistic regression decided by expected cost.
    grid : int
        Number of thetas, in equal steps in (0, 1).
    cv : int
        Folds on which the F-measures are estimated.
    positive : label, optional
        The class whose F-measure is meant; the last one by default.
    random_state : int
        Seed of the folds.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    theta_ : float
        The best theta.
    f_curve_ : ndarray of shape (grid, 2)
        Every theta with the F-measure of its held-out answers.
    guarantee_ : float
        By how much the best of the fits can miss the best F-measure, if every fit minimises its cost:
        Proposition 2, 2 eps B / P with eps two steps of the grid, P the share of positive rows and B the largest norm
        of the two rates of mistakes. Coarse grids and rare positives promise nothing (1 and more).
    estimator_ : estimator
        The fit of the best theta on all rows.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from steelyard import load_dataset
    >>> german = load_dataset("german")
    >>> model = FMeasureClassifier(LogisticRegression(max_iter=2000), grid=5, cv=3).fit(german.X, german.y)
    >>> bool(model.f_curve_[:, 1].max() == model.f_curve_[list(model.f_curve_[:, 0]).index(model.theta_), 1])
    True
    """

    estimator: Any = None
    grid: int = 20
    cv: int = 5
    positive: Any = None
    random_state: int = 0

    def fit(self, X: Any, y: Any) -> Self:
        """Fit one classifier for each theta and fold, then the best theta on all rows.

        Parameters
        ----------
        X, y : array-like
            Rows and labels of two classes.

        Returns
        -------
        self : FMeasureClassifier
            The fitted classifier.
        """
        with unchanged_on_error(self):
            X = check_base_rows(self, X, reset=True)
            classes, codes = check_labels(y)
            check_same_length(X=X, y=codes)
            if len(classes) != 2:
                hint = "With one class there is no choice."
                if len(classes) > 2:
                    hint = "Only binary classification is supported. The type of the target is multiclass."
                raise invalid("y", "hold two classes", classes.tolist()[:5], hint)
            if not (self._takes_costs() or has_fit_parameter(self._base(), "sample_weight")):
                wanted = "have a parameter costs or a fit that takes sample_weight"
                hint = "Or give ExpectedCostClassifier(estimator), where it has predict_proba."
                raise invalid("estimator", wanted, type(self.estimator).__name__, hint)
            steps, cv = check_count("grid", self.grid), check_count("cv", self.cv, at_least=2)
            unit = Costs.binary(fn=1, fp=1, classes=classes, positive=self.positive)
            positive = classes[unit.positive_index()]
            labels = classes[codes]
            thetas = (np.arange(steps) + 0.5) / steps
            answers = self._held_out(X, labels, thetas, cv, positive)
            values = [f_score(labels, each, positive=positive) for each in answers]
            theta = float(thetas[int(np.argmax(values))])
            fitted = self._fitted(X, labels, theta, positive)
            self.classes_, self.theta_, self.estimator_ = classes, theta, fitted
            self.f_curve_: Floats = np.column_stack([thetas, values])
            share = float((labels == positive).mean())
            self.guarantee_ = 4 / steps * float(np.hypot(share, 1 - share)) / share
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Answer by the fit of the best theta.

        Parameters
        ----------
        X : array-like
            Rows.

        Returns
        -------
        y_pred : ndarray
            The predicted labels.
        """
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict(check_base_rows(self, X, reset=False)))

    @available_if(_has_scores)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Floats:
        """Scores of the fit of the best theta: its own, else by how much the last class is cheaper, or likelier.

        Parameters
        ----------
        X : array-like
            Rows.

        Returns
        -------
        ndarray of shape (n,)
            Above 0 where the last class is the answer.
        """
        check_is_fitted(self, "estimator_")
        rows, inner = check_base_rows(self, X, reset=False), self.estimator_
        if hasattr(inner, "decision_function"):
            return np.asarray(inner.decision_function(rows))
        table = -inner.expected_costs(rows) if hasattr(inner, "expected_costs") else inner.predict_proba(rows)
        return np.asarray(table[:, 1] - table[:, 0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def _base(self) -> Any:
        return ExpectedCostClassifier() if self.estimator is None else clone(self.estimator)

    def _takes_costs(self) -> bool:
        return "costs" in self._base().get_params(deep=False)

    def _fitted(self, X: Any, y: NDArray[Any], theta: float, positive: Any) -> Any:
        fn, fp = 1 - theta / 2, theta / 2
        if not self._takes_costs():
            return self._base().fit(X, y, sample_weight=np.where(y == positive, fn, fp))
        costs = Costs.binary(fn=fn, fp=fp, classes=np.unique(y), positive=positive)
        return self._base().set_params(costs=costs).fit(X, y)

    def _held_out(self, X: Any, y: NDArray[Any], thetas: Floats, cv: int, positive: Any) -> list[NDArray[Any]]:
        """The answers of every theta to rows it was not fitted on."""
        answers = [y.copy() for _ in thetas]
        splits = StratifiedKFold(cv, shuffle=True, random_state=self.random_state).split(np.zeros(len(y)), y)
        for known, asked in splits:
            for each, theta in zip(answers, thetas, strict=True):
                model = self._fitted(take_rows(X, known), y[known], float(theta), positive)
                each[asked] = model.predict(take_rows(X, asked))
        return answers
