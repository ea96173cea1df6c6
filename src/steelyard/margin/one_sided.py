"""One-sided support vector regression. Paper 002, section 4."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from .._native import svm_on_gram32, svm_on_gram64
from ..validation.arrays import (
    Rows,
    check_column,
    check_finite,
    check_floats,
    check_same_length,
    check_sample_weight,
    unchanged_on_error,
)
from ..validation.docstrings import documented
from ..validation.types import ArrayLike, LabelsLike, MatrixLike
from ..validation.values import check_choice, check_count, check_number, invalid
from ._machine import SOLVER, KernelMachine
from .kernels import DTYPES, KERNEL, Gamma, KernelFunction, KernelName, check_range, gram_of, kernel_spec
from .path import MAX_ITER, Floats, path_points, warn_unconverged, weights_in_range

SIDED = {  # what ``fit`` of a one-sided regressor takes, for ``documented``
    "y": ("array-like of shape (n,)", "Targets."),
    "side": ("array-like of shape (n,) or None", "+1 (loss above y), -1 (loss below), 0 or None (loss on both sides)."),
}


@documented(KERNEL, SOLVER)
class OneSidedSVR(RegressorMixin, KernelMachine):  # type: ignore[misc]
    """Kernel regression that pays on one side only: min lam/2 \\|w\\|^2 + sum_i weight_i max(0, side_i (r(x_i) - y_i)).

    Paper 002, eq. (6): the regressor behind the one-sided reduction. Where ``side`` is +1 only values above the target
    are loss, where it is -1 only values below, where it is 0 both (then it is regression of the median, or with the
    squared loss of the mean).

    Parameters
    ----------
    lam : float above 0
        Weight of the regulariser; large is smooth.
    loss : {"linear", "squared"}
        "squared" squares every loss (paper 002, sec. 3). It holds the kernel matrix whole.
    tol : float above 0
        Largest KKT violation, in units of y; smaller where r varies by less than 1, see :func:`solve_path`.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_ : ndarray, rows, ndarray, float
        r(x) = dual_coef_ @ K(support_vectors_, x) + intercept_.
    dual_objective_, duality_gap_, violation_, n_iter_ : float, float, float, int
        How the solver ended.

    Examples
    --------
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
        loss: str = "linear",
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
        self.loss = loss
        self.tol = tol
        self.dtype = dtype
        self.cache_mb = cache_mb
        self.max_iter = max_iter

    @documented(SIDED)
    def fit(
        self, X: MatrixLike, y: LabelsLike, sample_weight: ArrayLike | None = None, *, side: ArrayLike | None = None
    ) -> Self:
        """Learn from rows, targets and the side of each on which an estimate is loss."""
        with unchanged_on_error(self):
            rows = self._check_training_rows(X)
            target, sides, weight = read_sided(rows, y, side, sample_weight)
            lam = check_number("lam", self.lam, above=0)
            with weights_in_range("lam", lam):
                reach = weight / lam
            if check_choice("loss", self.loss, ("linear", "squared")) == "squared":
                self._train_squared(rows, target, sides, reach)
                return self
            # The decision is r = Kb - F at a free example, so b falls where r may not rise: side +1 has b <= 0.
            self._train(rows, -target, np.where(sides >= 0, -reach, 0.0), np.where(sides <= 0, reach, 0.0))
        return self

    def _train_squared(self, rows: Rows, target: Floats, sides: Floats, reach: Floats) -> None:
        """A squared loss is a term on the diagonal of the kernel, and no bound: b_i = 2 reach_i loss_i at the optimum.

        The bound that the solver needs lies beyond it: the objective is at most that of the best constant.
        """
        spec = kernel_spec(self.kernel, rows, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        if spec.is_native:
            check_range(spec, DTYPES[self.dtype], X=rows)
        kept = np.flatnonzero(reach > 0)
        if len(kept) == 0:
            raise invalid("sample_weight", "be positive for some row", "none")
        rows = rows[np.ix_(kept, kept)] if spec.kernel == "precomputed" else rows[kept]
        target, sides, reach = target[kept], sides[kept], reach[kept]
        plain: NDArray[Any] = np.array(gram_of(spec, rows, dtype=self.dtype))
        steeper = plain.copy()
        np.fill_diagonal(steeper, plain.diagonal() + 0.5 / reach)
        middle = _one_sided(np.average(target, weights=reach) - target, sides)
        most = 2.0 * np.sqrt(reach * max(float(reach @ middle**2), 1e-300)) * 1.01
        tol, max_iter = check_number("tol", self.tol, above=0), check_count("max_iter", self.max_iter)
        solve = svm_on_gram32 if self.dtype == "float32" else svm_on_gram64
        box = -target, np.where(sides >= 0, -most, 0.0), np.where(sides <= 0, most, 0.0)
        solver = solve(np.ascontiguousarray(steeper), np.arange(len(kept)), *box, tol)
        (point,) = path_points(solver, [1.0], tol, max_iter, lambda lam, steps: True)
        if not point.converged:
            warn_unconverged(type(self).__name__, max_iter)
        coef = np.asarray(point.coef, dtype=np.float64)
        values = np.asarray(plain, dtype=np.float64) @ coef
        losses = _one_sided(values + point.bias - target, sides)
        objective = 0.5 * float(coef @ values) + float(reach @ losses**2)
        chosen = np.flatnonzero(coef)
        self.kernel_ = spec
        self.support_ = kept[chosen]
        self.support_vectors_ = None if spec.kernel == "precomputed" else rows[chosen]
        self.dual_coef_, self.intercept_ = coef[chosen], point.bias
        self.dual_objective_ = point.dual_objective
        self.duality_gap_ = max(0.0, objective - point.dual_objective)
        self.violation_, self.n_iter_ = point.violation, point.n_iter

    def predict(self, X: MatrixLike) -> Floats:
        """r(x) for every row."""
        return self._decide(X)


def _one_sided(error: Floats, sides: Floats) -> Floats:
    """The errors on the side that counts, else 0."""
    return np.where(sides * error < 0, 0.0, error)


def read_sided(rows: Rows, y: Any, side: Any, sample_weight: Any) -> tuple[Floats, Floats, Floats]:
    """Targets, sides and weights of the rows."""
    target = _read_targets(y)
    check_same_length(X=rows, y=target)
    return target, _read_sides(side, len(target)), check_sample_weight(sample_weight, len(target))


def _read_targets(y: Any) -> Floats:
    """Targets as a finite column."""
    if y is None:
        raise invalid(
            "y", "hold one target per row", None, "This estimator requires y to be passed, but the target y is None."
        )
    target = check_floats("y", check_column("y", y))
    check_finite("y", target)
    return target


def _read_sides(side: Any, n: int) -> NDArray[np.float64]:
    """+1, -1 or 0 for every row; None for 0."""
    if side is None:
        return np.zeros(n)
    sides = check_floats("side", side)
    if sides.shape != (n,):
        raise invalid("side", f"have shape ({n},)", sides.shape)
    if not np.isin(sides, (-1.0, 0.0, 1.0)).all():
        raise invalid("side", "hold +1 (loss above y), -1 (loss below) or 0 (both)", side)
    return sides
