"""``python -m bench.quality.promises --out FILE [--part choosing|small] [--seeds 4]``: whether promises are kept.

Cheap settings alone, so that a pair of table and seed takes seconds: the choice among them, the blend and the promise
are those of `compare`. Tables of the choosing half, or ``small``: about 100 rows to learn from, of up to seven classes,
from tables of neither half, where whole classes are told apart without a mistake. A run that was ended goes on where
it was.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.comparison import compare

from . import tables
from .summary import count_promises, read_lines, width_ratio

SETTINGS = (
    "logistic regression, C=1",
    "logistic regression, C=0.03",
    "logistic regression, C=30",
    "RBF SVM, C=1",
    "RBF SVM, C=10",
    "LightGBM, 4 leaves",
    "logistic regression, cost-weighted",
)


def measured(cut: tables.Cut, seed: int) -> dict[str, Any]:
    """What was promised for the held-out rows, and what they cost."""
    result = compare(cut.X, cut.y, costs=cut.costs, candidates=SETTINGS, random_state=seed, promise_rows=len(cut.new_y))
    answers = result.refit().predict(cut.rows_new, costs=cut.decide_costs)
    codes = np.searchsorted(result.runs.problem.classes, answers)
    own = result.lines[0].mean_cost
    return {
        "table": cut.name,
        "seed": seed,
        "cost": float(cut.new_costs[np.arange(len(codes)), codes].mean()),
        "promise": result.promise.as_dict(),
        "own": [own.low, own.high],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--part", choices=("choosing", "small"), default="choosing")
    parser.add_argument("--seeds", type=int, default=4)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    done = {(line["table"], line["seed"]) for line in read_lines(given.out)}
    for seed in range(given.seeds):
        for table in tables.names(given.part):
            if (table, seed) not in done:
                cut = tables.cut(table, seed) if given.part == "choosing" else tables.small_cut(table, seed)
                with given.out.open("a") as file:
                    file.write(json.dumps(measured(cut, seed)) + "\n")
    lines = read_lines(given.out)
    kept, total = count_promises(lines)
    below = sum(line["cost"] < line["promise"]["value"] for line in lines)
    beyond = sum(line["cost"] > line["promise"]["high"] for line in lines)
    print(f"kept on {kept} of {total}, {beyond} beyond the upper end; {below} below the value promised")
    print(f"median width {width_ratio(lines):.2f} times that of the winner's own costs")


if __name__ == "__main__":
    main()
