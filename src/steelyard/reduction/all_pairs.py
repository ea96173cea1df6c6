"""Weighted all pairs: every two classes meet, the class with most wins is the answer."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..margin.kernels import KERNEL
from ..validation.docstrings import documented
from ..validation.values import check_choice
from .base import PARAMETERS, ReductionClassifier, ReductionClassifierCV
from .scheme import CostExamples, Floats, ReductionScheme, SubProblem, vote

WEIGHTINGS = ("integral", "difference")


def integral_weights(costs: Floats) -> Floats:
    """v_k = integral from 0 to c_k of dt / |{j: c_j <= t}|, row by row; the cheapest answer costs 0."""
    order = np.argsort(costs, axis=1, kind="stable")
    sorted_costs = np.take_along_axis(costs, order, axis=1)
    steps = np.diff(sorted_costs, axis=1) / np.arange(1, costs.shape[1])
    values = np.zeros_like(sorted_costs)
    np.cumsum(steps, axis=1, out=values[:, 1:])
    unsorted = np.empty_like(values)
    np.put_along_axis(unsorted, order, values, axis=1)
    return unsorted


@dataclass(frozen=True)
class AllPairs(ReductionScheme):
    """One weighted two-class problem for each pair of classes; a win is a vote."""

    n_classes: int
    weighting: str = "integral"

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """All pairs of class codes, the smaller first."""
        return list(combinations(range(self.n_classes), 2))

    def problems(self, stage: int, cases: CostExamples, scores: Floats) -> list[SubProblem]:
        """For every pair: which is the cheaper answer, at the weight |v_i - v_j|?"""
        costs = cases.regret()
        value = integral_weights(costs) if self.weighting == "integral" else costs
        return [SubProblem.comparing(value[:, i], value[:, j], cases.weight) for i, j in self.pairs]

    def preference(self, scores: Floats) -> Floats:
        """The number of wins of each class."""
        firsts, seconds = (np.eye(self.n_classes)[side] for side in self._sides())
        wins = vote(scores)
        return np.asarray(wins @ firsts + (1.0 - wins) @ seconds)

    def _sides(self) -> NDArray[np.intp]:
        return np.array(self.pairs, dtype=np.intp).T


@dataclass(eq=False, repr=False, kw_only=True)
class _AllPairsParameters:
    weighting: str = "integral"

    def _plan(self, classes: NDArray[np.generic]) -> AllPairs:
        return AllPairs(len(classes), check_choice("weighting", self.weighting, WEIGHTINGS))


@documented(PARAMETERS, KERNEL)
@dataclass(eq=False, repr=False)
class AllPairsClassifier(_AllPairsParameters, ReductionClassifier):
    """Weighted all pairs (WAP): K(K-1)/2 weighted two-class problems, most wins decide, ties go to the first class.

    For classes i and j an example says "the cheaper one" with weight |v_i - v_j|, where
    v_k = integral from 0 to c[k] of dt / |{j: c[j] <= t}| over its calibrated costs. Paper 002, sec. 5.2 (WAP-SVM).

    Parameters
    ----------
    weighting : {"integral", "difference"}
        As above, or |c[i] - c[j]|.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> model = AllPairsClassifier(GaussianNB(), costs=[[0, 1, 9], [1, 0, 1], [1, 1, 0]])
    >>> model.fit([[0.0], [0.2], [1.0], [1.2], [2.0], [2.2]], [0, 0, 1, 1, 2, 2]).predict([[0.1], [2.1]])
    array([0, 2])
    """


@documented(PARAMETERS, KERNEL)
@dataclass(eq=False, repr=False)
class AllPairsClassifierCV(_AllPairsParameters, ReductionClassifierCV):
    """:class:`AllPairsClassifier` as a support vector machine whose ``lam`` is chosen by cross-validated cost.

    Paper 002, sec. 5.2 (WAP-SVM). Attributes are those of :class:`OneSidedClassifierCV`.

    Parameters
    ----------
    weighting : {"integral", "difference"}
        As for :class:`AllPairsClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AllPairsClassifierCV(lams="paper").fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """
