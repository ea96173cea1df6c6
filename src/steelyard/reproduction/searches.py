"""Protocols that choose first: parameters on a validation part or the first split, class costs by twenty searches."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ..data.digest import data_digest
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
        found = _SEARCHED.once(task, [learner, self.seed], lambda: estimator_of(learner, None, self.seed))
        fit_on, test_on = Holdout(self.runs, self.train, seed=self.seed + 1).split(task.y, run)
        model = found.best_estimator_.fit(take_rows(task.X, fit_on), task.y[fit_on])
        seconds = time.perf_counter() - start
        answers = model.predict(take_rows(task.X, test_on))
        values = measured(task.measures, task.y[test_on], answers, costs)
        vector = dict(zip(map(str, found.best_costs_.classes), found.best_costs_.class_costs(), strict=True))
        largest = max(vector.values())
        return Outcome(values | {f"c({label})": float(vector[str(label)] / largest) for label in self.classes}, seconds)


@dataclass(frozen=True)
class ChosenOnce:
    """Let a learner search its parameters on the first training part, then fit with them on all. Paper 004, sec. 5.

    A learner is a search that keeps a ``best_estimator_``; what its ``then`` says is set after the search. The time of
    a run is that of its fit alone.
    """

    runs: int = 10
    train: float = 0.5
    seed: int = 0

    @property
    def extra_measures(self) -> tuple[str, ...]:
        """Nothing beside the recipe's measures."""
        return ()

    def ready(self, task: Task) -> Task:
        """Nothing is shared: preparation sees the training part only."""
        return task

    def one(self, task: Task, learner: Mapping[str, Any], run: int) -> Outcome:
        """Fit with the parameters chosen on the first part."""
        costs, holdout = task.costs_of_run(task.y, self.seed + run), Holdout(self.runs, self.train, seed=self.seed)
        first, _ = holdout.split(task.y, 0)

        spec = {key: value for key, value in learner.items() if key != "then"}

        def search() -> Any:
            return holdout.prepared(task, estimator_of(spec, task.costs_of_run(task.y, self.seed), self.seed))

        found = _SEARCHED.once(task, [spec, task.prepare, self.seed, self.train], search, first)
        fit_on, test_on = holdout.split(task.y, run)
        chosen = clone(found[-1].best_estimator_).set_params(**learner.get("then", {}))
        model = holdout.prepared(task, chosen)
        start = time.perf_counter()
        model.fit(take_rows(task.X, fit_on), task.y[fit_on])
        seconds = time.perf_counter() - start
        predicted = model.predict(take_rows(task.X, test_on))
        return Outcome(measured(task.measures, task.y[test_on], predicted, costs), seconds)


class _Searched:
    """The searches on the last data: all runs of a learner share one, also where runs are done in another process."""

    def __init__(self) -> None:
        self._data = ""
        self._found: dict[str, Any] = {}

    def once(self, task: Task, key: Any, make: Callable[[], Any], rows: NDArray[np.intp] | None = None) -> Any:
        """Fit what ``make`` makes on the rows, unless that was done before."""
        data, name = data_digest(task.X, task.y), json.dumps(key, sort_keys=True, default=str)
        if data != self._data:
            self._data, self._found = data, {}
        if name not in self._found:
            X, y = (task.X, task.y) if rows is None else (take_rows(task.X, rows), task.y[rows])
            self._found[name] = make().fit(X, np.asarray(y))
        return self._found[name]


_SEARCHED = _Searched()
