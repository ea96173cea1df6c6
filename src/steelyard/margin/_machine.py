"""What a fitted kernel machine is: support rows, their coefficients and a bias; training and deciding.

Tested in ``tests/unit/margin/test_one_sided_linear.py``.
"""

from __future__ import annotations

import sys
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .._native import svm_csr32, svm_csr64, svm_dense32, svm_dense64, svm_on_gram32, svm_on_gram64
from ..evaluate.classifier_mixin import CostClassifierMixin
from ..validation.arrays import Rows, check_rows, check_scores, is_sparse
from ..validation.types import MatrixLike
from ..validation.values import check_choice, check_count, check_number, invalid
from .kernels import DTYPES, KernelSpec, check_range, csr_arrays, gram_of, kernel_spec, narrowed, working_type
from .path import Floats, Solver, path_points, warn_unconverged

SOLVER = {  # what the parameters of the solver mean, for ``documented``
    "tol": (
        "float above 0",
        "Largest KKT violation; smaller where decisions vary by less than 1, see :func:`solve_path`.",
    ),
    "cache_mb": (
        "float above 0",
        "Memory for kernel values; a kernel given as a function or a matrix is held whole.",
    ),
    "max_iter": ("int", "Most steps of the solver."),
}
DECIDE_AT_ONCE = 1 << 24  # kernel values held while deciding


class SignClassifierMixin(CostClassifierMixin):
    """Two classes, separated by the sign of ``decision_function``."""

    classes_: NDArray[Any]

    def predict(self, X: MatrixLike) -> NDArray[Any]:
        """The class on whose side of f = 0 each row lies."""
        positive = self.decision_function(X) > 0
        answer: NDArray[Any] = self.classes_[positive.astype(np.intp)]
        return answer

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return cast("Tags", tags)


class KernelMachine(BaseEstimator):  # type: ignore[misc]
    """Base of the SVM estimators: settings in ``self``, results in attributes with a trailing underscore."""

    kernel: Any
    gamma: Any
    degree: Any
    coef0: Any
    tol: Any
    dtype: Any
    cache_mb: Any
    max_iter: Any

    def _check_training_rows(self, X: Any) -> Rows:
        rows = check_rows(self, X, reset=True)
        if self.kernel == "precomputed" and rows.shape[0] != rows.shape[1]:
            raise invalid("X", "be a square kernel matrix where kernel='precomputed'", f"shape {rows.shape}")
        check_choice("dtype", self.dtype, tuple(DTYPES))
        return rows

    def _train(self, rows: Rows, c: Floats, lo: Floats, hi: Floats) -> None:
        """Minimise 1/2 b'Kb + c'b over the box with sum b = 0, and keep the result."""
        spec = kernel_spec(self.kernel, rows, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        tol = check_number("tol", self.tol, above=0)
        max_iter = check_count("max_iter", self.max_iter)
        cache = int(min(check_number("cache_mb", self.cache_mb, above=0) * 2**20, sys.maxsize))
        solver = _solver(spec, rows, cache, self.dtype, (c, lo, hi), tol)
        (point,) = path_points(solver, [1.0], tol, max_iter, lambda lam, steps: True)
        if not point.converged:
            warn_unconverged(type(self).__name__, max_iter)
        self.kernel_ = spec
        self.support_: NDArray[np.intp] = np.flatnonzero(point.coef)
        self.support_vectors_ = None if spec.kernel == "precomputed" else rows[self.support_]
        self.dual_coef_: Floats = point.coef[self.support_]
        self.intercept_ = point.bias
        self.dual_objective_ = point.dual_objective
        self.duality_gap_ = point.duality_gap
        self.violation_ = point.violation
        self.n_iter_ = point.n_iter

    def _decide(self, X: Any) -> Floats:
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False)
        decision = np.full(rows.shape[0], self.intercept_)
        if len(self.support_) == 0:
            return decision
        step = max(1, DECIDE_AT_ONCE // len(self.support_))
        with np.errstate(over="ignore", invalid="ignore"):  # what became of it is looked at
            for start in range(0, len(decision), step):
                decision[start : start + step] += self._kernel_to_support(rows[start : start + step]) @ self.dual_coef_
        return check_scores(decision)

    def _kernel_to_support(self, rows: Rows) -> NDArray[Any]:
        if self.kernel_.kernel == "precomputed":
            chosen = rows[:, self.support_]
            return cast("NDArray[Any]", chosen.toarray() if is_sparse(chosen) else chosen)
        return gram_of(self.kernel_, rows, self.support_vectors_, dtype=self.dtype)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return cast("Tags", tags)


def _solver(
    spec: KernelSpec, rows: Rows, cache: int, dtype: str, box: tuple[Floats, Floats, Floats], tol: float
) -> Solver:
    single = dtype == "float32"
    if not spec.is_native:
        matrix: Any = gram_of(spec, rows, dtype=dtype)
        on_gram = svm_on_gram32 if single else svm_on_gram64
        return on_gram(matrix, np.arange(len(matrix)), *box, tol)
    check_range(spec, DTYPES[dtype], X=rows)
    work = working_type(DTYPES[dtype], rows)
    if is_sparse(rows):
        on_csr = svm_csr32 if single else svm_csr64
        (rows,) = narrowed(rows)
        return on_csr(spec.native(), rows.shape[1], *csr_arrays(rows, work), cache, *box, tol)
    on_dense = svm_dense32 if single else svm_dense64
    return on_dense(spec.native(), np.ascontiguousarray(rows, work), cache, *box, tol)
