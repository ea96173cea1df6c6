"""Cost-sensitive reductions to support vector machines: ours on one shared Gram matrix, PyPI `costsensitive` with SVC.

The same rows, folds, costs, sub-problems, lams, perceptron kernel and stopping tolerance: mean cost of every fold and
lam, then one fit on all rows. The peer clones an SVC for each sub-problem; it is given the kernel matrix precomputed
(which it cannot share between folds without help, so the help is in its time) or computes SVC's own RBF kernel.
"""

import os
from pathlib import Path

import numpy as np

from harness import Goal, candidate

LAMS = [2.0**k for k in (4, 1, -2, -5)]
FOLDS = 3
TOL = 1e-3
DATA = {"vowel": ("vowel.dat", 3), "segment": ("segment.dat", 0)}  # file and first feature


def load(name):
    file, first = DATA[name]
    path = Path(os.environ.get("STEELYARD_DATA", "data")) / file
    lines = [line for line in path.read_text().splitlines() if line and line[0] != "@"]
    cells = np.array([line.replace(",", " ").split() for line in lines])
    X = cells[:, first:-1].astype(float)
    span = X.max(axis=0) - X.min(axis=0)
    return (X - X.min(axis=0)) / np.where(span > 0, span, 1), cells[:, -1]


def problem(name):
    """Rows, labels, costs of every example in units of the mean difference (the peer's weights have mean 1), folds."""
    from steelyard import random_costs

    X, y = load(name)
    fold = np.random.default_rng(0).permutation(len(y)) % FOLDS
    table = random_costs(y, rng=0).per_example(y)
    table /= np.abs(table[:, :, None] - table[:, None, :]).mean()
    return X, y, table, [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(FOLDS)]


def steelyard_reduction(name, method):
    from steelyard import AllPairsClassifierCV, FilterTreeClassifierCV

    X, y, table, folds = problem(name)
    if method == "FilterTree":
        model = FilterTreeClassifierCV(tournament="balanced", lams=LAMS, cv=folds, tol=TOL)
    else:
        model = AllPairsClassifierCV(weighting="difference", lams=LAMS, cv=folds, tol=TOL)
    return lambda: model.fit(X, y, costs=table).cv_costs_


def peer(name, method, kernel):
    import costsensitive
    from sklearn.metrics.pairwise import euclidean_distances
    from sklearn.svm import SVC

    X, _, table, folds = problem(name)

    def fitted(rows, costs, lam):
        base = SVC(C=1 / lam, kernel=kernel, tol=TOL, cache_size=1000)
        return getattr(costsensitive, method)(base, njobs=1).fit(rows, costs)

    def run():
        G = -euclidean_distances(X) if kernel == "precomputed" else None
        costs = []
        for training, test in folds:
            rows = X[training] if G is None else G[np.ix_(training, training)]
            new = X[test] if G is None else G[np.ix_(test, training)]
            for lam in LAMS:
                answers = fitted(rows, table[training], lam).predict(new)
                costs.append(table[test, answers].mean())
        fitted(X if G is None else G, table, LAMS[1])
        return costs

    return run


GOALS = []
for data in DATA:
    for reduction in ("FilterTree", "WeightedAllPairs"):
        workload = f"{reduction}, {data}"
        candidate(workload, "steelyard")(lambda d=data, r=reduction: steelyard_reduction(d, r))
        for kind in ("precomputed", "rbf"):
            label = f"costsensitive + SVC({kind})"
            candidate(workload, label, rounds=2)(lambda d=data, r=reduction, k=kind: peer(d, r, k))
            GOALS.append(Goal(workload, "steelyard", against=label, at_least=3))
