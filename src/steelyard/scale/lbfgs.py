"""The last steps by L-BFGS: a loss whose value and gradient are sums over parts, in the order of the parts."""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from .._version import __version__
from ..files import Fields, Node, read_container, reading, write_container
from ..online import OnlineClassifier
from ..validation.arrays import is_sparse
from ..validation.values import invalid
from .job import Job, WorkFolder
from .lanes import chunk_labels, rows_of
from .tasks import executor_or_pool, run_tasks

Floats = NDArray[np.float64]


def finish_lbfgs(fitted: Any, folder: WorkFolder, job: Job, executor: Executor | None, *, max_passes: int) -> Any:
    """The weights that minimise |w|^2 / 2 + sum of cost log(1 + exp(-y f)), from those of ``fitted`` on.

    Every evaluation is one pass over the parts. Its sums are files of the job, named after the weights, so that a
    later call finds those that were done.
    """
    if not isinstance(fitted, OnlineClassifier):
        raise invalid("finish", "be None for more than two classes", "lbfgs")
    costs = fitted.state()["setting"]["costs"]
    if costs[2]:
        raise invalid("finish", "be None with AdaptiveBalanced costs, which change on the way", "lbfgs")
    with executor_or_pool(executor, len(job.files)) as used:
        loss = _Loss(folder, job, used, (float(costs[0]), float(costs[1])), fitted.fit_intercept, max_passes)
        start = np.concatenate([fitted.coef_[0], fitted.intercept_])
        minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": max_passes, "maxfun": max_passes})
    return _with_weights(fitted, loss.best_weights if loss.best_weights is not None else start)


class _Loss:
    """Value and gradient at some weights, the intercept last; it keeps the best it has seen."""

    def __init__(
        self,
        folder: WorkFolder,
        job: Job,
        executor: Executor,
        costs: tuple[float, float],
        fit_intercept: bool,
        max_passes: int,
    ) -> None:
        self.folder, self.job, self.executor, self.costs = folder, job, executor, costs
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
        given = [(os.fspath(self.folder), key, i, *self.costs) for i in range(len(self.job.files))]
        names = [about["name"] for about in self.job.files]
        run_tasks(
            self.executor,
            evaluate_part,
            given,
            names=names,
            kind="parts",
            work=os.fspath(self.folder),
            on_done=lambda done, about: None,
        )
        value, gradient = 0.5 * float(weights[:-1] @ weights[:-1]), weights.copy()
        gradient[-1] = 0.0
        for i in range(len(self.job.files)):
            sums = _load(_sums_place(self.folder, key, i))
            value += float(sums[0])
            gradient += sums[1:]
        if not self.fit_intercept:
            gradient[-1] = 0.0
        if value < self.best:
            self.best, self.best_weights = value, weights.copy()
        return value, gradient


def evaluate_part(folder: str, key: str, position: int, cost_neg: float, cost_pos: float) -> dict[str, Any]:
    """The sums of one part, left in the folder: the loss, then its gradient. The task of a worker."""
    work = WorkFolder(folder)
    place = _sums_place(work, key, position)
    if place.exists():
        return {}
    job = work.job()
    weights = _load(work.path / f"lbfgs-{key}.steelyard")
    parts, classes = job.parts(), np.asarray(job.classes)
    sums = np.zeros(len(weights) + 1)
    for chunk in parts.part_chunks(parts.files[position], job.rows, job.reading, job.options):
        X, positive = rows_of(chunk), chunk_labels(chunk, job.classes) == classes[1]
        sums += chunk_sums(X, positive, np.where(positive, cost_pos, cost_neg), weights)
    _save(place, sums)
    return {}


def chunk_sums(X: Any, positive: NDArray[np.bool_], cost: Floats, weights: Floats) -> Floats:
    """Loss and gradient of some rows; no sum is left to BLAS, whose order depends on the machine."""
    sign = np.where(positive, 1.0, -1.0)
    products = np.asarray(X @ weights[:-1]) if is_sparse(X) else (X * weights[:-1]).sum(axis=1)
    margin = sign * (products + weights[-1])
    loss = np.logaddexp(0.0, -margin)
    slope = -cost * sign * np.exp(-np.logaddexp(0.0, margin))
    gradient = np.asarray(X.T @ slope) if is_sparse(X) else (X * slope[:, None]).sum(axis=0)
    return np.concatenate([[float((cost * loss).sum())], gradient, [float(slope.sum())]])


def _sums_place(folder: WorkFolder, key: str, position: int) -> Path:
    return folder.path / f"lbfgs-{key}-part-{position:06}.steelyard"


def _save(place: Path, numbers: Floats) -> None:
    write_container(place, Node("LossSums/1", {}, {"numbers": numbers}), version=__version__)


def _load(place: Path) -> Floats:
    with reading(place):
        return Fields(read_container(place)).floats("numbers", None)


def _with_weights(fitted: Any, weights: Floats) -> Any:
    state = fitted.state()
    factors = np.array([1.0, float(weights[-1]), float(weights[:-1] @ weights[:-1]), 0.0, 0.0])
    state["arrays"] |= {"weights": weights[:-1].copy(), "factors": factors}
    return type(fitted).from_state(state)
