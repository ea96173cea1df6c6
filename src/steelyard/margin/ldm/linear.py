"""Linear CS-LDM: Newton, dual coordinates, interior point. Paper 004, eq. (18).

``MetricProblem``: with M = I + c (sum_i s_i x_i x_i' - b b'/m), b = sum_i s_i y_i x_i and c = 4 lambda1 / m, the dual
Hessian is H_ij = y_i y_j x_i' M^-1 x_j, and w = M^-1 sum_i nu_i y_i x_i. M is d x d and depends on lambda1 only.
``SdcaProblem``: no d x d matrix; the margin variance is split by a second dual variable a row. For large sparse d.

Tested in ``tests/property/test_ldm.py``.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotrs

from ..._native import LdmCsr, ldm_hinge_sums, ldm_metric_pass, ldm_smooth_hinge, ldm_smooth_hinge_slope
from ...validation.arrays import Rows, is_sparse
from ..kernels import csr_arrays
from .dual import Box, Certificate, DualSolution, Examples, Floats, certify
from .interior_point import LowRankHessian, interior_point
from .lapack import abandonable

PASSES_BETWEEN_LOOKS = 3
WARM = 0.5  # the bend to start from near a neighbour's solution
ROUGH = 0.1  # relative gap at which a sample of the rows is accurate enough
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
        side = round((scaled.size * scaled.shape[1]) ** (1 / 3))  # of square matrices whose product is as much work
        second = abandonable(lambda: scaled.T @ scaled, side)  # one operand, so that BLAS computes a triangle only
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
        self,
        box: Box,
        *,
        tol: float,
        max_iter: int,
        start: DualSolution | None = None,
        solver: str = "auto",
        seed: int = 0,
    ) -> DualSolution:
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

    def _newton(self, box: Box, tol: float, max_iter: int, start: DualSolution | None) -> DualSolution:
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
            whole.smoothing(path.delta)
            if made == 0 or not path.gap_parts()[2].holds(tol):
                certificate = whole.gap_parts()[2]
                break
        nu = box.lower + cost * np.clip((1.0 - whole.margins) / whole.delta, 0.0, 1.0)
        return DualSolution(nu, whole.margins, certificate, steps, "newton", whole.w)

    def _path(self, some: Any, cost: Floats, pull: Floats, w: Floats) -> NewtonPath:
        whole = isinstance(some, slice) and some == slice(None)
        if not is_sparse(self.rows):
            rows = np.ascontiguousarray(self.rows[some])
        else:
            rows = self.native if whole else self.native.part(np.arange(len(cost), dtype=np.int32)[some].copy())
        sign, cost = np.ascontiguousarray(self.examples.sign[some]), np.ascontiguousarray(cost[some])
        return NewtonPath(RowSubset(rows, sign, cost), Metric(self.metric, self.lower_factor), pull, w)

    def _descend(
        self, box: Box, tol: float, passes: int, rng: np.random.Generator, start: DualSolution | None
    ) -> DualSolution:
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
        return DualSolution(nu, margins, certificate, made, "cd", w)

    def _interior(self, box: Box, tol: float, max_iter: int) -> DualSolution:
        def done(nu: Floats, margins: Floats) -> bool:
            return certify(nu, margins, box).holds(tol)

        factor = self._dense_factor() if is_sparse(self.rows) else self.factor
        nu, steps = interior_point(LowRankHessian(factor), box, done, min(max_iter, 200))
        margins = factor @ (factor.T @ nu)
        return DualSolution(nu, margins, certify(nu, margins, box), steps, "interior", self.weights(nu))


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
        self,
        box: Box,
        *,
        tol: float,
        max_iter: int,
        start: DualSolution | None = None,
        solver: str = "sdca",
        seed: int = 0,
    ) -> DualSolution:
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
        return DualSolution(nu, margins, certificate, made, "sdca", w)

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


# -- Newton's method on a smoothed hinge ------------------------------------------------------------------------


WIDEST = 2.0  # at w = 0 every row bends, so that the first step is a ridge regression
HALVINGS = 10
PATIENCE = 30  # steps without a smaller gap: for large C the bend gets too narrow for Newton's steps to find their way


class RowSubset(NamedTuple):
    """Rows whose hinge counts, as the kernels read them, with sign and cost; those left out have margins above 1."""

    rows: Floats | LdmCsr
    sign: Floats
    cost: Floats

    def margins(self, w: Floats) -> Floats:
        """y_i w'x_i."""
        if isinstance(self.rows, np.ndarray):
            return np.asarray(self.sign * (self.rows @ w))
        out = np.empty(len(self.sign))
        self.rows.margins(self.sign, w, out)
        return out

    def smooth_hinge(self, margins: Floats, delta: float, pull: Floats, curvature: Floats) -> None:
        """Adds up pull and curvature of the hinge bent over delta."""
        if isinstance(self.rows, np.ndarray):
            ldm_smooth_hinge(self.rows, self.sign, self.cost, margins, delta, pull, curvature)
        else:
            self.rows.smooth_hinge(self.sign, self.cost, margins, delta, pull, curvature)


