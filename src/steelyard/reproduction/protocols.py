"""How a recipe's learners meet its data. Each protocol answers: what came of this learner in this run?

Tested in ``tests/unit/reproduction/test_runs.py``.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from functools import lru_cache
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline

from ..costs import Costs, as_costs, random_costs
from ..data import load_orders
from ..data.gaussians import make_three_gaussians, rotating_costs, three_gaussians_posterior
from ..evaluate import f_score, prequential_curve
from ..trace import Trace
from ..validation.arrays import take_rows
from .names import named
from .recipe import build


@dataclass(frozen=True)
class Task:
    """What every run of a recipe shares: rows, labels, preparation, costs and measures, ready to use."""

    X: Any
    y: NDArray[Any]
    prepare: tuple[Mapping[str, Any], ...] = ()
    costs: Any = None
    measures: tuple[Mapping[str, Any], ...] = ()

    def costs_of_run(self, y: NDArray[Any], seed: int) -> Costs:
        """The costs of one run; a rule that draws at random gets the run's own seed."""
        rule = self.costs
        if is_dataclass(rule) and not isinstance(rule, type) and hasattr(rule, "seed"):
            rule = replace(rule, seed=seed)
        return as_costs(rule, y, np.unique(y))


@dataclass(frozen=True)
class RandomCosts:
    """A random matrix of costs for every run, drawn by the run's own seed. Paper 002, sec. 5.2."""

    kind: str = "plain"
    seed: int = 0

    def costs_for(self, y: Any) -> Costs:
        """The costs of the run."""
        return random_costs(y, self.seed, self.kind)


@dataclass(frozen=True)
class Outcome:
    """The measured values of one learner in one run, its time, and a curve where the protocol draws one."""

    values: Mapping[str, float]
    seconds: float
    curve: Mapping[str, NDArray[Any]] = field(default_factory=dict)


class RunProtocol(Protocol):
    """The shape of a protocol: a number of runs, each of which can be done alone."""

    @property
    def runs(self) -> int:
        """How many runs make the experiment."""
        ...

    @property
    def extra_measures(self) -> tuple[str, ...]:
        """What a run gives beside the recipe's measures."""
        ...

    def ready(self, task: Task) -> Task:
        """The task with everything done that all runs share."""
        ...

    def one(self, task: Task, learner: Mapping[str, Any], run: int) -> Outcome:
        """Run one learner once."""
        ...


def measured(specs: tuple[Mapping[str, Any], ...], y: Any, prediction: Any, costs: Costs) -> dict[str, float]:
    """Values of a recipe's measures, by name; ``scale`` turns fractions into a table's percentages."""
    values = {}
    for spec in specs:
        function = named(str(spec["use"]))
        extra = {k: v for k, v in spec.items() if k not in ("use", "name", "scale", "item", "shown")}
        if "costs" in inspect.signature(function).parameters:
            extra["costs"] = costs
        values[str(spec.get("name", spec["use"]))] = float(function(y, prediction, **extra)) * spec.get("scale", 1)
    return values


def estimator_of(learner: Mapping[str, Any], costs: Costs | None, seed: int) -> Any:
    """A learner's estimator; it gets the costs and the seed of the run where it takes them and the recipe is silent."""
    made = build({k: v for k, v in learner.items() if k not in ("name", "runs")})
    takes = made.get_params(deep=False)
    given = {"costs": costs, "seed": seed, "random_state": seed}
    return made.set_params(**{k: v for k, v in given.items() if k in takes and k not in learner})


