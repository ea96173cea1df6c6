"""Prices that a reader can change: what is embedded, the fields, and the curve over the ratio."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...report.amounts import decimals_for, money, rounded, significant
from ...report.charts import LineChart, Series
from ..evaluation import CandidateRun
from .bins import MOST_CLASSES, binned, likeness, units_of
from .sections import chart_with_table
from .source import PageSource
from .what_if import threshold, what_if

_SHOWN = 8  # candidates whose prices can be changed, beside constants and today's rule
_SHOWN_WITH_ROW_COSTS = 5  # these take more room
_RATIOS = 33  # points of the curve over the ratio of prices
_RATIO_SPAN = 16.0  # how far the ratio is changed either way


def embed(of: PageSource) -> dict[str, Any]:
    """What the script needs to change prices: bins, given prices, and how alike the candidates' costs are."""
    data, units = of.evaluation.data, units_of(of.evaluation.data)
    n_classes = len(data.classes)
    counts = np.bincount(data.codes, minlength=n_classes)
    shown = _embedded_runs(of, units.realized is not None) if n_classes <= MOST_CLASSES else []
    return {
        "classes": [str(label) for label in data.classes],
        "order": list(data.shown_order),
        "positive": data.costs.positive_index() if n_classes == 2 else None,
        "rows": len(data.codes) if data.weights is None else float(data.weights.sum()),
        "fewest": int(counts.min()),
        "currency": data.costs.currency,
        "row_costs": units.realized is not None,
        "prices": [[float(v) for v in row] for row in units.prices],
        "likeness": likeness(shown) if shown else [],
        "entries": [{"name": run.name, "family": run.family, **binned(run, data, units)} for run in shown],
    }


def _embedded_runs(of: PageSource, row_costs: bool) -> list[CandidateRun]:
    most = _SHOWN_WITH_ROW_COSTS if row_costs else _SHOWN
    learned = [run for run in of.runs if run.family not in ("constant", "current")][:most]
    fixed = [run for run in of.runs if run.family in ("constant", "current")]
    rest = [run for run in (*learned, *fixed) if run is not of.winner]
    return [of.winner, *rest]


def levers(embedded: dict[str, Any]) -> dict[str, Any] | None:
    """Fields of the what-if part with their given values; None where prices cannot be changed."""
    if not embedded["entries"]:
        return None
    prices, positive = embedded["prices"], embedded["positive"]
    given = what_if(embedded)
    winner = given.entries[0]
    currency = embedded["currency"]
    texts = [[significant(price) for price in row] for row in prices]
    cells: list[dict[str, Any]] = []
    if positive is not None:
        other = 1 - positive
        roles = (
            ("a miss costs", positive, other),
            ("a false alarm costs", other, positive),
            ("a hit costs", positive, positive),
            ("a correct pass costs", other, other),
        )
        cells = [
            {"i": i, "j": j, "label": said, "value": texts[i][j], "disabled": _no_unit(embedded, i, j)}
            for label, i, j in roles
            for said in [label.replace(" costs", ", times its cost") if embedded["row_costs"] else label]
        ]
    at = None if positive is None or embedded["row_costs"] else threshold(prices, positive)
    return {
        "cells": cells,
        "texts": texts,
        "many": positive is None,
        "row_costs": embedded["row_costs"],
        "chosen": embedded["entries"][0]["name"],
        "cost": money(winner.mean, winner.error, currency, extra=1),
        "error": rounded(winner.error, decimals_for(winner.error) + 1),
        "total": money(winner.total, winner.error * embedded["rows"], currency),
        "alarms": None if positive is None else rounded(winner.alarms, 0),
        "threshold": None if at is None else rounded(at, 3),
    }


def _no_unit(embedded: dict[str, Any], i: int, j: int) -> bool:
    """Whether a multiplier of this cell would multiply nothing."""
    return bool(embedded["row_costs"]) and embedded["prices"][i][j] == 0


def ratio_grid() -> list[float]:
    """Factors by which the price of a miss is changed against that of an alarm, equal ratios apart."""
    span = np.geomspace(1 / _RATIO_SPAN, _RATIO_SPAN, _RATIOS)
    return [float(f"{v:.6g}") for v in span]


def with_ratio(embedded: dict[str, Any], factor: float) -> list[list[float]]:
    """The given prices with the price of a miss times ``factor``."""
    prices = [list(row) for row in embedded["prices"]]
    positive = embedded["positive"]
    prices[positive][1 - positive] *= factor
    return prices


def price_curve(embedded: dict[str, Any]) -> LineChart | None:
    """Cost of every entry over the price of a miss; None where there are not two classes, or a miss costs nothing."""
    positive = embedded["positive"]
    if not embedded["entries"] or positive is None or embedded["prices"][positive][1 - positive] <= 0:
        return None
    grid = ratio_grid()
    found = [what_if(embedded, with_ratio(embedded, factor)).entries for factor in grid]
    series = [
        Series(entry["name"], [priced[j].mean for priced in found], chosen=j == 0)
        for j, entry in enumerate(embedded["entries"])
    ]
    learned = [s for s, entry in zip(series, embedded["entries"], strict=True) if "answers" not in entry] or series
    price = embedded["prices"][positive][1 - positive]
    row_costs, highest = embedded["row_costs"], max(v for s in learned for v in s.y)
    return LineChart(
        "Cost of every candidate as the price of a miss changes",
        grid if row_costs else [price * factor for factor in grid],
        series,
        "how many times as much misses cost" if row_costs else "price of a miss",
        "cost a row",
        log=True,
        marks=[(1.0 if row_costs else price, "as given")],
        top=1.5 * highest if highest > 0 else None,
    )


def ratio_chart(embedded: dict[str, Any]) -> dict[str, Any] | None:
    """The same curve with the table behind it."""
    chart = price_curve(embedded)
    if chart is None:
        return None
    table = [[significant(x, 3), *(rounded(s.y[k], 3) for s in chart.series)] for k, x in enumerate(chart.x)]
    return chart_with_table(chart, [chart.x_name, *(s.name for s in chart.series)], table)
