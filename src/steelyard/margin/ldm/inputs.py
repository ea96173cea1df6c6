"""What the CS-LDM estimators read: settings, rows, labels, weights and costs, checked and made ready to solve.

Tested in ``tests/unit/margin/ldm/test_estimator.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..._native import ldm_append_ones
from ...costs import as_costs
from ...errors import DivergedError, InvalidInputError
from ...validation.arrays import (
    Rows,
    check_labels,
    check_random,
    check_rows,
    check_same_length,
    check_sample_weight,
    is_sparse,
)
from ...validation.values import check_choice, check_count, check_flag, check_number, invalid
from ..cs_svm import _cheaper_answer
from ..kernels import KernelSpec, gram_of, kernel_spec
from .dual import Box, DualSolution, Examples, Floats
from .kernel import Spectrum
from .linear import MetricProblem, SdcaProblem

MAX_ITER = 1000


class LDMSettings(NamedTuple):
    """The numeric parameters, checked."""

    C: float
    lambda1: float
    lambda2: float
    rho: float
    tol: float
    max_iter: int | None

    def box(self, examples: Examples, rho: float) -> Box:
        """The box of these settings at any rho."""
        return examples.box(self.C, self.lambda2, rho)


class Ready(NamedTuple):
    """Checked input of a fit, rows of zero weight left out."""

    rows: Rows
    spec: KernelSpec
    solver: str
    examples: Examples
    classes: NDArray[Any]
    positions: NDArray[np.intp] | None  # positions of the rows among those given; None for all
    settings: LDMSettings
    seed: int

    def solve(
        self, problem: Any, wanted: str, examples: Examples, rho: float, start: DualSolution | None, tol: float
    ) -> DualSolution:
        """Solve one box; ``wanted`` is the solver the user asked for."""
        solver = wanted if wanted in ("auto", "interior") else self.solver
        limits = {"tol": tol, "max_iter": self.settings.max_iter or MAX_ITER, "seed": self.seed}
        found: DualSolution = problem.solve(self.settings.box(examples, rho), start=start, solver=solver, **limits)
        check_in_range(found.certificate.objective)
        return found


@contextmanager
def overflow_named() -> Iterator[None]:
    """Numbers that outgrow a solver end in one error that says what to do, not in warnings along the way."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        try:
            yield
        except (np.linalg.LinAlgError, OverflowError) as error:
            raise _outgrown() from error


def check_in_range(numbers: Any) -> None:
    """Raise where a solver's result is not finite."""
    if not np.isfinite(numbers).all():
        raise _outgrown()


def _outgrown() -> InvalidInputError:
    hint = "Scale the features; see that costs, weights and C are of moderate size."
    return invalid("objective", "stay finite", "an overflow", hint, DivergedError)


def read_settings(model: Any) -> LDMSettings:
    """Numbers and choices of a :class:`CSLDMClassifier`."""
    if model.balance is not None:
        check_choice("balance", model.balance, ("train", "cv"))
    check_flag("fit_intercept", model.fit_intercept)
    return LDMSettings(
        C=check_number("C", model.C, at_least=0),
        lambda1=check_number("lambda1", model.lambda1, at_least=0),
        lambda2=check_number("lambda2", model.lambda2, at_least=0),
        rho=check_number("rho", model.rho),
        tol=check_number("tol", model.tol, above=0),
        max_iter=None if model.max_iter is None else check_count("max_iter", model.max_iter),
    )


def read_fit(model: Any, X: Any, y: Any, sample_weight: Any, costs: Any) -> Ready:
    """Everything a batch fit needs."""
    settings = read_settings(model)
    rows, spec = _read_rows(model, X)
    solver = resolve_solver(model.solver, spec.kernel, rows)
    classes = two_classes(y)
    examples = read_examples(model, rows, y, classes, sample_weight, costs)
    kept = None if (examples.weight > 0).all() else np.flatnonzero(examples.weight > 0)
    if kept is not None:
        examples = examples.rows(kept)
        rows = np.ascontiguousarray(rows[np.ix_(kept, kept)]) if spec.kernel == "precomputed" else rows[kept]
    if abs(float(examples.sign.sum())) == len(examples.sign):
        raise invalid("y", "have two classes among rows of positive weight", "one class")
    return Ready(rows, spec, solver, examples, classes, kept, settings, seed_of(model.random_state))


