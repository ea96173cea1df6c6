"""Many classes in one pass: the gradient steps of paper 000 on the one-sided losses of paper 002."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .._checks import (
    Rows,
    check_count,
    check_finite,
    check_flag,
    check_labels,
    check_number,
    check_rows,
    check_same_length,
    check_sample_weight,
    complain,
    is_sparse,
)
from .._native import cost_table, learn_costs, run_costs
from ..active import AskAll, Budget, QueryRule
from ..costs import CostRule, Costs, ExampleCosts, as_costs
from ..errors import CostsError, DivergedError, StateError
from ..trace import Decision, Trace
from ._engine import arrays_of
from ._inquiry import Inquiry
from ._labels import as_column, uniform_draws
from ._storing import Saved, classes_read, classes_written, described, params_read, params_written

__all__ = ["OnlineCostClassifier"]

Floats = NDArray[np.float64]
Targets = tuple[Floats, NDArray[np.bool_]]  # costs of every row around 0, and which answers are the cheapest
# Overloaded over the kinds of rows, which are known when they run.
RUN: Callable[..., int] = run_costs
LEARN: Callable[..., int] = learn_costs
PREDICT: Callable[..., int] = cost_table
FORMAT, VERSION = "steelyard.OnlineCostClassifier", 2


class OnlineCostClassifier(Saved, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear estimate of every answer's cost, learned in one pass; the answer is the one that seems cheapest.

    Row with costs c[k], t[k] = c[k] - (min c + max c) / 2, estimates g[k] = w[k].x: where an answer that is among the
    cheapest has g > t, w -= eta x; where another has g < t, w += eta x. These are gradient steps (paper 000, eq. (4))
    on the one-sided losses max(0, Z (g - t)) of paper 002, eq. (2), one a class. With two classes it is
    ``OnlineClassifier(CSOGD1(2 * eta))``; with unit costs, one such learner a class against the rest.

    Parameters: ``eta`` > 0, the step; ``query`` and ``budget``, which labels to ask for and how many (paper 001): the
    score a rule looks at is how much dearer the second best answer seems, with a minus where the answer is
    ``negative`` (default: the first class); ``costs``, by class: a matrix C[true, predicted], a rule, or None for 0
    and 1; ``fit_intercept``, a constant feature 1; ``seed`` of the draws. Costs per example and sample weights, which
    are factors to the costs of a row, go to fit, partial_fit and run.

    >>> X = np.eye(3)[[0, 1, 2] * 20]
    >>> OnlineCostClassifier().fit(X, ["low", "mid", "top"] * 20).predict(np.eye(3)).tolist()
    ['low', 'mid', 'top']
    """

    STORED = ("classes", "costs", "coef", "intercept")
    classes_: NDArray[Any]
    coef_: Floats
    intercept_: Floats
    _inquiry: Inquiry
    _costs: Costs

    def __init__(
        self,
        *,
        eta: float = 0.1,
        query: QueryRule | None = None,
        budget: int | float | Budget | None = None,
        costs: Any = None,
        negative: Any = None,
        fit_intercept: bool = False,
        seed: int = 0,
    ) -> None:
        self.eta = eta
        self.query = query
        self.budget = budget
        self.costs = costs
        self.negative = negative
        self.fit_intercept = fit_intercept
        self.seed = seed

    # -- learning ----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, *, costs: Any = None, sample_weight: Any = None) -> Self:
        """Learn afresh from one pass over the rows in their order."""
        with self._unchanged_on_error():
            self.__dict__.pop("coef_", None)
            self._learn(X, y, None, costs, sample_weight, whole=True)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, *, costs: Any = None, sample_weight: Any = None) -> Self:
        """Go on learning. The first part names all ``classes`` unless it has them."""
        with self._unchanged_on_error():
            self._learn(X, y, classes, costs, sample_weight, whole=False)
        return self

    def run(
        self, X: Any, y: Any, *, draws: Any = None, classes: Any = None, costs: Any = None, sample_weight: Any = None
    ) -> Trace:
        """Go on learning and keep the prequential record; ``score`` is how much dearer the second best answer seems.

        A new estimator starts with these rows; costs that count classes take them for the whole stream. ``draws``
        replaces the uniform numbers of the rounds. Labels that are not asked for are not looked at.
        """
        with self._unchanged_on_error():
            return self._learn(X, y, classes, costs, sample_weight, whole=True, draws=draws)

    def start(self, n_features: int, classes: Any) -> Self:
        """Begin a live stream of ``n_features`` features without any row yet."""
        with self._unchanged_on_error():
            self.n_features_in_ = check_count("n_features", n_features)
            self._begin(self.n_features_in_, np.unique(np.asarray(classes)), None)
        return self

    def _learn(
        self, X: Any, y: Any, classes: Any, costs: Any, sample_weight: Any, *, whole: bool, draws: Any = None
    ) -> Trace:
        new = not hasattr(self, "coef_")
        rows = _canonical(check_rows(self, X, reset=new))
        labels = as_column(y)
        check_same_length(X=rows, y=labels)
        found, _ = check_labels(labels)
        known = found if classes is None else np.unique(np.asarray(classes))
        if new:
            self._begin(rows.shape[1], known, labels if whole else None)
        elif classes is not None and not np.array_equal(known, self.classes_):
            raise complain("classes", f"stay {self.classes_.tolist()}", classes)
        strange = [label for label in found.tolist() if label not in self.classes_.tolist()]
        if strange:
            raise complain("y", f"hold the classes {self.classes_.tolist()}", strange[0])
        weight = None if sample_weight is None else check_sample_weight(sample_weight, len(labels))
        targets = self._targets(labels, costs, weight)
        uniform = None if draws is None else uniform_draws(draws, len(labels))
        # A part that fails leaves no trace: it works on copies.
        self.coef_, self.intercept_ = self.coef_.copy(), self.intercept_.copy()
        self._inquiry = copy.copy(self._inquiry)
        return self._passed(rows, labels, targets, uniform)

    def _begin(self, n_features: int, classes: NDArray[Any], y: Any) -> None:
        """Zero weights, and everything that stays for the life of the stream."""
        if len(classes) < 2:
            raise complain(
                "y", "have two classes or more", classes.tolist(), "For one class in the first part give classes=."
            )
        if y is None and isinstance(self.costs, CostRule):
            raise complain(
                "costs",
                "not depend on labels yet to come when a stream is learned in parts",
                self.costs,
                "Use fixed costs from known labels: costs.costs_for(y_known).",
                CostsError,
            )
        costs = as_costs(self.costs, y, classes)
        if isinstance(costs, ExampleCosts):
            advice = "Give costs per example to fit, partial_fit, run or learn."
            raise complain("costs", "be by class in the constructor", costs, advice, CostsError)
        inquiry = Inquiry.begun(AskAll() if self.query is None else self.query, self.budget, self.seed)
        self.classes_, self._costs, self._inquiry = classes, costs, inquiry
        self.coef_, self.intercept_ = np.zeros((len(classes), n_features)), np.zeros(len(classes))
        self._negative()

    def _negative(self) -> int:
        """Position of the class that query rules take for the negative one."""
        if self.negative is None:
            return 0
        found = np.flatnonzero(self.classes_ == self.negative)
        if len(found) != 1:
            raise complain("negative", f"be one of the classes {self.classes_.tolist()}", self.negative)
        return int(found[0])

    def _targets(self, y: Any, per_example: Any, weight: Floats | None) -> Targets:
        costs = self._costs if per_example is None else as_costs(None, y, self.classes_, per_example=per_example)
        table = np.asarray(costs.table(y), dtype=np.float64)
        if weight is not None:
            table = table * weight[:, None]
        low, high = table.min(axis=1, keepdims=True), table.max(axis=1, keepdims=True)
        return np.ascontiguousarray(table - (low + high) / 2), np.ascontiguousarray(table == low)

    def _steps(self) -> tuple[float, bool]:
        return check_number("eta", self.eta, above=0), check_flag("fit_intercept", self.fit_intercept)

    def _passed(self, rows: Rows, y: NDArray[Any], targets: Targets, draws: Floats | None) -> Trace:
        n, always = len(y), self._inquiry.always()
        gap, answer = np.empty(n), np.empty(n, dtype=np.int64)
        chance, asked = (None, None) if always else (np.empty(n), np.empty(n, dtype=bool))
        record = (gap, answer, chance, asked)
        if self._inquiry.native:
            stream = self._inquiry.stream
            weights, steps = (self.coef_, self.intercept_, stream), self._steps()
            _check_end(RUN(*weights, *arrays_of(rows), *targets, *steps, self._negative(), draws, *record))
        else:
            self._pass_in_python(rows, targets, draws, record)
        if chance is None or asked is None:
            return Trace(gap, self.classes_[answer], np.broadcast_to(True, n), np.broadcast_to(1.0, n), y)
        return Trace(gap, self.classes_[answer], asked, chance, y)

    def _pass_in_python(self, rows: Rows, targets: Targets, draws: Floats | None, record: Any) -> None:
        """The same round by round, for query rules without a kernel; also what the kernel is compared with."""
        for i in range(rows.shape[0]):
            row = rows[i : i + 1]
            *found, ask = self._enter(row, draws, i)
            if ask:
                self._settle(row, (targets[0][i : i + 1], targets[1][i : i + 1]))
            for column, value in zip(record, (*found, ask), strict=True):
                column[i] = value

    def _enter(self, row: Rows, draws: Floats | None = None, i: int = 0) -> tuple[float, int, float, bool]:
        """Gap, answer, chance and whether to ask, for the next round."""
        costs = self._estimates(row)[0]
        answer = int(_cheapest(costs[None])[0])
        gap = float((np.delete(costs, answer) - costs[answer]).min())
        positive = answer != self._negative()
        return (gap, answer, *self._inquiry.enter(gap if positive else -gap, positive, draws, i))

    def _settle(self, row: Rows, targets: Targets) -> None:
        weights = (self.coef_, self.intercept_, self._inquiry.stream)
        _check_end(LEARN(*weights, *arrays_of(row), *targets, *self._steps()))

    # -- one row at a time -------------------------------------------------------------------------------------------

    def decide(self, x: Any) -> Decision:
        """Answer for one row and say whether its label is wanted. A wanted label reserves a part of the budget."""
        check_is_fitted(self, "coef_")
        t = self.n_rounds_
        gap, answer, chance, ask = self._enter(self._row(x))
        if ask:
            self._inquiry.stream.reserve()
        return Decision(t, gap, self.classes_[answer], chance, ask)

    def learn(self, x: Any, y: Any, *, costs: Any = None, sample_weight: float = 1.0) -> None:
        """Learn from one label that was asked for, at once or much later; ``costs`` of all answers, (K,), win."""
        check_is_fitted(self, "coef_")
        row, label = self._row(x), np.asarray([y])
        if label[0] not in self.classes_.tolist():
            raise complain("y", f"be one of the classes {self.classes_.tolist()}", y)
        weight = np.array([check_number("sample_weight", sample_weight, at_least=0)])
        targets = self._targets(label, None if costs is None else np.atleast_2d(costs), weight)
        if self._inquiry.budget != Budget() and self._inquiry.stream.reserved == 0:
            raise complain(
                "learn", "follow a decision that asked, when labels are limited", "a label that was not asked for"
            )
        touched = row.indices if is_sparse(row) else slice(None)
        before = self.coef_[:, touched].copy(), self.intercept_.copy(), copy.copy(self._inquiry)
        try:
            self._inquiry.stream.release()
            self._settle(row, targets)
        except BaseException:
            self.coef_[:, touched], self.intercept_[:], self._inquiry = before
            raise

    def release(self, count: int = 1) -> None:
        """Give back the reservation of labels that were asked for and will never come."""
        check_is_fitted(self, "coef_")
        self._inquiry.stream.release(check_count("count", count))

    def _row(self, x: Any) -> Rows:
        if (
            isinstance(x, np.ndarray)
            and x.dtype == np.float64
            and x.shape == self.coef_.shape[1:]
            and np.isfinite(x).all()
        ):
            return np.ascontiguousarray(x).reshape(1, -1)  # nothing left to check, a live stream is in a hurry
        row = x if is_sparse(x) or getattr(x, "ndim", 1) == 2 else np.atleast_2d(np.asarray(x))
        rows = _canonical(check_rows(self, row, reset=False))
        if rows.shape[0] != 1:
            raise complain("x", "be one row", f"{rows.shape[0]} rows", "Use run or partial_fit for many.")
        return rows

    # -- answering ---------------------------------------------------------------------------------------------------

    def estimated_costs(self, X: Any) -> Floats:
        """The estimate of every answer's cost, (n, K); 0 lies half-way between the cheapest and the dearest."""
        check_is_fitted(self, "coef_")
        return self._estimates(_canonical(check_rows(self, X, reset=False)))

    def _estimates(self, rows: Rows) -> Floats:
        out = np.empty((rows.shape[0], len(self.classes_)))
        _check_end(PREDICT(self.coef_, self.intercept_, *arrays_of(rows), out))
        return out

    def decision_function(self, X: Any) -> Floats:
        """Minus the estimated costs; for two classes one column, positive for the second."""
        costs = self.estimated_costs(X)
        return costs[:, 0] - costs[:, 1] if costs.shape[1] == 2 else -costs

    def predict(self, X: Any) -> NDArray[Any]:
        """The answer that seems cheapest; ties go to the last class."""
        costs = self.estimated_costs(X)
        return np.asarray(self.classes_[_cheapest(costs)])

    @property
    def n_rounds_(self) -> int:
        """Rounds so far."""
        return int(self._inquiry.stream.t)

    @property
    def n_asked_(self) -> int:
        """Labels asked for so far, answered or not."""
        return int(self._inquiry.stream.spent + self._inquiry.stream.reserved)

    @property
    def n_updates_(self) -> int:
        """Rounds that changed the weights."""
        return int(self._inquiry.stream.updates)

    # -- state -------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All that a resumed stream needs: arrays under ``"arrays"``, everything else JSON."""
        check_is_fitted(self, "coef_")
        return {
            "format": FORMAT,
            "version": VERSION,
            "params": params_written(self),
            "counts": self._inquiry.counts,
            "labels": self.classes_.dtype.kind,
            "feature_names": getattr(self, "feature_names_in_", np.empty(0)).tolist(),
            "arrays": {
                "classes": classes_written(self.classes_),
                "costs": np.array(self._costs.matrix),
                "coef": self.coef_.copy(),
                "intercept": self.intercept_.copy(),
            },
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], **rules: Any) -> Self:
        """The estimator as it was: it goes on with the same bits. A rule of your own is given by name, ``query=``."""
        if not isinstance(state, dict) or (state.get("format"), state.get("version")) != (FORMAT, VERSION):
            raise StateError(f"state must be one of {FORMAT}, version {VERSION}; got {described(state)}.")
        try:
            made = cls(**params_read(state["params"], rules))
            arrays = {name: np.ascontiguousarray(state["arrays"][name]) for name in cls.STORED}
            made.classes_ = classes_read(arrays["classes"], state["labels"])
            made._costs = Costs(made.classes_, arrays["costs"].astype(np.float64))
            made.coef_, made.intercept_ = arrays["coef"].astype(np.float64), arrays["intercept"].astype(np.float64)
            made._inquiry = Inquiry.begun(made.query or AskAll(), made.budget, made.seed)
            made._inquiry.resume(state["counts"])
            names = list(state["feature_names"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StateError(f"state must be complete and unchanged; got {type(error).__name__}: {error}.") from error
        K = len(made.classes_)
        if made.coef_.ndim != 2 or arrays["costs"].shape != (K, K) or not K == len(made.coef_) == len(made.intercept_):
            raise StateError("state must hold weights, an intercept and costs for every class.")
        made.n_features_in_ = made.coef_.shape[1]
        if names:
            made.feature_names_in_ = np.array(names, dtype=object)
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _cheapest(costs: Floats) -> NDArray[np.intp]:
    """Ties go to the last class, as a score of 0 goes to the positive one."""
    return np.asarray(costs.shape[1] - 1 - np.argmin(costs[:, ::-1], axis=1))


def _canonical(rows: Rows) -> Rows:
    """Every column once in a row; the caller's matrix stays as it was."""
    if is_sparse(rows) and not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    check_finite("X", rows)
    return rows


def _check_end(end: int) -> None:
    if end != -1:
        advice = "Scale the features or take smaller steps."
        raise complain("weights", "stay finite", "an overflow", advice, DivergedError)
