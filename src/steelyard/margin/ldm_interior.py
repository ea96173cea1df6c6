"""A primal-dual interior point for box-constrained quadratics: few steps whatever the conditioning.

Used to finish what coordinate descent cannot (large C, nearly singular H). min 1/2 x'Hx - e'x, lower <= x <= upper.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .ldm_problem import Box, Floats

Solve = Callable[[Floats], Floats]


class Hessian(Protocol):
    """What the interior point needs of H."""

    def times(self, x: Floats) -> Floats:
        """Hx."""
        ...

    def shifted(self, barrier: Floats) -> Solve:
        """r -> (H + diag(barrier))^-1 r."""
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


def _cholesky(matrix: Floats) -> tuple[Floats, bool]:
    """Cholesky factor; the diagonal is lifted by rounding size until it exists."""
    lift = 0.0
    unit = float(np.trace(matrix)) / len(matrix) * np.finfo(float).eps
    while True:
        try:
            return cho_factor(matrix + lift * np.eye(len(matrix)) if lift else matrix, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            lift = max(10 * lift, unit)


def interior_point(hessian: Hessian, box: Box, done: Callable[[Floats, Floats], bool], max_iter: int) -> tuple[Floats, int]:
    """The minimiser and the steps made; ``done(x, Hx)`` is asked at every clipped iterate.

    Coordinates of zero width are fixed. Mehrotra's predictor and corrector with one factorisation a step.
    """
    width = box.upper - box.lower
    free = width > 0
    x = 0.5 * (box.lower + box.upper)
    if not free.any():
        return x, 0
    safe = np.where(free, width, 1.0)
    scale = np.where(free, 1.0, 0.0)
    down, up = safe / 2, safe / 2
    gradient = hessian.times(x) - 1.0
    z_down = np.maximum(gradient, 0.0) + 0.1 * np.abs(gradient).max() + 1e-3
    z_up = z_down - gradient
    z_down, z_up = z_down + np.maximum(0.0, -z_up.min()), z_up + np.maximum(0.0, -z_up.min())
    best, least = x, np.inf
    for step in range(1, max_iter + 1):
        barrier = np.where(free, z_down / down + z_up / up, 1e150)
        solve = hessian.shifted(np.minimum(barrier, 1e150))
        residual = scale * (gradient - z_down + z_up)
        mu = float((scale * (down * z_down + up * z_up)).sum()) / (2 * free.sum())

        def direction(pull_down: Floats, pull_up: Floats, residual: Floats = residual, solve: Solve = solve) -> Floats:
            rhs = scale * (-residual + pull_down / down - pull_up / up)
            move = solve(rhs)
            return scale * (move + solve(rhs - scale * (hessian.times(scale * move) + barrier_of(move))))

        def barrier_of(move: Floats, barrier: Floats = barrier) -> Floats:
            return np.where(free, barrier * move, 0.0)

        affine = direction(-down * z_down, -up * z_up)
        da_down = -z_down - z_down / down * affine
        da_up = -z_up + z_up / up * affine
        a = min(_stretch(down, affine), _stretch(up, -affine), _stretch(z_down, da_down), _stretch(z_up, da_up))
        after = (scale * ((down + a * affine) * (z_down + a * da_down) + (up - a * affine) * (z_up + a * da_up))).sum()
        centring = (float(after) / (2 * free.sum()) / mu) ** 3 * mu
        pull_down = centring - down * z_down - affine * da_down
        pull_up = centring - up * z_up + affine * da_up
        move = direction(pull_down, pull_up)
        d_down = (pull_down - z_down * move) / down
        d_up = (pull_up + z_up * move) / up
        a = 0.995 * min(_stretch(down, move), _stretch(up, -move), _stretch(z_down, d_down), _stretch(z_up, d_up))
        x = x + a * move
        down, up = down + a * move, up - a * move
        z_down, z_up = z_down + a * d_down, z_up + a * d_up
        product = hessian.times(x)
        gradient = product - 1.0
        if done(x, product):
            return x, step
        now = float((scale * np.where(gradient > 0, gradient * down, -gradient * up)).sum())
        if now < least:
            best, least = x, now
        if a < 1e-8:
            break
    return best, max_iter


def _stretch(value: Floats, change: Floats) -> float:
    """The largest part of ``change`` (at most all of it) that keeps ``value`` positive."""
    falling = change < 0
    return min(1.0, float((value[falling] / -change[falling]).min())) if falling.any() else 1.0
