"""One-sided support vector regression. Paper 002, section 4."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from ..validation.arrays import (
    check_column,
    check_finite,
    check_floats,
    check_same_length,
    check_sample_weight,
    unchanged_on_error,
)
from ..validation.types import ArrayLike, LabelsLike, MatrixLike
from ..validation.values import check_number, invalid
from ._machine import KernelMachine
from .kernels import Gamma, KernelFunction, KernelName
from .path import MAX_ITER, Floats, weights_in_range


class OneSidedSVR(RegressorMixin, KernelMachine):  # type: ignore[misc]
    """Kernel regression that pays on one side only: min lam/2 |w|^2 + sum_i max(0, side_i (r(x_i) - y_i)).

    Paper 002, eq. (6): the regressor behind the one-sided reduction. Where ``side`` is +1 only values above the target
    are loss, where it is -1 only values below, where it is 0 both (then it is regression of the median).

    Parameters: ``kernel`` "perceptron" (-|x - z|), "rbf", "poly", "linear", "precomputed" or a function; ``gamma``,
    ``degree``, ``coef0`` as in :func:`gram`; ``lam`` > 0 regularisation; ``tol`` > 0 largest KKT violation, in units of
    y (smaller where r varies by less than 1, see :func:`solve_path`); ``dtype`` "float32" or "float64" of kernel
    values; ``cache_mb`` memory for them (a kernel given as a function or a matrix is held whole); ``max_iter`` solver
    steps.

    Attributes: ``support_``, ``support_vectors_``, ``dual_coef_``, ``intercept_``: r(x) = dual_coef_ @ K(support, x) +
    intercept_; ``dual_objective_``, ``duality_gap_``, ``violation_``, ``n_iter_``.

    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 1.0, 1.0]
    >>> model = OneSidedSVR(lam=0.1).fit(X, y, side=[1, 1, -1, -1])
    >>> model.predict([[0.5], [2.5]]).round(3)
    array([0., 1.])
    """

    def __init__(
        self,
        kernel: KernelName | KernelFunction = "perceptron",
        *,
        gamma: Gamma = None,
        degree: int = 3,
        coef0: float = 0.0,
        lam: float = 1.0,
        tol: float = 1e-3,
        dtype: str = "float32",
        cache_mb: float = 1000.0,
        max_iter: int = MAX_ITER,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.lam = lam
        self.tol = tol
        self.dtype = dtype
        self.cache_mb = cache_mb
        self.max_iter = max_iter

    def fit(self, X: MatrixLike, y: LabelsLike, side: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows, targets and sides: +1 (loss above y), -1 (loss below), 0 or None (loss on both sides)."""
        with unchanged_on_error(self):
            rows = self._check_training_rows(X)
            target = _targets(y)
            check_same_length(X=rows, y=target)
            sides = _sides(side, len(target))
            weight, lam = check_sample_weight(sample_weight, len(target)), check_number("lam", self.lam, above=0)
            with weights_in_range("lam", lam):
                reach = weight / lam
            # The decision is r = Kb - F at a free example, so b falls where r may not rise: side +1 has b <= 0.
            self._train(rows, -target, np.where(sides >= 0, -reach, 0.0), np.where(sides <= 0, reach, 0.0))
        return self

    def predict(self, X: MatrixLike) -> Floats:
        """r(x) for every row."""
        return self._decide(X)


def _targets(y: Any) -> Floats:
    if y is None:
        raise invalid(
            "y", "hold one target per row", None, "This estimator requires y to be passed, but the target y is None."
        )
    target = check_floats("y", check_column("y", y))
    check_finite("y", target)
    return target


def _sides(side: Any, n: int) -> NDArray[np.float64]:
    if side is None:
        return np.zeros(n)
    sides = check_floats("side", side)
    if sides.shape != (n,):
        raise invalid("side", f"have shape ({n},)", sides.shape)
    if not np.isin(sides, (-1.0, 0.0, 1.0)).all():
        raise invalid("side", "hold +1 (loss above y), -1 (loss below) or 0 (both)", side)
    return sides