def _read_rows(model: Any, X: Any) -> tuple[Rows, KernelSpec]:
    rows = check_rows(model, X, reset=True, dtype=np.float64)
    if str(model.kernel) == "perceptron":
        raise invalid(
            "kernel",
            "be positive semi-definite",
            model.kernel,
            "-|x - z| is only conditionally so and needs a free bias: use CSSVMClassifier for it.",
        )
    spec = kernel_spec(model.kernel, rows, gamma=model.gamma, degree=model.degree, coef0=model.coef0)
    if spec.kernel == "precomputed":
        if rows.shape[0] != rows.shape[1]:
            raise invalid("X", "be a square kernel matrix where kernel='precomputed'", f"shape {rows.shape}")
        rows = rows.toarray() if is_sparse(rows) else rows
    return rows, spec


def two_classes(y: Any, known: NDArray[Any] | None = None) -> NDArray[Any]:
    """The two labels: those known already, else those of y."""
    present, _ = check_labels(y)
    classes = present if known is None else known
    unknown = np.setdiff1d(present, classes)
    if len(unknown):
        raise invalid("y", f"hold the classes {classes.tolist()}", unknown.tolist()[0])
    if len(classes) != 2:
        raise invalid(
            "y",
            "have two classes",
            f"{len(classes)} classes" if len(classes) != 1 else f"one class, {classes.tolist()[0]!r}",
            "Only binary classification is supported. For more classes use a reduction, e.g. OneVsAllClassifier.",
        )
    return classes


def read_examples(model: Any, rows: Rows, y: Any, classes: NDArray[Any], sample_weight: Any, costs: Any) -> Examples:
    """Signs, weights and costs; where costs make the other class the cheaper answer, that class is learned."""
    labels = np.asarray(y).ravel()
    check_same_length(X=rows, y=labels)
    positive = labels == classes[1]
    weight = check_sample_weight(sample_weight, len(labels))
    if model.costs is None and costs is None:
        return Examples(np.where(positive, 1.0, -1.0), weight, np.ones(len(labels)))
    table = as_costs(model.costs, y, classes, per_example=costs).per_example(y)
    sign, cost = _cheaper_answer(table, positive.astype(np.intp))
    return Examples(sign, weight, cost)


def seed_of(random_state: Any) -> int:
    """A whole number from whatever scikit-learn takes as random_state."""
    return int(check_random(random_state).randint(2**31 - 1))


# -- Rows made ready for CS-LDM, linear or kernel, and the choice of solver; cut into folds without new kernel values


KERNEL_SOLVERS = ("greedy", "algorithm1", "interior")
LINEAR_SOLVERS = ("newton", "cd", "sdca", "asgd")
SOLVERS = ("auto", *KERNEL_SOLVERS, *LINEAR_SOLVERS)
DENSE_METRIC = 2000  # features up to which a d x d matrix is cheaper than stochastic passes
SMALL_SAMPLE = 3000  # rows up to which a Gram matrix is cheaper where features outnumber them
DENSE_ENOUGH = 0.25  # share of non-zeros above which sparse rows are quicker dense


class LDMProblem(Protocol):
    """The dual for one lambda1, to be solved for any box."""

    def solve(
        self,
        box: Box,
        *,
        tol: float,
        max_iter: int,
        start: DualSolution | None = None,
        solver: str = "auto",
        seed: int = 0,
    ) -> DualSolution:
        """Minimise over one box."""
        ...


Prepare = Callable[[float], Any]  # lambda1 -> LDMProblem, sharing the one factorisation


class TrainingRows(Protocol):
    """Training rows of a linear or kernel machine."""

    solver: str

    def prepare(self, examples: Examples, keep: NDArray[np.intp] | None = None) -> Prepare:
        """Factorise these rows (all of them, or those kept) once for every lambda1."""
        ...

    def scores(
        self, problem: Any, found: Sequence[DualSolution], train: NDArray[np.intp], test: NDArray[np.intp]
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
        self, problem: Any, found: Sequence[DualSolution], train: NDArray[np.intp], test: NDArray[np.intp]
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
        self, problem: Any, found: Sequence[DualSolution], train: NDArray[np.intp], test: NDArray[np.intp]
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
            raise invalid("solver", "be 'auto' or one of " + ", ".join(KERNEL_SOLVERS) + " with this kernel", solver)
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
