"""One pass over a stream: CSOGD-II through the public API against a plain read of the data and against peers.

Every candidate learns the same linear hinge model with the dear class weighted, in file order, on one thread. Peers
that are slow on dense rows get the first rows of covtype, and so do we in that comparison. river's dictionaries of the
whole hashed stream take gigabytes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import Normalizer, StandardScaler

from harness import Goal, candidate
from steelyard import CSOGD2, AskAsymmetric, Costs, OnlineClassifier, load_dataset

RHO = 2.0
FIRST = 100_000
ONE_BY_ONE = 2_000
Stream = tuple[Any, np.ndarray]


# -- data -----------------------------------------------------------------------------------------------------------


@cache
def covtype() -> Stream:
    found = load_dataset("covtype")
    X = Normalizer().fit_transform(StandardScaler().fit_transform(np.asarray(found.X, dtype=np.float64)))
    return np.ascontiguousarray(X), (np.asarray(found.y) == 2).astype(np.int64)


@cache
def w8a() -> Stream:
    found = load_dataset("w8a")
    return sparse.csr_matrix(found.X), (np.asarray(found.y) == 1).astype(np.int64)


@cache
def hashed(rows: int = 2_000_000, columns: int = 1_000_000, stored: int = 30) -> Stream:
    """Different words by a power law, hashed to columns; a label that a sparse linear rule explains, with noise."""
    rng = np.random.default_rng(0)

    def draw(count: int) -> np.ndarray:
        words = np.minimum(rng.pareto(1.0, count) * 50, 1e12).astype(np.int64)
        return ((words * 2_654_435_761) % columns).astype(np.int32)

    indices = np.sort(draw(rows * stored).reshape(rows, stored), axis=1)
    again = _repeated(indices)
    while again.any():  # until every row has as many different columns as stated
        indices[again] = draw(np.count_nonzero(again))
        changed = again.any(axis=1)
        indices[changed] = np.sort(indices[changed], axis=1)
        again = _repeated(indices)
    values = rng.random(rows * stored) / np.sqrt(stored)
    truth = rng.normal(size=columns)
    starts = np.arange(0, rows * stored + 1, stored, dtype=np.int32)
    X = sparse.csr_matrix((values, indices.ravel(), starts), (rows, columns))
    y = (X @ truth + 0.1 * rng.normal(size=rows) > 0.3).astype(np.int64)
    return X, y


def _repeated(indices: np.ndarray) -> np.ndarray:
    return np.hstack([np.zeros((len(indices), 1), bool), indices[:, 1:] == indices[:, :-1]])


# -- candidates -----------------------------------------------------------------------------------------------------


def steelyard_pass(stream: Stream, **params: Any) -> Callable[[], object]:
    X, y = stream
    return lambda: OnlineClassifier(CSOGD2(0.1), costs=Costs.binary(fn=RHO, fp=1), **params).run(X, y)


def read(stream: Stream) -> Callable[[], object]:
    X, _ = stream
    return (lambda: (X.data.sum(), X.indices.sum())) if sparse.issparse(X) else X.sum


def fastest_read(stream: Stream) -> Callable[[], object]:
    """numpy widens indices of 32 bits as it adds them up; two at a time, as words, they come as fast as memory does."""
    X, _ = stream
    columns = X.indices[: len(X.indices) // 2 * 2].view(np.int64)
    return lambda: (X.data.sum(), columns.sum())


def sgd() -> SGDClassifier:
    return SGDClassifier(
        loss="hinge",
        penalty=None,
        learning_rate="constant",
        eta0=0.1,
        class_weight={0: 1.0, 1: RHO},
        max_iter=1,
        tol=None,
        shuffle=False,
        fit_intercept=False,
    )


def scikit_learn(stream: Stream) -> Callable[[], object]:
    X, y = stream
    return lambda: sgd().fit(X, y)


def vowpal_wabbit(stream: Stream, options: str) -> Callable[[], object]:
    """From VW's own binary cache, written before the clock starts."""
    from vowpalwabbit import Workspace

    folder = tempfile.TemporaryDirectory()
    text, cached = Path(folder.name) / "rows.txt", Path(folder.name) / "rows.cache"
    _write(stream, text, csoaa="csoaa" in options)
    common = f"-d {text} --cache_file {cached} -b 20 --noconstant --quiet {options}"
    Workspace(common).finish()

    def one_pass(kept: object = folder) -> None:
        Workspace(common).finish()

    return one_pass


def _write(stream: Stream, path: Path, *, csoaa: bool) -> None:
    X, y = sparse.csr_matrix(stream[0]), stream[1]
    labels = [
        f"1:{0 if not t else RHO:g} 2:{1 if not t else 0:g}" if csoaa else f"{2 * t - 1} {RHO if t else 1:g}" for t in y
    ]
    with path.open("w") as file:
        for i, label in enumerate(labels):
            row = slice(X.indptr[i], X.indptr[i + 1])
            cells = " ".join(map("{}:{:.6g}".format, X.indices[row].tolist(), X.data[row].tolist()))
            file.write(f"{label} | {cells}\n")


def dicts(stream: Stream) -> list[dict[int, float]]:
    X = sparse.csr_matrix(stream[0])
    cuts = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    return [dict(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True)) for a, b in cuts]


def river(stream: Stream) -> Callable[[], object]:
    from river import linear_model, optim

    rows, labels = dicts(stream), [bool(t) for t in stream[1]]

    def one_pass() -> None:
        model = linear_model.LogisticRegression(optimizer=optim.SGD(0.1), loss=optim.losses.Hinge(), intercept_lr=0)
        for x, truth in zip(rows, labels, strict=True):
            model.learn_one(x, truth)

    return one_pass


