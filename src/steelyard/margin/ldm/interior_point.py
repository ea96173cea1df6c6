"""A primal-dual interior point for box-constrained quadratics: few steps whatever the conditioning.

Used to finish what coordinate descent cannot (large C, nearly singular H). min 1/2 x'Hx - e'x, lower <= x <= upper.

Tested in ``tests/property/test_ldm.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve

from .dual import Box, Floats
from .lapack import cholesky_lower

Solve = Callable[[Floats], Floats]
Done = Callable[[Floats, Floats], bool]


class Hessian(Protocol):
    """What the interior point needs of H."""

    def times(self, x: Floats) -> Floats:
        """Hx."""
        ...

    def shifted(self, barrier: Floats) -> Solve:
        """r -> (H + diag(barrier))^-1 r."""
        ...

    def among(self, some: NDArray[np.intp]) -> Hessian:
        """H restricted to some coordinates."""
        ...


class DenseHessian:
    """H given as a matrix; a step costs a Cholesky factorisation, O(m^3)."""

    def __init__(self, matrix: Floats) -> None:
        self.matrix = matrix

    def times(self, x: Floats) -> Floats:
        """Hx."""
        return self.matrix @ x

    def shifted(self, barrier: Floats) -> Solve:
        """r -> (H + diag(barrier))^-1 r, scaled to a unit-like diagonal first."""
        root = 1.0 / np.sqrt(barrier + np.maximum(np.diagonal(self.matrix), 0.0))
        scaled = self.matrix * root * root[:, None]
        np.fill_diagonal(scaled, 1.0)
        factor = _cholesky(scaled)
        return lambda r: root * cho_solve(factor, root * r, check_finite=False)

    def among(self, some: NDArray[np.intp]) -> DenseHessian:
        """H restricted to some coordinates."""
        return self if len(some) == len(self.matrix) else DenseHessian(self.matrix[np.ix_(some, some)])


class LowRankHessian:
    """H = RR' with R of few columns; a step costs O(m d^2)."""

    def __init__(self, factor: Floats) -> None:
        self.factor = factor

    def times(self, x: Floats) -> Floats:
        """Hx."""
        return self.factor @ (self.factor.T @ x)

    def shifted(self, barrier: Floats) -> Solve:
        """r -> (H + diag(barrier))^-1 r by the Woodbury identity."""
        R = self.factor
        inner = (R / barrier[:, None]).T @ R
        inner[np.diag_indices_from(inner)] += 1.0
        factor = _cholesky(inner)
        return lambda r: (r - R @ cho_solve(factor, R.T @ (r / barrier), check_finite=False)) / barrier

    def among(self, some: NDArray[np.intp]) -> LowRankHessian:
        """H restricted to some coordinates."""
        return LowRankHessian(self.factor[some])


def _cholesky(matrix: Floats) -> tuple[Floats, bool]:
    """Cholesky factor; the diagonal is lifted by rounding size until it exists."""
    lift = 0.0
    unit = float(np.trace(matrix)) / len(matrix) * np.finfo(float).eps
    while np.isfinite(unit + lift):
        try:
            return cholesky_lower(matrix + lift * np.eye(len(matrix)) if lift else matrix), True
        except np.linalg.LinAlgError:
            lift = max(10 * lift, unit)
    raise np.linalg.LinAlgError("the Hessian is not finite")


def interior_point(hessian: Hessian, box: Box, done: Done, max_iter: int) -> tuple[Floats, int]:
    """The minimiser and the steps made; ``done(x, Hx)`` is asked after every step.

    Coordinates of zero width are fixed and left out.
    """
    x = 0.5 * (box.lower + box.upper)
    free = np.flatnonzero(box.upper > box.lower)
    if len(free) == 0:
        return x, 0
    fixed = x.copy()
    fixed[free] = 0.0
    path = _Path(hessian.among(free), hessian.times(fixed)[free] - 1.0, box.lower[free], box.upper[free])
    best, least, steps = x, np.inf, 0
    while steps < max_iter:
        moved = path.step()
        steps += 1
        x = x.copy()
        x[free] = path.x
        if done(x, hessian.times(x)):
            return x, steps
        if path.gap() < least:
            best, least = x, path.gap()
        if moved < 1e-8:
            break
    return best, steps


class _Path:
    """The iterates of Mehrotra's predictor and corrector for min 1/2 x'Hx + q'x over a box of positive widths.

    down = x - lower and up = upper - x, with multipliers z_down and z_up; all four stay positive.
    """

    def __init__(self, hessian: Hessian, q: Floats, lower: Floats, upper: Floats) -> None:
        self.hessian, self.q = hessian, q
        self.x = 0.5 * (lower + upper)
        self.down, self.up = 0.5 * (upper - lower), 0.5 * (upper - lower)
        self.gradient = hessian.times(self.x) + q
        margin = 0.1 * float(np.abs(self.gradient).max()) + 1e-3
        self.z_down = np.maximum(self.gradient, 0.0) + margin
        self.z_up = np.maximum(-self.gradient, 0.0) + margin

    def gap(self) -> float:
        """The duality gap at x."""
        g = self.gradient
        return float(np.where(g > 0, g * self.down, -g * self.up).sum())

    def step(self) -> float:
        """Predict, correct, move; returns the share of the step that could be made."""
        self.barrier = self.z_down / self.down + self.z_up / self.up
        self.solve = self.hessian.shifted(self.barrier)
        pairs = 2 * len(self.x)
        mu = float(self.down @ self.z_down + self.up @ self.z_up) / pairs
        move, d_down, d_up = self._direction(-self.down * self.z_down, -self.up * self.z_up)
        a = self._reach(move, d_down, d_up)
        after = (self.down + a * move) @ (self.z_down + a * d_down) + (self.up - a * move) @ (self.z_up + a * d_up)
        target = (float(after) / pairs / mu) ** 3 * mu
        move, d_down, d_up = self._direction(
            target - self.down * self.z_down - move * d_down, target - self.up * self.z_up + move * d_up
        )
        a = 0.995 * self._reach(move, d_down, d_up)
        self.x = self.x + a * move
        self.down, self.up = self.down + a * move, self.up - a * move
        self.z_down, self.z_up = self.z_down + a * d_down, self.z_up + a * d_up
        self.gradient = self.hessian.times(self.x) + self.q
        return a

    def _direction(self, pull_down: Floats, pull_up: Floats) -> tuple[Floats, Floats, Floats]:
        """The Newton step towards complementarity products that differ from the present ones by these pulls."""
        rhs = self.z_down - self.z_up - self.gradient + pull_down / self.down - pull_up / self.up
        move = self.solve(rhs)
        move = move + self.solve(rhs - self.hessian.times(move) - self.barrier * move)  # one step of refinement
        return move, (pull_down - self.z_down * move) / self.down, (pull_up + self.z_up * move) / self.up

    def _reach(self, move: Floats, d_down: Floats, d_up: Floats) -> float:
        return min(
            _stretch(self.down, move),
            _stretch(self.up, -move),
            _stretch(self.z_down, d_down),
            _stretch(self.z_up, d_up),
        )


def _stretch(value: Floats, change: Floats) -> float:
    """The largest part of ``change`` (at most all of it) that keeps ``value`` positive."""
    falling = change < 0
    return min(1.0, float((value[falling] / -change[falling]).min())) if falling.any() else 1.0
