"""Support vector machines: whole regularisation paths on one kernel matrix, distance matrices, threads."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.model_selection import KFold
from sklearn.svm import SVC

from harness import Goal, contender
from steelyard.margin import SVMProblem, gram, solve_path

LAMBDAS = [2.0**k for k in range(17, -4, -2)]  # the grid of paper 002
TOL = 1e-3
CACHE_MB = 1000


def data(name: str) -> Path:
    return Path(os.environ.get("STEELYARD_DATA", "no STEELYARD_DATA")) / name


def satimage() -> tuple[np.ndarray, np.ndarray]:
    table = np.vstack([np.loadtxt(data("sat.trn")), np.loadtxt(data("sat.tst"))])
    return to_unit(table[:, :-1]), table[:, -1]


def letter() -> tuple[np.ndarray, np.ndarray]:
    with gzip.open(data("letter-recognition.data.gz"), "rt") as lines:
        table = [line.strip().split(",") for line in lines]
    return to_unit(np.array([row[1:] for row in table], float)), np.array([row[0] for row in table])


def to_unit(X: np.ndarray) -> np.ndarray:
    return (X - X.min(0)) / (X.max(0) - X.min(0))


def folds(n: int, count: int) -> list[np.ndarray]:
    return [train for train, _ in KFold(5, shuffle=True, random_state=0).split(np.arange(n))][:count]


# -- one-vs-all paths: all sub-problems x 11 lambdas x folds, kernel matrices included

TASKS: dict[str, tuple[Callable[[], tuple[np.ndarray, np.ndarray]], int | None, int]] = {
    "satimage, 6 classes x 11 lambdas x 5 folds": (satimage, None, 5),
    "letter, 3 classes x 11 lambdas x 1 fold": (letter, 3, 1),
}


def signs(y: np.ndarray, count: int | None) -> list[np.ndarray]:
    return [np.where(y == k, 1.0, -1.0) for k in np.unique(y)[:count]]


def ours(task: str, n_jobs: int = 1) -> Callable[[], object]:
    load, classes, count = TASKS[task]
    X, y = load()

    def run() -> object:
        shared = gram(X)
        problems = [SVMProblem.classification(t, s[t]) for t in folds(len(y), count) for s in signs(y, classes)]
        return solve_path(shared, problems, LAMBDAS, tol=TOL, n_jobs=n_jobs)

    return run


def svc_precomputed(task: str) -> Callable[[], object]:
    load, classes, count = TASKS[task]
    X, y = load()

    def run() -> object:
        shared = gram(X, dtype="float64")  # libsvm reads double precision; the same fast matrix for both
        for train in folds(len(y), count):
            K = shared[np.ix_(train, train)]
            for sign in signs(y, classes):
                for lam in LAMBDAS:
                    SVC(kernel="precomputed", C=1 / lam, tol=TOL, cache_size=CACHE_MB).fit(K, sign[train])

    return run


def svc_own_kernel(task: str) -> Callable[[], object]:
    load, classes, count = TASKS[task]
    X, y = load()

    def run() -> object:
        for train in folds(len(y), count):
            for sign in signs(y, classes):
                for lam in LAMBDAS:
                    SVC(kernel=lambda a, b: gram(a, b, dtype="float64"), C=1 / lam, tol=TOL, cache_size=CACHE_MB).fit(
                        X[train], sign[train]
                    )

    return run


def libsvm_precomputed(task: str) -> Callable[[], object]:
    from libsvm.svmutil import svm_parameter, svm_problem, svm_train

    load, classes, count = TASKS[task]
    X, y = load()

    def run() -> object:
        shared = gram(X, dtype="float64")
        for train in folds(len(y), count):
            K = np.column_stack([np.arange(1, len(train) + 1), shared[np.ix_(train, train)]])
            for sign in signs(y, classes):
                problem = svm_problem(sign[train], K, isKernel=True)
                for lam in LAMBDAS:
                    svm_train(problem, svm_parameter(f"-s 0 -t 4 -c {1 / lam} -e {TOL} -m {CACHE_MB} -q"))

    return run


def thunder(task: str) -> Callable[[], object]:
    import thundersvm

    load, classes, count = TASKS[task]
    X, y = load()

    def run() -> object:
        shared = gram(X, dtype="float64")
        for train in folds(len(y), count):
            K = shared[np.ix_(train, train)]
            for sign in signs(y, classes):
                for lam in LAMBDAS:
                    thundersvm.SVC(kernel="precomputed", C=1 / lam, tol=TOL, n_jobs=1).fit(K, sign[train])

    return run


OURS, PRECOMPUTED = "steelyard solve_path", "scikit-learn SVC(kernel='precomputed')"
OWN, LIBSVM, THUNDER = "scikit-learn SVC, kernel computed each fit", "libsvm, precomputed", "thundersvm on CPU"
GOALS = []
for name in TASKS:
    contender(name, OURS, rounds=3)(lambda name=name: ours(name))
    contender(name, PRECOMPUTED, rounds=2)(lambda name=name: svc_precomputed(name))
    contender(name, OWN, rounds=1)(lambda name=name: svc_own_kernel(name))
    contender(name, LIBSVM, rounds=1)(lambda name=name: libsvm_precomputed(name))
    contender(name, THUNDER, rounds=1)(lambda name=name: thunder(name))
    GOALS += [
        Goal(name, OURS, against=PRECOMPUTED, at_least=10),
        Goal(name, OURS, against=OWN, at_least=12),
        Goal(name, OURS, against=LIBSVM, at_least=15),
        Goal(name, OURS, against=THUNDER, at_least=30),
    ]

# -- two threads against one ---

THREADS = "satimage paths by threads"


def paths_only(n_jobs: int) -> Callable[[], object]:
    X, y = satimage()
    shared = gram(X)
    problems = [SVMProblem.classification(t, s[t]) for t in folds(len(y), 5) for s in signs(y, None)]
    return lambda: solve_path(shared, problems, LAMBDAS, tol=TOL, n_jobs=n_jobs)


for jobs in (1, 2):
    contender(THREADS, f"steelyard, {jobs} threads" if jobs > 1 else "steelyard, 1 thread")(
        lambda jobs=jobs: paths_only(jobs)
    )
GOALS.append(Goal(THREADS, "steelyard, 2 threads", against="steelyard, 1 thread", at_least=1.7))

# -- distance matrices ---

DISTANCES = "distances 20,000 x 20,000 x 16, float32"


def points() -> np.ndarray:
    return np.random.default_rng(0).random((20_000, 16), dtype=np.float32)


@contender(DISTANCES, "steelyard gram", rounds=3)
def _() -> Callable[[], object]:
    X = points()
    return lambda: gram(X)


@contender(DISTANCES, "scipy cdist", rounds=3)
def _() -> Callable[[], object]:
    from scipy.spatial.distance import cdist

    X = points()
    return lambda: cdist(X, X)


@contender(DISTANCES, "scikit-learn euclidean_distances", rounds=3)
def _() -> Callable[[], object]:
    from sklearn.metrics.pairwise import euclidean_distances

    X = points()
    return lambda: euclidean_distances(X)


GOALS += [
    Goal(DISTANCES, "steelyard gram", against="scipy cdist", at_least=3),
    Goal(DISTANCES, "steelyard gram", against="scikit-learn euclidean_distances", at_least=3),
]
