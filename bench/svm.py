"""Support vector machines: whole regularisation paths on one kernel matrix, distance matrices, threads."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.model_selection import KFold
from sklearn.svm import SVC

from harness import Goal, candidate
from steelyard import CSSVMClassifier, load_dataset
from steelyard.margin import LazyGram, SVMProblem, gram, solve_path

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


def steelyard_path(task: str, n_jobs: int = 1) -> Callable[[], object]:
    load, classes, count = TASKS[task]
    X, y = load()

    def run() -> object:
        shared = LazyGram(X)
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
    """libsvm itself. Its kernel matrices are made and converted before the clock starts; for us they are timed."""
    from libsvm.svmutil import svm_parameter, svm_problem, svm_train

    load, classes, count = TASKS[task]
    X, y = load()
    shared = gram(X, dtype="float64")
    prepared = []
    for train in folds(len(y), count):
        K = np.column_stack([np.arange(1, len(train) + 1), shared[np.ix_(train, train)]])
        prepared.append((train, svm_problem(np.ones(len(train)), K, isKernel=True)))

    def run() -> object:
        for train, problem in prepared:
            for sign in signs(y, classes):
                for i, label in enumerate(sign[train]):
                    problem.y[i] = label
                for lam in LAMBDAS:
                    svm_train(problem, svm_parameter(f"-s 0 -t 4 -c {1 / lam} -e {TOL} -m {CACHE_MB} -q"))

    return run


OURS, PRECOMPUTED = "steelyard solve_path", "scikit-learn SVC(kernel='precomputed')"
OWN, LIBSVM = "scikit-learn SVC, kernel computed each fit", "libsvm, precomputed"
GOALS = []
for name in TASKS:
    candidate(name, OURS, rounds=3)(lambda name=name: steelyard_path(name))
    candidate(name, PRECOMPUTED, rounds=2)(lambda name=name: svc_precomputed(name))
    candidate(name, OWN, rounds=1)(lambda name=name: svc_own_kernel(name))
    candidate(name, LIBSVM, rounds=1)(lambda name=name: libsvm_precomputed(name))
    GOALS += [
        Goal(name, OURS, against=PRECOMPUTED, at_least=10),
        Goal(name, OURS, against=OWN, at_least=12),
        Goal(name, OURS, against=LIBSVM, at_least=15),
    ]

# -- the RBF kernel, the one that thundersvm has (its precomputed kernel answers differently and took minutes a fit)

RBF, GAMMA = "satimage, RBF kernel, 6 classes x 11 lambdas x 1 fold", 1.0
THUNDER, SVC_RBF = "thundersvm on CPU", "scikit-learn SVC(kernel='rbf')"


def rbf_tasks() -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    X, y = satimage()
    return X, folds(len(y), 1)[0], signs(y, None)


def rbf_each(make: Callable[[float], object]) -> Callable[[], object]:
    """Fits what ``make(C)`` gives for every class and lambda; its ``fit`` computes the kernel."""
    X, train, labels = rbf_tasks()
    rows = X[train]

    def run() -> None:
        for sign in labels:
            for lam in LAMBDAS:
                make(1 / lam).fit(rows, sign[train])

    return run


@candidate(RBF, OURS, rounds=3)
def _() -> Callable[[], object]:
    X, train, labels = rbf_tasks()

    def run() -> object:
        shared = gram(X[train], kernel="rbf", gamma=GAMMA)
        everyone = np.arange(len(train))
        problems = [SVMProblem.classification(everyone, sign[train]) for sign in labels]
        return solve_path(shared, problems, LAMBDAS, tol=TOL)

    return run


@candidate(RBF, SVC_RBF, rounds=1)
def _() -> Callable[[], object]:
    return rbf_each(lambda C: SVC(kernel="rbf", gamma=GAMMA, C=C, tol=TOL, cache_size=CACHE_MB))


@candidate(RBF, THUNDER, rounds=1)
def _() -> Callable[[], object]:
    import thundersvm

    return rbf_each(lambda C: thundersvm.SVC(kernel="rbf", gamma=GAMMA, C=C, tol=TOL, n_jobs=1))


GOALS += [Goal(RBF, OURS, against=SVC_RBF, at_least=12), Goal(RBF, OURS, against=THUNDER, at_least=30)]

# -- more rows than memory for their kernel matrix (10 GB in single precision) ---

MANY, SMALL_CACHE_MB = "50,000 rows of ijcnn1 with a 400 MB cache, RBF kernel", 400


def many_rows() -> tuple[np.ndarray, np.ndarray]:
    found = load_dataset("ijcnn1")
    return np.asarray(found.X[:50_000], dtype=np.float32), np.asarray(found.y[:50_000])


@candidate(MANY, "steelyard CSSVMClassifier", rounds=2)
def _() -> Callable[[], object]:
    X, y = many_rows()
    return lambda: CSSVMClassifier(kernel="rbf", gamma=GAMMA, tol=TOL, cache_mb=SMALL_CACHE_MB).fit(X, y)


@candidate(MANY, SVC_RBF, rounds=1)
def _() -> Callable[[], object]:
    X, y = many_rows()
    return lambda: SVC(kernel="rbf", gamma=GAMMA, tol=TOL, cache_size=SMALL_CACHE_MB).fit(X, y)


# -- two threads against one ---

THREADS = "satimage paths by threads"


def paths_only(n_jobs: int) -> Callable[[], object]:
    X, y = satimage()
    shared = gram(X)
    problems = [SVMProblem.classification(t, s[t]) for t in folds(len(y), 5) for s in signs(y, None)]
    return lambda: solve_path(shared, problems, LAMBDAS, tol=TOL, n_jobs=n_jobs)


for jobs in (1, 2):
    candidate(THREADS, f"steelyard, {jobs} threads" if jobs > 1 else "steelyard, 1 thread")(
        lambda jobs=jobs: paths_only(jobs)
    )
GOALS.append(Goal(THREADS, "steelyard, 2 threads", against="steelyard, 1 thread", at_least=1.7))

# -- distance matrices ---

DISTANCES = "distances 20,000 x 20,000 x 16, float32"


def points() -> np.ndarray:
    return np.random.default_rng(0).random((20_000, 16), dtype=np.float32)


@candidate(DISTANCES, "steelyard gram", rounds=3)
def _() -> Callable[[], object]:
    X = points()
    return lambda: gram(X)


@candidate(DISTANCES, "scipy cdist", rounds=3)
def _() -> Callable[[], object]:
    from scipy.spatial.distance import cdist

    X = points()
    return lambda: cdist(X, X)


@candidate(DISTANCES, "scikit-learn euclidean_distances", rounds=3)
def _() -> Callable[[], object]:
    from sklearn.metrics.pairwise import euclidean_distances

    X = points()
    return lambda: euclidean_distances(X)


GOALS += [
    Goal(DISTANCES, "steelyard gram", against="scipy cdist", at_least=3),
    Goal(DISTANCES, "steelyard gram", against="scikit-learn euclidean_distances", at_least=3),
]
