"""Expected against paid: what every candidate of compare expects new rows to cost, and what they then cost.

A split takes 60% of at most 2,000 rows. A candidate's calibration is fitted on out-of-fold answers for them, the
candidate on all of them, and both meet the rest. Candidates that see no costs are fitted once and re-priced, the
others once a ratio.

``python -m bench.expected_costs`` measures what the result file has not yet, split by split; it may be ended at any
time. With ``--table`` it prints the ratio of the means over all splits, and where it leaves 0.8 to 1.25. With
``--again NAME`` it measures one candidate anew, on the splits that the file has, after a change to it alone.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import steelyard
from steelyard import Costs, load_dataset
from steelyard.comparison.refit import refit
from steelyard.comparison.registry import everyone
from steelyard.files import write_atomically

SETS = (
    "heart",
    "breast-cancer",
    "pima",
    "german",
)  # a9a left for heart before any result on it: its fits take too long
RATIOS = (3.0, 8.0, 20.0)
SPLITS = 10
MOST_ROWS = 2_000
SHARE = 0.6  # of the rows that are fitted on
LOW, HIGH = 0.8, 1.25
RESULT = Path(__file__).parent / "results" / "expected_costs.jsonl"

Line = dict[str, Any]
Sums = dict[tuple[str, str, float], list[tuple[float, float]]]


def measure(name: str, split: int, only: str | None = None) -> list[Line]:
    """One split of one data set at every ratio of costs, by all candidates or one."""
    X, y = _rows(name)
    order = np.random.default_rng([split, 7]).permutation(len(y))[:MOST_ROWS]
    cut = int(SHARE * len(order))
    fit_on, rest = order[:cut], order[cut:]
    classes = np.unique(y).tolist()
    names = [c.name for c in everyone() if not c.name.startswith(("CatBoost", "XGBoost")) and only in (None, c.name)]
    same = {c.name for c in everyone() if not c.sees_costs}  # at all costs, but for their decisions
    lines: list[Line] = []
    repriced: dict[str, Any] = {}
    for ratio in RATIOS:
        costs = Costs.binary(fn=ratio, fp=1, classes=classes)
        wanted = [n for n in names if n not in repriced]
        blend = not repriced and only is None
        found = steelyard.compare(_take(X, fit_on), y[fit_on], costs=costs, candidates=wanted, blend=blend)
        models: dict[str, Any] = {}
        for run in found.runs.entries:
            if run.complete and run.family != "current":
                models[run.name] = replace(refit(run, found.runs.problem), training=found._summary())
        repriced |= {n: m for n, m in models.items() if n in same}
        for candidate, model in (repriced | models).items():
            weighed = (model if candidate in models else model.with_costs(costs)).weigh(_take(X, rest))
            paid = np.asarray(costs.per_example(y[rest]))[np.arange(len(rest)), weighed.decided].mean()
            line = {"data": name, "split": split, "ratio": ratio, "candidate": candidate}
            lines.append(line | {"expected": float(weighed.expected_cost.mean()), "paid": float(paid)})
    return [line for line in lines if only in (None, line["candidate"])]


def measure_again(path: Path, only: str) -> None:
    """Replace the lines of one candidate, a split at a time."""
    kept = [json.loads(line) for line in path.read_text().splitlines()]
    for name, split in dict.fromkeys((line["data"], line["split"]) for line in kept):
        new = measure(name, split, only)
        kept = [i for i in kept if (i["data"], i["split"], i["candidate"]) != (name, split, only)] + new
        with write_atomically(path) as file:
            file.write("".join(json.dumps(line) + "\n" for line in kept).encode())


def _rows(name: str) -> tuple[Any, Any]:
    data = load_dataset(name)
    X = data.X
    return (X.toarray() if hasattr(X, "toarray") else X), np.asarray(data.y)


def _take(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def read(path: Path) -> Sums:
    """Expected and paid of every split, by candidate, data set and ratio."""
    sums: Sums = defaultdict(list)
    for text in path.read_text().splitlines():
        line = json.loads(text)
        sums[line["candidate"], line["data"], line["ratio"]].append((line["expected"], line["paid"]))
    return sums


def quotient(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    """Mean expected over mean paid, and its standard error over the splits."""
    expected, paid = np.mean(pairs, axis=0)
    found = float(expected / paid) if paid else float("nan")
    n = len(pairs)
    left = np.array([t - found * p for t, p in pairs])
    return found, float(left.std(ddof=1) / np.sqrt(n) / paid) if n > 1 and paid else float("nan")


def print_table(path: Path) -> None:
    """A line a candidate; cells outside the band have a star and are expected again with their noise."""
    sums = read(path)
    sets = [s for s in SETS if any(key[1] == s for key in sums)]
    splits = {s: max(len(pairs) for key, pairs in sums.items() if key[1] == s) for s in sets}
    print("expected / paid, means over splits: " + ", ".join(f"{s} {n}" for s, n in splits.items()) + "\n")
    print("| candidate | " + " | ".join(f"{s} {r:g}" for s in sets for r in RATIOS) + " |")
    print("|---|" + "---:|" * (len(sets) * len(RATIOS)))
    outside: list[str] = []
    count = 0
    for candidate in sorted({key[0] for key in sums}):
        cells = []
        for key in ((candidate, s, r) for s in sets for r in RATIOS):
            if key not in sums:
                cells.append("–")
                continue
            found, error = quotient(sums[key])
            count += 1
            within = LOW <= found <= HIGH
            cells.append(f"{found:.2f}" + ("" if within else " *"))
            if not within:
                outside.append(f"- {candidate}, {key[1]} at {key[2]:g}: {found:.2f} ± {error:.2f}")
        print(f"| {candidate} | " + " | ".join(cells) + " |")
    print(f"\n{count - len(outside)} of {count} cells within {LOW} to {HIGH}.")
    print("\n".join(outside))


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(prog="bench.expected_costs")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--file", type=Path, default=RESULT)
    parser.add_argument("--again", metavar="NAME")
    options = parser.parse_args()
    if options.again:
        measure_again(options.file, options.again)
        return
    if options.table:
        print_table(options.file)
        return
    done = set()
    if options.file.exists():
        done = {(line["data"], line["split"]) for line in map(json.loads, options.file.read_text().splitlines())}
    for split in range(SPLITS):
        for name in SETS:
            if (name, split) not in done:
                lines = measure(name, split)
                with options.file.open("a") as file:
                    file.write("".join(json.dumps(line) + "\n" for line in lines))  # a split at a time, or none of it


if __name__ == "__main__":
    main()
