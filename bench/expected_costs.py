"""Expected against paid: what every candidate of compare expects new rows to cost, and what they then cost.

``python -m bench.expected_costs german 0 costs.jsonl`` adds the lines of one split: a candidate's calibration
is fitted on out-of-fold answers for the training part, the candidate on all of it, and both meet the rest of the rows.
``python -m bench.expected_costs --table costs.jsonl`` prints the ratio of the means over all splits.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

import steelyard
from steelyard import Costs, load_dataset
from steelyard.comparison.refit import refit

RATIOS = (3.0, 8.0, 20.0)
MOST_ROWS = 2_000
SHARE = 0.6  # of the rows that are fitted on


def measure(name: str, split: int) -> list[dict[str, object]]:
    """One split of one data set at every ratio of costs."""
    data = load_dataset(name)
    rng = np.random.default_rng([split, 7])
    order = rng.permutation(len(data.y))[:MOST_ROWS]
    cut = int(SHARE * len(order))
    X, y = np.asarray(data.X), np.asarray(data.y)
    classes = np.unique(y).tolist()
    fit_on, rest = order[:cut], order[cut:]
    lines: list[dict[str, object]] = []
    dependent: list[str] | None = None
    kept: dict[str, object] = {}
    for ratio in RATIOS:
        costs = Costs.binary(fn=ratio, fp=1, classes=classes)
        found = steelyard.compare(X[fit_on], y[fit_on], costs=costs, candidates=dependent, blend=dependent is None)
        for run in found.runs.entries:
            if run.complete and (run.candidate is not None or run.family == "constant"):
                model = refit(run, found.runs.problem)
                kept[run.name] = model if run.family != "constant" else found
                if run.family == "constant":
                    label = run.name.removeprefix("always ")
                    shares = np.array([(y[fit_on] == c).mean() for c in classes])
                    at = [str(c) for c in classes].index(label)
                    expected = float(shares @ np.asarray(costs.matrix)[:, at])
                    paid = float(np.asarray(costs.per_example(y[rest]))[:, at].mean())
                    lines.append(_line(name, split, ratio, run.name, expected, paid))
        for candidate, model in kept.items():
            if hasattr(model, "weigh"):
                weighed = model.with_costs(costs).weigh(X[rest])
                paid = np.asarray(costs.per_example(y[rest]))[np.arange(len(rest)), weighed.decided].mean()
                lines.append(_line(name, split, ratio, candidate, float(weighed.expected_cost.mean()), float(paid)))
        if dependent is None:
            own = ("cost-weighted", "with costs", "RED-", "AdaC2", "CS-", "CSOGD", "online cost", "searched")
            dependent = [
                c.name for c in (r.candidate for r in found.runs.entries) if c and any(o in c.name for o in own)
            ]
    return lines


def _line(data: str, split: int, ratio: float, candidate: str, expected: float, paid: float) -> dict[str, object]:
    return {"data": data, "split": split, "ratio": ratio, "candidate": candidate, "expected": expected, "paid": paid}


def table(path: Path) -> None:
    """Ratio of the mean expected to the mean paid, a line a candidate."""
    sums: dict[tuple[str, str, float], list[tuple[float, float]]] = defaultdict(list)
    for text in path.read_text().splitlines():
        line = json.loads(text)
        sums[line["candidate"], line["data"], line["ratio"]].append((line["expected"], line["paid"]))
    sets = sorted({key[1] for key in sums})
    print("| candidate | " + " | ".join(f"{s} {r:g}" for s in sets for r in RATIOS) + " |")
    print("|---|" + "---:|" * (len(sets) * len(RATIOS)))
    for candidate in sorted({key[0] for key in sums}):
        cells = []
        for key in ((candidate, s, r) for s in sets for r in RATIOS):
            if key in sums:
                expected, paid = np.mean(sums[key], axis=0)
                quotient = expected / paid if paid else float("nan")
                cells.append(f"{quotient:.2f}" + ("" if 0.8 <= quotient <= 1.25 else " *"))
            else:
                cells.append("–")
        print(f"| {candidate} | " + " | ".join(cells) + " |")


def main(arguments: list[str]) -> None:
    """See the module."""
    if arguments[0] == "--table":
        table(Path(arguments[1]))
        return
    name, split, path = arguments[0], int(arguments[1]), Path(arguments[2])
    with path.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in measure(name, split))


if __name__ == "__main__":
    main(sys.argv[1:])
