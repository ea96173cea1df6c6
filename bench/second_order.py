"""One pass with a covariance: our second-order rules beside our first-order one and the adaptive learners of peers.

Peers have no AROW or ACOG; Vowpal Wabbit's default update and river's AdaGrad keep, like our diagonal rules, one number
a weight that says how far it may still move.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import Normalizer, StandardScaler

from harness import Goal, candidate
from steelyard import ACOG, AROW, CSOGD2, Costs, OnlineClassifier, UpdateRule, load_dataset

FIRST = 50_000
FEW = 5_000  # for river
Stream = tuple[Any, np.ndarray]


@cache
def dense() -> Stream:
    found = load_dataset("covtype")
    X = np.asarray(found.X, dtype=np.float64)[:FIRST]
    return Normalizer().fit_transform(StandardScaler().fit_transform(X)), np.asarray(found.y)[:FIRST] == 2


@cache
def thin() -> Stream:
    found = load_dataset("w8a")
    return sparse.csr_matrix(found.X)[:FIRST], np.asarray(found.y)[:FIRST] == 1


DATA: dict[str, Callable[[], Stream]] = {"covtype, 50,000 rows": dense, "w8a, 50,000 rows": thin}
RULES: dict[str, UpdateRule] = {
    "steelyard CSOGD2": CSOGD2(0.1),
    "steelyard AROW": AROW(),
    "steelyard ACOG": ACOG(),
    "steelyard AROW, whole matrix": AROW(full=True),
}


def steelyard_rule(
    rule: UpdateRule, data: Callable[[], Stream], rows: int = FIRST
) -> Callable[[], Callable[[], object]]:
    def setup() -> Callable[[], object]:
        X, y = data()
        X, y = X[:rows], y[:rows]
        return lambda: OnlineClassifier(rule, costs=Costs.binary(fn=2, fp=1)).run(X, y)

    return setup


def vowpal_wabbit(data: Callable[[], Stream]) -> Callable[[], Callable[[], object]]:
    def setup() -> Callable[[], object]:
        from vowpalwabbit import Workspace

        folder = tempfile.TemporaryDirectory()
        text, cached = Path(folder.name) / "rows.txt", Path(folder.name) / "rows.cache"
        X, y = data()
        rows = sparse.csr_matrix(X)
        with text.open("w") as file:
            for i, truth in enumerate(y.tolist()):
                at = slice(rows.indptr[i], rows.indptr[i + 1])
                cells = " ".join(map("{}:{:.6g}".format, rows.indices[at].tolist(), rows.data[at].tolist()))
                file.write(f"{'1 2' if truth else '-1 1'} | {cells}\n")
        options = f"-d {text} --cache_file {cached} -b 18 --noconstant --quiet --loss_function hinge"
        Workspace(options).finish()

        def one_pass(kept: object = folder) -> None:
            Workspace(options).finish()

        return one_pass

    return setup


def river(data: Callable[[], Stream]) -> Callable[[], Callable[[], object]]:
    def setup() -> Callable[[], object]:
        from river import linear_model, optim

        X, y = data()
        rows = sparse.csr_matrix(X[:FEW])
        cuts = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        records = [dict(zip(rows.indices[a:b].tolist(), rows.data[a:b].tolist(), strict=True)) for a, b in cuts]
        labels = y[:FEW].tolist()

        def one_pass() -> None:
            model = linear_model.LogisticRegression(optimizer=optim.AdaGrad(0.1), loss=optim.losses.Hinge())
            for x, truth in zip(records, labels, strict=True):
                model.learn_one(x, truth)

        return one_pass

    return setup


for workload, data in DATA.items():
    for name, rule in RULES.items():
        if "whole" not in name or data is dense:
            candidate(workload, name)(steelyard_rule(rule, data))
    candidate(workload, "steelyard AROW, 5,000 rows")(steelyard_rule(AROW(), data, FEW))
    candidate(workload, "VW adaptive, from cache", rounds=3)(vowpal_wabbit(data))
    candidate(workload, "river AdaGrad, 5,000 rows", rounds=1)(river(data))

GOALS = [
    goal
    for workload in DATA
    for goal in (
        Goal(workload, "steelyard AROW", against="VW adaptive, from cache", at_least=3),
        Goal(workload, "steelyard AROW, 5,000 rows", against="river AdaGrad, 5,000 rows", at_least=40),
        Goal(workload, "steelyard ACOG", against="VW adaptive, from cache", at_least=3),
    )
]
