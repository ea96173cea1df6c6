"""The papers' figures, drawn from kept results: one function a kind, each a picture beside the numbers.

Tested in ``tests/unit/reproduction/test_command.py``.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..files import write_atomically
from ..validation.values import require
from .recipe import Recipe
from .results import Curves, Results
from .tables import Line


def draw_figures(recipe: Recipe, lines: Sequence[Line], results: Results) -> list[Path]:
    """Draw what the recipe's ``figure`` asks for (a dot plot of ours and the printed by default), as PNG and SVG."""
    pyplot = require("matplotlib.pyplot", why="drawing a figure")
    wanted: Mapping[str, Any] = recipe.figure or {"kind": "dots"}
    with pyplot.style.context({"axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": recipe.name}):
        figure = _KINDS[str(wanted["kind"])](pyplot, wanted, lines, results.curves(recipe))
        if figure is None:
            return []
        title = textwrap.fill(f"Paper {recipe.paper}, {recipe.claim}", round(11 * figure.get_figwidth()))
        figure.suptitle(title, fontsize="medium")
        foot = 0.35 / figure.get_figheight() if figure.legends else 0.0  # a legend of the whole figure stands below it
        figure.tight_layout(rect=(0, foot, 1, 1))
        paths = [results.path(recipe).with_suffix(suffix) for suffix in (".png", ".svg")]
        for path in paths:
            # No dates or versions inside, so that the same numbers give the same file.
            silent = {"Date": None} if path.suffix == ".svg" else {"Software": None}
            with write_atomically(path) as file:
                figure.savefig(file, format=path.suffix[1:], dpi=120, metadata=silent)
        pyplot.close(figure)
    return paths


def _dots(pyplot: Any, wanted: Mapping[str, Any], lines: Sequence[Line], curves: Curves) -> Any:
    """One panel a measure, one row a learner: our mean with its standard error, the printed one beside it."""
    measures = list(dict.fromkeys(line.measure for line in lines))
    if not measures:
        return None
    learners = list(dict.fromkeys(line.learner for line in lines))
    size = (3.2 * min(len(measures), 3) + 1, (0.3 * len(learners) + 1.3) * -(-len(measures) // 3))
    figure, axes = pyplot.subplots(
        -(-len(measures) // 3), min(len(measures), 3), figsize=size, squeeze=False, sharey=True
    )
    for ax, measure in zip(axes.flat, measures, strict=False):
        for line in (each for each in lines if each.measure == measure):
            row = -learners.index(line.learner)
            ax.errorbar(line.mean, row, xerr=line.standard_error, fmt="o", color="C0", ms=5, capsize=2)
            if line.printed is not None:
                ax.plot(line.printed.mean, row, "|", color="C3", ms=12, mew=2)
        ax.set_title(measure, fontsize="small")
        ax.set_yticks([-i for i in range(len(learners))], learners, fontsize="small")
        ax.set_ylim(0.5 - len(learners), 0.5)  # whole marks in the first and the last row
        ax.tick_params(axis="x", labelsize="small")
        ax.grid(axis="x", alpha=0.3)
    for ax in axes.flat[len(measures) :]:
        ax.set_axis_off()
    axes.flat[0].plot([], [], "o", color="C0", label="ours (s.e.)")
    if any(line.printed is not None for line in lines):
        axes.flat[0].plot([], [], "|", color="C3", ms=12, mew=2, label="printed")
    figure.legend(loc="lower right", ncols=2, fontsize="small", frameon=False)
    return figure


def _curves(pyplot: Any, wanted: Mapping[str, Any], lines: Sequence[Line], curves: Curves) -> Any:
    """Mean over runs against the first column of the kept curves, with a band of one standard error."""
    if not curves:
        return None
    x, columns = str(wanted["x"]), [str(c) for c in wanted["y"]]
    figure, axes = pyplot.subplots(1, len(columns), figsize=(5.2 * len(columns), 3.6), squeeze=False)
    labels = wanted.get("y_label", columns)
    labels = [labels] * len(columns) if isinstance(labels, str) else labels
    for ax, column, label in zip(axes.flat, columns, labels, strict=True):
        for number, (learner, runs) in enumerate(curves.items()):
            at = np.array(next(iter(runs.values()))[x])
            values = np.array([run[column] for run in runs.values() if len(run[column]) == len(at)])
            mean, error = values.mean(axis=0), values.std(axis=0, ddof=1 if len(values) > 1 else 0) / len(values) ** 0.5
            style = ("-", "--", "-.", ":")[number % 4]  # curves that coincide stay visible
            (drawn,) = ax.plot(at, mean, style, label=learner, lw=1.3)
            ax.fill_between(at, mean - error, mean + error, alpha=0.15, color=drawn.get_color(), lw=0)
        ax.set_xlabel(str(wanted.get("x_label", x)))
        ax.set_ylabel(f"{label} (mean and s.e.)")
        ax.grid(alpha=0.3)
        if wanted.get("log"):
            ax.set_xscale("log")
        else:
            ax.locator_params(axis="x", nbins=5)
            ax.xaxis.set_major_formatter("{x:,.0f}")
    axes.flat[0].legend(fontsize="x-small", frameon=False, ncols=1 + (len(curves) > 5))
    return figure


def _regions(pyplot: Any, wanted: Mapping[str, Any], lines: Sequence[Line], curves: Curves) -> Any:
    """The answer of each learner over a plane: columns ``x``, ``y`` and ``answer`` of the kept curves of run 0."""
    if not curves:
        return None
    figure, axes = pyplot.subplots(1, len(curves), figsize=(3.6 * len(curves), 3.6), squeeze=False)
    for ax, (learner, runs) in zip(axes.flat, curves.items(), strict=True):
        points = runs[min(runs)]
        side = round(len(points["x"]) ** 0.5)
        x, y, answer = (np.array(points[c]).reshape(side, side) for c in ("x", "y", "answer"))
        ax.contourf(x, y, answer, levels=np.arange(-0.5, answer.max() + 1), cmap="Pastel1")
        ax.contour(x, y, answer, levels=np.arange(0.5, answer.max()), colors="black", linewidths=1)
        ax.set_title(learner, fontsize="small")
        ax.set_aspect("equal")
    return figure


def _sweep(pyplot: Any, wanted: Mapping[str, Any], lines: Sequence[Line], curves: Curves) -> Any:
    """Every kept column against the moved parameter: training solid, test dashed, one colour a measure."""
    if not curves:
        return None
    figure, axes = pyplot.subplots(1, len(curves), figsize=(6.4 * len(curves), 4), squeeze=False)
    for ax, (learner, runs) in zip(axes.flat, curves.items(), strict=True):
        first = next(iter(runs.values()))
        parameter, *columns = first
        names = list(dict.fromkeys(column.partition(" ")[2] for column in columns))
        for column in columns:
            part, _, name = column.partition(" ")
            mean = np.mean([run[column] for run in runs.values()], axis=0)
            style = "-" if part == "train" else "--"
            ax.plot(first[parameter], mean, style, color=f"C{names.index(name)}", label=column, lw=1.3)
        ax.set_xlabel(parameter)
        ax.set_title(learner, fontsize="small")
        ax.grid(alpha=0.3)
        ax.legend(fontsize="small", frameon=False, ncols=2)
    return figure


_KINDS = {"dots": _dots, "sweep": _sweep, "curves": _curves, "regions": _regions}
