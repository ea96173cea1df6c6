"""CS-LDM: kernel grids against the paper's Algorithm 1, linear solvers and ASGD against scikit-learn, growth."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_files, make_classification
from sklearn.linear_model import SGDClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC

from harness import Goal, candidate
from steelyard import CSLDMClassifier, CSLDMClassifierCV
from steelyard._native import ldm_algorithm1_sweep
from steelyard.margin.ldm.cross_validation import solve_boxes
from steelyard.margin.ldm.dual import Examples, certify
from steelyard.margin.ldm.kernel import Spectrum

warnings.simplefilter("ignore")  # LinearSVC says that it has not converged
GAP = 1e-3
LAMBDA2S = [2.0**k for k in range(-5, 6, 2)]
CS = [2.0**k for k in range(-4, 7, 2)]
PAPER_GRID = [0.0, *(2.0**k for k in range(-10, 11))]
FILES = {"a9a": ["a9a"], "ijcnn1": ["ijcnn1", "ijcnn1.t"], "w8a": ["w8a"]}
Run = Callable[[], object]


def rows_of(name: str):
    folder = os.environ.get("STEELYARD_DATA")
    if not folder:
        raise FileNotFoundError("STEELYARD_DATA is not set")
    parts = load_svmlight_files([str(Path(folder) / f"{file}.bz2") for file in FILES[name]])
    X = sparse.vstack(parts[::2]).tocsr()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # LinearSVC takes no other
    return X, np.concatenate(parts[1::2])


def kernel_data(m: int = 1155, d: int = 20):
    X, y = make_classification(m, d, n_informative=min(8, d - 2), weights=[0.7], flip_y=0.05, random_state=0)
    X = (X - X.min(0)) / (X.max(0) - X.min(0))
    return X, Examples(2.0 * y - 1.0, np.ones(m), np.ones(m))


KERNEL = "kernel, m = 1155, 36 (lambda2, C)"


@candidate(KERNEL, "steelyard, one eigendecomposition", rounds=3)
def _() -> Run:
    X, examples = kernel_data()

    def run() -> None:
        problem = Spectrum(rbf_kernel(X, gamma=1.0) + 1.0, examples).problem(1.0)
        found = solve_boxes(problem, examples, LAMBDA2S, CS, [0.5], tol=GAP, sweeps=1000)
        assert all(s.certificate.holds(GAP) for s in found)

    return run


@candidate(KERNEL, "Algorithm 1 with Q^-1 a point", rounds=1)
def _() -> Run:
    X, examples = kernel_data()
    y, m = examples.sign, len(X)

    def point(lambda1: float, lambda2: float, C: float) -> None:
        G = rbf_kernel(X, gamma=1.0) + 1.0
        Gy = G @ y
        Q = 4 * lambda1 * (m * G @ G - np.outer(Gy, Gy)) / m**2 + G
        A = np.linalg.inv(Q + 1e-10 * np.eye(m)) @ G * y
        signed, update = np.ascontiguousarray(G * y[:, None]), np.ascontiguousarray(A.T)
        diagonal = np.einsum("ij,ij->i", signed, update)
        box = examples.box(C, lambda2, 0.5)
        nu, alpha = box.lower.copy(), A @ box.lower
        for _ in range(1000):
            if certify(nu, signed @ alpha, box).holds(GAP):
                break
            ldm_algorithm1_sweep(signed, update, diagonal, box.lower, box.upper, nu, alpha)

    return lambda: [point(1.0, lambda2, C) for lambda2, C in product(LAMBDA2S, CS)]


def _linear(name: str) -> None:
    workload = f"linear, {name}, relative gap 1e-3"

    def one(label: str, make: Callable[[], object], rounds: int = 5) -> None:
        @candidate(workload, label, rounds=rounds)
        def _() -> Run:
            X, y = rows_of(name)
            return lambda: make().fit(X, y)

    one("steelyard auto", lambda: CSLDMClassifier(tol=GAP))
    one("LinearSVC(hinge, dual)", lambda: LinearSVC(loss="hinge", dual=True), 3)
    one("LinearSVC(squared hinge, primal)", lambda: LinearSVC(dual=False), 3)
    one("steelyard ASGD, 5 epochs", lambda: CSLDMClassifier(solver="asgd", random_state=0))
    one("SGDClassifier(average), 5 epochs", lambda: SGDClassifier(average=True, max_iter=5, tol=None, random_state=0))


for _name in FILES:
    _linear(_name)


@candidate("RBF cross-validation of the paper's grid, m = 384", "steelyard", rounds=1)
def _() -> Run:
    X, examples = kernel_data(384, 8)

    def run() -> None:
        model = CSLDMClassifierCV(PAPER_GRID, PAPER_GRID, PAPER_GRID, [0.0], kernel="rbf", random_state=0)
        model.fit(X, examples.sign)
        print(f"fits: {model.n_fits_}", flush=True)

    return run


def _growth(workload: str, label: str, m: int, d: int, **settings: object) -> None:
    @candidate(workload, label, rounds=3)
    def _() -> Run:
        X, examples = kernel_data(m, d)
        return lambda: CSLDMClassifier(tol=GAP, **settings).fit(X, examples.sign)


for _m in (250, 500, 1000, 2000):
    _growth("growth, rbf kernel, d = 20", f"m = {_m}", _m, 20, kernel="rbf")
for _m in (10_000, 20_000, 40_000, 80_000):
    _growth("growth, linear, d = 20", f"m = {_m}", _m, 20)
for _d in (25, 50, 100, 200):
    _growth("growth, linear, m = 20000", f"d = {_d}", 20_000, _d)

GOALS = [
    Goal(KERNEL, "steelyard, one eigendecomposition", "Algorithm 1 with Q^-1 a point", at_least=20),
    *(
        goal
        for name in FILES
        for workload in [f"linear, {name}, relative gap 1e-3"]
        for goal in [
            Goal(workload, "steelyard auto", "LinearSVC(hinge, dual)", at_least=3),
            Goal(workload, "steelyard ASGD, 5 epochs", "SGDClassifier(average), 5 epochs", at_least=2),
            Goal(workload, "steelyard ASGD, 5 epochs", "LinearSVC(hinge, dual)", at_least=8),
        ]
    ),
]
