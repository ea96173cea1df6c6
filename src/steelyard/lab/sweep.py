"""Measures on the training and the test part while one parameter moves. Paper 004, Figures 3 and 4."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from .protocols import Holdout, Outcome, Task, estimator_of, measured, take


@dataclass(frozen=True)
class Sweep:
    """Fit one learner at every value of ``parameter``; keep each measure on both parts as a curve.

    The value of the run is the parameter's value at which ``balance``, two measures' names, come nearest on the
    training part.
    """

    parameter: str
    values: tuple[float, ...] | list[float]
    balance: tuple[str, str] | list[str]
    runs: int = 10
    train: float = 0.5
    seed: int = 0

    def ready(self, task: Task) -> Task:
        """Nothing is shared: preparation sees the training part only."""
        return task

    def one(self, task: Task, learner: Mapping[str, Any], run: int) -> Outcome:
        """Run one learner once, at every value."""
        holdout = Holdout(self.runs, self.train, seed=self.seed)
        parts = holdout.split(task.y, run)
        costs = task.costs_of_run(task.y, self.seed + run)
        curve: dict[str, list[float]] = {self.parameter: []}
        start = time.perf_counter()
        for value in self.values:
            estimator = estimator_of(learner, None, self.seed + run).set_params(**{self.parameter: value})
            model = holdout.prepared(task, clone(estimator)).fit(take(task.X, parts[0]), task.y[parts[0]])
            curve[self.parameter].append(float(value))
            for part, rows in zip(("train", "test"), parts, strict=True):
                found = measured(task.measures, task.y[rows], model.predict(take(task.X, rows)), costs)
                for name, measure in found.items():
                    curve.setdefault(f"{part} {name}", []).append(measure)
        one, other = (np.array(curve[f"train {name}"]) for name in self.balance)
        balanced = float(self.values[int(np.argmin(np.abs(one - other)))])
        seconds = time.perf_counter() - start
        return Outcome({f"balanced {self.parameter}": balanced}, seconds, {k: np.array(v) for k, v in curve.items()})
