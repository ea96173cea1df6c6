"""The estimator of online and active learning."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from ..active import AskAll, Budget, QueryRule
from ..costs.rules import CostsLike
from ..evaluate.classifier_mixin import CostClassifierMixin
from ..trace import Decision, Trace
from ..validation.arrays import check_same_length, unchanged_on_error
from ..validation.types import ArrayLike, LabelsLike, MatrixLike
from ..validation.values import check_choice, check_count, check_flag, check_number, invalid
from ._binary_stream import (
    BinaryStream,
    StreamConfig,
    all_queried,
    check_query,
    check_stream_rows,
    check_update,
    one_row,
)
from ._labels import as_column, check_two, is_positive, two_classes, uniform_draws
from ._live_stream import LiveStreamMixin, no_pending_query
from ._passes import PassesMixin
from ._saving import BinaryStateMixin
from .adaptive import class_costs, row_costs
from .sparse_row import plain_row
from .updates import CSOGD2, UpdateRule

__all__ = ["OnlineClassifier"]


class OnlineClassifier(BinaryStateMixin, PassesMixin, LiveStreamMixin, CostClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear classifier learned in one pass, one example at a time, from all labels or from those it asks for.

    Round t: f = w.x, answer ``classes_[1]`` iff f >= threshold, ask for the label with the query rule's chance while
    the budget lasts, and if it comes w <- keep w + add x by the update rule. Papers 000 and 001, Algorithm 1.

    Parameters
    ----------
    update : UpdateRule or None
        What a label does to the weights; ``CSOGD2()`` if None.
    query : QueryRule or None
        Which labels are queried; ``AskAll()`` if None.
    budget : int, float, Budget or None
        Labels in all, or a rate below 1.
    costs : Costs, cost rule, mapping, array-like or None
        Class costs, a rule, or ``AdaptiveBalanced()``: a mistake on the negative class counts 1, on the positive
        one their ratio (rules that are blind to costs ignore them).
    threshold : float
        Positive where the score reaches it.
    after_budget : {"last", "average"}
        Weights that answer once the budget is spent.
    fit_intercept : bool
        Learn with a constant feature 1.
    seed : int
        Of the draws of the query rule.
    classes : sequence of labels or None
        Both classes, so that a live stream may decide and learn from its very first row; else from the first rows.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [-1.0, 0.5], [0.8, 0.1], [-0.7, 0.2]])
    >>> OnlineClassifier().fit(X, ["yes", "no", "yes", "no"]).predict([[0.9, 0.0]])
    array(['yes'], dtype='<U3')
    """

    def __init__(
        self,
        update: UpdateRule | None = None,
        *,
        query: QueryRule | None = None,
        budget: int | float | Budget | None = None,
        costs: CostsLike | None = None,
        threshold: float = 0.0,
        after_budget: str = "last",
        fit_intercept: bool = False,
        seed: int = 0,
        classes: LabelsLike | None = None,
    ) -> None:
        self.update = update
        self.query = query
        self.budget = budget
        self.costs = costs
        self.threshold = threshold
        self.after_budget = after_budget
        self.fit_intercept = fit_intercept
        self.seed = seed
        self.classes = classes

    # -- learning ----------------------------------------------------------------------------------------------------

    def _learn(
        self,
        X: Any,
        y: Any,
        classes: Any,
        costs: Any,
        sample_weight: Any,
        *,
        known_whole: bool,
        recorded: bool = False,
        draws: Any = None,
    ) -> Trace | None:
        new = not hasattr(self, "_stream")
        classes = self.classes if new and classes is None else classes
        rows = check_stream_rows(self, X, reset=new)
        labels = as_column(y)
        check_same_length(X=rows, y=labels)
        positive = None
        if new:
            found, positive = two_classes(labels) if classes is None else (check_two(classes), None)
            self._begin(rows.shape[1], found, labels if known_whole else None)
        elif classes is not None and not np.array_equal(check_two(classes), self.classes_):
            raise invalid("classes", f"stay {self.classes_.tolist()}", classes)
        if positive is None:
            positive = is_positive(labels, self.classes_)
        if sample_weight is not None and not self._stream.update.uses_cost:
            raise invalid("sample_weight", f"be None for {self._stream.update!r}, which is blind to costs", "weights")
        per_row = row_costs(costs, sample_weight, labels, self.classes_, positive)
        uniform = None if draws is None else uniform_draws(draws, len(labels))
        if not recorded:
            self._stream.run(rows, positive, per_row, draws=uniform)
            return None
        record = self._stream.blank_record(len(labels))
        in_place = self.classes_.dtype.kind in "iuf" and self.classes_.itemsize == 8
        bits = tuple(self.classes_.view(np.int64).tolist()) if in_place else (0, 1)
        self._stream.run(rows, positive, per_row, draws=uniform, record=record, labels=bits)
        predicted = record.answer.view(self.classes_.dtype) if in_place else self.classes_[record.answer]
        query_probability, queried = record.query_probability, record.queried
        if query_probability is None or queried is None:
            query_probability, queried = all_queried(len(labels))
        return Trace(record.score, predicted, queried, query_probability, labels)

    def start(self, n_features: int, classes: LabelsLike) -> Self:
        """Begin a live stream of ``n_features`` features without any row yet.

        Parameters
        ----------
        n_features : int
            Features of a row.
        classes : sequence of labels
            Both classes, in any order: the one that sorts last is the positive one.

        Returns
        -------
        Self
            The estimator, ready to decide.
        """
        with unchanged_on_error(self):
            self.n_features_in_ = check_count("n_features", n_features)
            self._begin(self.n_features_in_, check_two(classes), None)
        return self

    def _begin(self, n_features: int, classes: NDArray[Any], y: Any) -> None:
        update = CSOGD2() if self.update is None else self.update
        query = AskAll() if self.query is None else self.query
        check_update(update)
        check_query(query)
        if check_flag("fit_intercept", self.fit_intercept) and update.has_bias:
            raise invalid("fit_intercept", f"be False for {update!r}, which has a bias of its own", True)
        budget = Budget.of(self.budget)
        averaged = check_choice("after_budget", self.after_budget, ("last", "average")) == "average"
        if averaged and not np.isfinite(budget.limit):
            raise invalid("budget", 'be a number of labels for after_budget="average"', self.budget)
        setting = StreamConfig(
            n_features=n_features,
            budget=budget,
            costs=class_costs(self.costs, y, classes),
            threshold=check_number("threshold", self.threshold),
            averaging=averaged and budget.limit > 0,
            fit_intercept=bool(self.fit_intercept),
            seed=check_count("seed", self.seed, at_least=0) & (2**64 - 1),
        )
        self._stream = BinaryStream(setting, update, query)
        self._name_classes(classes)

    def _name_classes(self, classes: NDArray[Any]) -> None:
        self.classes_ = classes
        self._answers = tuple(classes)  # looked up once a decision
        self._truths = {label: bool(i) for i, label in enumerate(classes.tolist())}

    def _running(self) -> BinaryStream:
        try:
            return self._stream
        except AttributeError:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call fit, run, partial_fit or start first."
            ) from None

    # -- one row at a time -------------------------------------------------------------------------------------------

    def decide(self, x: ArrayLike) -> Decision:
        """Answer for one row and say whether its label is wanted. A wanted label reserves a part of the budget.

        Parameters
        ----------
        x : array-like of shape (d,), SparseRow, or matrix with one row
            One row.

        Returns
        -------
        Decision
            Prediction, score and whether the label is wanted.
        """
        engine = getattr(self, "_stream", None)
        if engine is None:
            return self._first_call(self.decide, x)  # type: ignore[no-any-return]
        found = engine.stream.decide(plain_row(x)) if engine.kernel is not None else None
        t, score, positive, query_probability, query = found or engine.decide(one_row(self, x))
        return Decision(t, score, self._answers[positive], query_probability, query)

    def decide_many(self, X: MatrixLike) -> Decision:
        """:meth:`decide` for rows that come one after another without a label between them; bit for bit the same.

        If one of them cannot be used, nothing has changed.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        Decision
            Whose fields are columns of n entries.
        """
        engine = getattr(self, "_stream", None)
        if engine is None:
            return self._first_call(self.decide_many, X)  # type: ignore[no-any-return]
        rows = check_stream_rows(self, X, reset=False)
        t = engine.stream.t
        score, query_probability, query = engine.decide_many(rows)
        prediction = self.classes_[(score >= engine.setting.threshold).astype(np.intp)]
        return Decision(np.arange(t, t + len(score)), score, prediction, query_probability, query)  # type: ignore[arg-type]

    def learn(self, x: ArrayLike, y: LabelsLike, *, cost: float | None = None, sample_weight: float = 1.0) -> None:
        """Learn from one label that was asked for, at once or much later.

        ``cost`` of a mistake on this example wins over the costs by class; a sample weight is a factor to it.

        Parameters
        ----------
        x : array-like of shape (d,), SparseRow, or matrix with one row
            The row that was decided.
        y : label
            Its label.
        cost : float or None
            Cost of a mistake on this example; wins over the costs by class.
        sample_weight : float
            A factor to the cost.
        """
        engine = getattr(self, "_stream", None)
        if engine is None:
            self._first_call(self.learn, x, y, cost=cost, sample_weight=sample_weight)
            return
        if engine.stream.reserved == 0 and engine.setting.budget != Budget():
            self._truth(y)  # a wrong label is said first
            raise no_pending_query()
        self._learn_example(x, y, cost, sample_weight)

    def _learn_example(self, x: Any, y: Any, cost: float | None, sample_weight: float) -> None:
        engine, positive = self._stream, self._truth(y)
        value, absolute = 1.0, cost is not None
        if cost is not None:
            value = check_number("cost", cost, at_least=0)
        if sample_weight != 1.0:
            value *= self._weight(sample_weight)
        learned = None
        if engine.kernel is not None:
            learned = engine.kernel.learn(engine.stream, plain_row(x), positive, value, absolute)
        if not learned:
            engine.learn(one_row(self, x), positive, value, absolute)

    def _stated_costs(self, setting: StreamConfig, costs: Any) -> StreamConfig:
        return setting._replace(costs=class_costs(costs, None, self.classes_))

    def _truth(self, y: Any) -> bool:
        try:
            return self._truths[y]
        except (KeyError, TypeError):
            raise invalid("y", f"be one of the classes {self.classes_.tolist()}", y) from None

    def _weight(self, sample_weight: float) -> float:
        if not self._stream.update.uses_cost:
            raise invalid("sample_weight", f"be 1 for {self._stream.update!r}, which is blind to costs", sample_weight)
        return check_number("sample_weight", sample_weight, at_least=0)

    # -- answering ---------------------------------------------------------------------------------------------------

    def decision_function(self, X: MatrixLike) -> NDArray[np.float64]:
        """w.x + b - threshold of every row; the answer is ``classes_[1]`` where it is not negative."""
        cold = self._cold(X)
        if cold is not None:
            return cold.decision_function(X)
        engine = self._running()
        return engine.scores(check_stream_rows(self, X, reset=False)) - engine.setting.threshold

    def predict(self, X: MatrixLike) -> NDArray[Any]:
        """The answer for every row."""
        cold = self._cold(X)
        if cold is not None:
            return cold.predict(X)
        scores = self.decision_function(X)
        return np.asarray(self.classes_[(scores >= 0).astype(np.intp)])

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights, (1, d)."""
        return np.asarray(self._running().stream.coef).reshape(1, -1)

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Intercept, (1,)."""
        return np.array([self._running().stream.intercept])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_stream") or self.classes is not None  # a pipeline may answer from cold, too

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags
