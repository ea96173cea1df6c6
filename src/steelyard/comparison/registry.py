"""Everyone who can take part in a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier

from .baselines import baselines
from .candidates import Candidate
from .data import ComparisonData
from .learners import learners

MOST_CONSTANTS = 5  # the cheapest ones; of hundreds of classes nobody wants to see them all


def candidates(problem: ComparisonData) -> list[Candidate]:
    """The constant answers, what a user would pick instead, and ours; the cheap ones first."""
    return sorted([*_constants(problem), *baselines(problem), *learners(problem)], key=lambda c: c.work)


def _constants(problem: ComparisonData) -> list[Candidate]:
    costs = problem.costs.per_example(problem.y).sum(axis=0)
    cheapest = np.sort(np.argsort(costs, kind="stable")[:MOST_CONSTANTS])
    labels = problem.classes[cheapest].tolist()
    return [Candidate(f"always {label}", "constant", _Always(label), work=0.0) for label in labels]


@dataclass(frozen=True)
class _Always:
    label: Any

    def __call__(self, problem: ComparisonData) -> Any:
        return DummyClassifier(strategy="constant", constant=self.label)