@dataclass(frozen=True)
class Stream:
    """One pass over the data in a random or given order: predict, count, then update. Papers 000 and 001.

    ``orders`` names the published permutations; without it run r shuffles by ``seed + r``. ``held_out`` streams only a
    random part of that size. ``shown``, of the protocol or of a measure, says what counts as a positive answer.
    ``points`` of F1 over time are kept.
    Preparation sees the whole data set, as the papers' does: it looks into the future, which reproduction needs and a
    live stream must not do.
    """

    runs: int = 20
    orders: str | None = None
    seed: int = 0
    held_out: float | None = None
    shown: str = "push"
    points: int = 0

    @property
    def extra_measures(self) -> tuple[str, ...]:
        """Nothing beside the recipe's measures."""
        return ()

    def ready(self, task: Task) -> Task:
        """The rows prepared, once."""
        X = task.X
        for step in task.prepare:
            X = build(step).fit_transform(X)
        return replace(task, X=X, prepare=())

    def one(self, task: Task, learner: Mapping[str, Any], run: int) -> Outcome:
        """Run one learner once."""
        rows, y = _IN_ORDER.rows(task, self, run)
        costs = task.costs_of_run(y, self.seed + run)
        estimator = estimator_of(learner, costs, self.seed + run)
        start = time.perf_counter()
        trace: Trace = estimator.run(rows, y)
        seconds = time.perf_counter() - start
        values: dict[str, float] = {}
        for spec in task.measures:
            values |= measured((spec,), y, self._answers(trace, costs, str(spec.get("shown", self.shown))), costs)
        return Outcome(values, seconds, self._curve(trace, costs, task.measures))

    def order(self, n: int, run: int) -> NDArray[np.intp]:
        """Row numbers of a run, in the order in which they come."""
        if self.orders is not None:
            return np.asarray(_orders(self.orders)[run], dtype=np.intp)
        order = np.random.default_rng(self.seed + run).permutation(n)
        return order if self.held_out is None else order[: round(n * self.held_out)]

    @staticmethod
    def _answers(trace: Trace, costs: Costs, shown: str) -> NDArray[Any]:
        """What the user is shown as positive: the prediction ones, and in push-and-query also those asked about."""
        if shown == "push":
            return trace.prediction
        assert costs.classes is not None
        return np.where(trace.queried, costs.classes[costs.positive_index()], trace.prediction)

    def _curve(self, trace: Trace, costs: Costs, measures: tuple[Mapping[str, Any], ...]) -> dict[str, NDArray[Any]]:
        """F1 and labels over time, once for everything that a measure counts as shown to the user."""
        if not self.points:
            return {}
        assert costs.classes is not None
        positive = costs.classes[costs.positive_index()]
        at = np.unique(np.linspace(0, len(trace.y) - 1, self.points).round().astype(int))
        curve = {"examples": at + 1}
        for shown in dict.fromkeys(str(spec.get("shown", self.shown)) for spec in measures):
            name = "f1" if shown == "push" else f"f1 {shown}"
            curve[name] = prequential_curve(f_score, trace, shown=shown, at=at + 1, positive=positive)
        return {**curve, "labels": np.cumsum(trace.queried)[at]}


class _InOrder:
    """The rows and labels in the order of the last run: its learners, one after the other, share them."""

    def __init__(self) -> None:
        self._last: tuple[Any, Stream, int, Any, NDArray[Any]] | None = None

    def rows(self, task: Task, protocol: Stream, run: int) -> tuple[Any, NDArray[Any]]:
        """Rows and labels of a task in the order of a run."""
        last = self._last
        if last is None or last[0] is not task.X or last[1] != protocol or last[2] != run:
            self._last = last = None  # two large copies are not held at once
            order = protocol.order(len(task.y), run)
            self._last = last = (task.X, protocol, run, task.X[order], task.y[order])
        return last[3], last[4]


_IN_ORDER = _InOrder()


@lru_cache
def _orders(name: str) -> NDArray[Any]:
    return np.asarray(load_orders(name))


