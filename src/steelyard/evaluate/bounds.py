"""A guarantee beside what was measured, over time.

Tested in ``tests/unit/reduction/test_bounds.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..validation.docstrings import documented
from ._drawing import ACCENT, FAINT, axes, label_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Bound:
    """What a theorem guarantees, what was measured, and against what it compares.

    Parameters
    ----------
    quantity : str
        What is bounded, as the label of an axis.
    value : float
        The guarantee.
    measured : float
        What happened.
    comparator : ndarray or None
        The fixed weights that the guarantee compares with; None where it needs none.
    printed : float or None
        The guarantee as the paper prints it, at its own best comparator, where that differs from ``value``.
    is_lower : bool
        Whether the guarantee is a lower bound.
    rounds : ndarray
        Rounds or examples so far.
    values : ndarray
        The guarantee after each of them, with the same comparator.
    measures : ndarray
        What was measured after each of them.

    Examples
    --------
    >>> bound = Bound("mistakes", 3.0, 2.0, None, None, False, np.array([1, 2]), np.array([2., 3.]), np.array([1., 2.]))
    >>> bound.holds, bound.printed_holds
    (True, None)
    """

    quantity: str
    value: float
    measured: float
    comparator: Floats | None
    printed: float | None
    is_lower: bool
    rounds: NDArray[np.intp]
    values: Floats
    measures: Floats

    @property
    def holds(self) -> bool:
        """Whether what was measured keeps the guarantee."""
        return self._keeps(self.value)

    @property
    def printed_holds(self) -> bool | None:
        """Whether it keeps the printed one; None where the paper prints the same."""
        return None if self.printed is None else self._keeps(self.printed)

    def _keeps(self, limit: float) -> bool:
        rounding = 1e-9 * max(1.0, abs(limit))
        return self.measured >= limit - rounding if self.is_lower else self.measured <= limit + rounding

    @documented()
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw both over time; the printed guarantee as a dashed line.

        Returns
        -------
        matplotlib axes
            Where it was drawn.
        """
        drawn: Any = axes(ax, "Bound")
        drawn.plot(self.rounds, self.values, color=FAINT, label="guaranteed")
        drawn.plot(self.rounds, self.measures, color=ACCENT, label="measured")
        if self.printed is not None:
            drawn.axhline(self.printed, color=FAINT, linestyle="--", linewidth=1, label="as printed, at the end")
        label_axes(drawn, "rounds", self.quantity)
        return drawn  # type: ignore[no-any-return]