class Metric(NamedTuple):
    """M and its lower Cholesky factor."""

    matrix: Floats
    factor: Floats


class NewtonPath:
    """Iterates w with their margins and products, for one box: |w|_M^2 / 2 - lower_pull'w + sum cost_i hinge_i."""

    def __init__(self, part: RowSubset, metric: Metric, lower_pull: Floats, w: Floats) -> None:
        self.part, self.metric, self.lower_pull = part, metric, lower_pull
        self.w = w
        self.metric_w = metric.matrix @ w
        self.margins = part.margins(w)
        self.delta = np.inf  # not bent yet
        self.pull, self.curvature = np.zeros(len(w)), np.zeros((len(w), len(w)))

    def smoothing(self, delta: float) -> None:
        """Pull and curvature of the smoothed hinge at w."""
        self.delta = delta
        self.pull.fill(0.0)
        self.curvature.fill(0.0)
        self.part.smooth_hinge(self.margins, delta, self.pull, self.curvature)

    def take_bend(self, whole: NewtonPath) -> None:
        """Take pull and curvature over from all rows at the same w: those left out here have no share in them."""
        self.delta, self.pull, self.curvature = whole.delta, whole.pull, whole.curvature

    def gap_parts(self) -> tuple[float, float, Certificate]:
        """|w - w(nu)|_M^2 / 2, the part due to the bend, and both as a certificate of w."""
        hinge, bent = ldm_hinge_sums(self.margins, self.part.cost, self.delta)
        off = self.w - dpotrs(self.metric.factor, self.lower_pull + self.pull, lower=1)[0]
        astray = 0.5 * float(off @ (self.metric.matrix @ off))
        quadratic, mean = 0.5 * float(self.w @ self.metric_w), float(self.lower_pull @ self.w)
        certificate = Certificate(quadratic - mean + hinge, astray + bent, quadratic + abs(mean) + hinge)
        return astray, bent, certificate

    def step(self) -> bool:
        """A Newton step with an exact line search; False where it no longer moves. Uses up the curvature."""
        gradient = self.metric_w - self.lower_pull - self.pull
        self.curvature += self.metric.matrix
        factor, failed = dpotrf(self.curvature, lower=1, clean=0)  # LAPACK itself: SciPy's checks take as long
        if failed:
            raise np.linalg.LinAlgError("the Hessian is not positive definite")
        move = -dpotrs(factor, gradient, lower=1)[0]
        change = self.part.margins(move)
        metric_move = self.metric.matrix @ move
        t = self._search(float(self.metric_w @ move - self.lower_pull @ move), float(move @ metric_move), change)
        self.w = self.w + t * move
        self.metric_w = self.metric_w + t * metric_move
        self.margins = self.margins + t * change
        return t > 0 and bool(np.abs(t * move).max() > 1e-14 * (1e-300 + np.abs(self.w).max()))

    def _search(self, slope: float, smoothing: float, change: Floats) -> float:
        """The minimum along the step: its derivative slope + t bend - hinge slope rises with t."""

        def derivative(t: float) -> float:
            return slope + t * smoothing - ldm_smooth_hinge_slope(self.margins, change, self.part.cost, self.delta, t)

        if derivative(1.0) <= 0:
            return 1.0
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if derivative(middle) <= 0 else (low, middle)
        return low if low > 0 else high


def newton(path: NewtonPath, tol: float, max_iter: int, delta: float = WIDEST) -> int:
    """Follow the minimiser as the bend narrows, until the gap is small enough or no step helps; the steps made."""
    if path.delta != delta:
        path.smoothing(delta)
    least, found_at = np.inf, 0
    for made in range(max_iter):
        astray, bent, certificate = path.gap_parts()
        goal = tol * certificate.scale
        if certificate.gap < least:
            least, found_at = certificate.gap, made
        if certificate.gap <= goal or made - found_at > PATIENCE:
            return made
        if bent > 0.6 * goal and astray < max(2.0 * bent, goal):
            # The bent part falls with the square of delta: aim at half the goal, but keep within Newton's reach.
            path.smoothing(path.delta * min(0.7, max(0.5, float(np.sqrt(0.5 * goal / bent)))))
        moved = path.step()
        path.smoothing(path.delta)
        if not moved:
            if bent <= 0.6 * goal:
                return made + 1
            path.smoothing(0.5 * path.delta)
    return max_iter
