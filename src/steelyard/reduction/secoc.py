"""Sensitive error-correcting output codes: is this group of classes a large share of the cost?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..margin.kernels import KERNEL
from ..validation.docstrings import documented
from ..validation.types import ArrayLike
from ..validation.values import check_count, invalid
from .base import PARAMETERS, ReductionClassifier, ReductionClassifierCV
from .scheme import CostExamples, Floats, ReductionScheme, SubProblem, vote


def hadamard_code(n_classes: int) -> NDArray[np.bool_]:
    """Groups of classes, one a row: the smallest Hadamard matrix with a column per class, without its constant row."""
    signs = np.ones((1, 1), dtype=np.int8)
    while len(signs) < n_classes:
        signs = np.block([[signs, signs], [signs, -signs]])
    return signs[1:, :n_classes] > 0


def read_code(code: Any, n_classes: int) -> NDArray[np.bool_]:
    """Groups of classes, one a row: "hadamard", or given as a matrix of 0 and 1."""
    if isinstance(code, str) and code == "hadamard":
        return hadamard_code(n_classes)
    hint = 'Use "hadamard" or a matrix of 0 and 1 with a row per group and a column per class.'
    try:
        groups = np.asarray(code, dtype=np.float64)
    except (TypeError, ValueError):
        raise invalid("code", "be a matrix of 0 and 1", code, hint) from None
    if groups.ndim != 2 or groups.shape[1] != n_classes:
        raise invalid("code", f"have a column for each of the {n_classes} classes", groups.shape, hint)
    if not np.isin(groups, (0, 1)).all():
        raise invalid("code", "be a matrix of 0 and 1", code, hint)
    if len(np.unique(groups, axis=1).T) < n_classes:
        raise invalid("code", "tell every two classes apart by some group", code, "Make all its columns different.")
    return np.asarray(groups > 0)


@dataclass(frozen=True)
class SECOC(ReductionScheme):
    """A weighted two-class problem for each group of classes and each threshold on its share of the cost."""

    code: NDArray[np.bool_]
    thresholds: Floats

    def problems(self, stage: int, cases: CostExamples, scores: Floats) -> list[SubProblem]:
        """For group s and threshold t: is c_s >= t |c|, at the weight |c_s - t |c||, with c_s = sum of c[k] in s?"""
        costs = cases.regret()
        group_costs = costs @ self.code.T
        total = costs.sum(axis=1)
        excess = group_costs[:, :, None] - self.thresholds * total[:, None, None]
        excess[np.abs(excess) <= 1e-12 * total[:, None, None]] = 0.0  # rounding is no evidence
        flat = excess.reshape(len(cases), -1)
        return [SubProblem.comparing(-e, np.zeros_like(e), cases.weight) for e in flat.T]

    def preference(self, scores: Floats) -> Floats:
        """Minus the estimated cost of each class: how often its group is above a threshold, or the other group is."""
        share = vote(scores).reshape(-1, len(self.code), len(self.thresholds)).mean(axis=2)
        return np.asarray(-(share @ self.code + (1.0 - share) @ ~self.code) / len(self.code))


@dataclass(eq=False, repr=False, kw_only=True)
class _SECOCParameters:
    n_thresholds: int = 8
    code: ArrayLike | str = "hadamard"

    def _plan(self, classes: NDArray[np.generic]) -> SECOC:
        n = check_count("n_thresholds", self.n_thresholds)
        return SECOC(read_code(self.code, len(classes)), (np.arange(n) + 0.5) / n)


@documented(PARAMETERS, KERNEL)
@dataclass(eq=False, repr=False)
class SECOCClassifier(_SECOCParameters, ReductionClassifier):
    """Sensitive error-correcting output codes (SECOC): costs estimated from weighted two-class problems.

    For a group s of classes and a threshold t an example says whether c_s >= t |c| with weight |c_s - t |c||, where
    c_s sums its calibrated costs over s. The share of thresholds passed estimates c_s / |c|; a class is charged the
    mean share of the group it is in, and the lowest charge wins, ties going to the first class. Groups are by default
    the rows of a Hadamard matrix without the constant one, thresholds the midpoints of a grid on [0, 1].
    Paper 002, sec. 5.2 (SECOC-SVM).

    Parameters
    ----------
    n_thresholds : int, at least 1
        Cells of the grid on [0, 1].
    code : "hadamard" or array-like of shape (groups, K)
        Groups of your own are a matrix of 0 and 1, a row per group, a column per class in sorted order.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> model = SECOCClassifier(GaussianNB(), costs=[[0, 1, 9], [1, 0, 1], [1, 1, 0]])
    >>> model.fit([[0.0], [0.2], [1.0], [1.2], [2.0], [2.2]], [0, 0, 1, 1, 2, 2]).predict([[0.1], [2.1]])
    array([0, 2])
    """


@documented(PARAMETERS, KERNEL)
@dataclass(eq=False, repr=False)
class SECOCClassifierCV(_SECOCParameters, ReductionClassifierCV):
    """:class:`SECOCClassifier` as a support vector machine whose ``lam`` is chosen by cross-validated cost.

    Paper 002, sec. 5.2 (SECOC-SVM). Attributes are those of :class:`OneSidedClassifierCV`.

    Parameters
    ----------
    n_thresholds : int, at least 1
        As for :class:`SECOCClassifier`.
    code : "hadamard" or array-like of shape (groups, K)
        As for :class:`SECOCClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SECOCClassifierCV(lams="paper").fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """
