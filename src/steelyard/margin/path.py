"""Many SVM duals on one kernel matrix: sub-problems, folds and a whole regularisation path in one call. Paper 002."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from .._native import SvmSolver32, SvmSolver64, svm_on_gram32, svm_on_gram64
from ..validation.arrays import check_finite, overflow_blamed_on
from ..validation.docstrings import documented
from ..validation.types import ArrayLike, LabelsLike
from ..validation.values import check_count, check_jobs, check_number, invalid
from .kernels import LazyGram

Floats = NDArray[np.float64]
Solver = SvmSolver32 | SvmSolver64
Progress = Callable[[int, float, int], object]  # position of the problem, its lambda, steps so far

STEPS_AT_ONCE = 50_000  # between two chances to report and to be interrupted: well below a second
MAX_ITER = 10_000_000


@dataclass(frozen=True, eq=False)
class SVMProblem:
    """One SVM dual on rows ``index`` of a shared Gram matrix K.

    min 1/2 a'Qa + p'a,  y'a = 0,  0 <= a_i <= upper_i / lambda,  Q_ij = y_i y_j K_ij

    Its decision on a row x is sum_i coef_i K(x_i, x) + bias with coef = y a. Use :meth:`classification` and
    :meth:`one_sided` to state a learning problem.

    Parameters
    ----------
    index : ndarray of shape (m,)
        Positions in the Gram matrix.
    p : ndarray of shape (m,)
        Linear term.
    y : ndarray of shape (m,)
        +1 or -1.
    upper : ndarray of shape (m,)
        The box at lambda = 1, >= 0; an example of weight 0 takes no part.
    """

    index: NDArray[np.int64]
    p: Floats
    y: Floats
    upper: Floats

    def __post_init__(self) -> None:
        index = np.asarray(self.index)
        if index.ndim != 1 or index.dtype.kind not in "iu" or len(index) == 0:
            raise invalid("index", "hold positions of one or more rows", self.index)
        object.__setattr__(self, "index", np.ascontiguousarray(index, np.int64))
        for name in ("p", "y", "upper"):
            values = np.ascontiguousarray(getattr(self, name), np.float64)
            if values.shape != index.shape:
                raise invalid(name, f"have shape {index.shape} like index", values.shape)
            check_finite(name, values)
            object.__setattr__(self, name, values)
        if not np.isin(self.y, (-1.0, 1.0)).all():
            raise invalid("y", "be +1 or -1", self.y)
        if (self.upper < 0).any():
            raise invalid("upper", "be >= 0 everywhere", float(self.upper.min()))

    @staticmethod
    def classification(index: ArrayLike, y: LabelsLike, weight: ArrayLike | None = None) -> SVMProblem:
        """The weighted SVM: hinge loss of y in {+1, -1}; the decision is positive for +1.

        Parameters
        ----------
        index : array-like of int
            Positions in the Gram matrix.
        y : array-like
            +1 or -1 for each of them.
        weight : array-like or None
            Weight of each example; 1 if None.

        Returns
        -------
        SVMProblem
            The problem.
        """
        sign = np.asarray(y, np.float64)
        return SVMProblem(np.asarray(index), np.full(len(sign), -1.0), sign, _ones_or(weight, len(sign)))

    @staticmethod
    def one_sided(index: ArrayLike, target: ArrayLike, side: ArrayLike, weight: ArrayLike | None = None) -> SVMProblem:
        """One-sided regression: loss max(0, side (r(x) - target)). Paper 002, eq. (4); the decision is r itself.

        Parameters
        ----------
        index : array-like of int
            Positions in the Gram matrix.
        target : array-like
            The target of each of them.
        side : array-like
            +1 counts r above the target as loss, -1 counts r below it.
        weight : array-like or None
            Weight of each example; 1 if None.

        Returns
        -------
        SVMProblem
            The regression.
        """
        z = np.asarray(side, np.float64)
        return SVMProblem(np.asarray(index), z * np.asarray(target, np.float64), -z, _ones_or(weight, len(z)))


def _ones_or(weight: Any, n: int) -> Floats:
    return np.ones(n) if weight is None else np.asarray(weight, np.float64)


@dataclass(frozen=True, eq=False)
class PathPoint:
    """The solution of one problem at one lambda.

    Parameters
    ----------
    lam : float
        The lambda.
    coef : ndarray of shape (m,)
        Over the rows of the problem: the decision is K(x, rows) @ coef + bias.
    bias : float
        See ``coef``.
    dual_objective : float
        What the dual reached.
    duality_gap : float
        primal_objective - dual_objective >= 0; bounds how far both are from the optimum.
    violation : float
        Largest KKT violation, at most ``tol`` where ``converged``.
    n_iter : int
        SMO steps.
    converged : bool
        False if ``max_iter`` came first.
    """

    lam: float
    coef: Floats
    bias: float
    dual_objective: float
    duality_gap: float
    violation: float
    n_iter: int
    converged: bool

    @property
    def primal_objective(self) -> float:
        """1/2 |w|^2 + sum of losses, each times upper_i / lambda."""
        return self.dual_objective + self.duality_gap


@dataclass(frozen=True, eq=False)
class PathSolution:
    """The solutions of one problem at all lambdas.

    Parameters
    ----------
    problem : SVMProblem
        What was solved.
    points : tuple of PathPoint
        One for each lambda, in the order in which they were given.
    """

    problem: SVMProblem
    points: tuple[PathPoint, ...]

    def decision(self, gram: ArrayLike) -> Floats:
        """Decisions for n rows at every lambda.

        Parameters
        ----------
        gram : array-like of shape (n, N)
            The kernel between the n rows and *all* rows of the shared matrix.

        Returns
        -------
        ndarray of shape (n, lambdas)
            The decisions.
        """
        coef = np.stack([point.coef for point in self.points], axis=1)
        bias = np.array([point.bias for point in self.points])
        return cast("Floats", np.asarray(gram)[:, self.problem.index] @ coef.astype(np.asarray(gram).dtype) + bias)


@documented()
def solve_path(
    gram: ArrayLike | LazyGram,
    problems: Iterable[SVMProblem],
    lambdas: Sequence[float],
    *,
    tol: float = 1e-3,
    max_iter: int = MAX_ITER,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> list[PathSolution]:
    """Solve every problem at every lambda, each from its solution at the next larger lambda.

    Going from lambda to lambda' multiplies the box by lambda / lambda', and b and Kb too unless few examples are at
    their bounds: a feasible warm start either way, that needs no kernel value. Problems may be sub-problems (paper
    002: one per class) and folds; all read the one ``gram``, so threads share it.

    Parameters
    ----------
    gram : array-like of shape (N, N) or LazyGram
        Symmetric, float32 or float64.
    problems : iterable of SVMProblem
        What to solve.
    lambdas : sequence of float
        Above 0, in any order.
    tol : float above 0
        Largest KKT violation, times the spread of the decisions where that is below 1, so that strong regularisation
        leaves no answer to chance.
    max_iter : int
        SMO steps per problem and lambda, with a ConvergenceWarning when it is reached.
    progress : callable or None
        Called between slices of work with (position of the problem, lambda, steps).

    Returns
    -------
    list of PathSolution
        One for each problem.

    Examples
    --------
    >>> from steelyard.margin.kernels import gram
    >>> x = [[0.0], [1.0], [3.0], [4.0]]
    >>> problem = SVMProblem.classification([0, 1, 2, 3], [-1, -1, 1, 1])
    >>> [solution] = solve_path(gram(x), [problem], [10.0, 1.0])
    >>> solution.decision(gram([[0.0], [4.0]], x)).round(2).tolist()
    [[-0.6, -1.0], [0.6, 1.0]]
    """
    matrix = _shared(gram)
    problems = list(problems)
    grid = [check_number("lambdas", lam, above=0) for lam in lambdas]
    if not grid:
        raise invalid("lambdas", "hold one or more numbers", lambdas)
    tol = check_number("tol", tol, above=0)
    max_iter, jobs = check_count("max_iter", max_iter), check_jobs(n_jobs)
    for problem in problems:
        with weights_in_range("lambdas", min(grid)):
            _ = problem.upper / min(grid)
        if problem.index.min() < 0 or problem.index.max() >= matrix.shape[0]:
            raise invalid("index", f"lie within the {matrix.shape[0]} rows of gram", problem.index)
    mostly_there = isinstance(matrix, LazyGram) and 4 * matrix.rows_at_hand >= 3 * matrix.shape[0]
    stop = threading.Event()

    def solve(position: int, problem: SVMProblem) -> PathSolution:
        def callback(lam: float, steps: int) -> bool:
            if progress is not None:
                progress(position, lam, steps)
            return not stop.is_set()

        solver = _on_gram(matrix, problem, max(grid), tol, mostly_there)
        return PathSolution(problem, path_points(solver, grid, tol, max_iter, callback))

    tasks = (delayed(solve)(k, problem) for k, problem in enumerate(problems))
    try:
        solutions = cast("list[PathSolution]", Parallel(n_jobs=jobs, prefer="threads", require="sharedmem")(tasks))
    finally:
        stop.set()  # an interrupt reaches the main thread only: the others end after their slice of work
    unfinished = sum(not point.converged for solution in solutions for point in solution.points)
    if unfinished:
        warn_unconverged(f"{unfinished} of {len(problems) * len(grid)} SVM problems", max_iter)
    return solutions


def weights_in_range(name: str, value: float) -> AbstractContextManager[None]:
    """Within, a weight that the parameter takes beyond all numbers is an error that names it."""
    hint = "Regularise more, or scale weights and costs down."
    return overflow_blamed_on(name, "leave the weights of all examples finite", value, hint)


def warn_unconverged(what: str, max_iter: int) -> None:
    """One warning that says what to change."""
    warnings.warn(
        f"{what} stopped at max_iter={max_iter} steps before the KKT violation fell to tol. "
        "Scale the features, raise tol or max_iter, or regularise more (larger lambda, smaller C).",
        ConvergenceWarning,
        stacklevel=3,
    )


def _shared(gram: Any) -> NDArray[Any] | LazyGram:
    if isinstance(gram, LazyGram):
        return gram
    matrix = np.asarray(gram)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise invalid("gram", "be a square matrix", f"shape {matrix.shape}")
    if matrix.dtype not in (np.float32, np.float64):
        matrix = matrix.astype(np.float64)
    return np.ascontiguousarray(matrix, matrix.dtype.newbyteorder("="))


def _on_gram(gram: NDArray[Any] | LazyGram, problem: SVMProblem, lam: float, tol: float, mostly_there: bool) -> Solver:
    build: Callable[..., Solver] = svm_on_gram32 if gram.dtype == np.float32 else svm_on_gram64
    if isinstance(gram, LazyGram):
        return build(gram.native, problem.index, *box(problem, lam), tol, mostly_there=mostly_there)
    return build(gram, problem.index, *box(problem, lam), tol)


def box(problem: SVMProblem, lam: float) -> tuple[Floats, Floats, Floats]:
    """Linear term and bounds of b = y a."""
    reach = problem.upper / lam
    return problem.y * problem.p, np.where(problem.y > 0, 0.0, -reach), np.where(problem.y > 0, reach, 0.0)


def path_points(
    solver: Solver, lambdas: Sequence[float], tol: float, max_iter: int, callback: Callable[[float, int], bool]
) -> tuple[PathPoint, ...]:
    """Follow one solver, built at the largest lambda, down the path; stop early where ``callback`` says False."""
    found: dict[float, PathPoint] = {}
    before = max(lambdas)
    for lam in sorted(set(lambdas), reverse=True):
        if lam != before:
            solver.rescale(before / lam)
        steps = _run(solver, lam, tol, max_iter, callback)
        found[lam] = _point(solver, lam, steps, tol)
        before = lam
    return tuple(found[lam] for lam in lambdas)


def _run(solver: Solver, lam: float, tol: float, max_iter: int, callback: Callable[[float, int], bool]) -> int:
    steps = 0
    while True:  # at least once: the solver aims lower than tol where decisions lie close together
        steps += solver.run(min(STEPS_AT_ONCE, max_iter - steps))
        if not callback(lam, steps) or solver.violation() <= tol or steps >= max_iter:
            return steps


def _point(solver: Solver, lam: float, steps: int, tol: float) -> PathPoint:
    level, violation = solver.level(), solver.violation()
    return PathPoint(
        lam=lam,
        coef=solver.coefficients(),
        bias=-level,
        dual_objective=-solver.objective(),
        duality_gap=solver.gap(level),
        violation=violation,
        n_iter=steps,
        converged=violation <= tol,
    )
