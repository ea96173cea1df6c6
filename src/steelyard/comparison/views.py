"""What a user does with a comparison: read it, show it, draw it, take its predictions and its model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from ..models.frames import frame_library
from ..models.model import Model
from ..models.rows import known_columns
from ..report.amounts import interval_error, money
from ..validation.values import invalid, require
from .card import model_card
from .evaluation import CandidateRun, Evaluation
from .page import PageSource, comparison_summary, embed
from .page.levers import price_curve

if TYPE_CHECKING:
    from .leaderboard import LeaderboardRow
    from .promise import Promise

_INTERVALS = ("mean_cost", "savings", "g_mean", "f1", "sensitivity", "specificity")
_BRASS, _GREY = "#9a6a00", "#7a7f87"


class ComparisonViews:
    """The methods of :class:`Comparison` that show it; its own class holds the values."""

    runs: Evaluation
    lines: list[LeaderboardRow]
    recommendation: list[str]
    warnings: list[str]
    promise: Promise
    best: CandidateRun
    time_limit: float | None
    source: str | None
    target: str | None
    segments: Mapping[str, NDArray[Any]]

    def refit(self) -> Model:
        """The winner, fitted on all rows; given by :class:`Comparison`."""
        raise NotImplementedError

    def _page_source(self) -> PageSource:
        """What the page shows; given by :class:`Comparison`."""
        raise NotImplementedError

    @property
    def card(self) -> dict[str, Any]:
        """How the winner came about and what it promises, in plain values."""
        return model_card(self.runs, self.best, self.lines[0], self.promise)

    @property
    def leaderboard(self) -> Any:
        """One line a candidate, the winner first, as a frame of the library of the data (pandas for arrays)."""
        rows = [_plain_line(line) for line in self.lines]
        return self._frame({name: [row[name] for row in rows] for name in rows[0]})

    @property
    def predictions(self) -> Any:
        """What the winner answered out of fold: row, label, decision, probabilities and cost, as a frame."""
        problem, rows = self.runs.problem, self.runs.judged.rows
        assert self.best.answers is not None
        columns: dict[str, Any] = {"row": rows.tolist(), "label": problem.y[rows].tolist()}
        if problem.weights is not None:
            columns["weight"] = problem.weights[rows].tolist()
        columns["decision"] = problem.classes[self.best.answers].tolist()
        if self.best.proba is not None:
            columns |= {
                f"probability {label}": self.best.proba[:, k].astype(float).tolist()
                for k, label in enumerate(problem.classes.tolist())
            }
        return self._frame(columns | {"cost": np.asarray(self.best.paid).tolist()})

    def _frame(self, columns: dict[str, Any]) -> Any:
        frame = nw.from_native(self.runs.problem.X, eager_only=True, pass_through=True)
        backend: Any = frame.implementation if isinstance(frame, nw.DataFrame) else frame_library()
        return nw.from_dict(columns, backend=backend).to_native()

    @property
    def best_estimator_(self) -> Any:
        """The winner fitted on all rows as a scikit-learn pipeline: columns by name, then the estimator."""
        model = self.refit()
        take = FunctionTransformer(known_columns, kw_args={"columns": model.columns})
        return Pipeline([("columns", take), ("model", model.estimator)])

    def model(self) -> Model:
        """The winner fitted on all rows, ready for new data."""
        return self.refit()

    def plot_costs(self, ax: Any = None) -> Any:
        """Mean cost of every candidate with its interval; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib axes or None
            Where to draw.

        Returns
        -------
        axes
            With the drawing.
        """
        ax = _axes(ax)
        best = self.lines[0]
        for at, line in enumerate(reversed(self.lines)):
            cost, colour = line.mean_cost, _BRASS if line is best else _GREY
            ax.plot([cost.low, cost.high], [at, at], color=colour, lw=2 if line is best else 1)
            ax.plot(cost.value, at, "o", color=colour, ms=6 if line is best else 4)
        ax.set_yticks(range(len(self.lines)), [line.name for line in reversed(self.lines)])
        ax.set_xlabel("cost a row, out of fold, with 95% intervals")
        return ax

    def plot_what_if(self, ax: Any = None) -> Any:
        """Mean cost of every candidate over the price of a miss, two classes; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib axes or None
            Where to draw.

        Returns
        -------
        axes
            With the drawing.
        """
        chart = price_curve(embed(self._page_source()))
        if chart is None:
            classes = len(self.runs.problem.classes)
            raise invalid("the comparison", "be of two classes for a curve over the price of a miss", f"{classes}")
        ax = _axes(ax)
        for series in chart.series:
            ax.plot(chart.x, series.y, color=_BRASS if series.chosen else None, lw=3 if series.chosen else 1)
        ax.set(xscale="log", xlabel=chart.x_name, ylabel=chart.y_name, ylim=(None, chart.top))
        ax.legend([series.name for series in chart.series], fontsize="small", frameon=False)
        return ax

    def __repr__(self) -> str:
        spread = interval_error(self.promise.low, self.promise.high)
        currency = self.runs.problem.costs.currency
        cost = money(self.promise.value, spread, currency)
        ends = " to ".join(money(v, spread) for v in (self.promise.low, self.promise.high))
        rows = len(self.runs.problem.codes)
        return (
            f"Comparison of {len(self.lines)} candidates on {rows:,} rows\n"
            f"  use {self.lines[0].name}: {cost} a row, {self.promise.confidence:.0%} of the time {ends} "
            f"on {self.promise.rows:,} new rows\n"
            "  .leaderboard, .recommendation, .model(), .report(path)"
        )

    def _repr_html_(self) -> str:
        return comparison_summary(self._page_source()).html()


def _axes(ax: Any) -> Any:
    pyplot = require("matplotlib.pyplot", extra="docs", why="drawing")
    return pyplot.subplots(layout="constrained")[1] if ax is None else ax


def _plain_line(line: LeaderboardRow) -> dict[str, Any]:
    """The values of a line; an interval as three columns."""
    found: dict[str, Any] = {}
    for field in fields(line):
        value = getattr(line, field.name)
        if field.name in _INTERVALS:
            found |= {
                field.name: None if value is None else value.value,
                f"{field.name}_low": None if value is None else value.low,
                f"{field.name}_high": None if value is None else value.high,
            }
        else:
            found[field.name] = value
    return found | {"tied_with_best": line.tied_with_best}
