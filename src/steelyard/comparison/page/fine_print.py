"""Versions, method and downloads."""

from __future__ import annotations

import base64
import csv
import io
import platform
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy
import sklearn

from ..._version import __version__
from ...evaluate.weighted import effective_rows
from ...validation.text import safe_cell
from ..evaluation import Evaluation
from .source import PageSource


def versions() -> list[tuple[str, str]]:
    """Names and versions of what took part."""
    return [
        ("steelyard", __version__),
        ("Python", platform.python_version()),
        ("numpy", np.__version__),
        ("scipy", scipy.__version__),
        ("scikit-learn", sklearn.__version__),
    ]


def method_in_words(evaluation: Evaluation) -> str:
    """How it was done, in a paragraph."""
    return (
        f"{evaluation.judged.n_folds}-fold cross-validation on {len(evaluation.judged.rows):,} rows, the same folds "
        f"for all, seed {evaluation.problem.seed}; {evaluation.units} work units (one setting, one fold) in "
        f"{evaluation.cpu_seconds:.1f} s of CPU time. Preparation and early stopping were fitted inside the training "
        "part of each fold. Probabilities were calibrated out of fold, each fold on the others, and blended greedily "
        "by log loss; the answer is the one of least expected cost. Intervals of the leaderboard: 95% bootstrap within "
        "classes. Differences: one-tailed paired test of the costs paid. The promise bootstraps the whole choice and "
        "draws a new sample, so it counts both the selection and the noise of new rows." + _weights_in_words(evaluation)
    )


def _weights_in_words(evaluation: Evaluation) -> str:
    weights = evaluation.data.weights
    if weights is None:
        return ""
    return (
        f" Rows count by their weights, {weights.sum():,.6g} in all, in fits, calibration, blend and every figure; "
        f"intervals draw rows, which are worth {effective_rows(weights):,.0f} of equal weight."
    )


def downloads(of: PageSource, context: Mapping[str, Any]) -> list[dict[str, str]]:
    """CSV files as links that hold their content."""
    board = [
        [
            line.name,
            line.family,
            line.mean_cost.value,
            line.mean_cost.low,
            line.mean_cost.high,
            line.total_cost,
            line.savings.value,
            line.p_value,
        ]
        for line in of.lines
    ]
    heads = ["candidate", "family", "mean_cost", "low", "high", "total_cost", "savings", "p_value"]
    files: dict[str, list[list[Any]]] = {"leaderboard.csv": [heads, *board]}
    for key in ("what_if_chart", "calibration", "learning"):
        if context[key] is not None:
            files[f"{key.removesuffix('_chart')}.csv"] = _exact(context[key]["plain"])
    if context["segments"] is not None:
        files["segments.csv"] = [["segment", "level", "rows", "mean_cost", "low", "high", "share_of_cost"]] + [
            [part["name"], *(line[k] for k in ("level", "rows", "mean", "low", "high", "share"))]
            for part in context["segments"]["parts"]
            for line in part["lines"]
        ]
    return [{"name": name, "href": _data_link(rows)} for name, rows in files.items()]


def _exact(plain: Mapping[str, Any]) -> list[list[Any]]:
    """The values of a chart with all their digits: x, then every series with its band."""
    columns = [[plain["x_name"], *plain["x"]]]
    for series in plain["series"]:
        ends = (("", series["y"]), (" low", series["low"]), (" high", series["high"]))
        columns += [[series["name"] + end, *values] for end, values in ends if values is not None]
    return [list(row) for row in zip(*columns, strict=True)]


def _data_link(rows: Sequence[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([safe_cell(cell) for cell in row] for row in rows)
    return "data:text/csv;charset=utf-8;base64," + base64.b64encode(text.getvalue().encode()).decode()
