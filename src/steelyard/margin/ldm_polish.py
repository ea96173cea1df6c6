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
        free = np.flatnonzero((found.nu > box.lower) & (found.nu < box.upper))
        if not 0 < len(free) <= LARGEST_SYSTEM or found.certificate.gap == 0:
            return found
        step = lstsq(problem.block(free), 1.0 - found.margins[free], check_finite=False)[0]
        nu = found.nu.copy()
        nu[free] += step
        nu = box.clip(nu)
        margins, w = problem.evaluate(nu)
        certificate = certify(nu, margins, box)
        if not certificate.gap < found.certificate.gap:
            return found
        found = found._replace(nu=nu, margins=margins, certificate=certificate, w=w)
    return found
