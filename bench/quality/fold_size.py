"""``python -m bench.quality.fold_size [--seeds 6]``: how much fits on a part of the rows overstate the cost.

One logistic regression on the small tables of the choosing half: its mean cost out of 2, 5 and 20 folds, whose fits see
50%, 80% and 95% of the rows, and on held-out rows after a fit on all. Where five folds cost as much as twenty, a cost
paid that lies far from the promise comes from the cut of the table, not from the rows that fits of a fold go without.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from . import tables
from .peers import encoded

_OUT = Path(__file__).parent / "results" / "fold-size.txt"
_FOLDS = (2, 5, 20)
_LARGE = ("shared:ijcnn1", "common:kc1", "shared:car", "sklearn:digits8")


def mean_costs(cut: tables.Cut) -> list[float]:
    """Mean costs out of 2, 5 and 20 folds, then on the held-out rows."""
    X, new = encoded(cut, linear=True)
    codes = np.unique(cut.y, return_inverse=True)[1]
    model = LogisticRegression(C=0.1, max_iter=200)
    paid, found = cut.costs.per_example(cut.y), []
    for folds in _FOLDS:
        splits = StratifiedKFold(folds, shuffle=True, random_state=0)
        proba = cross_val_predict(model, X, codes, cv=splits, method="predict_proba")
        answers = np.asarray(cut.costs.expected(proba)).argmin(axis=1)
        found.append(float(paid[np.arange(len(answers)), answers].mean()))
    costs = cut.costs if cut.decide_costs is None else cut.decide_costs
    answers = np.asarray(costs.expected(model.fit(X, codes).predict_proba(new))).argmin(axis=1)
    return [*found, float(cut.new_costs[np.arange(len(answers)), answers].mean())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=6)
    seeds = parser.parse_args().seeds
    warnings.simplefilter("ignore")
    lines = [
        f"{'cost over that of 5 folds':24s} {'2 folds':>8s} {'20 folds':>8s} {'new rows':>8s}  new rows of each seed"
    ]
    logs = []
    for name in tables.names("choosing"):
        if name in _LARGE:
            continue
        found = np.array([mean_costs(tables.cut(name, seed)) for seed in range(seeds)])
        two, _, twenty, new = found.mean(axis=0) / found[:, 1].mean()
        logs.append(np.log([two, twenty, new]))
        each = " ".join(f"{ratio:.2f}" for ratio in found[:, 3] / found[:, 1])
        lines.append(f"{name:24s} {two:8.3f} {twenty:8.3f} {new:8.3f}  {each}")
        print(lines[-1], flush=True)
    two, twenty, new = np.exp(np.mean(logs, axis=0))
    lines.append(f"{'geometric mean':24s} {two:8.3f} {twenty:8.3f} {new:8.3f}")
    _OUT.write_text("\n".join(lines) + "\n")
    print(lines[-1])


if __name__ == "__main__":
    main()