def first(stream: Stream, rows: int = FIRST) -> Stream:
    X, y = stream
    return X[:rows].copy(), y[:rows].copy()


def one_by_one() -> Callable[[], object]:
    X, y = first(covtype(), ONE_BY_ONE)
    rows, labels = list(X), y.tolist()

    def serve() -> None:
        model = OnlineClassifier(CSOGD2(0.1), costs=Costs.binary(fn=RHO, fp=1)).start(X.shape[1], [0, 1])
        for x, truth in zip(rows, labels, strict=True):
            if model.decide(x).query:
                model.learn(x, truth)

    return serve


def scikit_learn_one_by_one() -> Callable[[], object]:
    X, y = first(covtype(), ONE_BY_ONE)

    def serve() -> None:
        model = sgd().set_params(class_weight=None)
        for i in range(len(y)):
            model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])

    return serve


DENSE, DENSE_FIRST = "covtype dense, 581012 x 54", f"covtype dense, first {FIRST}"
W8A = "w8a sparse, 64700 x 300"
HASHED = "hashed stream, 2M x 1M, 30 a row"
SINGLE = f"one row at a time, {ONE_BY_ONE} x 54"
OURS, ASKING = "steelyard CSOGD2", "steelyard CSOGD2, AskAsymmetric"
READ, FASTEST_READ = "plain read of X", "fastest read of X"
SKLEARN, SGD_VW, CSOAA_VW, RIVER = (
    "scikit-learn SGDClassifier",
    "VW --sgd from cache",
    "VW --csoaa 2 from cache",
    "river learn_one",
)
VW_SGD = "--sgd --loss_function hinge -l 0.1 --power_t 0"
VW_CSOAA = "--csoaa 2"

candidate(DENSE, OURS, rounds=60)(lambda: steelyard_pass(covtype()))
candidate(DENSE, ASKING, rounds=60)(lambda: steelyard_pass(covtype(), query=AskAsymmetric(0.01, 0.1)))
candidate(DENSE, READ, rounds=60)(lambda: read(covtype()))
candidate(DENSE, SKLEARN, rounds=15)(lambda: scikit_learn(covtype()))
candidate(DENSE_FIRST, OURS, rounds=15)(lambda: steelyard_pass(first(covtype())))
candidate(DENSE_FIRST, SGD_VW, rounds=3)(lambda: vowpal_wabbit(first(covtype()), VW_SGD))
candidate(DENSE_FIRST, RIVER, rounds=2)(lambda: river(first(covtype())))
candidate(W8A, OURS, rounds=60)(lambda: steelyard_pass(w8a()))
candidate(W8A, READ, rounds=60)(lambda: read(w8a()))
candidate(W8A, FASTEST_READ, rounds=60)(lambda: fastest_read(w8a()))
candidate(W8A, SKLEARN, rounds=60)(lambda: scikit_learn(w8a()))
candidate(W8A, SGD_VW, rounds=3)(lambda: vowpal_wabbit(w8a(), VW_SGD))
candidate(HASHED, OURS, rounds=15)(lambda: steelyard_pass(hashed()))
candidate(HASHED, READ, rounds=15)(lambda: read(hashed()))
candidate(HASHED, FASTEST_READ, rounds=15)(lambda: fastest_read(hashed()))
candidate(HASHED, SKLEARN, rounds=15)(lambda: scikit_learn(hashed()))
candidate(HASHED, SGD_VW, rounds=3)(lambda: vowpal_wabbit(hashed(), VW_SGD))
candidate(HASHED, CSOAA_VW, rounds=3)(lambda: vowpal_wabbit(hashed(), VW_CSOAA))
candidate(HASHED, RIVER, rounds=3)(lambda: river(hashed()))
candidate(SINGLE, "steelyard decide + learn", rounds=15)(one_by_one)
candidate(SINGLE, RIVER, rounds=5)(lambda: river(first(covtype(), ONE_BY_ONE)))
candidate(SINGLE, "scikit-learn partial_fit", rounds=3)(scikit_learn_one_by_one)

GOALS = [
    Goal(DENSE, OURS, against=READ, at_most=1.4),
    Goal(DENSE, ASKING, against=READ, at_most=1.9),
    Goal(DENSE, OURS, against=SKLEARN, at_least=5),
    Goal(DENSE_FIRST, OURS, against=SGD_VW, at_least=10),
    Goal(DENSE_FIRST, OURS, against=RIVER, at_least=300),
    Goal(W8A, OURS, against=READ, at_most=5),
    Goal(W8A, OURS, against=FASTEST_READ, at_most=5),
    Goal(W8A, OURS, against=SKLEARN, at_least=2.5),
    Goal(W8A, OURS, against=SGD_VW, at_least=8),
    Goal(HASHED, OURS, against=READ, at_most=3.3),
    Goal(HASHED, OURS, against=FASTEST_READ, at_most=3.3),
    Goal(HASHED, OURS, against=SKLEARN, at_least=2.5),
    Goal(HASHED, OURS, against=SGD_VW, at_least=8),
    Goal(HASHED, OURS, against=CSOAA_VW, at_least=18),
    Goal(HASHED, OURS, against=RIVER, at_least=200),
    Goal(SINGLE, "steelyard decide + learn", against=RIVER, at_least=4),
    Goal(SINGLE, "steelyard decide + learn", against="scikit-learn partial_fit", at_least=150),
]
