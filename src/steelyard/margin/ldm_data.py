"""Rows made ready for CS-LDM, linear or kernel, and the choice of solver; cut into folds without new kernel values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._checks import Rows, check_choice, complain, is_sparse
from .._native import ldm_append_ones
from .kernels import KernelSpec, gram_of
from .ldm_kernel import Spectrum
from .ldm_linear import MetricProblem, SdcaProblem
from .ldm_problem import Box, Examples, Floats, Solution

KERNEL_SOLVERS = ("greedy", "algorithm1", "interior")
LINEAR_SOLVERS = ("newton", "cd", "sdca", "asgd")
SOLVERS = ("auto", *KERNEL_SOLVERS, *LINEAR_SOLVERS)
DENSE_METRIC = 2000  # features up to which a d x d matrix is cheaper than stochastic passes
SMALL_SAMPLE = 3000  # rows up to which a Gram matrix is cheaper where features outnumber them
DENSE_ENOUGH = 0.25  # share of non-zeros above which sparse rows are quicker dense


class Problem(Protocol):
    """The dual for one lambda1, to be solved for any box."""

    def solve(
        self, box: Box, *, tol: float, max_iter: int, start: Solution | None = None, solver: str = "auto", seed: int = 0
    ) -> Solution:
        """Minimise over one box."""
        ...


Prepare = Callable[[float], Any]  # lambda1 -> Problem, sharing the one factorisation


class TrainingRows(Protocol):
    """Training rows of a linear or kernel machine."""

    solver: str

    def prepare(self, examples: Examples, keep: NDArray[np.intp] | None = None) -> Prepare:
        """Factorise these rows (all of them, or those kept) once for every lambda1."""
        ...

    def scores(
        self, problem: Any, found: Sequence[Solution], train: NDArray[np.intp], test: NDArray[np.intp]
    ) -> Floats:
        """f of the test rows, one column for each solution found on the train rows."""
        ...


class LinearRows:
    """Dense or sparse rows with their constant feature."""

    def __init__(self, rows: Rows, solver: str) -> None:
        self.rows = rows
        self.solver = solver

    def prepare(self, examples: Examples, keep: NDArray[np.intp] | None = None) -> Prepare:
        """Problems over these rows."""
        rows = self.rows if keep is None else self.rows[keep]
        if self.solver == "sdca":
            return lambda lambda1: SdcaProblem(sparse.csr_array(rows), examples, lambda1)
        return lambda lambda1: MetricProblem(rows, examples, lambda1)

    def scores(
        self, problem: Any, found: Sequence[Solution], train: NDArray[np.intp], test: NDArray[np.intp]
    ) -> Floats:
        """X w."""
        return np.asarray(self.rows[test] @ np.stack([s.w for s in found if s.w is not None], axis=1))


class GramRows:
    """A Gram matrix, the constant feature included."""

    def __init__(self, gram: Floats, solver: str) -> None:
        self.gram = gram
        self.solver = solver

    def prepare(self, examples: Examples, keep: NDArray[np.intp] | None = None) -> Prepare:
        """Problems over these rows, all from one eigendecomposition."""
        gram = self.gram if keep is None else np.ascontiguousarray(self.gram[np.ix_(keep, keep)])
        return Spectrum(gram, examples).problem

    def scores(
        self, problem: Any, found: Sequence[Solution], train: NDArray[np.intp], test: NDArray[np.intp]
    ) -> Floats:
        """K alpha."""
        alpha = problem.coefficients(np.stack([s.nu for s in found], axis=1))
        return np.asarray(self.gram[np.ix_(test, train)] @ alpha)


def with_constant(rows: Rows) -> Rows:
    """The rows with a last feature of ones: the intercept as a regularised weight."""
    count, features = rows.shape
    if not is_sparse(rows):
        full = np.ones((count, features + 1))
        full[:, :-1] = rows
        return full
    starts = rows.indptr + np.arange(count + 1, dtype=rows.indptr.dtype)
    given = np.ascontiguousarray(rows.data, np.float64), np.ascontiguousarray(rows.indices, starts.dtype), rows.indptr
    values, columns = np.empty(starts[-1]), np.empty(starts[-1], dtype=starts.dtype)
    ldm_append_ones(*given, features, values, columns)
    longer: Any = sparse.csr_array((count, features + 1))
    longer.data, longer.indices, longer.indptr = values, columns, starts  # known to fit: no need to look at them again
    longer.has_canonical_format = rows.has_canonical_format
    return longer


def resolve_solver(solver: str, kernel: Any, rows: Rows) -> str:
    """The solver to start with; ``auto`` goes by kernel, size and sparsity."""
    check_choice("solver", solver, SOLVERS)
    if kernel != "linear":
        if solver in LINEAR_SOLVERS:
            raise complain("solver", "be 'auto' or one of " + ", ".join(KERNEL_SOLVERS) + " with this kernel", solver)
        return "greedy" if solver == "auto" else solver
    if solver != "auto":
        return solver
    count, features = rows.shape
    if features <= DENSE_METRIC and (features < count or not is_sparse(rows)):
        return "newton" if features < 4 * count else "greedy"
    return "greedy" if count <= SMALL_SAMPLE else "sdca"


def training_rows(rows: Rows, spec: KernelSpec, solver: str, fit_intercept: bool) -> TrainingRows:
    """The rows in the form that the solver works on."""
    linear = spec.kernel == "linear" and solver not in ("greedy", "algorithm1")
    if not linear:
        gram = np.asarray(gram_of(spec, rows, dtype="float64"), dtype=np.float64)
        return GramRows(gram + 1.0 if fit_intercept else gram, solver)
    if (
        is_sparse(rows)
        and solver in ("newton", "cd", "interior")
        and rows.nnz > DENSE_ENOUGH * rows.shape[0] * rows.shape[1]
    ):
        rows = rows.toarray()
    return LinearRows(with_constant(rows) if fit_intercept else rows, solver)
