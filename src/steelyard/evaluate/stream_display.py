"""A stream over time drawn.

Tested in ``tests/unit/evaluate/test_displays.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..validation.types import Estimator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..trace import Trace
from ..validation.docstrings import documented
from ..validation.types import LabelsLike, MatrixLike
from ._drawing import axes, label_axes, words
from ._measure_forms import Measure
from ._predictions import Codes, Floats
from .measures import mean_cost
from .streams import prequential_curve


@dataclass(eq=False)
class StreamDisplay:
    """A measure over the rounds of one or several streams.

    Make one with ``from_trace``, ``from_predictions`` or ``from_estimator`` (parameters of
    :func:`prequential_curve`); draw several into one ``ax``.

    Parameters
    ----------
    rounds : ndarray of int
        Rounds, from 1.
    values : ndarray
        The measure after each of them.
    measure : str
        Name of the measure.
    name : str or None
        Name in the legend.

    Examples
    --------
    >>> display = StreamDisplay.from_predictions([0, 1, 1], [0, 0, 1])
    >>> display.values.tolist()
    [0.0, 0.5, 0.3333333333333333]
    """

    rounds: Codes
    values: Floats
    measure: str
    name: str | None = None

    @classmethod
    @documented()
    def from_trace(
        cls,
        trace: Trace,
        *,
        measure: Measure = mean_cost,
        points: int = 500,
        name: str | None = None,
        ax: Axes | None = None,
        line: Any = None,
        **given: Any,
    ) -> Self:
        """Draw a measure over time at no more than ``points`` rounds.

        Parameters
        ----------
        trace : Trace
            The record of a stream.
        measure : callable
            A measure of this package.
        points : int
            Most rounds to draw.

        Returns
        -------
        Self
            The display, drawn.
        """
        n = len(trace.prediction)
        rounds = np.unique(np.linspace(1, n, min(points, n)).astype(int))
        values = prequential_curve(measure, trace, at=rounds, **given)
        return cls(rounds, values, measure.__name__, name).plot(ax=ax, **(line or {}))

    @classmethod
    @documented()
    def from_predictions(cls, y_true: LabelsLike, y_pred: LabelsLike, **given: Any) -> Self:
        """Draw from truths and answers in the order of the stream, all labels known.

        Returns
        -------
        Self
            The display, drawn.
        """
        predicted = np.asarray(y_pred)
        known = np.ones(len(predicted))
        return cls.from_trace(Trace(known, predicted, known.astype(bool), known, np.asarray(y_true)), **given)

    @classmethod
    @documented()
    def from_estimator(
        cls, estimator: Estimator, X: MatrixLike, y: LabelsLike, *, name: str | None = None, **given: Any
    ) -> Self:
        """Draw the answers of a fitted estimator to a stream of rows; it does not learn from them.

        Parameters
        ----------
        estimator : estimator
            A fitted classifier; it does not learn from the rows.

        Returns
        -------
        Self
            The display, drawn.
        """
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, estimator.predict(X), name=name, **given)

    @documented()
    def plot(self, ax: Axes | None = None, **line: Any) -> Self:
        """Draw into ``ax`` (default: a new figure); ``line`` goes to matplotlib's ``plot``.

        Returns
        -------
        Self
            The display, with ``ax_`` and ``line_`` set.
        """
        self.ax_ = axes(ax, "StreamDisplay")
        self.figure_ = self.ax_.figure
        (self.line_,) = self.ax_.plot(self.rounds, self.values, **{"label": self.name} | line)
        label_axes(self.ax_, "rounds", words(self.measure) + " so far")
        return self
