"""Protocols that choose first: parameters of a stream on a validation part, class costs by twenty searches."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..online.tuning import tune_stream
from ..validation.arrays import take_rows
from .protocols import Holdout, Outcome, Stream, Task, estimator_of, measured

GRID_MEASURES = {"gamma": ("threshold",), "c+": ("query__c_pos", "query__c"), "c-": ("query__c_neg", "query__c")}


@dataclass(frozen=True)
class GridStream:
    """Choose a learner's ``grid`` on a random validation part, then stream the rest once. Paper 001, sec. 5.

    The values of the run are the measures on the rest and what was chosen: gamma, c+ and c- as Table 2 has them, 0
    where a learner has none.
    """

    runs: int = 10
    validation: float = 2 / 3
    orders: int = 1
    measure: str = "f1"
    shown: str = "push"
    seed: int = 0

    @property
    def extra_measures(self) -> tuple[str, ...]:
        """The parameters chosen."""
        return tuple(GRID_MEASURES)

    def ready(self, task: Task) -> Task:
        """The rows prepared, once."""
        return Stream().ready(task)

    def one(self, task: Task, learner: Mapping[str, Any], run: int) -> Outcome:
        """Tune and run one learner once."""
        costs = task.costs_of_run(task.y, self.seed + run)
        spec = {key: value for key, value in learner.items() if key != "grid"}
        start = time.perf_counter()
        found = tune_stream(
            estimator_of(spec, costs, self.seed + run),
            learner["grid"],
            task.X,
            task.y,
            measure=self.measure,
            shown=self.shown,
            validation=self.validation,
            runs=self.orders,
            random_state=self.seed + run,
        )
        seconds = time.perf_counter() - start
        values: dict[str, float] = {}
        for wanted in task.measures:
            answers = Stream._answers(found.trace_, costs, str(wanted.get("shown", self.shown)))
            values |= measured((wanted,), found.trace_.y, answers, costs)
        for name, sources in GRID_MEASURES.items():
            values[name] = next((float(found.best_params_[key]) for key in sources if key in found.best_params_), 0.0)
        return Outcome(values, seconds)


@dataclass(frozen=True)
class SearchedCosts:
    """Search class costs on all data, then fit with the mean of the winners on new splits. Paper 003, sec. 7.2.

    The search sees rows that later test parts hold: the paper's protocol, not an honest one. The values of the run
    are the measures and the costs found, in the order of ``classes``.
    """

    classes: tuple[str, ...] | list[str]
    runs: int = 10
    train: float = 0.8
    seed: int = 0

    @property
    def extra_measures(self) -> tuple[str, ...]:
        """The costs found."""
        return tuple(f"c({label})" for label in self.classes)

    def ready(self, task: Task) -> Task:
        """Nothing to prepare."""
        return task

    def one(self, task: Task, learner: Mapping[str, Any], run: int) -> Outcome:
        """Fit with the costs found on one split."""
        costs = task.costs_of_run(task.y, self.seed)
        start = time.perf_counter()
        found = _SEARCHED.search(task, learner, self.seed)
        fit_on, test_on = Holdout(self.runs, self.train, seed=self.seed + 1).split(task.y, run)
        model = found.best_estimator_.fit(take_rows(task.X, fit_on), task.y[fit_on])
        seconds = time.perf_counter() - start
        answers = model.predict(take_rows(task.X, test_on))
        values = measured(task.measures, task.y[test_on], answers, costs)
        vector = dict(zip(map(str, found.best_costs_.classes), found.best_costs_.class_costs(), strict=True))
        largest = max(vector.values())
        return Outcome(values | {f"c({label})": float(vector[str(label)] / largest) for label in self.classes}, seconds)


class _Searched:
    """The last search: all runs of a learner share it."""

    def __init__(self) -> None:
        self._last: tuple[Any, str, Any] | None = None

    def search(self, task: Task, learner: Mapping[str, Any], seed: int) -> Any:
        key = json.dumps([learner, seed], sort_keys=True, default=str)
        if self._last is None or self._last[0] is not task.X or self._last[1] != key:
            labels: NDArray[Any] = task.y
            self._last = (task.X, key, estimator_of(learner, None, seed).fit(task.X, np.asarray(labels)))
        return self._last[2]


_SEARCHED = _Searched()
