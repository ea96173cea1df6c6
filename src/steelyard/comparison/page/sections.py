"""The parts of the page below its first screen, as the templates take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...report.amounts import interval_error, money, percent, rounded
from ...report.charts import LineChart, Series, axis_of
from .bins import MOST_CLASSES
from .evidence import FEWEST_OF_A_SEGMENT, calibration, confusions, costliest_cells, mistakes, segment_costs
from .refits import Refits, importances, learning_curve
from .source import PageSource

_SQUARE = 20  # classes up to which a table of truths and answers is given


def chart_with_table(chart: LineChart, heads: Sequence[str], table: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """A chart with the table behind it."""
    return {"title": chart.title, "drawing": chart.drawing(), "plain": chart.plain(), "heads": heads, "table": table}


def confusion_part(of: PageSource) -> dict[str, Any]:
    """Counts and money by truth and answer, or the costliest confusions of many classes."""
    data = of.evaluation.data
    found = confusions(data, of.winner)
    whole = float(np.abs(found.money).sum())  # what is gained in one cell is not what is paid in another
    currency = data.costs.currency
    worst = costliest_cells(found, data.classes)
    top = worst[0] if worst else None
    confused = found.counts.sum() - np.trace(found.counts)
    said = "No confusion cost anything." if confused else "Nothing was confused."
    if top is not None:
        said = (
            f"Most is paid where the truth is {top['truth']} and the answer {top['answer']}: "
            f"{percent(top['share'], len(data.codes))} of all costs."
        )
    costliest = None
    if len(data.classes) > MOST_CLASSES:
        costliest = [
            [w["truth"], w["answer"], rounded(w["count"], 0), money(w["cost"], whole / 200, currency)] for w in worst
        ]
    if len(data.classes) > _SQUARE:
        return {"said": said, "costliest": costliest, "rows": None}
    order = list(data.shown_order)
    rows = [
        {
            "truth": str(data.classes[i]),
            "counts": [rounded(v, 0) for v in found.counts[i, order]],
            "money": [money(v, max(whole, 1e-9) / 200, currency) for v in found.money[i, order]],
            "shade": [round(0.28 * max(v, 0.0) / max(found.money.max(), 1e-9), 3) for v in found.money[i, order]],
        }
        for i in order
    ]
    return {"said": said, "classes": [str(data.classes[i]) for i in order], "rows": rows, "costliest": costliest}


def segments_part(of: PageSource) -> dict[str, Any] | None:
    """Cost by segment; None without segments."""
    if not of.segments:
        return None
    currency, n = of.evaluation.data.costs.currency, len(of.evaluation.data.codes)
    found = segment_costs(of.evaluation, of.winner, of.segments)
    shown = [v for part in found for line in part["lines"] for v in (line["low"], line["high"], line["mean"])]
    axis = axis_of([v for v in shown if v is not None])
    looked = sum(len(part["lines"]) for part in found)
    for part in found:
        for line in part["lines"]:
            low, high = line["low"], line["high"]
            spread = 0.0 if low is None else interval_error(low, high)
            line |= {
                "at": 100 * axis.share(line["mean"]),
                "left": None if low is None else 100 * axis.share(low),
                "wide": None if low is None else 100 * (axis.share(high) - axis.share(low)),
                "cost": money(line["mean"], spread, currency),
                "interval": None if low is None else f"{money(low, spread)} to {money(high, spread)}",
                "unsure": "too few to say" if line["rows"] < FEWEST_OF_A_SEGMENT else "the same in all",
                "part": percent(line["share"], n),
            }
    return {"parts": found, "looked": looked, "axis": [(100 * axis.share(v), t) for v, t in axis.ticks()]}


def mistakes_part(of: PageSource, show_rows: bool) -> list[dict[str, Any]]:
    """The costliest rows."""
    currency = of.evaluation.data.costs.currency
    found = mistakes(of.evaluation, of.winner, show_rows=show_rows)
    spread = max((abs(line["cost"]) for line in found), default=0.0) / 200  # the same digits in all lines
    for line in found:
        line["cost"] = money(line["cost"], spread, currency)
        line["proba"] = None if line["proba"] is None else f"{line['proba']:.2f}"
    return found


def importance_part(of: PageSource, again: Refits) -> dict[str, Any] | None:
    """Which columns the cost hangs on; None where that was not looked at."""
    found = importances(again)
    if not found:
        return None
    axis = axis_of([v for line in found for v in (line.low, line.high)])
    lines = [
        {
            "name": line.column if not line.column.isdigit() else f"column {line.column}",
            "at": 100 * axis.share(line.rise),
            "left": 100 * axis.share(line.low),
            "wide": 100 * (axis.share(line.high) - axis.share(line.low)),
            "rise": money(line.rise, interval_error(line.low, line.high), of.evaluation.data.costs.currency),
            "interval": " to ".join(money(v, interval_error(line.low, line.high)) for v in (line.low, line.high)),
            "matters": line.low > 0,
        }
        for line in found
    ]
    clear = [line["name"] for line in lines if line["matters"]]
    said = f"Beyond chance, cost rises most without {clear[0]}." if clear else "No single column matters beyond chance."
    folds = len(next(iter(again.rises.values())))
    return {
        "said": said,
        "lines": lines,
        "folds": folds,
        "left": again.columns_left,
        "zero": 100 * axis.share(0.0),
        "axis": [(100 * axis.share(v), t) for v, t in axis.ticks()],
    }


def calibration_part(of: PageSource) -> dict[str, Any] | None:
    """Predicted probabilities against observed fractions; None without probabilities."""
    data = of.evaluation.data
    bins = calibration(data, of.winner)
    if not bins:
        return None
    off = [b for b in bins if not b.low <= b.proba <= b.high]
    said = "Predicted probabilities agree with what was observed, in every group."
    if off:
        groups = f"{len(off)} of {len(bins)} groups"
        said = f"In {groups} the observed fraction differs from the predicted probability, beyond chance."
    what = (
        f"predicted probability of {data.positive}"
        if data.positive is not None
        else "predicted probability of the likeliest class"
    )
    lines = [
        [rounded(b.proba, 2), rounded(b.observed, 2), f"{rounded(b.low, 2)} to {rounded(b.high, 2)}", f"{b.rows:,}"]
        for b in bins
    ]
    series = Series("observed", [b.observed for b in bins], [b.low for b in bins], [b.high for b in bins], True, True)
    chart = LineChart(
        "Predicted and observed", [b.proba for b in bins], [series], what, "observed fraction", diagonal=True
    )
    return {"said": said} | chart_with_table(
        chart, ["predicted probability", "observed fraction", "95% interval", "rows"], lines
    )


def learning_part(of: PageSource, again: Refits) -> dict[str, Any] | None:
    """Cost after more and more rows; None where there was no time for it."""
    curve = learning_curve(of.evaluation, of.winner, again, of.promised.value)
    if curve is None:
        return None
    currency = of.evaluation.data.costs.currency
    spreads = [interval_error(low, high) for low, high in zip(curve.lows, curve.highs, strict=True)]
    lines = [
        [f"{size:,}", money(mean, spread, currency), f"{money(low, spread)} to {money(high, spread)}"]
        for size, mean, low, high, spread in zip(
            curve.sizes, curve.means, curve.lows, curve.highs, spreads, strict=True
        )
    ]
    series = Series("cost a row", curve.means, curve.lows, curve.highs, True, True)
    chart = LineChart("Cost after more and more rows", curve.sizes, [series], "training rows", "cost a row", log=True)
    end = money(of.promised.value, interval_error(of.promised.low, of.promised.high), currency)
    said = f"{curve.more}. The curve ends at the promised {end}."
    return {"said": said, "folds": curve.folds} | chart_with_table(
        chart, ["training rows", "cost a row", "95% interval"], lines
    )
