"""Sub-problems solved as support vector machines on one shared Gram matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..margin import CSSVMClassifier, OneSidedSVR
from ..margin.kernels import DTYPES, KernelSpec, LazyGram, Matrix, gram_of
from ..margin.path import SVMProblem, solve_path
from ..validation.arrays import check_scores
from ._learners import Solutions, train
from .scheme import CostExamples, Floats, ReductionScheme, ScoreSome, SubProblem

CELLS_AT_ONCE = 1 << 22  # kernel values held in double precision at a time while scoring
WORTH_WAITING = 1 << 28  # bytes; a smaller matrix is made in less time than its rows one by one


@dataclass(frozen=True)
class Machines:
    """Kernel expansions over some rows of the Gram matrix: score_j(x) = sum_i coef[i, j] K(x_i, x) + bias[j]."""

    rows: NDArray[np.intp]
    coef: Floats
    bias: Floats
    gap: Floats  # certified distance of each objective from its optimum

    def joined(self, later: Machines) -> Machines:
        """These machines and those of a later stage over the same rows."""
        columns = (np.hstack([getattr(self, name), getattr(later, name)]) for name in ("coef", "bias", "gap"))
        return Machines(self.rows, *columns)


@dataclass(frozen=True)
class KernelMachines:
    """Fitted support vector machines of all sub-problems over their common support rows.

    ``support`` are positions among the rows given to fit; of rows that repeat the first one stands for all.
    """

    spec: KernelSpec
    dtype: str
    support: NDArray[np.intp]
    support_rows: Any
    coef: Floats
    bias: Floats
    duality_gap: Floats

    def scores(self, X: Any) -> Floats:
        """Scores (n, m) of all sub-problems on these rows."""
        scores = np.tile(self.bias, (X.shape[0], 1))
        with np.errstate(over="ignore", invalid="ignore"):  # what became of it is looked at
            for block, kernel in self._kernels(X):
                scores[block] += kernel @ self.coef
        return check_scores(scores)

    def on_demand(self, X: Any) -> Iterator[tuple[slice, ScoreSome]]:
        """Blocks whose kernel values all sub-problems share."""
        if len(self.support) == 0:
            yield slice(0, X.shape[0]), lambda part, at: np.full(len(at), self.bias[part])
        for block, kernel in self._kernels(X):
            yield block, partial(self._score_some, kernel)

    def _score_some(self, kernel: Floats, part: int, at: NDArray[np.intp]) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            return check_scores(np.asarray(kernel[at] @ self.coef[:, part] + self.bias[part]))

    def _kernels(self, X: Any) -> Iterator[tuple[slice, Floats]]:
        """Kernel values of the rows with the support rows, some rows at a time; none without support."""
        for block in blocks(X.shape[0], len(self.support)) if len(self.support) else []:
            if self.support_rows is None:
                kernel = gram_of(self.spec, X[block][:, self.support], dtype=self.dtype)
            else:
                kernel = gram_of(self.spec, X[block], self.support_rows, dtype=self.dtype)
            yield block, kernel.astype(np.float64, copy=False)


class SharedGram:
    """One kernel matrix for all sub-problems, folds and lams; ``origin`` says which rows of the user's X holds."""

    def __init__(
        self, X: Any, origin: NDArray[np.intp], spec: KernelSpec, *, dtype: str, tol: float, n_jobs: int | None
    ) -> None:
        self.X = X
        self.origin = origin
        self.spec = spec
        self.dtype = dtype
        self.tol = tol
        self.n_jobs = n_jobs
        large = X.shape[0] ** 2 * DTYPES[dtype].itemsize > WORTH_WAITING
        self.matrix: Matrix | LazyGram = (
            LazyGram.of(spec, X, dtype=dtype) if large and spec.is_native else gram_of(spec, X, dtype=dtype)
        )

    def path(self, plan: ReductionScheme, cases: CostExamples, lams: Sequence[float] | Floats) -> list[Machines]:
        """Machines for every lam, trained on the cases that have weight."""
        rows = np.flatnonzero(cases.weight > 0)
        cases = cases.take(rows)
        so_far = [np.empty((len(rows), 0))] * len(lams)  # scores of the cases under the machines of every lam
        found = latest = self._solve(plan.problems(0, cases, so_far[0]), rows, lams)
        for stage in range(1, plan.n_stages):  # from here on every lam has its own sub-problems
            so_far = [np.hstack(pair) for pair in zip(so_far, self.scores(latest, rows), strict=True)]
            questions = [plan.problems(stage, cases, scores) for scores in so_far]
            latest = [self._solve(asked, rows, [lam])[0] for asked, lam in zip(questions, lams, strict=True)]
            found = [machines.joined(added) for machines, added in zip(found, latest, strict=True)]
        return found

    def scores(self, path: list[Machines], at: NDArray[np.intp]) -> list[Floats]:
        """Scores (n, m) of the machines of every lam at these rows of the matrix."""
        coef = np.hstack([machines.coef for machines in path])
        used = coef.any(axis=1)
        rows, coef = path[0].rows[used], coef[used]
        scores = np.tile(np.hstack([machines.bias for machines in path]), (len(at), 1))
        for block in blocks(len(rows), len(at)):  # rows of the matrix lie in one piece, its columns do not
            scores += self._part(rows[block], at).T.astype(np.float64, copy=False) @ coef[block]
        return np.split(scores, len(path), axis=1)

    def _part(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Matrix:
        if isinstance(self.matrix, LazyGram):
            return self.matrix.part(rows, columns)
        return self.matrix[np.ix_(rows, columns)]

    def solution(self, machines: Machines) -> KernelMachines:
        """The machines with the rows they need, free of the Gram matrix."""
        used = (machines.coef != 0).any(axis=1)
        rows = machines.rows[used]
        kept = None if self.spec.kernel == "precomputed" else self.X[rows]
        support = self.origin[rows]
        return KernelMachines(self.spec, self.dtype, support, kept, machines.coef[used], machines.bias, machines.gap)

    def _solve(
        self, problems: list[SubProblem], rows: NDArray[np.intp], lams: Sequence[float] | Floats
    ) -> list[Machines]:
        constants = [problem.constant() for problem in problems]
        open_ones = [j for j, constant in enumerate(constants) if constant is None]
        bias = np.array([0.0 if constant is None else constant for constant in constants])
        shape = (len(rows), len(problems))
        found = [Machines(rows, np.zeros(shape), bias.copy(), np.zeros(len(problems))) for _ in lams]
        duals = [dual(problems[j], rows) for j in open_ones]
        solutions = solve_path(self.matrix, duals, list(lams), tol=self.tol, n_jobs=self.n_jobs)
        for j, solution in zip(open_ones, solutions, strict=True):
            towards = 1.0 if problems[j].target is None else -1.0  # a cost estimate counts against its class
            for machines, point in zip(found, solution.points, strict=True):
                machines.coef[problems[j].rows, j] = towards * point.coef
                machines.bias[j] = towards * point.bias
                machines.gap[j] = point.duality_gap
        return found


def dual(problem: SubProblem, rows: NDArray[np.intp]) -> SVMProblem:
    """A sub-problem over these rows of the Gram matrix as a support vector machine."""
    index = rows[problem.rows]
    if problem.target is None:
        return SVMProblem.classification(index, problem.sign, problem.weight)
    return SVMProblem.one_sided(index, problem.target, problem.sign, problem.weight)


def blocks(n: int, width: int) -> list[slice]:
    """Slices of n rows, each of at most CELLS_AT_ONCE cells."""
    step = max(1, CELLS_AT_ONCE // max(1, width))
    return [slice(start, min(n, start + step)) for start in range(0, n, step)]


# -- Support vector sub-problems where one Gram matrix would not fit: kernel columns on demand, machine by machine ----


class ColumnCache:
    """The same answers as :class:`SharedGram` in less memory; slower, since nothing is shared but the rows."""

    def __init__(self, X: Any, spec: KernelSpec, *, dtype: str, tol: float, cache_mb: float) -> None:
        self.X = X
        self.settings: dict[str, Any] = {**spec._asdict(), "dtype": dtype, "tol": tol, "cache_mb": cache_mb}

    def path(self, plan: ReductionScheme, cases: CostExamples, lams: Sequence[float] | Floats) -> list[Solutions]:
        """Machines for every lam, trained on the cases that have weight."""
        return [train(plan, self.X, cases, self._machine(plan, lam), n_jobs=None) for lam in lams]

    def scores(self, path: list[Solutions], at: NDArray[np.intp]) -> list[Floats]:
        """Scores (n, m) of the machines of every lam at these rows."""
        return [solutions.scores(self.X[at]) for solutions in path]

    def solution(self, solutions: Solutions) -> Solutions:
        """The machines as a fitted estimator keeps them."""
        return solutions

    def _machine(self, plan: ReductionScheme, lam: float) -> Any:
        if plan.one_sided:
            return OneSidedSVR(lam=lam, **self.settings)
        return CSSVMClassifier(C=1.0 / lam, **self.settings)
