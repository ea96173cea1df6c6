"""CS-LDM as a box-constrained dual: what every solver shares. Paper 004, eq. (4) and (13).

With nu = mu + (lambda2 / m) theta the dual is min 1/2 nu'H nu - e'nu over a box, where H depends on lambda1 only and
lambda2, C and theta only move the box. At any nu the margins are H nu, so objective and duality gap cost O(m).
Example weights s_i count an example s_i times: m is their sum.

Tested in ``tests/property/test_ldm.py``.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq

Floats = NDArray[np.float64]


class Box(NamedTuple):
    """(lambda2 / m) theta <= nu <= (lambda2 / m + C) theta, each side times the example's weight."""

    lower: Floats
    upper: Floats

    def clip(self, nu: Floats) -> Floats:
        """The nearest point of the box."""
        return np.clip(nu, self.lower, self.upper)


class Examples(NamedTuple):
    """Two-class data without the rows: labels as signs, weights (all > 0) and margin costs theta at rho = 0."""

    sign: Floats
    weight: Floats
    cost: Floats

    @property
    def size(self) -> float:
        """m, the sum of the weights."""
        return float(self.weight.sum())

    def theta(self, rho: float) -> Floats:
        """Margin cost of every example: eq. (2) times the example's own cost."""
        positive = float(self.weight[self.sign > 0].sum())
        ratio = (self.size - positive) / positive
        return np.asarray(self.cost * np.where(self.sign > 0, ratio**rho, ratio**-rho))

    def box(self, C: float, lambda2: float, rho: float) -> Box:
        """The box of one parameter setting."""
        weighed = self.theta(rho) * self.weight
        return Box(lambda2 / self.size * weighed, (lambda2 / self.size + C) * weighed)

    def rows(self, keep: NDArray[np.intp]) -> Examples:
        """The examples at these positions."""
        return Examples(self.sign[keep], self.weight[keep], self.cost[keep])


class Certificate(NamedTuple):
    """Primal objective (4), duality gap and the size of the objective's terms, which relative gaps refer to."""

    objective: float
    gap: float
    scale: float

    def holds(self, tol: float) -> bool:
        """True when the gap is at most ``tol`` of the terms."""
        return self.gap <= tol * self.scale


class DualSolution(NamedTuple):
    """A dual point, its margins y_i f(x_i), its certificate, how it was found, and its weights where linear."""

    nu: Floats
    margins: Floats
    certificate: Certificate
    n_iter: int
    solver: str
    w: Floats | None = None


def primal_objective(
    w: Floats, margins: Floats, examples: Examples, *, C: float, lambda1: float, lambda2: float, rho: float
) -> float:
    """Objective (4) at any linear w with margins y_i w'x_i; the variance is the paper's, twice the usual one."""
    weight, m = examples.weight, examples.size
    mean = float(weight @ margins) / m
    variance = 2.0 * float(weight @ (margins - mean) ** 2) / m
    pull = examples.theta(rho) * weight
    hinge = C * float(pull @ np.maximum(0.0, 1.0 - margins))
    return 0.5 * float(w @ w) + lambda1 * variance - lambda2 / m * float(pull @ margins) + hinge


def certify(nu: Floats, margins: Floats, box: Box) -> Certificate:
    """Objective and gap of the primal point that belongs to nu.

    |w|^2 / 2 + lambda1 variance = nu'gamma / 2, and the gap is a sum of non-negative terms:
    (nu - lower)(gamma - 1) + (upper - lower)(1 - gamma)_+.
    """
    shortfall = 1.0 - margins
    width = box.upper - box.lower
    hinge = float(width @ np.maximum(shortfall, 0.0))
    quadratic = 0.5 * float(nu @ margins)
    mean = float(box.lower @ margins)
    gap = float(np.sum(np.where(shortfall > 0, (box.upper - nu) * shortfall, (box.lower - nu) * shortfall)))
    return Certificate(quadratic - mean + hinge, gap, quadratic + abs(mean) + hinge)


# -- The last digits: once it is known which nu_i lie strictly inside the box, their margins are exactly 1 ------------


LARGEST_SYSTEM = 400
ROUNDS = 3


class Polishable(Protocol):
    """A problem that can show parts of H."""

    def block(self, some: NDArray[np.intp]) -> Floats:
        """H restricted to some rows and columns."""
        ...

    def evaluate(self, nu: Floats) -> tuple[Floats, Floats | None]:
        """Margins and, where linear, weights at nu."""
        ...


def refine(problem: Polishable, found: DualSolution, box: Box) -> DualSolution:
    """The solution with margins of 1 at all free coordinates, as far as that lowers the gap."""
    for _ in range(ROUNDS):
        nu, free = _settled(found, box)
        if not 0 < len(free) <= LARGEST_SYSTEM or found.certificate.gap == 0:
            return found
        margins = found.margins if (nu == found.nu).all() else problem.evaluate(nu)[0]
        nu[free] += lstsq(problem.block(free), 1.0 - margins[free], check_finite=False)[0]
        nu = box.clip(nu)
        margins, w = problem.evaluate(nu)
        certificate = certify(nu, margins, box)
        if not certificate.gap < found.certificate.gap:
            return found
        found = found._replace(nu=nu, margins=margins, certificate=certificate, w=w)
    return found


def _settled(found: DualSolution, box: Box) -> tuple[Floats, NDArray[np.intp]]:
    """nu with the coordinates on a bound that lie nearer to it than their margin to 1 (an interior point leaves them
    just inside), and the coordinates that are free."""
    width = box.upper - box.lower
    share = np.divide(found.nu - box.lower, width, out=np.zeros_like(width), where=width > 0)
    beyond = found.margins - 1.0
    at_lower = (share <= 0) | (share < beyond) | (width == 0)
    at_upper = ~at_lower & ((share >= 1) | (1.0 - share < -beyond))
    nu = np.where(at_lower, box.lower, np.where(at_upper, box.upper, found.nu))
    return nu, np.flatnonzero(~at_lower & ~at_upper)
