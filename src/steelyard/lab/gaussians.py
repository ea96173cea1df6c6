"""Paper 002, Figure 2: three Gaussians whose best boundaries are known, and what learners make of them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from ..costs import Costs
from ..data.gaussians import make_three_gaussians, rotating_costs, three_gaussians_posterior
from .protocols import Outcome, Task, estimator_of, measured


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
        return self.costs.cheapest(three_gaussians_posterior(X))


@dataclass(frozen=True)
class ThreeGaussians:
    """Fit on a fresh sample, measure on a large one, and keep each learner's answers over the plane."""

    runs: int = 5
    n_per_class: int = 500
    test_per_class: int = 20_000
    side: int = 120
    seed: int = 0

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
