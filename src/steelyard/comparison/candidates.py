"""Who takes part: each contender is a value that says how to build, teach and ask one learner for a problem."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from ..models.model import decide, split_pipeline
from .data import ComparisonData


class Shared(Hashable, Protocol):
    """Work that several contenders need and that is done once for all of them."""

    def __call__(self, problem: ComparisonData) -> Any:
        """Do it on these rows; what comes back goes to every one of them."""
        ...


@dataclass(frozen=True)
class Candidate:
    """A learner in the race.

    ``fit`` fits it on a problem and returns it; ``ask`` answers for another. ``family`` is "constant", "usual" (what
    a user would pick instead) or "ours". ``build`` gives an unfitted model; ``how`` says whether its fit takes
    "costs" or nothing ("plain"). ``work`` guesses the relative work of a fit, to run the cheap ones first; ``early``
    ones run before cheaper ones, since short of time nobody would leave them out. ``growth`` guesses the power of the
    rows that the time of a fit grows with. ``most_rows`` caps what it is taught
    with, and ``unable`` says why it cannot take part; the report tells both.
    """

    name: str
    family: str
    build: Callable[[ComparisonData], Any]
    how: str = "plain"
    work: float = 1.0
    most_rows: int | None = None
    unable: str | None = None
    early: bool = False
    growth: float = 2.0

    @property
    def shares(self) -> Shared | None:
        """What is done once for all contenders that name the same."""
        return None

    def fit(self, problem: ComparisonData, shared: Any = None) -> Any:
        """Fit on the problem's rows, with its costs in the way this contender uses them."""
        problem = problem.subsample(self.most_rows)
        model = self.build(problem)
        if self.how == "costs":
            return model.fit(problem.X, problem.y, **{f"{_last(model)}costs": problem.costs})
        return model.fit(problem.X, problem.y)

    def predict(self, model: Any, problem: ComparisonData) -> NDArray[Any]:
        """Answers for the problem's rows; costs that differ by row are known before the truth is."""
        prepare, decider = split_pipeline(model)
        return np.asarray(decide(decider, prepared(prepare, problem.X), problem.costs_at_predict()))


def prepared(prepare: Any, X: Any) -> Any:
    """Rows as the deciding part of a model wants them."""
    return X if prepare is None else prepare.transform(X)


def _last(model: Any) -> str:
    """Prefix of fit parameters for the last step of a pipeline."""
    return f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""


def shared_groups(everyone: list[Candidate]) -> list[list[Candidate]]:
    """Contenders by what they share, in their order; who shares nothing is alone."""
    found: dict[Any, list[Candidate]] = {}
    for candidate in everyone:
        found.setdefault(candidate.shares or candidate.name, []).append(candidate)
    return list(found.values())
