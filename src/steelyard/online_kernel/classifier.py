"""The estimator of online and active learning with kernels."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..active import AskAll, Budget, QueryInput, QueryRule, draw
from ..costs.rules import CostsLike
from ..errors import DivergedError
from ..evaluate.classifier_mixin import CostClassifierMixin
from ..margin.kernels import Gamma, KernelFunction, KernelName, kernel_spec
from ..online import CSOGD2, Step, UpdateInput, UpdateRule
from ..online._binary_stream import check_query, check_update, query_probability_of, step_of
from ..online._labels import as_column, check_two, is_positive, two_classes
from ..online.adaptive import ClassCosts, class_costs
from ..online.second_order import SecondOrderRule
from ..trace import Trace
from ..validation.arrays import Rows, check_rows, check_same_length, unchanged_on_error
from ..validation.docstrings import documented
from ..validation.types import LabelsLike, MatrixLike
from ..validation.values import check_count, check_flag, check_number, invalid
from .expansion import Block, Expansion, Floats

ROWS_AT_ONCE = 256  # whose scores are computed together


class Progress(NamedTuple):
    """Where a stream stands."""

    t: int = 0
    spent: int = 0
    positives: int = 0


class OnlineKernelClassifier(CostClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """:class:`OnlineClassifier` in the space of a kernel: f(x) = sum of a_i k(x_i, x) over the rows learned from.

    The same rounds, rules, draws and budgets; a step w <- keep w + add x becomes a support row x with the coefficient
    add. With ``kernel="linear"`` it gives the same answers, slower. Under a budget the support is never larger than
    the labels. Paper 001: "can be easily generalised" to kernels.

    Parameters
    ----------
    update : UpdateRule or None
        What a label does; ``CSOGD2()`` if None. Second-order rules have no kernel form here.
    kernel : {"rbf", "linear", "poly"} or callable
        A positive semi-definite kernel, with ``gamma``, ``degree`` and ``coef0`` as in :func:`gram`; ``gamma`` is
        settled on the first rows.
    gamma : float, {"scale", "auto"} or None
        Of the kernel.
    degree : int
        Of the kernel.
    coef0 : float
        Of the kernel.
    query : QueryRule or None
        Which labels are queried; ``AskAll()`` if None.
    budget : int, float, Budget or None
        Labels in all, or a rate below 1.
    max_support : int or None
        Support rows to keep, at least 1: beyond it the one with the shortest share of f is left out. None: all.
    costs : Costs, cost rule, mapping, array-like or None
        As for :class:`OnlineClassifier`.
    threshold : float
        Positive where the score reaches it.
    fit_intercept : bool
        Add 1 to the kernel, as a constant feature does.
    seed : int
        Of the draws of the query rule.

    Attributes
    ----------
    support_vectors_, dual_coef_, intercept_ : ndarray
        The expansion.

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]] * 5, [0, 0, 1, 1] * 5
    >>> OnlineKernelClassifier(kernel="rbf", gamma=2.0).fit(X, y).predict(X[:4])
    array([0, 0, 1, 1])
    """

    def __init__(
        self,
        update: UpdateRule | None = None,
        *,
        kernel: KernelName | KernelFunction = "rbf",
        gamma: Gamma = None,
        degree: int = 3,
        coef0: float = 0.0,
        query: QueryRule | None = None,
        budget: int | float | Budget | None = None,
        max_support: int | None = None,
        costs: CostsLike | None = None,
        threshold: float = 0.0,
        fit_intercept: bool = False,
        seed: int = 0,
    ) -> None:
        self.update = update
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.query = query
        self.budget = budget
        self.max_support = max_support
        self.costs = costs
        self.threshold = threshold
        self.fit_intercept = fit_intercept
        self.seed = seed

    # -- learning ----------------------------------------------------------------------------------------------------

    def fit(self, X: MatrixLike, y: LabelsLike) -> Self:
        """Learn afresh from one pass over the rows in their order."""
        with unchanged_on_error(self):
            self.__dict__.pop("expansion_", None)
            self._learn(X, y, None, known_whole=True)
        return self

    def partial_fit(self, X: MatrixLike, y: LabelsLike, classes: LabelsLike | None = None) -> Self:
        """Go on learning. The first part names both ``classes`` unless it has them."""
        with unchanged_on_error(self):
            self._learn(X, y, classes, known_whole=False)
        return self

    @documented()
    def run(self, X: MatrixLike, y: LabelsLike, *, classes: LabelsLike | None = None) -> Trace:
        """Go on learning and keep the prequential record: every answer was given before its label was looked at.

        Parameters
        ----------
        classes : sequence of labels or None
            Both classes, in any order; by default those that occur.

        Returns
        -------
        Trace
            Score, prediction, query and truth of every round.
        """
        with unchanged_on_error(self):
            return self._learn(X, y, classes, known_whole=True)

    def _learn(self, X: Any, y: Any, classes: Any, *, known_whole: bool) -> Trace:
        new = not hasattr(self, "expansion_")
        self._check_settings()
        rows = check_rows(self, X, reset=new, dtype=np.float64)
        labels = as_column(y)
        check_same_length(X=rows, y=labels)
        if new:
            self.classes_ = two_classes(labels)[0] if classes is None else check_two(classes)
            self._begin(rows, labels if known_whole else None)
        elif classes is not None and not np.array_equal(check_two(classes), self.classes_):
            raise invalid("classes", f"stay {self.classes_.tolist()}", classes)
        positive = is_positive(labels, self.classes_)
        n = len(labels)
        score, query_probability, queried = np.empty(n), np.zeros(n), np.zeros(n, dtype=bool)
        for start in range(0, n, ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            self._learn_block(rows[part], positive[part], score[part], query_probability[part], queried[part])
        answers = self.classes_[(score >= self.threshold).astype(np.intp)]
        return Trace(score, answers, queried, query_probability, labels)

    def _check_settings(self) -> None:
        """Raise for what no round could use: rules, budget and limits may be set anew between two parts."""
        update = CSOGD2() if self.update is None else self.update
        if not isinstance(update, UpdateRule) or isinstance(update, SecondOrderRule):
            raise invalid("update", "be a first-order UpdateRule", update, "E.g. update=CSOGD2(0.1).")
        check_update(update)
        check_query(AskAll() if self.query is None else self.query)
        if check_flag("fit_intercept", self.fit_intercept) and update.has_bias:
            raise invalid("fit_intercept", f"be False for {update!r}, which has a bias of its own", True)
        if self.max_support is not None:
            check_count("max_support", self.max_support)
        check_number("threshold", self.threshold)
        check_count("seed", self.seed, at_least=0)
        Budget.of(self.budget)

    def _begin(self, rows: Rows, y: Any) -> None:
        """Settle kernel and costs, and start with f = 0."""
        if isinstance(self.kernel, str) and self.kernel in ("perceptron", "precomputed"):
            raise invalid("kernel", "be 'rbf', 'linear', 'poly' or a function", self.kernel)
        spec = kernel_spec(self.kernel, rows, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        self._class_costs: ClassCosts = class_costs(self.costs, y, self.classes_)
        self.expansion_ = Expansion(spec, float(bool(self.fit_intercept)))
        self._progress = Progress()

    def _learn_block(
        self,
        rows: Rows,
        positive: NDArray[np.bool_],
        score: Floats,
        query_probability: Floats,
        queried: NDArray[np.bool_],
    ) -> None:
        """The rounds of some rows, which fill the columns of the record."""
        update = CSOGD2() if self.update is None else self.update
        query = AskAll() if self.query is None else self.query
        budget, seed = Budget.of(self.budget), int(self.seed) & (2**64 - 1)
        block = Block(self.expansion_, rows, np.inf if self.max_support is None else self.max_support)
        for i, truth in enumerate(positive.tolist()):
            t, spent, positives = self._progress
            score[i] = found = float(block.score[i])
            if not np.isfinite(found):
                raise _overflow(t)
            if budget.may_ask(spent=spent, reserved=0, t=t):
                query_probability[i] = query_probability_of(query, QueryInput(found, found >= self.threshold, t))
                queried[i] = query_probability[i] >= 1.0 or draw(seed, t) < query_probability[i]
            if queried[i]:
                cost = self._cost(truth, spent, positives)
                inputs = UpdateInput(found, 1.0 if truth else -1.0, cost, float(block.x2[i]), block.now.w2)
                step = step_of(update, inputs) if cost > 0 else Step()
                if step != Step() and not block.step(i, *step):
                    raise _overflow(t)
                spent, positives = spent + 1, positives + truth
            self._progress = Progress(t + 1, spent, positives)
        self.expansion_ = block.now

    def _cost(self, positive: bool, spent: int, positives: int) -> float:
        """Cost of a mistake on a row of this class after so many labels."""
        by_class = self._class_costs
        if by_class.adaptive_odds > 0:
            if positive != by_class.adaptive_positive:
                return 1.0
            same = positives if positive else spent - positives
            return by_class.adaptive_odds * (spent - same + 1) / (same + 1)
        return by_class.cost_pos if positive else by_class.cost_neg

    # -- answering ---------------------------------------------------------------------------------------------------

    def decision_function(self, X: MatrixLike) -> Floats:
        """f(x) - threshold of every row; the answer is ``classes_[1]`` where it is not negative."""
        check_is_fitted(self, "expansion_")
        rows = check_rows(self, X, reset=False, dtype=np.float64)
        parts = [
            self.expansion_.scores(rows[start : start + ROWS_AT_ONCE * 16])
            for start in range(0, rows.shape[0], ROWS_AT_ONCE * 16)
        ]
        return np.concatenate([*parts, np.zeros(0)]) - self.threshold

    def predict(self, X: MatrixLike) -> NDArray[Any]:
        """The answer for every row."""
        scores = self.decision_function(X)
        return np.asarray(self.classes_[(scores >= 0).astype(np.intp)])

    @property
    def support_vectors_(self) -> Any:
        """The rows that f is made of; None before any label moved it."""
        check_is_fitted(self, "expansion_")
        return self.expansion_.support

    @property
    def dual_coef_(self) -> Floats:
        """Their coefficients."""
        check_is_fitted(self, "expansion_")
        return self.expansion_.coef

    @property
    def intercept_(self) -> float:
        """The bias of rules that have one, and what the constant feature adds."""
        check_is_fitted(self, "expansion_")
        return float(self.expansion_.bias + self.expansion_.offset * self.expansion_.coef.sum())

    @property
    def n_queried_(self) -> int:
        """Labels asked for so far."""
        check_is_fitted(self, "expansion_")
        return self._progress.spent

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "expansion_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


def _overflow(t: int) -> Exception:
    return invalid(
        "f", "stay finite", f"an overflow in round {t}", "Scale the features or take smaller steps.", DivergedError
    )
