"""Linear CS-LDM: Newton, dual coordinates, interior point. Paper 004, eq. (18).

``MetricProblem``: with M = I + c (sum_i s_i x_i x_i' - b b'/m), b = sum_i s_i y_i x_i and c = 4 lambda1 / m, the dual
Hessian is H_ij = y_i y_j x_i' M^-1 x_j, and w = M^-1 sum_i nu_i y_i x_i. M is d x d and depends on lambda1 only.
``SdcaProblem``: no d x d matrix; the margin variance is split by a second dual variable a row. For large sparse d.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from .._checks import Rows, is_sparse
from .._native import LdmCsr, ldm_metric_pass
from .kernels import csr_arrays
from .ldm_interior import LowRankHessian, interior_point
from .ldm_newton import WIDEST, Metric, NewtonPath, Part, newton
from .ldm_problem import Box, Certificate, Examples, Floats, Solution, certify

PASSES_BETWEEN_LOOKS = 3
WARM = 0.5  # the bend to start from near a neighbour's solution
ROUGH = 0.1  # relative gap at which a sample of the rows has told what it can
SAMPLE_ROWS, SAMPLE_ROWS_PER_FEATURE = 2000, 25
REACH = 0.3  # rows with margins above 1 + REACH are left out until the next look at all rows


def native_csr(rows: Rows) -> Any:
    """Sparse rows as the kernels read them."""
    return LdmCsr(*csr_arrays(rows, np.float64))


def metric(rows: Rows, native: Any, examples: Examples, lambda1: float) -> Floats:
    """M, the d x d matrix of |w|^2 / 2 + lambda1 variance. ``native``: sparse rows as the kernels read them."""
    rate = 4.0 * lambda1 / examples.size
    if is_sparse(rows):
        second = np.zeros((rows.shape[1], rows.shape[1]))
        native.gram(examples.weight, second)
        second += np.tril(second, -1).T
    else:
        scaled = rows if (examples.weight == 1).all() else rows * np.sqrt(examples.weight)[:, None]
        second = scaled.T @ scaled  # one operand, so that BLAS computes a triangle only
    first = rows.T @ (examples.weight * examples.sign)
    M = rate * (second - np.outer(first, first) / examples.size)
    M[np.diag_indices_from(M)] += 1.0
    return np.asarray(M)


def _undecided(nu: Floats, margins: Floats, box: Box) -> NDArray[np.int32]:
    """Rows worth visiting: all but those that rest on a bound more firmly than the worst row violates optimality."""
    gradient = margins - 1.0
    at_lower, at_upper = nu <= box.lower, nu >= box.upper
    violation = np.where(
        at_lower, np.maximum(-gradient, 0), np.where(at_upper, np.maximum(gradient, 0), np.abs(gradient))
    )
    worst = float(violation.max(initial=0.0))
    firm = (at_lower & (gradient > worst)) | (at_upper & (gradient < -worst)) | (box.lower == box.upper)
    return np.flatnonzero(~firm).astype(np.int32)


class MetricProblem:
    """The d x d metric M and what is solved in it, dense or sparse rows."""

    plain_solver = "newton"  # what "auto" tries first

    def __init__(self, rows: Rows, examples: Examples, lambda1: float) -> None:
        self.rows = rows
        self.examples = examples
        self.native: Any = native_csr(rows) if is_sparse(rows) else None
        self.metric = metric(rows, self.native, examples, lambda1)
        self.lower_factor = cholesky(self.metric, lower=True, check_finite=False)

    @cached_property
    def inverse(self) -> Floats:
        """M^-1, whose rows a step over a sparse row adds up."""
        half = solve_triangular(self.lower_factor, np.eye(len(self.metric)), lower=True, check_finite=False)
        return np.ascontiguousarray(half.T @ half)

    @cached_property
    def factor(self) -> Floats:
        """Rows y_i L^-1 x_i: H = factor factor'."""
        return self._dense_factor()

    @cached_property
    def diagonal(self) -> Floats:
        """H_ii."""
        if not is_sparse(self.rows):
            return np.asarray(np.einsum("ij,ij->i", self.factor, self.factor))
        diagonal = np.empty(self.rows.shape[0])
        self.native.quadratic_forms(self.inverse, diagonal)
        return diagonal

    def _dense_factor(self, some: Any = slice(None)) -> Floats:
        """Rows y_i L^-1 x_i: H = factor factor'."""
        rows = self.rows[some]
        signed = (rows.toarray() if is_sparse(rows) else rows) * self.examples.sign[some, None]
        # L^-1 X' computed in the Fortran order of the transpose, so that the rows come out contiguous.
        return np.ascontiguousarray(
            solve_triangular(self.lower_factor, signed.T, lower=True, overwrite_b=True, check_finite=False).T
        )

    def solve(
        self, box: Box, *, tol: float, max_iter: int, start: Solution | None = None, solver: str = "auto", seed: int = 0
    ) -> Solution:
        """Minimise over one box. ``auto`` is Newton's method, finished by the interior point where that stalls."""
        if solver == "interior":
            return self._interior(box, tol, max_iter)
        if solver == "cd":
            return self._descend(box, tol, max_iter, np.random.default_rng(seed), start)
        found = self._newton(box, tol, max_iter, start)
        if solver == "newton" or found.certificate.holds(tol):
            return found
        finished = self._interior(box, tol, max_iter)
        return finished if finished.certificate.gap < found.certificate.gap else found

    def weights(self, nu: Floats) -> Floats:
        """w = M^-1 sum_i nu_i y_i x_i."""
        return self._back(self._inner(nu))

    def block(self, some: NDArray[np.intp]) -> Floats:
        """H restricted to some rows and columns."""
        factor = self._dense_factor(some)
        return np.asarray(factor @ factor.T)

    def evaluate(self, nu: Floats) -> tuple[Floats, Floats]:
        """Margins and weights at nu."""
        state = self._state(nu)
        return self._margins(state), state if is_sparse(self.rows) else self._back(state)

    def _inner(self, nu: Floats) -> Floats:
        """L^-1 sum_i nu_i y_i x_i."""
        total = self.rows.T @ (nu * self.examples.sign)
        return np.asarray(solve_triangular(self.lower_factor, total, lower=True, check_finite=False))

    def _back(self, v: Floats) -> Floats:
        return np.asarray(solve_triangular(self.lower_factor, v, lower=True, trans=1, check_finite=False))

    def _state(self, nu: Floats) -> Floats:
        """What a pass keeps along: w for sparse rows, L'w for dense ones."""
        return np.ascontiguousarray(self.weights(nu) if is_sparse(self.rows) else self._inner(nu))

    def _margins(self, state: Floats) -> Floats:
        return np.asarray(self.examples.sign * (self.rows @ state) if is_sparse(self.rows) else self.factor @ state)

    def _pass(self, box: Box, order: NDArray[np.int32], nu: Floats, state: Floats) -> None:
        if is_sparse(self.rows):
            sign = self.examples.sign
            self.native.metric_pass(sign, self.inverse, self.diagonal, box.lower, box.upper, order, nu, state)
        else:
            ldm_metric_pass(self.factor, self.diagonal, box.lower, box.upper, order, nu, state)

    def _newton(self, box: Box, tol: float, max_iter: int, start: Solution | None) -> Solution:
        """Newton on a sample, then on the rows near the hinge, then a look at all of them."""
        w = np.zeros(len(self.metric)) if start is None or start.w is None else start.w
        delta, steps = WIDEST if start is None else WARM, 0
        pull = np.asarray(self.rows.T @ (box.lower * self.examples.sign))
        cost = np.ascontiguousarray(box.upper - box.lower)
        sample = max(SAMPLE_ROWS, SAMPLE_ROWS_PER_FEATURE * len(w))
        if start is None and 2 * sample <= len(cost):
            every = len(cost) // sample
            path = self._path(slice(None, None, every), every * cost, pull, w)
            newton(path, max(tol, ROUGH), max_iter, delta)
            w, delta = path.w, WARM
        whole = self._path(slice(None), cost, pull, w)
        steps = newton(whole, max(tol, ROUGH), max_iter, delta)
        while not (certificate := whole.gap_parts()[2]).holds(tol) and steps < max_iter:
            near = np.flatnonzero(whole.margins < 1.0 + REACH)
            path = self._path(near, cost, pull, whole.w)
            path.take_bend(whole)
            made = newton(path, tol, max_iter - steps, whole.delta)
            steps += made
            whole = self._path(slice(None), cost, pull, path.w)
            whole.bend(path.delta)
            if made == 0 or not path.gap_parts()[2].holds(tol):
                certificate = whole.gap_parts()[2]
                break
        nu = box.lower + cost * np.clip((1.0 - whole.margins) / whole.delta, 0.0, 1.0)
        return Solution(nu, whole.margins, certificate, steps, "newton", whole.w)

    def _path(self, some: Any, cost: Floats, pull: Floats, w: Floats) -> NewtonPath:
        whole = isinstance(some, slice) and some == slice(None)
        if not is_sparse(self.rows):
            rows = np.ascontiguousarray(self.rows[some])
        else:
            rows = self.native if whole else self.native.part(np.arange(len(cost), dtype=np.int32)[some].copy())
        sign, cost = np.ascontiguousarray(self.examples.sign[some]), np.ascontiguousarray(cost[some])
        return NewtonPath(Part(rows, sign, cost), Metric(self.metric, self.lower_factor), pull, w)

    def _descend(self, box: Box, tol: float, passes: int, rng: np.random.Generator, start: Solution | None) -> Solution:
        nu = box.lower.copy() if start is None else box.clip(start.nu)
        state = self._state(nu)
        margins = self._margins(state)
        certificate = certify(nu, margins, box)
        made = 0
        while not certificate.holds(tol) and made < passes:
            order = _undecided(nu, margins, box)
            for _ in range(min(PASSES_BETWEEN_LOOKS, passes - made)):
                rng.shuffle(order)
                self._pass(box, order, nu, state)
                made += 1
            margins = self._margins(state)
            certificate = certify(nu, margins, box)
        w = state if is_sparse(self.rows) else self._back(state)
        return Solution(nu, margins, certificate, made, "cd", w)

    def _interior(self, box: Box, tol: float, max_iter: int) -> Solution:
        def done(nu: Floats, margins: Floats) -> bool:
            return certify(nu, margins, box).holds(tol)

        factor = self._dense_factor() if is_sparse(self.rows) else self.factor
        nu, steps = interior_point(LowRankHessian(factor), box, done, min(max_iter, 200))
        margins = factor @ (factor.T @ nu)
        return Solution(nu, margins, certify(nu, margins, box), steps, "interior", self.weights(nu))


