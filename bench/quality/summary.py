"""What the lines of a results file say: cost ratios with intervals, promises kept, CPU time and memory.

A table has one cost for each method: the mean over the seeds that all methods have run. Promises are counted by pairs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

_FIXED_MB = 400  # that a comparison may need beside six times its table in single precision
_CONSTANT = "cheapest constant"
FOUR = ("catboost", "lightgbm", "xgboost", "flaml")
_SHARE = 0.01  # of the cheapest constant's cost is added to both sides of a ratio


def read_lines(out: Path) -> list[dict[str, Any]]:
    """The lines of a results file; none where there is none."""
    return [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []


def cost_lines(lines: list[dict[str, Any]]) -> dict[tuple[str, int, str], dict[str, Any]]:
    """By table, seed and method, the lines that have a cost."""
    return {(line["table"], line["seed"], line["method"]): line for line in lines if "cost" in line}


def complete_pairs(cost: dict[tuple[str, int, str], dict[str, Any]]) -> tuple[dict[str, list[int]], list[str]]:
    """By table, the seeds that every method of that table has a cost for; and the other pairs, with who is missing."""
    complete: dict[str, list[int]] = {}
    others = []
    for table in sorted({key[0] for key in cost}):
        methods = {method for name, _, method in cost if name == table} | {"steelyard"}
        for seed in sorted({seed for name, seed, _ in cost if name == table}):
            missing = sorted(method for method in methods if (table, seed, method) not in cost)
            if missing:
                others.append(f"{table} {seed} (without {', '.join(missing)})")
            else:
                complete.setdefault(table, []).append(seed)
    return complete, others


def mean_costs(cost: dict[tuple[str, int, str], dict[str, Any]]) -> dict[str, dict[str, float]]:
    """By table, the cost of every method and of the cheapest constant, each a mean over the complete pairs."""
    found = {}
    for table, seeds in complete_pairs(cost)[0].items():
        methods = sorted({method for name, _, method in cost if name == table})
        found[table] = {m: float(np.mean([cost[table, seed, m]["cost"] for seed in seeds])) for m in methods}
        constants = [cost[table, seed, methods[0]]["constant"] for seed in seeds]
        found[table][_CONSTANT] = float(np.mean(constants))
    return found


def cost_logs(cost: dict[tuple[str, int, str], dict[str, Any]], method: str) -> dict[str, float]:
    """By table, the logarithm of our cost over that of a method, a share of the cheapest constant's added to both."""
    logs = {}
    for table, costs in mean_costs(cost).items():
        if {"steelyard", method} <= costs.keys():
            extra = _SHARE * costs[_CONSTANT]
            logs[table] = float(np.log((costs["steelyard"] + extra) / (costs[method] + extra)))
    return logs


def cost_interval(means: np.ndarray) -> tuple[float, float, float]:
    """Geometric mean over tables with a 95% bootstrap interval."""
    drawn = np.random.default_rng(0).choice(means, (5000, len(means))).mean(axis=1)
    low, high = np.exp(np.quantile(drawn, [0.025, 0.975]))
    return float(np.exp(means.mean())), float(low), float(high)


def count_near_best(cost: dict[tuple[str, int, str], dict[str, Any]], judged: str = "steelyard") -> tuple[int, int]:
    """Tables on which a method costs at most 2% more than the best of the four peers, and those that all have run on.

    A peer is held to the other three.
    """
    near = total = 0
    methods = {judged, *FOUR}
    for costs in mean_costs(cost).values():
        if methods <= costs.keys():
            total += 1
            near += costs[judged] <= 1.02 * min(costs[m] for m in methods - {judged})
    return near, total


def count_promises(lines: list[dict[str, Any]]) -> tuple[int, int]:
    """Promises that held the cost paid, and all of them."""
    found = [line for line in lines if "promise" in line and "cost" in line]
    return sum(line["promise"]["low"] <= line["cost"] <= line["promise"]["high"] for line in found), len(found)


def width_ratio(lines: list[dict[str, Any]]) -> float | None:
    """Median of the promise's width over that of the interval of the winner's own costs, where that has one."""
    wider = [
        _width(line["promise"]) / (line["own"][1] - line["own"][0])
        for line in lines
        if "promise" in line and "own" in line and line["own"][1] > line["own"][0]
    ]
    return float(np.median(wider)) if wider else None


def memory_peak(lines: list[dict[str, Any]]) -> tuple[float, float] | None:
    """Megabytes at the peak and allowed, of the table that comes closest to what is allowed."""
    ours = [line for line in lines if "own_process" in line and "cost" in line and line["method"] == "steelyard"]
    if not ours:
        return None
    most = max(ours, key=lambda line: line["peak_mb"] - 6 * line["table_mb"])
    return most["peak_mb"], 6 * most["table_mb"] + _FIXED_MB


def summary(lines: list[dict[str, Any]]) -> str:
    """Geometric means of cost ratios over tables with intervals, wins, promises kept and CPU time."""
    cost = cost_lines(lines)
    complete, others = complete_pairs(cost)
    seconds = ", ".join(f"{s:g}" for s in sorted({line["seconds"] for line in lines}))
    pairs = f"{sum(map(len, complete.values()))} pairs of table and seed that all methods have run"
    shown = [f"{len(complete)} tables, {pairs}, {seconds} CPU s a method"]
    shown += [f"  left out of the ratios: {pair}" for pair in others]
    for method in sorted({key[2] for key in cost} - {"steelyard"}):
        if logs := cost_logs(cost, method):
            means = np.array(list(logs.values()))
            value, low, high = cost_interval(means)
            wins = f"no costlier on {sum(m <= 0 for m in means)} of {len(means)} tables"
            shown.append(f"  cost ratio to {method:10s} {value:.3f} (95% {low:.3f} to {high:.3f})  {wins}")
    near, total = count_near_best(cost)
    shown.append(f"  at most 2% above the best of four peers on {near} of {total} tables")
    for peer in FOUR:
        near, total = count_near_best(cost, peer)
        shown.append(f"    {peer:10s} at most 2% above the best of the other three on {near} of {total}")
    shown += _promises(lines) + _cpu(lines)
    failed = [line for line in lines if "failed" in line]
    shown += [f"  failed: {line['table']} {line['seed']} {line['method']}: {line['failed']}" for line in failed]
    return "\n".join(shown)


def _promises(lines: list[dict[str, Any]]) -> list[str]:
    kept, total = count_promises(lines)
    if not total:
        return []
    share = [_width(line["promise"]) / line["constant"] for line in lines if "promise" in line and "cost" in line]
    shown = [
        f"  promise kept on {kept} of {total} pairs of table and seed; median width {np.median(share):.3f} of the "
        "cheapest constant's cost"
    ]
    wider = width_ratio(lines)
    if wider is not None:
        shown.append(f"  median width {wider:.2f} times the interval of the winner's own costs")
    return shown


def _width(promise: dict[str, Any]) -> float:
    return float(promise["high"] - promise["low"])


def _cpu(lines: list[dict[str, Any]]) -> list[str]:
    shown = []
    for method in sorted({line["method"] for line in lines}):
        found = [line["cpu"] for line in lines if line["method"] == method]
        shown.append(f"  CPU of {method:10s} mean {np.mean(found):6.1f} s")
    peak = memory_peak(lines)
    if peak is not None:
        shown.append(f"  peak memory with steelyard {peak[0]:.0f} MB; limit for that table {peak[1]:.0f} MB")
    return shown
