"""The last steps by L-BFGS: a loss whose value and gradient are sums over parts, in the order of the parts."""

from __future__ import annotations

import hashlib
import math
import os
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from .._version import __version__
from ..files import Fields, Node, read_container, reading, write_container
from ..online import AdaptiveBalanced, OnlineClassifier
from ..validation.arrays import is_sparse
from ..validation.values import invalid
from .job import UNREADABLE, Job, WorkFolder
from .lanes import chunk_labels
from .rows import reader_in
from .tasks import executor_or_pool, run_tasks, say_nothing

Floats = NDArray[np.float64]


def finish_lbfgs(fitted: Any, folder: WorkFolder, job: Job, executor: Executor | None, *, max_passes: int) -> Any:
    """The weights that minimise |W|^2 / 2 + sum over rows and classes of t[k] log(1 / p[k]), from ``fitted`` on.

    p are the softmax of linear scores and t[k] = max c - c[k] is what answering k saves against the costliest answer:
    the largest p is the cheapest answer on average. For two classes this is the cost-weighted logistic loss of one
    score. Every evaluation is one pass over the parts. Its sums are files of the job, named after the weights, so that
    a later call finds those that were done.
    """
    costs = _costs_of(fitted)
    _save(folder.path / "lbfgs-costs.steelyard", costs.ravel())
    with executor_or_pool(executor, len(job.files)) as used:
        loss = _Loss(folder, job, used, fitted.fit_intercept, max_passes)
        start = _scores_of(fitted)
        minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": max_passes, "maxfun": max_passes})
    return _with_weights(fitted, loss.best_weights if loss.best_weights is not None else start)


def _costs_of(fitted: Any) -> Floats:
    """C[true, predicted] over the classes."""
    state = fitted.state()
    if isinstance(fitted.costs, AdaptiveBalanced):
        raise invalid("finish", "be None with AdaptiveBalanced costs, which change on the way", "lbfgs")
    if isinstance(fitted, OnlineClassifier):
        negative, positive = state["setting"]["costs"][:2]
        return np.array([[0.0, float(negative)], [float(positive), 0.0]])
    return np.asarray(state["arrays"]["costs"], dtype=np.float64)


class _Loss:
    """Value and gradient at some weights, the intercept of each score last; it keeps the best it has seen."""

    def __init__(self, folder: WorkFolder, job: Job, executor: Executor, fit_intercept: bool, max_passes: int) -> None:
        self.folder, self.job, self.executor = folder, job, executor
        self.fit_intercept, self.left = fit_intercept, max_passes
        self.best = np.inf
        self.best_weights: Floats | None = None

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        if self.left <= 0:  # a line search may want more than it was given: no step looks good any more
            return float(self.best) + 1.0 if np.isfinite(self.best) else 1e300, np.zeros_like(weights)
        self.left -= 1
        key = hashlib.sha256(weights.tobytes()).hexdigest()[:24]
        place = self.folder.path / f"lbfgs-{key}.steelyard"
        if not place.exists():
            _save(place, weights)
        run_tasks(
            self.executor,
            evaluate_part,
            [(os.fspath(self.folder), key, i) for i in range(len(self.job.files))],
            names=[about["name"] for about in self.job.files],
            kind="parts",
            work=self.folder.kept,
            on_done=say_nothing,
        )
        penalised = _by_score(weights.copy(), self.job)
        penalised[:, -1] = 0.0
        value, gradient = 0.5 * float((penalised * penalised).sum()), penalised.ravel()
        for i in range(len(self.job.files)):
            sums = _load(_sums_place(self.folder, key, i), 1 + weights.size)
            value += float(sums[0])
            gradient = gradient + sums[1:]
        if not self.fit_intercept:
            _by_score(gradient, self.job)[:, -1] = 0.0
        if value < self.best:
            self.best, self.best_weights = value, weights.copy()
        return value, gradient


def _by_score(weights: Floats, job: Job) -> Floats:
    """A row of weights, then the intercept, for each score: one score for two classes, else one a class."""
    return weights.reshape(_shape(job))


def _shape(job: Job) -> tuple[int, int]:
    return 1 if len(job.classes) == 2 else len(job.classes), job.n_features + 1