class SdcaProblem:
    """Stochastic dual coordinate ascent: O(nnz) a pass whatever d is."""

    plain_solver = "sdca"  # what "auto" tries first

    def __init__(self, rows: Rows, examples: Examples, lambda1: float) -> None:
        self.rows = rows
        self.examples = examples
        self.native = native_csr(rows)
        self.diagonal = np.asarray(rows.multiply(rows).sum(axis=1)).ravel().astype(np.float64)
        self.pull = 4.0 * lambda1 / examples.size * examples.weight
        self.total = rows.T @ examples.sign  # sum_i y_i x_i
        self.total_weight = float(self.pull.sum())

    def solve(
        self, box: Box, *, tol: float, max_iter: int, start: Solution | None = None, solver: str = "sdca", seed: int = 0
    ) -> Solution:
        """Minimise over one box."""
        rng = np.random.default_rng(seed)
        nu = box.lower.copy() if start is None else box.clip(start.nu)
        tau = np.zeros_like(nu)
        w = np.ascontiguousarray(self.rows.T @ (nu * self.examples.sign), dtype=np.float64)
        order = np.arange(len(nu), dtype=np.int32)
        centre, made = 0.0, 0
        stiffness = min(1.0, self.total_weight) if self.total_weight > 0 else 1.0
        margins = self._margins(w)
        certificate = self._certify(nu, tau, w, margins, box)
        while not certificate.holds(tol) and made < max_iter:
            for _ in range(min(PASSES_BETWEEN_LOOKS, max_iter - made)):
                rng.shuffle(order)
                centre = self.native.sdca_pass(
                    self.examples.sign,
                    self.diagonal,
                    self.pull,
                    box.lower,
                    box.upper,
                    order,
                    nu,
                    tau,
                    w,
                    centre,
                    stiffness,
                )
                made += 1
            centre += float(tau.sum()) / stiffness  # the centre is now held near where it has come to
            margins = self._margins(w)
            certificate = self._certify(nu, tau, w, margins, box)
        return Solution(nu, margins, certificate, made, "sdca", w)

    def _margins(self, w: Floats) -> Floats:
        return np.asarray(self.examples.sign * (self.rows @ w))

    def _certify(self, nu: Floats, tau: Floats, w: Floats, margins: Floats, box: Box) -> Certificate:
        """Primal value at w, dual value at (nu, tau shifted to sum zero)."""
        weight, m = self.examples.weight, self.examples.size
        centre = float(weight @ margins) / m
        variance = 0.5 * float(self.pull @ (margins - centre) ** 2)
        quadratic = 0.5 * float(w @ w) + variance
        mean = float(box.lower @ margins)
        hinge = float((box.upper - box.lower) @ np.maximum(1.0 - margins, 0.0))
        objective = quadratic - mean + hinge
        split = 0.0
        inner = w
        if self.total_weight > 0:
            share = self.pull / self.total_weight
            surplus = float(tau.sum())
            tau = tau - surplus * share
            inner = w + surplus * (self.rows.T @ (share * self.examples.sign))
            split = 0.5 * float((tau**2 / self.pull).sum())
        dual = -0.5 * float(inner @ inner) + float(nu.sum()) - float(box.lower.sum()) - split
        return Certificate(objective, objective - dual, quadratic + abs(mean) + hinge)