@dataclass(frozen=True)
class Holdout:
    """Fit on a random part, measure on the rest. Papers 002, 003 and 004.

    Preparation is fitted on the training part. ``train`` is its share; ``stratify`` keeps class shares.
    """

    runs: int = 20
    train: float = 0.75
    stratify: bool = False
    seed: int = 0

    @property
    def extra_measures(self) -> tuple[str, ...]:
        """Nothing beside the recipe's measures."""
        return ()

    def ready(self, task: Task) -> Task:
        """Nothing is shared: preparation sees the training part only."""
        return task

    def one(self, task: Task, learner: Mapping[str, Any], run: int) -> Outcome:
        """Run one learner once."""
        costs = task.costs_of_run(task.y, self.seed + run)
        fit_on, test_on = self.split(task.y, run)
        estimator = self.prepared(task, estimator_of(learner, costs, self.seed + run))
        start = time.perf_counter()
        estimator.fit(take_rows(task.X, fit_on), task.y[fit_on])
        seconds = time.perf_counter() - start
        prediction = estimator.predict(take_rows(task.X, test_on))
        return Outcome(measured(task.measures, task.y[test_on], prediction, costs), seconds)

    def split(self, y: NDArray[Any], run: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Row numbers of the training and the test part of a run, the same for all learners."""
        fit_on, test_on = train_test_split(
            np.arange(len(y)),
            train_size=self.train,
            stratify=y if self.stratify else None,
            random_state=self.seed + run,
        )
        return fit_on, test_on

    def prepared(self, task: Task, estimator: Any) -> Pipeline:
        """The estimator behind the recipe's preparation."""
        return make_pipeline(*[clone(build(step)) for step in task.prepare], estimator)


@dataclass(frozen=True)
class ClassSizes:
    """How many rows each class has: a paper's table of its data."""

    runs: int = 1

    @property
    def extra_measures(self) -> tuple[str, ...]:
        """Nothing beside the recipe's measures."""
        return ()

    def ready(self, task: Task) -> Task:
        """Nothing to do."""
        return task

    def one(self, task: Task, learner: Mapping[str, Any], run: int) -> Outcome:
        """Count."""
        labels, counts = np.unique(task.y, return_counts=True)
        return Outcome({str(label): float(count) for label, count in zip(labels, counts, strict=True)}, 0.0)


# -- Measures on the training and the test part while one parameter moves. Paper 004, Figures 3 and 4 -----------------


@dataclass(frozen=True)
class Sweep:
    """Fit one learner at every value of ``parameter``; keep each measure on both parts as a curve.

    The values of the run describe its curves: the parameter's value at which ``balance``, two measures' names, come
    nearest on the training part, how far the first of them rises and ever falls on the test part, how much of the
    largest ``best`` is lost at the balance, and how far training and test part are apart.
    """

    parameter: str
    values: tuple[float, ...] | list[float]
    balance: tuple[str, str] | list[str]
    best: str | None = None
    runs: int = 10
    train: float = 0.5
    seed: int = 0

    @property
    def extra_measures(self) -> tuple[str, ...]:
        """Numbers that say what the curves look like."""
        return tuple(self._shape({f"{part} {name}": [0.0] for part in ("train", "test") for name in self.balance}))

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
            model = holdout.prepared(task, clone(estimator)).fit(take_rows(task.X, parts[0]), task.y[parts[0]])
            curve[self.parameter].append(float(value))
            for part, rows in zip(("train", "test"), parts, strict=True):
                found = measured(task.measures, task.y[rows], model.predict(take_rows(task.X, rows)), costs)
                for name, measure in found.items():
                    curve.setdefault(f"{part} {name}", []).append(measure)
        seconds = time.perf_counter() - start
        return Outcome(self._shape(curve), seconds, {k: np.array(v) for k, v in curve.items()})

    def _shape(self, curve: Mapping[str, list[float]]) -> dict[str, float]:
        """Put the curves into numbers: where they balance on both parts, how they rise, how far the parts are apart."""
        drawn = {name: np.array(values) for name, values in curve.items()}
        at = {
            part: int(np.argmin(np.abs(np.subtract(*(drawn[f"{part} {name}"] for name in self.balance)))))
            for part in ("train", "test")
        }
        train, test = (float(self.values[at[part]]) for part in ("train", "test"))
        rising = drawn[f"test {self.balance[0]}"]
        shape = {
            f"balanced {self.parameter}": train,
            f"balanced {self.parameter}, test less train": test - train,
            f"{self.balance[0]} rise": float(rising[-1] - rising[0]),
            f"{self.balance[0]} largest fall": float(np.max(rising[:-1] - rising[1:], initial=0.0)),
        }
        pairs = [(v, drawn[f"test {k[6:]}"]) for k, v in drawn.items() if k.startswith("train ")]
        shape["train less test, largest"] = float(max(np.abs(a - b).max() for a, b in pairs))
        if self.best is not None:
            best = drawn.get(f"train {self.best}", np.zeros(1))
            shape[f"{self.best} lost at balance"] = float(best.max() - best[at["train"] if len(best) > 1 else 0])
        return shape


# -- Paper 002, Figure 2: three Gaussians whose best boundaries are known, and what learners make of them -------------


class BayesRule(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The cheapest answer under the true posterior: what no learner can beat."""

    def __init__(self, costs: Costs | None = None) -> None:
        self.costs = costs

    def fit(self, X: Any, y: Any) -> Self:
        """Nothing is learned: the posterior is known."""
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The Bayes answers."""
        assert self.costs is not None
        return self.costs.decide(three_gaussians_posterior(X))


@dataclass(frozen=True)
class ThreeGaussians:
    """Fit on a fresh sample, measure on a large one, and keep each learner's answers over the plane."""

    runs: int = 5
    n_per_class: int = 500
    test_per_class: int = 20_000
    side: int = 120
    seed: int = 0

    @property
    def extra_measures(self) -> tuple[str, ...]:
        """Nothing beside the recipe's measures."""
        return ()

    def ready(self, task: Task) -> Task:
        """A large test sample, shared by all runs."""
        X, y = make_three_gaussians(self.test_per_class, self.seed + 1_000_000)
        return replace(task, X=X, y=y, costs=rotating_costs())

    def one(self, task: Task, learner: Mapping[str, Any], run: int) -> Outcome:
        """Run one learner once."""
        X, y = make_three_gaussians(self.n_per_class, self.seed + run)
        model = estimator_of(learner, task.costs, self.seed + run)
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
        values = measured(task.measures, task.y, model.predict(task.X), task.costs)
        return Outcome(values, seconds, self._plane(model) if run == 0 else {})

    def _plane(self, model: Any) -> dict[str, NDArray[Any]]:
        axis = np.linspace(-2.5, 2.5, self.side)
        x, y = (grid.ravel() for grid in np.meshgrid(axis, axis))
        return {"x": x, "y": y, "answer": model.predict(np.column_stack([x, y])).astype(float)}
