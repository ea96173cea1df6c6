"""Everyone who can take part in a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier

from .baselines import usual
from .candidates import Contender
from .data import Problem
from .learners import ours

MOST_CONSTANTS = 5  # the cheapest ones; of hundreds of classes nobody wants to see them all


def contenders(problem: Problem) -> list[Contender]:
    """The constant answers, what a user would pick instead, and ours; the cheap ones first."""
    return sorted([*_constants(problem), *usual(problem), *ours(problem)], key=lambda c: c.work)


def _constants(problem: Problem) -> list[Contender]:
    costs = problem.costs.per_example(problem.y).sum(axis=0)
    cheapest = np.sort(np.argsort(costs, kind="stable")[:MOST_CONSTANTS])
    labels = problem.classes[cheapest].tolist()
    return [Contender(f"always {label}", "constant", _Always(label), work=0.0) for label in labels]


@dataclass(frozen=True)
class _Always:
    label: Any

    def __call__(self, problem: Problem) -> Any:
        return DummyClassifier(strategy="constant", constant=self.label)
