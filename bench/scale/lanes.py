"""What lanes cost: AROW and SCW1 merged by the divided prior, beside plain averaging and the sequential pass.

Every split draws an order of the rows, learns on four fifths cut into as many lanes, and tells the cost a row on the
rest (fn = 5, fp = 1), relative to one sequential pass over the same rows. ``python bench/scale/lanes.py [SET ...]``
prints a table with standard errors over ten splits. The rule of merging was given beforehand; nothing is chosen here.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from steelyard import AROW, SCW1, Costs, OnlineClassifier, load_dataset, mean_cost
from steelyard.scale.merge import begin_lane, merge_lanes

COSTS = Costs.binary(fn=5, fp=1)
SPLITS = 10
SETS = ("w8a", "a9a", "ijcnn1", "reuters-money-fx", "covtype", "kdd99-10pct")


def rows_of(name: str) -> tuple[Any, np.ndarray]:
    """Rows and labels 0, 1 of two classes; dense columns at mean 0 and deviation 1."""
    found = load_dataset(name)
    y = np.asarray(found.y)
    if name == "kdd99-10pct":
        numeric = [column for column in found.features if column not in found.nominal]
        rare = [label.rstrip(".") not in ("normal", "smurf", "neptune", "back") for label in y.astype(str)]
        return StandardScaler().fit_transform(np.asarray(found.X[numeric], dtype=np.float64)), np.array(rare, dtype=int)
    if name == "covtype":
        return StandardScaler().fit_transform(np.asarray(found.X, dtype=np.float64)), (y == 3).astype(int)
    X = found.X if hasattr(found.X, "tocsr") else StandardScaler().fit_transform(np.asarray(found.X, dtype=np.float64))
    return X, (y == y.max()).astype(int)


def lanes_of(rule: Any, X: Any, y: np.ndarray, lanes: int, passes: int, *, averaged: bool = False) -> OnlineClassifier:
    """The learner of all lanes together."""
    known: Any = OnlineClassifier(rule, costs=COSTS).start(X.shape[1], [0, 1])
    cuts = np.linspace(0, len(y), lanes + 1).astype(int)
    for turn in range(passes):
        made = []
        for a, b in itertools.pairwise(cuts):
            if averaged:
                lane = OnlineClassifier.from_state(known.state())
            else:
                lane = begin_lane(known, lanes) if lanes > 1 else known
            made.append(lane.partial_fit(X[a:b], y[a:b], classes=[0, 1]))
        if averaged:
            state = made[0].state()
            for name in ("weights", "spread"):
                state["arrays"][name] = np.mean([one.state()["arrays"][name] for one in made], axis=0)
            known = OnlineClassifier.from_state(state)
        else:
            known = merge_lanes(made, known if turn and lanes > 1 else None)
    return known


def main(sets: list[str]) -> None:
    print("| data, rows a lane at 64 | rule | passes | lanes | divided prior | averaged |\n|---|---|---|---|---|---|")
    for name in sets or SETS:
        X, y = rows_of(name)
        cases = [(AROW(10), 1, 16), (AROW(10), 1, 64), (SCW1(), 1, 16), (AROW(10), 5, 64)]
        ratios: dict[Any, list[tuple[float, float]]] = {i: [] for i in range(len(cases))}
        for split in range(SPLITS):
            order = np.random.default_rng(split).permutation(len(y))
            train, test = order[: len(y) * 4 // 5], order[len(y) * 4 // 5 :]
            A, b, C, d = X[train], y[train], X[test], y[test]
            for i, (rule, passes, lanes) in enumerate(cases):
                if passes > 1 and (len(y) > 200_000 or split >= 3):
                    continue
                cost = [
                    mean_cost(d, model.predict(C), costs=COSTS)
                    for model in (
                        lanes_of(rule, A, b, 1, passes),
                        lanes_of(rule, A, b, lanes, passes),
                        lanes_of(rule, A, b, lanes, passes, averaged=True),
                    )
                ]
                ratios[i].append((cost[1] / cost[0], cost[2] / cost[0]))
        for i, (rule, passes, lanes) in enumerate(cases):
            if ratios[i]:
                found = np.array(ratios[i])
                error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
                told = [f"{m:.3f} ± {e:.3f}" for m, e in zip(found.mean(axis=0), error, strict=True)]
                print(
                    f"| {name}, {len(y) * 4 // 320} | {rule!r} | {passes} | {lanes} | {told[0]} | {told[1]} |",
                    flush=True,
                )


if __name__ == "__main__":
    main(sys.argv[1:])
