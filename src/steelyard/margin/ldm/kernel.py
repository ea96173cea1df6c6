"""Kernel CS-LDM: one eigendecomposition of the Gram matrix serves every lambda1, lambda2, C and rho.

H = Y S Y with S = G (I + B G)^-1 and B = c (I - yy'/m), c = 4 lambda1 / m: the H of paper 004, eq. (13), in a form that
does not need the inverse of Q and so holds for singular G. With G = U diag(l) U' and S0 = U diag(l / (1 + c l)) U',
S = S0 + (c / m) S0 y y'S0 / (1 - (c / m) y'S0 y).

Tested in ``tests/property/test_ldm.py``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._native import ldm_algorithm1_sweep, ldm_greedy
from ...validation.values import invalid
from .dual import Box, DualSolution, Examples, Floats, certify
from .interior_point import DenseHessian, interior_point
from .lapack import abandonable, eigh, product


class Spectrum:
    """Eigendecomposition of the Gram matrix of the training rows (times the roots of the weights)."""

    def __init__(self, gram: Floats, examples: Examples) -> None:
        self.gram = gram
        self.examples = examples
        self.root = np.sqrt(examples.weight)
        values, self.vectors = eigh(gram * self.root * self.root[:, None])
        top = max(float(values[-1]), 0.0)
        if values[0] < -1e-6 * top or (top == 0.0 and values[0] < 0):
            raise invalid(
                "kernel",
                "be positive semi-definite on the training rows",
                f"smallest eigenvalue {float(values[0]):.3g}, largest {top:.3g}",
                "Use 'linear', 'rbf' or 'poly' with coef0 >= 0, or shift the spectrum.",
            )
        self.values = np.maximum(values, 0.0)
        self.signed_root = self.root * examples.sign  # z, with |z|^2 = m
        self.projected = self.vectors.T @ self.signed_root

    def problem(self, lambda1: float) -> KernelProblem:
        """The dual for one lambda1."""
        return KernelProblem(self, lambda1)


class KernelProblem:
    """H for one lambda1; any number of boxes can be solved on it."""

    plain_solver = "greedy"  # what "auto" tries first

    def __init__(self, spectrum: Spectrum, lambda1: float) -> None:
        self.spectrum = spectrum
        self.examples = spectrum.examples
        m = self.examples.size
        self.rate = 4.0 * lambda1 / m  # c
        self.shrink = 1.0 / (1.0 + self.rate * spectrum.values)
        # 1 - (c/m) z'S0 z without cancellation: |projected|^2 = m
        self.rest = float((spectrum.projected**2 * self.shrink).sum()) / m
        kept = spectrum.values * self.shrink
        U = spectrum.vectors
        H = product(U * kept, U.T)
        along = U @ (kept * spectrum.projected)
        H += np.outer((self.rate / m / self.rest) * along, along)
        scale = self.examples.sign / spectrum.root
        H *= scale
        H *= scale[:, None]
        self.hessian = np.ascontiguousarray(H)

    def coefficients(self, nu: Floats) -> Floats:
        """alpha with f(x) = sum_i alpha_i k(x_i, x): (I + B G)^-1 Y nu, for one nu or for the columns of many."""
        s = self.spectrum
        v = (nu.T * (self.examples.sign / s.root)) @ s.vectors
        lift = self.rate / self.examples.size / self.rest * (v @ (s.projected * s.values * self.shrink))
        v = (v + np.multiply.outer(lift, s.projected)) * self.shrink
        return np.asarray(((v @ s.vectors.T) * s.root).T)

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
        """Minimise over one box. ``auto`` is greedy, finished by the interior point where greedy is too slow."""
        if solver == "algorithm1":
            return self._algorithm1(box, tol, max_iter)
        if solver == "interior":
            return self._interior(box, tol, max_iter)
        # A greedy sweep costs O(m^2), an interior solution some O(m^3): at m / 4 sweeps they have cost about the same.
        sweeps = max_iter if solver == "greedy" else min(max_iter, max(30, len(self.hessian) // 4))
        found = self._greedy(box, tol, sweeps, start)
        if solver == "greedy" or found.certificate.holds(tol):
            return found
        finished = self._interior(box, tol, max_iter)
        return finished if finished.certificate.gap < found.certificate.gap else found

    def block(self, some: NDArray[np.intp]) -> Floats:
        """H restricted to some rows and columns."""
        return np.asarray(self.hessian[np.ix_(some, some)])

    def evaluate(self, nu: Floats) -> tuple[Floats, None]:
        """Margins at nu."""
        return self.hessian @ nu, None

    def _greedy(self, box: Box, tol: float, sweeps: int, start: DualSolution | None) -> DualSolution:
        nu = box.lower.copy() if start is None else box.clip(start.nu)
        gradient = self.hessian @ nu - 1.0
        steps, limit = 0, sweeps * len(nu)
        certificate = certify(nu, gradient + 1.0, box)
        while not certificate.holds(tol) and steps < limit:
            target = tol * certificate.scale
            made = ldm_greedy(self.hessian, box.lower, box.upper, nu, gradient, target, limit - steps)
            steps += made
            certificate = certify(nu, gradient + 1.0, box)
            if made == 0:
                break
        return DualSolution(nu, gradient + 1.0, certificate, -(-steps // len(nu)), "greedy")

    def _interior(self, box: Box, tol: float, max_iter: int) -> DualSolution:
        def done(nu: Floats, margins: Floats) -> bool:
            return certify(nu, margins, box).holds(tol)

        nu, steps = interior_point(DenseHessian(self.hessian), box, done, min(max_iter, 200))
        margins = self.hessian @ nu
        return DualSolution(nu, margins, certify(nu, margins, box), steps, "interior")

    def _updates(self, m: int) -> Floats:
        """(Q^-1 G Y)'."""
        return np.ascontiguousarray(self.coefficients(np.eye(m)).T)

    def _algorithm1(self, box: Box, tol: float, sweeps: int) -> DualSolution:
        """The paper's Algorithm 1: cyclic coordinates, alpha kept along, the gradient computed at every coordinate."""
        signed_gram = np.ascontiguousarray(self.spectrum.gram * self.examples.sign[:, None])
        update = abandonable(lambda: self._updates(len(box.lower)), len(box.lower))
        nu = box.lower.copy()  # mu = 0
        alpha = self.coefficients(nu)
        diagonal = np.ascontiguousarray(np.diagonal(self.hessian))
        margins = signed_gram @ alpha
        certificate = certify(nu, margins, box)
        sweep = 0
        while not certificate.holds(tol) and sweep < sweeps:
            ldm_algorithm1_sweep(signed_gram, update, diagonal, box.lower, box.upper, nu, alpha)
            margins = signed_gram @ alpha
            certificate = certify(nu, margins, box)
            sweep += 1
        return DualSolution(nu, margins, certificate, sweep, "algorithm1")
