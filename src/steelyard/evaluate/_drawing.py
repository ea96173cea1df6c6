"""What all displays share. matplotlib is imported only when something is drawn.

Tested in ``tests/unit/evaluate/test_displays.py``.
"""

from __future__ import annotations

from typing import Any

from ..validation.values import require

ACCENT = "#c0392b"  # where the given costs work
FAINT = "#8a8f98"


def axes(ax: Any, why: str) -> Any:
    """The given axes or new ones."""
    pyplot = require("matplotlib.pyplot", why=f"Drawing a {why}")
    return pyplot.subplots(layout="constrained")[1] if ax is None else ax


def label_axes(ax: Any, x: str, y: str, *, legend: str = "best") -> None:
    """Labels, a light grid, and a legend where something is named."""
    ax.set(xlabel=x, ylabel=y)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, alpha=0.25)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, loc=legend)


def words(measure: str) -> str:
    """The name of a measure as an axis label."""
    return measure.removesuffix("_score").replace("_", " ")
