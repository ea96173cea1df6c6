"""``python -m bench.quality --half choosing|reporting [--seconds 60] [--seeds 3] [--tables A,B] [--out FILE]``.

Every pair of table and seed and method is one line of the output file; a run that was ended goes on where it was. The
summary is printed at the end, or with ``--summary`` alone. Run the reporting half once per landed change.
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

_SHARE = 0.01  # of the cheapest constant's cost is added to both sides of a ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("choosing", "reporting"), required=True)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tables", default="")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--summary", action="store_true")
    given = parser.parse_args()
    out = given.out or Path(__file__).parent / "results" / f"{given.half}-{given.seconds:g}s.jsonl"
    out.parent.mkdir(parents=True, exist_ok=True)
    if not given.summary:
        wanted = given.tables.split(",") if given.tables else tables.names(given.half)
        _run(wanted, given.methods.split(","), given.seconds, given.seeds, out)
    print(summary(_lines(out)))


def _lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []


def _run(wanted: list[str], methods: list[str], seconds: float, seeds: int, out: Path) -> None:
    done = {(line["table"], line["seed"], line["method"]) for line in _lines(out)}
    for table in wanted:
        for seed in range(seeds):
            todo = [m for m in methods if (table, seed, m) not in done]
            if not todo:
                continue
            cut = tables.cut(table, seed)
            for method in todo:
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
    return line | found | {"cost": cost, "constant": constant, "cpu": time.process_time() - start, "peak_mb": peak}


def summary(lines: list[dict[str, Any]]) -> str:
    """Geometric means of cost ratios over tables with intervals, wins, promises kept and CPU time."""
    cost = {(line["table"], line["seed"], line["method"]): line for line in lines if "cost" in line}
    pairs = sorted({key[:2] for key in cost})
    shown = [f"{len({t for t, _ in pairs})} tables, {len(pairs)} pairs of table and seed"]
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
    return [f"  promise kept on {kept} of {len(told)} pairs of table and seed"] if told else []


def _cpu(lines: list[dict[str, Any]]) -> list[str]:
    shown = []
    for method in sorted({line["method"] for line in lines}):
        found = [line["cpu"] for line in lines if line["method"] == method]
        shown.append(f"  CPU of {method:10s} mean {np.mean(found):6.1f} s")
    peaks = [line["peak_mb"] for line in lines if "peak_mb" in line and line["method"] == "steelyard"]
    return shown + ([f"  peak memory with steelyard {max(peaks):.0f} MB"] if peaks else [])


if __name__ == "__main__":
    main()
