"""First screen and leaderboard as the templates take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._version import __version__
from ...report.amounts import interval_error, money, percent, rounded
from ...report.charts import Axis, axis_of
from ..evaluation import CandidateRun
from ..leaderboard import LeaderboardRow
from .source import PageSource
from .words import costs_in_words, first_screen


def summary(of: PageSource) -> dict[str, Any]:
    """Values of the first screen and the leaderboard."""
    evaluation, data = of.evaluation, of.evaluation.data
    lines = list(of.lines)
    axis = axis_of([v for line in _on_the_axis(lines) for v in (line.mean_cost.low, line.mean_cost.high)])
    first = first_screen(data, lines, of.promised, len(of.winner.members))
    if len(data.classes) == 2:
        assert of.winner.answers is not None
        alarms = float(np.average(of.winner.answers == data.costs.positive_index(), weights=data.weights))
        label = data.positive
        first["cards"].append(
            {"what": f"of rows answered {label}", "value": percent(alarms, len(data.codes)), "tone": ""}
        )
    out = [entry for entry in evaluation.entries if not entry.complete and entry.stopped]
    stopped = [{"name": entry.name, "why": entry.stopped} for entry in out]
    unable = [
        {"name": entry.name, "why": entry.stopped}
        for entry in out
        if entry.candidate is not None and entry.candidate.unable(data) is not None
    ]
    title = f"{first['figures']['cost']} a row" + (f" - {of.source}" if of.source else "")
    return {
        "title": f"{title} - Steelyard",
        "source": of.source,
        "target": of.target,
        "positive": None if data.positive is None else str(data.positive),
        "costs": costs_in_words(data),
        "rows": f"{len(evaluation.problem.codes):,}",
        "columns": len(evaluation.problem.columns.used),
        "first": first,
        "scale": _scale(of, lines),
        "axis": [(100 * axis.share(v), text) for v, text in axis.ticks()],
        "board": [_line(line, axis, data.costs.currency, of.winner) for line in lines],
        "unranked": [e for e in stopped if e not in unable],
        "unable": unable,
        "advice": list(of.said),
        "warnings": list(of.warnings),
        "version": __version__,
    }


def _on_the_axis(lines: Sequence[LeaderboardRow]) -> list[LeaderboardRow]:
    """All but constants that cost more than twice the rest: they would press the others together."""
    constants = sorted((line for line in lines if line.family == "constant"), key=lambda line: line.mean_cost.value)
    kept = [line for line in lines if line not in constants[1:]]
    high = max((line.mean_cost.high for line in kept), default=0.0)
    return [line for line in lines if line in kept or line.mean_cost.high <= 2 * high]


def _scale(of: PageSource, lines: Sequence[LeaderboardRow]) -> dict[str, Any]:
    """The few answers that a reader weighs: doing nothing, the best constant, today's rule, the chosen one."""
    data = of.evaluation.data
    constants = sorted((line for line in lines if line.family == "constant"), key=lambda line: line.mean_cost.value)
    wanted = {line.name: line.name for line in constants[:1]}
    if len(data.classes) == 2:
        nothing = f"always {data.classes[1 - data.costs.positive_index()]}"
        wanted = {nothing: f"doing nothing ({nothing})"} | {n: s for n, s in wanted.items() if n != nothing}
    named = [(shown, line) for name, shown in wanted.items() for line in lines if line.name == name]
    named += [("today's rule", line) for line in lines if line.family == "current"]
    best, promised = lines[0], of.promised
    rows = [(s, i.mean_cost.value, i.mean_cost.low, i.mean_cost.high) for s, i in named if i is not best]
    rows.sort(key=lambda row: -row[1])
    chosen = "chosen: " + (best.name if best.family != "blend" else f"blend of {len(of.winner.members)}")
    rows.append((chosen, promised.value, promised.low, promised.high))
    axis = axis_of([v for row in rows for v in row[1:]])
    spread = interval_error(promised.low, promised.high)
    return {
        "ticks": [(100 * axis.share(v), text) for v, text in axis.ticks()],
        "zero": 100 * axis.share(0.0),
        "rows": [
            {
                "name": name,
                "at": 100 * axis.share(value),
                "low": 100 * axis.share(low),
                "wide": 100 * (axis.share(high) - axis.share(low)),
                "value": money(value, spread, data.costs.currency),
                "chosen": i == len(rows) - 1,
            }
            for i, (name, value, low, high) in enumerate(rows)
        ],
    }


def _line(line: LeaderboardRow, axis: Axis, currency: str | None, winner: CandidateRun) -> dict[str, Any]:
    cost = line.mean_cost
    spread = interval_error(cost.low, cost.high)
    notes = [] if line.rows is None else [f"judged on {line.rows:,} rows"]
    return {
        "name": line.name,
        "family": line.family,
        "chosen": line.name == winner.name,
        "tied": line.tied_with_best,
        "at": 100 * axis.share(cost.value),
        "low": 100 * axis.share(cost.low),
        "wide": 100 * (axis.share(cost.high) - axis.share(cost.low)),
        "beyond": cost.value > axis.high,
        "cost": money(cost.value, spread, currency),
        "interval": f"{money(cost.low, spread)} to {money(cost.high, spread)}" if spread else None,
        "total": money(line.total_cost, abs(line.total_cost) * 0.005, currency),
        "saved": f"{rounded(100 * line.savings.value, 0)}%",
        "rates": [None if i is None else f"{i.value:.2f}" for i in (line.sensitivity, line.specificity, line.f1)],
        "g_mean": f"{line.g_mean.value:.2f}",
        "weight": None if line.weight is None else f"{line.weight:.0%}",
        "seconds": f"{line.fit_seconds:.2g}",
        "notes": "; ".join(notes),
    }
