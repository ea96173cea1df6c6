"""The last digits: once it is known which nu_i lie strictly inside the box, their margins are exactly 1.

That is a small linear system. Solving it makes solutions of small problems independent of the order of the rows, of the
solver and of its tolerance.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq

from .ldm_problem import Box, Floats, Solution, certify

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


def polished(problem: Polishable, found: Solution, box: Box) -> Solution:
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


def _settled(found: Solution, box: Box) -> tuple[Floats, NDArray[np.intp]]:
    """nu with the coordinates on a bound that lie nearer to it than their margin to 1 (an interior point leaves them
    just inside), and the coordinates that are free."""
    width = box.upper - box.lower
    share = np.divide(found.nu - box.lower, width, out=np.zeros_like(width), where=width > 0)
    beyond = found.margins - 1.0
    at_lower = (share <= 0) | (share < beyond) | (width == 0)
    at_upper = ~at_lower & ((share >= 1) | (1.0 - share < -beyond))
    nu = np.where(at_lower, box.lower, np.where(at_upper, box.upper, found.nu))
    return nu, np.flatnonzero(~at_lower & ~at_upper)
