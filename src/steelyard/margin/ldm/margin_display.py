"""The distribution of margins drawn. Paper 004: what LDM and CS-LDM shape.

Tested in ``tests/unit/margin/ldm/test_estimator.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ...evaluate._drawing import ACCENT, FAINT, axes, label_axes
from ...validation.docstrings import documented
from ...validation.types import LabelsLike, MatrixLike
from .dual import Floats
from .estimator import CSLDMClassifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False)
class MarginDisplay:
    """Margins of both classes as cumulative shares: left of 0 lie the mistakes. Paper 004.

    Parameters
    ----------
    margins : tuple of two ndarrays
        Sorted margins of the rows of ``classes[0]`` and of ``classes[1]``.
    classes : ndarray
        The two labels.
    name : str or None
        Name in the legend.

    Examples
    --------
    >>> from steelyard import CSLDMClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [0, 0, 0, 0, 1]
    >>> model = CSLDMClassifier(C=10.0, rho=1.0).fit(X, y)
    >>> [len(part) for part in MarginDisplay.of_estimator(model, X, y).margins]
    [4, 1]
    """

    margins: tuple[Floats, Floats]
    classes: NDArray[Any]
    name: str | None = None

    @classmethod
    @documented()
    def of_estimator(
        cls, model: CSLDMClassifier, X: MatrixLike, y: LabelsLike, *, name: str | None = None
    ) -> MarginDisplay:
        """The margins of a fitted model, not drawn yet.

        Parameters
        ----------
        model : CSLDMClassifier
            Fitted.

        Returns
        -------
        MarginDisplay
            Ready to plot.
        """
        margins, labels = model.margins(X, y), np.asarray(y).ravel()
        parts = [np.sort(margins[labels == label]) for label in model.classes_]
        return cls((parts[0], parts[1]), model.classes_, name)

    @classmethod
    @documented()
    def from_estimator(
        cls,
        model: CSLDMClassifier,
        X: MatrixLike,
        y: LabelsLike,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        **line: Any,
    ) -> MarginDisplay:
        """Draw the margins of a fitted model.

        Parameters
        ----------
        model : CSLDMClassifier
            Fitted.

        Returns
        -------
        MarginDisplay
            The display, drawn.
        """
        return cls.of_estimator(model, X, y, name=name).plot(ax=ax, **line)

    @documented()
    def plot(self, ax: Axes | None = None, **line: Any) -> Self:
        """Draw one step curve a class.

        Returns
        -------
        Self
            The display, with ``ax_`` and ``lines_`` set.
        """
        self.ax_ = axes(ax, "MarginDisplay")
        self.figure_ = self.ax_.figure
        self.lines_: list[Any] = []
        prefix = "" if self.name is None else f"{self.name}: "
        for part, label, colour in zip(self.margins, self.classes.tolist(), (FAINT, ACCENT), strict=True):
            share = np.arange(1, len(part) + 1) / max(1, len(part))
            style = {"color": colour, "drawstyle": "steps-post", "label": f"{prefix}{label}"} | line
            self.lines_ += self.ax_.plot(part, share, **style)
        self.ax_.axvline(0.0, color="black", linewidth=0.8)
        label_axes(self.ax_, "margin y f(x)", "share of the class up to it")
        return self
