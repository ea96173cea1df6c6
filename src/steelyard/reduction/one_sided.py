"""Reduction to one-sided regression: estimate what every answer costs, give the cheapest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..margin.kernels import KERNEL
from ..validation.docstrings import documented
from .base import PARAMETERS, ReductionClassifier, ReductionClassifierCV
from .scheme import CostExamples, Floats, ReductionScheme, SubProblem


@dataclass(frozen=True)
class OneSided(ReductionScheme):
    """One one-sided regression of the cost for each class; the smallest estimate wins. Paper 002, Algorithm 1."""

    n_classes: int
    weighted = False
    one_sided = True

    def problems(self, stage: int, cases: CostExamples, scores: Floats) -> list[SubProblem]:
        """For every class: at most what does it cost where it is cheapest, at least what does it cost elsewhere?"""
        cheapest = cases.table == cases.table.min(axis=1, keepdims=True)
        side = np.where(cheapest, 1.0, -1.0)  # Z of eq. (2)
        label = to_unit_interval(cases.table)
        return [SubProblem.of(side[:, k], cases.weight, label[:, k]) for k in range(self.n_classes)]

    def preference(self, scores: Floats) -> Floats:
        """The negated cost estimates, which is what one-sided problems score. Paper 002, eq. (1)."""
        return scores


def to_unit_interval(table: Floats) -> Floats:
    """The costs on [0, 1] by one affine map for all classes, so that estimates stay comparable. Paper 002, sec. 5."""
    low, high = table.min(), table.max()
    return (table - low) / (high - low) if high > low else np.zeros_like(table)


class _OneSidedParameters:
    def _plan(self, classes: NDArray[np.generic]) -> OneSided:
        return OneSided(len(classes))


@documented(PARAMETERS, KERNEL)
@dataclass(eq=False, repr=False)
class OneSidedClassifier(_OneSidedParameters, ReductionClassifier):
    """Reduction to one-sided regression (RED): K regressors r_k of the costs, the answer is argmin_k r_k(x).

    An example's loss in r_k is max(r_k(x) - c[k], 0) for its cheapest answers and max(c[k] - r_k(x), 0) for the others;
    their sum over k bounds the cost of the answer (Theorem 1). Costs are scaled to [0, 1] by one affine map, ties go
    to the first class. Paper 002, Algorithms 1 and 2 (RED-OSSVR).

    Parameters
    ----------
    estimator : regressor or None
        A regressor with ``fit(X, y, side=)``; None for :class:`OneSidedSVR` on one shared Gram matrix. One without
        ``side`` is fitted with its own two-sided loss: plain cost regression, without Theorem 1.

    Examples
    --------
    >>> model = OneSidedClassifier(costs=[[0, 1, 9], [1, 0, 1], [1, 1, 0]], lam=0.1)
    >>> model.fit([[0.0], [0.2], [1.0], [1.2], [2.0], [2.2]], [0, 0, 1, 1, 2, 2]).predict([[0.1], [2.1]])
    array([0, 2])
    """


@documented(PARAMETERS, KERNEL)
@dataclass(eq=False, repr=False)
class OneSidedClassifierCV(_OneSidedParameters, ReductionClassifierCV):
    """:class:`OneSidedClassifier` as support vector regression whose ``lam`` is chosen by cross-validated cost.

    One Gram matrix serves all classes, folds and lams; the lams form a warm-started path. Paper 002, sec. 5.

    Attributes
    ----------
    lam_ : float
        The chosen one; among equals the largest.
    lams_ : ndarray
        The path.
    cv_costs_ : ndarray of shape (lams, folds)
        Mean cost of held-out examples.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OneSidedClassifierCV(lams="paper").fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.cv_costs_.shape
    (True, (11, 5))
    """
