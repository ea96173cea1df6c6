"""``python -m bench.quality.fold_size [--seeds 2]``: how much fits on a part of the rows overstate the cost.

A logistic regression and small boosted trees on the choosing half and on tables of neither half: mean cost out of 2, 5
and 20 folds, whose fits see 50%, 80% and 95% of the rows, and on held-out rows after a fit on all. The exponent is that
of a cost that falls with a power of the rows seen, from 50% to 95%: the lower end of a promise allows for it.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from . import tables
from .peers import encoded

_OUT = Path(__file__).parent / "results" / "fold-size.txt"
_FOLDS = (2, 5, 20)
_SEEN = [1 - 1 / folds for folds in _FOLDS]
_LARGE = ("shared:ijcnn1", "common:kc1", "sklearn:digits8")
_BESIDE = ("sklearn:digits", "shared:satimage", "shared:nursery")  # of neither half
_LEARNERS: dict[str, Callable[[], Any]] = {
    "logistic regression": lambda: LogisticRegression(C=0.1, max_iter=200),
    "boosted trees": lambda: LGBMClassifier(n_estimators=60, num_leaves=8, learning_rate=0.12, verbose=-1, n_jobs=1),
}


def mean_costs(cut: tables.Cut, model: Any) -> list[float]:
    """Mean costs out of 2, 5 and 20 folds, then on the held-out rows."""
    X, new = encoded(cut, linear=isinstance(model, LogisticRegression))
    codes = np.unique(cut.y, return_inverse=True)[1]
    paid, found = cut.costs.per_example(cut.y), []
    for folds in _FOLDS:
        splits = StratifiedKFold(folds, shuffle=True, random_state=0)
        proba = cross_val_predict(model, X, codes, cv=splits, method="predict_proba")
        answers = np.asarray(cut.costs.expected(proba)).argmin(axis=1)
        found.append(float(paid[np.arange(len(answers)), answers].mean()))
    costs = cut.costs if cut.decide_costs is None else cut.decide_costs
    answers = np.asarray(costs.expected(model.fit(X, codes).predict_proba(new))).argmin(axis=1)
    return [*found, float(cut.new_costs[np.arange(len(answers)), answers].mean())]


def measured(learner: str, names: list[str], seeds: int) -> list[str]:
    """A line for each table: ratios to five folds and the exponent of the learning curve."""
    lines = [f"{learner:24s} {'2 folds':>8s} {'20 folds':>8s} {'new rows':>8s} {'exponent':>8s}  new rows of each seed"]
    logs, exponents = [], []
    for name in names:
        found = np.array([mean_costs(tables.cut(name, seed), _LEARNERS[learner]()) for seed in range(seeds)])
        two, _, twenty, new = found.mean(axis=0) / found[:, 1].mean()
        logs.append(np.log([two, twenty, new]))
        exponents.append(np.log(two / twenty) / np.log(_SEEN[2] / _SEEN[0]))
        each = " ".join(f"{ratio:.2f}" for ratio in found[:, 3] / found[:, 1])
        lines.append(f"{name:24s} {two:8.3f} {twenty:8.3f} {new:8.3f} {exponents[-1]:8.2f}  {each}")
        print(lines[-1], flush=True)
    two, twenty, new = np.exp(np.mean(logs, axis=0))
    median, most = np.quantile(exponents, [0.5, 0.9])
    lines.append(f"{'geometric mean':24s} {two:8.3f} {twenty:8.3f} {new:8.3f}")
    lines.append(f"exponent: median {median:.2f}, 90% of the tables below {most:.2f}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    seeds = parser.parse_args().seeds
    warnings.simplefilter("ignore")
    names = [name for name in (*tables.names("choosing"), *_BESIDE) if name not in _LARGE]
    lines = ["cost over that of 5 folds"]
    for learner in _LEARNERS:
        lines += ["", *measured(learner, names, seeds)]
    _OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
