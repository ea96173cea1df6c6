"""One-sided regression by boosted trees. Paper 002 leaves the regressor open; Theorem 1 holds for any."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from ..margin.one_sided import SIDED, read_sided
from ..validation.arrays import (
    Rows,
    check_random,
    check_rows,
    unchanged_on_error,
)
from ..validation.docstrings import documented
from ..validation.types import ArrayLike, LabelsLike, MatrixLike, RandomState
from ..validation.values import check_count, check_number, invalid
from .rules import Floats


class OneSidedBoostingRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Boosted regression trees that pay on one side only: the loss of a row is max(0, side (r(x) - y))^2.

    A tree is fitted to the errors that still count, and moves r by ``learning_rate`` times their mean in each leaf. An
    ``estimator=`` of :class:`OneSidedClassifier` for tables whose answers are no smooth functions of the columns.
    Paper 002, the squared loss of sec. 3.

    Parameters
    ----------
    n_estimators : int
        Trees, at least 1; fewer where nothing is left to pay.
    learning_rate : float
        Share of each step, in (0, 1].
    max_depth : int
        Questions on a path of a tree, at least 1.
    min_weight_leaf : float
        Weight a leaf must hold, >= 0; a row has 1 unless it is given another.
    random_state : int, Generator or None
        Seed or source of random numbers, for ties between splits.

    Attributes
    ----------
    estimators_ : list of DecisionTreeRegressor
        The trees.
    init_ : float
        The best constant, from which they start.
    train_loss_ : ndarray
        Mean loss after the constant and after every tree.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 1.0, 1.0]
    >>> model = OneSidedBoostingRegressor(min_weight_leaf=1, learning_rate=1.0).fit(X, y, side=[1, 1, -1, -1])
    >>> model.predict(X).round(6).tolist()
    [0.0, 0.0, 1.0, 1.0]
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        learning_rate: float = 0.1,
        max_depth: int = 3,
        min_weight_leaf: float = 5.0,
        random_state: RandomState = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_weight_leaf = min_weight_leaf
        self.random_state = random_state

    @documented(SIDED)
    def fit(
        self, X: MatrixLike, y: LabelsLike, sample_weight: ArrayLike | None = None, *, side: ArrayLike | None = None
    ) -> Self:
        """Learn from rows, targets and the side of each on which an estimate is loss."""
        with unchanged_on_error(self):
            rows = _narrow(check_rows(self, X, reset=True, dtype=np.float64))
            target, sides, weight = read_sided(rows, y, side, sample_weight)
            rate = check_number("learning_rate", self.learning_rate, above=0, at_most=1)
            rounds, random = check_count("n_estimators", self.n_estimators), check_random(self.random_state)
            kept = np.flatnonzero(weight > 0)
            rows, target, sides, weight = rows[kept], target[kept], sides[kept], weight[kept]
            least = check_number("min_weight_leaf", self.min_weight_leaf, at_least=0) / float(weight.sum())
            depth = check_count("max_depth", self.max_depth)
            self.init_ = best_constant(target, sides, weight)
            found = np.full(len(target), self.init_)
            trees: list[DecisionTreeRegressor] = []
            error = _errors(found, target, sides)
            losses = [float(np.average(error**2, weights=weight))]
            while len(trees) < rounds and losses[-1] > 0:
                tree = DecisionTreeRegressor(
                    max_depth=depth,
                    min_weight_fraction_leaf=min(0.5, least),
                    random_state=int(random.randint(2**31 - 1)),
                )
                tree.fit(rows, -error, sample_weight=weight)
                trees.append(tree)
                found = found + rate * tree.predict(rows)
                error = _errors(found, target, sides)
                losses.append(float(np.average(error**2, weights=weight)))
            self.estimators_, self.train_loss_, self._rate = trees, np.array(losses), rate
        return self

    def predict(self, X: MatrixLike) -> Floats:
        """r(x) for every row."""
        check_is_fitted(self)
        rows = _narrow(check_rows(self, X, reset=False, dtype=np.float64))
        found = np.full(rows.shape[0], self.init_)
        for tree in self.estimators_:
            found += self._rate * tree.predict(rows)
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _narrow(rows: Rows) -> Rows:
    """The rows, if scikit-learn's trees can hold them: they compare 32-bit numbers."""
    if (largest := float(abs(rows).max())) > float(np.finfo(np.float32).max):
        raise invalid("X", "stay within the range of 32-bit numbers", largest)
    return rows


def _errors(found: Floats, target: Floats, sides: Floats) -> Floats:
    """r - y where that side counts, else 0."""
    error = found - target
    return np.where(sides * error < 0, 0.0, error)


def best_constant(target: Floats, sides: Floats, weight: Floats) -> float:
    """The constant with the least loss: its slope rises, so it is bisected between the targets."""
    low, high = float(target.min()), float(target.max())
    for _ in range(200):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        slope = float(weight @ _errors(np.full(len(target), middle), target, sides))
        low, high = (low, middle) if slope > 0 else (middle, high)
    return 0.5 * (low + high)