def evaluate_part(folder: str, key: str, position: int) -> dict[str, Any]:
    """The sums of one part, left in the folder: the loss, then its gradient. The task of a worker."""
    work = WorkFolder(folder)
    place = _sums_place(work, key, position)
    if place.exists():
        return {}
    job, reader = work.job(), reader_in(work)
    weights = _by_score(_load(work.path / f"lbfgs-{key}.steelyard", math.prod(_shape(job))), job)
    classes = np.asarray(job.classes)
    matrix = _load(work.path / "lbfgs-costs.steelyard", len(classes) ** 2).reshape(len(classes), len(classes))
    parts = job.parts()
    sums = np.zeros(weights.size + 1)
    try:
        for chunk in parts.part_chunks(parts.files[position], job.rows, job.reading, job.options):
            y = chunk_labels(chunk, job.classes)
            codes = np.searchsorted(classes, y)
            known = codes < len(classes)
            if not (known.all() and (classes[codes] == y).all()):
                wrong = y[~known][0] if not known.all() else y[classes[codes] != y][0]
                raise invalid("y", f"hold the classes {job.classes}", wrong, f"See {parts.files[position].path}.")
            given = reader.costs(chunk)
            costs = matrix[codes] if given is None else given.aligned(classes).per_example(y)
            X = reader.rows(chunk)
            sums += (
                chunk_sums(X, codes == 1, _binary_cost(costs, codes), weights[0])
                if len(weights) == 1
                else (class_sums(X, costs.max(axis=1, keepdims=True) - costs, weights))
            )
    except UNREADABLE:
        if not job.skip:
            raise
        sums[:] = 0.0  # left out as a whole, as by the lanes
    _save(place, sums)
    return {}


def _binary_cost(costs: Floats, codes: NDArray[np.intp]) -> Floats:
    """What the wrong answer costs more than the right one."""
    rows = np.arange(len(codes))
    return np.maximum(costs[rows, 1 - codes] - costs[rows, codes], 0.0)


def chunk_sums(X: Any, positive: NDArray[np.bool_], cost: Floats, weights: Floats) -> Floats:
    """Loss and gradient of some rows; no sum is left to BLAS, whose order depends on the machine."""
    sign = np.where(positive, 1.0, -1.0)
    margin = sign * _scores(X, weights)
    loss = np.logaddexp(0.0, -margin)
    slope = -cost * sign * np.exp(-np.logaddexp(0.0, margin))
    return np.concatenate([[float((cost * loss).sum())], _gradient(X, slope)])


def class_sums(X: Any, saved: Floats, weights: Floats) -> Floats:
    """The same for many classes: ``saved[i, k]`` is what answering k saves against the costliest answer to row i."""
    scores = np.column_stack([_scores(X, one) for one in weights])
    top = scores.max(axis=1, keepdims=True)
    log_sum = top + np.log(np.exp(scores - top).sum(axis=1, keepdims=True))
    slope = saved.sum(axis=1, keepdims=True) * np.exp(scores - log_sum) - saved
    return np.concatenate([[float((saved * (log_sum - scores)).sum())], *(_gradient(X, one) for one in slope.T)])


def _scores(X: Any, weights: Floats) -> Floats:
    products = np.asarray(X @ weights[:-1]) if is_sparse(X) else (X * weights[:-1]).sum(axis=1)
    return np.asarray(products + weights[-1])


def _gradient(X: Any, slope: Floats) -> Floats:
    gradient = np.asarray(X.T @ slope) if is_sparse(X) else (X * slope[:, None]).sum(axis=0)
    return np.concatenate([gradient, [float(slope.sum())]])


def _sums_place(folder: WorkFolder, key: str, position: int) -> Path:
    return folder.path / f"lbfgs-{key}-part-{position:06}.steelyard"


def _save(place: Path, numbers: Floats) -> None:
    write_container(place, Node("LossSums/1", {}, {"numbers": numbers}), version=__version__)


def _load(place: Path, size: int) -> Floats:
    with reading(place):
        return Fields(read_container(place)).floats("numbers", size, low=-math.inf, high=math.inf)


def _scores_of(fitted: Any) -> Floats:
    """Where the search starts. Many classes learn what answers cost: the cheapest has the largest score."""
    both = np.column_stack([fitted.coef_, fitted.intercept_])
    return np.ascontiguousarray(both if isinstance(fitted, OnlineClassifier) else -both, dtype=np.float64).ravel()


def _with_weights(fitted: Any, weights: Floats) -> Any:
    state = fitted.state()
    if isinstance(fitted, OnlineClassifier):
        factors = np.array([1.0, float(weights[-1]), float(weights[:-1] @ weights[:-1]), 0.0, 0.0])
        state["arrays"] |= {"weights": weights[:-1].copy(), "factors": factors}
    else:
        scores = weights.reshape(len(fitted.classes_), -1)
        coef, intercept = (np.asarray(state["arrays"][name]) for name in ("coef", "intercept"))
        state["arrays"] |= {"coef": (-scores[:, :-1]).reshape(coef.shape)}
        state["arrays"] |= {"intercept": (-scores[:, -1]).reshape(intercept.shape)}
    return type(fitted).from_state(state)
