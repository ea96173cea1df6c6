"""``python -m bench.quality --half choosing|reporting [--seconds 60] [--seeds 3] [--tables A,B] [--out FILE]``.

Every pair of table and seed and method is one line of the output file; a run that was ended goes on where it was, and
``--portion`` ends it after so many seconds. The summary is printed at the end, or with ``--summary`` alone. Run the
reporting half once per landed change. Seconds are CPU seconds of one core, for every method.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from . import tables
from .peers import METHODS

_FIXED_MB = 400  # that a comparison may need beside six times its table in single precision
_SHARE = 0.01  # of the cheapest constant's cost is added to both sides of a ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("choosing", "reporting"), required=True)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tables", default="")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--portion", type=float, default=float("inf"), help="start nothing after so many seconds")
    parser.add_argument("--summary", action="store_true")
    given = parser.parse_args()
    out = given.out or Path(__file__).parent / "results" / f"{given.half}-{given.seconds:g}s.jsonl"
    out.parent.mkdir(parents=True, exist_ok=True)
    if not given.summary:
        wanted = given.tables.split(",") if given.tables else tables.names(given.half)
        _run(wanted, given.methods.split(","), given.seconds, given.seeds, out, time.monotonic() + given.portion)
    shown = summary(_lines(out))
    out.with_suffix(".txt").write_text(shown + "\n")
    print(shown)


def _lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []


def _run(wanted: list[str], methods: list[str], seconds: float, seeds: int, out: Path, until: float) -> None:
    done = {(line["table"], line["seed"], line["method"]) for line in _lines(out)}
    for seed in range(seeds):
        for table in wanted:
            todo = [m for m in methods if (table, seed, m) not in done]
            if not todo:
                continue
            cut = tables.cut(table, seed)
            for method in todo:
                if time.monotonic() > until:
                    return
                line = _one(cut, method, seconds, seed)
                with out.open("a") as file:
                    file.write(json.dumps(line) + "\n")
                print(f"{table:28s} {seed} {method:10s} {line.get('cost')} {line['cpu']:.1f} s", flush=True)


def _one(cut: tables.Cut, method: str, seconds: float, seed: int) -> dict[str, Any]:
    start = time.process_time()
    line: dict[str, Any] = {"table": cut.name, "seed": seed, "method": method, "seconds": seconds}
    constant = float(cut.new_costs.mean(axis=0).min())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = METHODS[method](cut, seconds, seed)
        except Exception as error:
            return line | {"failed": f"{type(error).__name__}: {error}"[:200], "cpu": time.process_time() - start}
    codes = found.pop("codes")
    cost = float(cut.new_costs[np.arange(len(codes)), codes].mean())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    used = {"cpu": time.process_time() - start, "peak_mb": peak, "table_mb": cut.X.size * 4 / (1 << 20)}
    return line | found | {"cost": cost, "constant": constant} | used


def summary(lines: list[dict[str, Any]]) -> str:
    """Geometric means of cost ratios over tables with intervals, wins, promises kept and CPU time."""
    cost = {(line["table"], line["seed"], line["method"]): line for line in lines if "cost" in line}
    pairs = sorted({key[:2] for key in cost})
    seconds = ", ".join(f"{s:g}" for s in sorted({line["seconds"] for line in lines}))
    shown = [f"{len({t for t, _ in pairs})} tables, {len(pairs)} pairs of table and seed, {seconds} CPU s a method"]
    for method in sorted({key[2] for key in cost} - {"steelyard"}):
        both = [p for p in pairs if (*p, "steelyard") in cost and (*p, method) in cost]
        logs: dict[str, list[float]] = {}
        for p in both:
            ours, theirs = cost[(*p, "steelyard")], cost[(*p, method)]
            extra = _SHARE * ours["constant"]
            logs.setdefault(p[0], []).append(float(np.log((ours["cost"] + extra) / (theirs["cost"] + extra))))
        if logs:
            means = np.array([np.mean(values) for values in logs.values()])
            wins = sum(m <= 0 for m in means)
            shown.append(f"  cost ratio to {method:10s} {_interval(means)}  no dearer on {wins} of {len(means)} tables")
    shown += _beside_the_best(cost, pairs) + _promises(lines) + _cpu(lines)
    failed = [line for line in lines if "failed" in line]
    shown += [f"  failed: {line['table']} {line['seed']} {line['method']}: {line['failed']}" for line in failed]
    return "\n".join(shown)


def _interval(means: np.ndarray) -> str:
    rng = np.random.default_rng(0)
    drawn = rng.choice(means, (5000, len(means))).mean(axis=1)
    low, high = np.exp(np.quantile(drawn, [0.025, 0.975]))
    return f"{np.exp(means.mean()):.3f} (95% {low:.3f} to {high:.3f})"


def _beside_the_best(cost: dict[Any, Any], pairs: list[Any]) -> list[str]:
    near = total = 0
    for table in sorted({t for t, _ in pairs}):
        means = {}
        for method in ("steelyard", "catboost", "lightgbm", "xgboost", "flaml"):
            found = [cost[k]["cost"] for k in cost if k[0] == table and k[2] == method]
            if found:
                means[method] = float(np.mean(found))
        ours = means.pop("steelyard", None)
        if ours is not None and means:
            total += 1
            near += ours <= 1.02 * min(means.values())
    return [f"  at most 2% above the best of four peers on {near} of {total} tables"]


def _promises(lines: list[dict[str, Any]]) -> list[str]:
    told = [line for line in lines if "promise" in line and "cost" in line]
    kept = sum(line["promise"]["low"] <= line["cost"] <= line["promise"]["high"] for line in told)
    if not told:
        return []
    wider = [_width(line["promise"]) / max(line["own"][1] - line["own"][0], 1e-12) for line in told if "own" in line]
    share = [_width(line["promise"]) / line["constant"] for line in told]
    shown = [
        f"  promise kept on {kept} of {len(told)} pairs of table and seed; median width {np.median(share):.3f} of the "
        "cheapest constant's cost"
    ]
    if wider:
        shown.append(f"  median width {np.median(wider):.2f} times the interval of the winner's own costs")
    return shown


def _width(promise: dict[str, Any]) -> float:
    return float(promise["high"] - promise["low"])


def _cpu(lines: list[dict[str, Any]]) -> list[str]:
    shown = []
    for method in sorted({line["method"] for line in lines}):
        found = [line["cpu"] for line in lines if line["method"] == method]
        shown.append(f"  CPU of {method:10s} mean {np.mean(found):6.1f} s")
    ours = [line for line in lines if "table_mb" in line and line["method"] == "steelyard"]
    if ours:
        most = max(ours, key=lambda line: line["peak_mb"] - 6 * line["table_mb"])
        limit = 6 * most["table_mb"] + _FIXED_MB
        shown.append(f"  peak memory with steelyard {most['peak_mb']:.0f} MB; limit for that table {limit:.0f} MB")
    return shown


if __name__ == "__main__":
    main()
