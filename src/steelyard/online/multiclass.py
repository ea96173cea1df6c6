"""Many classes in one pass: the steps of paper 000 on the one-sided losses of paper 002."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from ..active import AskAll, Budget, QueryRule
from ..costs import as_costs
from ..costs.rules import CostsLike
from ..errors import StateError
from ..evaluate.classifier_mixin import CostClassifierMixin
from ..trace import Decision, Trace
from ..validation.arrays import (
    check_classes,
    check_labels,
    check_same_length,
    check_sample_weight,
    unchanged_on_error,
)
from ..validation.docstrings import documented
from ..validation.types import ArrayLike, LabelsLike, MatrixLike
from ..validation.values import check_choice, check_count, check_flag, check_number, invalid
from ._binary_stream import all_queried, check_query, check_stream_rows, one_row
from ._labels import as_column, uniform_draws
from ._live_stream import LiveStreamMixin, no_pending_query
from ._multiclass_stream import (
    Floats,
    MulticlassConfig,
    MulticlassLabels,
    MulticlassStream,
    cheapest_answers,
    check_multiclass_update,
)
from ._passes import PassesMixin
from ._saving import SaveLoadMixin, classes_read, classes_written, described, params_read, params_written
from .adaptive import AdaptiveBalanced, adaptive_odds, fixed_costs
from .sparse_row import plain_row
from .updates import CSOGD1, UpdateRule

__all__ = ["OnlineCostClassifier"]

FORMAT, VERSION = "steelyard.OnlineCostClassifier", 3


@documented()
class OnlineCostClassifier(SaveLoadMixin, PassesMixin, LiveStreamMixin, CostClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear estimate of every answer's cost, learned in one pass; the answer is the one that seems cheapest.

    Row with costs c[k] of range r, t[k] = c[k] - (min c + max c) / 2, Z[k] = 1 for the cheapest answers and -1 for the
    others, estimates g[k] = w[k].x. The losses max(0, Z (g - t)) of paper 002, eq. (2), or r max(0, Z (g - t / r)), add
    up to no less than the answer costs too much. Every class takes its own step w -= Z stride x / 2: a gradient's on
    the first (``CSOGD1``) or the second losses (``CSOGD2``, ``CSOALHinge``), or passive-aggressively on the first
    (``PA``, ``PA1``, ``PA2``) or the second (``CSOALPA``). With two classes it is ``OnlineClassifier(update)``, though
    the PA there are blind to costs; with unit costs, one such learner a class against the rest.

    Parameters
    ----------
    update : UpdateRule or None
        What a label does to the weights; ``CSOGD1()`` if None.
    query : QueryRule or None
        Which labels are queried; ``AskAll()`` if None.
    budget : int, float, Budget or None
        Labels in all, or a rate below 1.
    negative : label or None
        The class that is no alarm; the first one if None.
    after_budget : {"last", "average"}
        Weights that answer once the budget is spent.
    fit_intercept : bool
        Learn with a constant feature 1.
    seed : int
        Of the draws of the query rule.
    classes : sequence of labels or None
        All classes, so that a live stream may decide and learn from its very first row; else from the first rows.

    Examples
    --------
    >>> X = np.eye(3)[[0, 1, 2] * 20]
    >>> OnlineCostClassifier().fit(X, ["low", "mid", "top"] * 20).predict(np.eye(3)).tolist()
    ['low', 'mid', 'top']
    """

    STORED = ("classes", "costs", "coef", "intercept", "sums", "intercept_sums", "seen")
    FIELDS = ("params", "n_features", "counts", "labels", "feature_names")
    FORMAT, VERSION = FORMAT, VERSION
    classes_: NDArray[Any]
    _stream: MulticlassStream

    def __init__(
        self,
        update: UpdateRule | None = None,
        *,
        query: QueryRule | None = None,
        budget: int | float | Budget | None = None,
        costs: CostsLike | None = None,
        negative: Any = None,
        after_budget: str = "last",
        fit_intercept: bool = False,
        seed: int = 0,
        classes: LabelsLike | None = None,
    ) -> None:
        self.update = update
        self.query = query
        self.budget = budget
        self.costs = costs
        self.negative = negative
        self.after_budget = after_budget
        self.fit_intercept = fit_intercept
        self.seed = seed
        self.classes = classes

    # -- learning ----------------------------------------------------------------------------------------------------

    def start(self, n_features: int, classes: LabelsLike) -> Self:
        """Begin a live stream of ``n_features`` features without any row yet.

        Parameters
        ----------
        n_features : int
            Features of a row.
        classes : sequence of labels
            All classes.

        Returns
        -------
        Self
            The estimator, ready to decide.
        """
        with unchanged_on_error(self):
            self.n_features_in_ = check_count("n_features", n_features)
            self._begin(self.n_features_in_, check_classes(classes), None)
        return self

    def _learn(
        self,
        X: Any,
        y: Any,
        classes: Any,
        costs: Any,
        sample_weight: Any,
        *,
        known_whole: bool,
        recorded: bool = True,  # it always is
        draws: Any = None,
    ) -> Trace:
        new = not hasattr(self, "_stream")
        classes = self.classes if new and classes is None else classes
        rows = check_stream_rows(self, X, reset=new)
        labels = as_column(y)
        check_same_length(X=rows, y=labels)
        found, codes = check_labels(labels)
        known = found if classes is None else check_classes(classes)
        if new:
            self._begin(rows.shape[1], known, labels if known_whole else None)
        elif classes is not None and not np.array_equal(known, self.classes_):
            raise invalid("classes", f"stay {self.classes_.tolist()}", classes)
        positions = np.array([self._codes.get(label, -1) for label in found.tolist()], dtype=np.int64)
        if (positions < 0).any():
            at = int(np.argmax(positions[codes] < 0))
            raise invalid("y", f"hold the classes {self.classes_.tolist()}", labels[at], f"See row {at}.")
        truth = MulticlassLabels(
            positions[codes],
            None if costs is None else self._table(costs, labels),
            None if sample_weight is None else check_sample_weight(sample_weight, len(labels)),
            None if draws is None else uniform_draws(draws, len(labels)),
        )
        gap, answer, query_probability, queried = self._stream.run(rows, truth)
        if query_probability is None or queried is None:
            query_probability, queried = all_queried(len(labels))
        return Trace(gap, self.classes_[answer], queried, query_probability, labels)

    def _table(self, per_example: Any, y: Any) -> Floats:
        table = as_costs(None, y, self.classes_, per_example=per_example).per_example(y)
        return np.ascontiguousarray(table, dtype=np.float64)

    def _begin(self, n_features: int, classes: NDArray[Any], y: Any) -> None:
        """Zero weights, and everything that stays for the life of the stream."""
        if len(classes) < 2:
            raise invalid(
                "y",
                "have two classes or more",
                classes.tolist(),
                "If the first batch has one class, pass classes=[...].",
            )
        adaptive = isinstance(self.costs, AdaptiveBalanced)
        costs = fixed_costs(None if adaptive else self.costs, y, classes)
        self._adopt(n_features, classes, np.ascontiguousarray(costs.matrix, dtype=np.float64))

    def _adopt(self, n_features: int, classes: NDArray[Any], costs: Floats) -> None:
        update = CSOGD1() if self.update is None else self.update
        query = AskAll() if self.query is None else self.query
        check_multiclass_update(update)
        check_query(query)
        budget = Budget.of(self.budget)
        averaged = check_choice("after_budget", self.after_budget, ("last", "average")) == "average"
        if averaged and not np.isfinite(budget.limit):
            raise invalid("budget", 'be a number of labels for after_budget="average"', self.budget)
        odds, plus = adaptive_odds(self.costs, classes) if isinstance(self.costs, AdaptiveBalanced) else (0.0, 1)
        setting = MulticlassConfig(
            n_features=n_features,
            budget=budget,
            costs=costs,
            negative=self._negative(classes),
            averaging=averaged and budget.limit > 0,
            fit_intercept=check_flag("fit_intercept", self.fit_intercept),
            seed=check_count("seed", self.seed, at_least=0) & (2**64 - 1),
            odds=odds,
            positive=plus,
        )
        self._stream = MulticlassStream(setting, update, query)
        self._name_classes(classes)

    def _name_classes(self, classes: NDArray[Any]) -> None:
        self.classes_ = classes
        self._answers = tuple(classes)  # looked up once a decision
        self._codes = {label: k for k, label in enumerate(classes.tolist())}

    def _negative(self, classes: NDArray[Any]) -> int:
        """Position of the class that query rules take for the negative one."""
        if self.negative is None:
            return 0
        found = np.flatnonzero(classes == self.negative)
        if len(found) != 1:
            raise invalid("negative", f"be one of the classes {classes.tolist()}", self.negative)
        return int(found[0])

    def _running(self) -> MulticlassStream:
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
        found = engine.stream.decide(plain_row(x)) if engine.native else None
        t, gap, answer, query_probability, query = found or engine.decide(one_row(self, x))
        return Decision(t, gap, self._answers[answer], query_probability, query)

    def learn(self, x: ArrayLike, y: LabelsLike, *, costs: CostsLike | None = None, sample_weight: float = 1.0) -> None:
        """Learn from one label that was asked for, at once or much later; ``costs`` of all answers, (K,), win.

        Parameters
        ----------
        x : array-like of shape (d,), SparseRow, or matrix with one row
            The row that was decided.
        y : label
            Its label.
        costs : array-like of shape (K,) or None
            Costs of all answers for this row; win over those by class.
        sample_weight : float
            A factor to the costs.
        """
        engine = getattr(self, "_stream", None)
        if engine is None:
            self._first_call(self.learn, x, y, costs=costs, sample_weight=sample_weight)
            return
        if engine.stream.reserved == 0 and engine.setting.budget != Budget():
            self._code(y)  # a wrong label is said first
            raise no_pending_query()
        self._learn_example(x, y, costs, sample_weight)

    def _learn_example(self, x: Any, y: Any, costs: Any, sample_weight: float) -> None:
        engine, code = self._stream, self._code(y)
        given = None if costs is None else self._table(np.atleast_2d(np.asarray(costs)), np.asarray([y]))[0]
        weight = 1.0 if sample_weight == 1.0 else check_number("sample_weight", sample_weight, at_least=0)
        learned = engine.stream.learn(plain_row(x), code, given, weight) if engine.native else None
        if not learned:
            engine.learn(one_row(self, x), code, given, weight)

    def _stated_costs(self, setting: MulticlassConfig, costs: Any) -> MulticlassConfig:
        adaptive = isinstance(costs, AdaptiveBalanced)
        odds, plus = adaptive_odds(costs, self.classes_) if adaptive else (0.0, 1)
        matrix = fixed_costs(None if adaptive else costs, None, self.classes_).matrix
        return setting._replace(costs=np.ascontiguousarray(matrix, dtype=np.float64), odds=odds, positive=plus)

    def _code(self, y: Any) -> int:
        try:
            return self._codes[y]
        except (KeyError, TypeError):
            raise invalid("y", f"be one of the classes {self.classes_.tolist()}", y) from None

    # -- answering ---------------------------------------------------------------------------------------------------

    @documented()
    def estimated_costs(self, X: MatrixLike) -> Floats:
        """The estimate of every answer's cost, (n, K); 0 lies half-way between the cheapest and the costliest.

        Rules that scale the slope estimate shares of the range of a row's costs.

        Returns
        -------
        ndarray of shape (n, K)
            The estimates, columns as in ``classes_``.
        """
        cold = self._cold(X)
        if cold is not None:
            return cold.estimated_costs(X)
        return self._running().estimates(check_stream_rows(self, X, reset=False))

    def decision_function(self, X: MatrixLike) -> Floats:
        """Minus the estimated costs; for two classes one column, positive for the second."""
        costs = self.estimated_costs(X)
        return costs[:, 0] - costs[:, 1] if costs.shape[1] == 2 else -costs

    def predict(self, X: MatrixLike) -> NDArray[Any]:
        """The answer that seems cheapest; ties go to the last class."""
        cold = self._cold(X)
        if cold is not None:
            return cold.predict(X)
        costs = self.estimated_costs(X)
        return np.asarray(self.classes_[cheapest_answers(costs)])

    @property
    def coef_(self) -> Floats:
        """Weights of the estimated costs, (K, d)."""
        engine = self._running()
        return np.asarray(engine.stream.weights).reshape(-1, engine.setting.n_features)

    @property
    def intercept_(self) -> Floats:
        """Intercepts, (K,)."""
        return np.asarray(self._running().stream.biases)

    # -- state -------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All that a resumed stream needs: arrays under ``"arrays"``, everything else JSON."""
        engine = self._running()
        *changing, counts = engine.stream.arrays()
        fixed = (classes_written(self.classes_), engine.setting.costs.copy())
        return {
            "format": FORMAT,
            "version": VERSION,
            "params": params_written(self),
            "counts": list(counts),
            "n_features": engine.setting.n_features,
            "labels": self.classes_.dtype.kind,
            "feature_names": getattr(self, "feature_names_in_", np.empty(0)).tolist(),
            "arrays": dict(zip(self.STORED, (*fixed, *changing), strict=True)),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], **rules: Any) -> Self:
        """The estimator as it was: it goes on with the same bits. A rule of your own is given by name, ``query=``.

        Parameters
        ----------
        state : dict
            What :meth:`state` gave.
        **rules : Any
            Rules of your own, by name, such as ``query=``.

        Returns
        -------
        Self
            The estimator as it was.
        """
        if not isinstance(state, dict) or (state.get("format"), state.get("version")) != (FORMAT, VERSION):
            raise StateError(f"state must be one of {FORMAT}, version {VERSION}; got {described(state)}.")
        try:
            made = cls(**params_read(state["params"], rules))
            classes, *arrays, seen = (np.ascontiguousarray(state["arrays"][name]) for name in cls.STORED)
            costs, *vectors = (array.astype(np.float64) for array in arrays)
            made.n_features_in_ = int(state["n_features"])
            if costs.shape != (len(classes), len(classes)) or made.n_features_in_ * len(classes) != len(vectors[0]):
                raise StateError(f"state must have {made.n_features_in_} weights for each of {len(classes)} classes.")
            made._adopt(made.n_features_in_, classes_read(classes, state["labels"]), costs)
            made._stream.stream.restore(*vectors, seen.astype(np.uint64), state["counts"])
            names = list(state["feature_names"])
        except StateError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise StateError(f"state must be complete and unchanged; got {type(error).__name__}: {error}.") from error
        if names:
            made.feature_names_in_ = np.array(names, dtype=object)
        return made

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_stream") or self.classes is not None  # a pipeline may answer from cold, too

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
