"""Newton's method on a smoothed hinge, for many rows and a d x d metric: the quickest way to a certified linear CS-LDM.

The hinge is bent over a width delta below margin 1. Only rows inside that width bend the objective, so the curvature
costs little; the dual point nu = lower + (upper - lower) clip((1 - gamma) / delta, 0, 1) comes for free, and the gap
splits into two non-negative parts: |w - w(nu)|_M^2 / 2, which Newton drives to zero, and at most a quarter of delta
a bent row, which shrinking delta does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from .._native import LdmCsr, ldm_hinge_sums, ldm_smooth_hinge, ldm_smooth_hinge_slope
from .ldm_problem import Certificate, Floats

WIDEST = 2.0  # at w = 0 every row bends, so that the first step is a ridge regression
HALVINGS = 10
PATIENCE = 30  # steps without a smaller gap: for large C the bend gets too narrow for Newton's steps to find their way


class Part(NamedTuple):
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

    def __init__(self, part: Part, metric: Metric, lower_pull: Floats, w: Floats) -> None:
        self.part, self.metric, self.lower_pull = part, metric, lower_pull
        self.w = w
        self.metric_w = metric.matrix @ w
        self.margins = part.margins(w)
        self.delta = np.inf  # not bent yet
        self.pull, self.curvature = np.zeros(len(w)), np.zeros((len(w), len(w)))

    def bend(self, delta: float) -> None:
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

    def _search(self, slope: float, bend: float, change: Floats) -> float:
        """The minimum along the step: its derivative slope + t bend - hinge slope rises with t."""

        def derivative(t: float) -> float:
            return slope + t * bend - ldm_smooth_hinge_slope(self.margins, change, self.part.cost, self.delta, t)

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
        path.bend(delta)
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
            path.bend(path.delta * min(0.7, max(0.5, float(np.sqrt(0.5 * goal / bent)))))
        moved = path.step()
        path.bend(path.delta)
        if not moved:
            if bent <= 0.6 * goal:
                return made + 1
            path.bend(0.5 * path.delta)
    return max_iter
