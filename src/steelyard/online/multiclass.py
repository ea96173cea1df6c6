"""Many classes in one pass: the gradient steps of paper 000 on the one-sided losses of paper 002."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .._checks import (
    Rows,
    check_finite,
    check_flag,
    check_labels,
    check_number,
    check_rows,
    check_same_length,
    complain,
    is_sparse,
)
from .._native import cost_table, run_costs
from ..costs import CostRule, as_costs
from ..errors import CostsError, DivergedError, StateError
from ..trace import Trace
from ._engine import arrays_of
from ._labels import as_column

__all__ = ["OnlineCostClassifier"]

Floats = NDArray[np.float64]
# Overloaded over the kinds of rows, which are known when they run.
RUN: Callable[..., tuple[int, int]] = run_costs
PREDICT: Callable[..., int] = cost_table
FORMAT = "steelyard.OnlineCostClassifier"


class OnlineCostClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear estimate of every answer's cost, learned in one pass; the answer is the one that seems cheapest.

    Row with costs c[k], t[k] = c[k] - (min c + max c) / 2, estimates g[k] = w[k].x: where an answer that is among the
    cheapest has g > t, w -= eta x; where another has g < t, w += eta x. These are gradient steps (paper 000, eq. (4))
    on the one-sided losses max(0, Z (g - t)) of paper 002, eq. (2), one a class. With two classes it is
    ``OnlineClassifier(CSOGD1(2 * eta))``; with unit costs, one such learner a class against the rest.

    Parameters: ``eta`` > 0, the step; ``costs``, by class: a matrix C[true, predicted], a rule, or None for 0 and 1;
    ``fit_intercept``, a constant feature 1. Costs per example go to fit, partial_fit and run.

    >>> X = np.eye(3)[[0, 1, 2] * 20]
    >>> OnlineCostClassifier().fit(X, ["low", "mid", "top"] * 20).predict(np.eye(3)).tolist()
    ['low', 'mid', 'top']
    """

    classes_: NDArray[Any]
    coef_: Floats
    intercept_: Floats
    n_rounds_: int
    n_updates_: int

    def __init__(self, *, eta: float = 0.1, costs: Any = None, fit_intercept: bool = False) -> None:
        self.eta = eta
        self.costs = costs
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any, *, costs: Any = None) -> Self:
        """Learn afresh from one pass over the rows in their order."""
        self._learn(X, y, None, costs, new=True)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, *, costs: Any = None) -> Self:
        """Go on learning. The first part names all ``classes`` unless it has them."""
        self._learn(X, y, classes, costs, new=not hasattr(self, "coef_"), in_parts=True)
        return self

    def run(self, X: Any, y: Any, *, classes: Any = None, costs: Any = None) -> Trace:
        """Go on learning and keep the prequential record; ``score`` is how much dearer the second best answer seems."""
        return self._learn(X, y, classes, costs, new=not hasattr(self, "coef_"))

    def _learn(self, X: Any, y: Any, classes: Any, costs: Any, *, new: bool, in_parts: bool = False) -> Trace:
        eta, constant = check_number("eta", self.eta, above=0), check_flag("fit_intercept", self.fit_intercept)
        before = dict(self.__dict__)
        try:
            rows = _canonical(check_rows(self, X, reset=new))
            labels = as_column(y)
            check_same_length(X=rows, y=labels)
            found, _ = check_labels(labels)
            known = self._classes(found, classes, new)
            target, cheapest = self._targets(labels, known, costs, whole=not in_parts)
            start = (
                (np.zeros((len(known), rows.shape[1])), np.zeros(len(known))) if new else (self.coef_, self.intercept_)
            )
            coef, intercept = start[0].copy(), start[1].copy()  # a part that fails leaves no trace
            gap, answer = np.empty(len(labels)), np.empty(len(labels), dtype=np.int64)
            end, updates = RUN(coef, intercept, *arrays_of(rows), target, cheapest, eta, constant, gap, answer)
            if end != -1:
                raise _diverged()
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        self.classes_, self.coef_, self.intercept_ = known, coef, intercept
        self.n_rounds_ = len(labels) + (0 if new else self.n_rounds_)
        self.n_updates_ = int(updates) + (0 if new else self.n_updates_)
        asked, chance = np.broadcast_to(True, len(labels)), np.broadcast_to(1.0, len(labels))
        return Trace(gap, known[answer], asked, chance, labels)

    def _classes(self, found: NDArray[Any], classes: Any, new: bool) -> NDArray[Any]:
        known = np.unique(np.asarray(classes)) if classes is not None else found if new else self.classes_
        if not new and not np.array_equal(known, self.classes_):
            raise complain("classes", f"stay {self.classes_.tolist()}", classes)
        if len(known) < 2:
            raise complain(
                "y", "have two classes or more", known.tolist(), "For one class in the first part give classes=."
            )
        strange = [label for label in found.tolist() if label not in known.tolist()]
        if strange:
            raise complain("y", f"hold the classes {known.tolist()}", strange[0])
        return known

    def _targets(self, y: Any, classes: Any, per_example: Any, *, whole: bool) -> tuple[Floats, NDArray[np.bool_]]:
        """Costs of every row around 0, and which answers are the cheapest."""
        if isinstance(self.costs, CostRule) and not whole:
            raise complain(
                "costs",
                "not depend on labels yet to come when a stream is learned in parts",
                self.costs,
                "Use fixed costs from known labels: costs.costs_for(y_known).",
                CostsError,
            )
        table = np.asarray(as_costs(self.costs, y, classes, per_example=per_example).table(y), dtype=np.float64)
        low, high = table.min(axis=1, keepdims=True), table.max(axis=1, keepdims=True)
        return np.ascontiguousarray(table - (low + high) / 2), np.ascontiguousarray(table == low)

    # -- answering ---------------------------------------------------------------------------------------------------

    def estimated_costs(self, X: Any) -> Floats:
        """The estimate of every answer's cost, (n, K); 0 lies half-way between the cheapest and the dearest."""
        check_is_fitted(self, "coef_")
        rows = _canonical(check_rows(self, X, reset=False))
        out = np.empty((rows.shape[0], len(self.classes_)))
        if PREDICT(self.coef_, self.intercept_, *arrays_of(rows), out) != -1:
            raise _diverged()
        return out

    def decision_function(self, X: Any) -> Floats:
        """Minus the estimated costs; for two classes one column, positive for the second."""
        costs = self.estimated_costs(X)
        return costs[:, 0] - costs[:, 1] if costs.shape[1] == 2 else -costs

    def predict(self, X: Any) -> NDArray[Any]:
        """The answer that seems cheapest; ties go to the last class."""
        costs = self.estimated_costs(X)
        return np.asarray(self.classes_[costs.shape[1] - 1 - np.argmin(costs[:, ::-1], axis=1)])

    # -- state -------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All that a resumed stream needs but the costs: arrays under ``"arrays"``, everything else JSON."""
        check_is_fitted(self, "coef_")
        return {
            "format": FORMAT,
            "version": 1,
            "params": {"eta": float(self.eta), "fit_intercept": bool(self.fit_intercept)},
            "counts": [self.n_rounds_, self.n_updates_],
            "arrays": {"classes": self.classes_, "coef": self.coef_.copy(), "intercept": self.intercept_.copy()},
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], *, costs: Any = None) -> Self:
        """The estimator as it was; give its ``costs`` again."""
        if not isinstance(state, dict) or (state.get("format"), state.get("version")) != (FORMAT, 1):
            raise StateError(f"state must be one of {FORMAT}, version 1; got {type(state).__name__}.")
        try:
            made = cls(**state["params"], costs=costs)
            made.n_rounds_, made.n_updates_ = map(int, state["counts"])
            made.classes_ = np.asarray(state["arrays"]["classes"])
            made.coef_ = np.array(state["arrays"]["coef"], dtype=np.float64, order="C")
            made.intercept_ = np.array(state["arrays"]["intercept"], dtype=np.float64)
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(f"state must be complete and unchanged; got {type(error).__name__}: {error}.") from error
        if made.coef_.ndim != 2 or not len(made.classes_) == len(made.coef_) == len(made.intercept_):
            raise StateError("state must hold weights and an intercept for every class.")
        made.n_features_in_ = made.coef_.shape[1]
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _canonical(rows: Rows) -> Rows:
    """Every column once in a row; the caller's matrix stays as it was."""
    if is_sparse(rows) and not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    check_finite("X", rows)
    return rows


def _diverged() -> Exception:
    advice = "Scale the features or take smaller steps."
    return complain("weights", "stay finite", "an overflow", advice, DivergedError)
