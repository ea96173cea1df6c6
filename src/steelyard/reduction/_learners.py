"""Sub-problems solved by clones of any scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from ..validation.arrays import check_scores, check_takes_weight, take_rows
from ..validation.values import check_jobs
from .scheme import CostExamples, Floats, ReductionScheme, ScoreSome, SubProblem


class ReductionSolution(Protocol):
    """What solves sub-problems: the higher the score, the more a row looks like side +1."""

    def scores(self, X: Any) -> Floats:
        """One score a row, (n,), or (n, m) for m sub-problems."""
        ...


@dataclass(frozen=True)
class Constant:
    """The answer to a question with one side only."""

    score: float

    def scores(self, X: Any) -> Floats:
        """The same for every row."""
        return np.full(X.shape[0], self.score)


@dataclass(frozen=True)
class ClassifierSolution:
    """A two-class problem: the signed confidence of a classifier."""

    estimator: Any

    def scores(self, X: Any) -> Floats:
        """``decision_function``, else the probability above one half, else the predicted sign."""
        if hasattr(self.estimator, "decision_function"):
            return check_scores(np.asarray(self.estimator.decision_function(X), dtype=np.float64).ravel())
        if hasattr(self.estimator, "predict_proba"):
            return check_scores(np.asarray(self.estimator.predict_proba(X), dtype=np.float64)[:, 1] - 0.5)
        return np.asarray(self.estimator.predict(X), dtype=np.float64)


@dataclass(frozen=True)
class RegressorSolution:
    """A cost estimate: the lower, the better."""

    estimator: Any

    def scores(self, X: Any) -> Floats:
        """The negated estimate."""
        return check_scores(-np.asarray(self.estimator.predict(X), dtype=np.float64).ravel())


@dataclass(frozen=True)
class Solutions:
    """The solutions of all sub-problems of a reduction."""

    parts: list[ReductionSolution]

    def scores(self, X: Any) -> Floats:
        """Scores (n, m) of all sub-problems on these rows."""
        return np.column_stack([part.scores(X) for part in self.parts])

    def on_demand(self, X: Any) -> Iterator[tuple[slice, ScoreSome]]:
        """All rows in one block; a sub-problem is asked about those rows only that it decides."""
        yield slice(0, X.shape[0]), lambda part, at: self.parts[part].scores(take_rows(X, at))


def train(plan: ReductionScheme, X: Any, cases: CostExamples, estimator: Any, n_jobs: int | None) -> Solutions:
    """Solve all sub-problems, stage after stage; cases of no weight are dropped."""
    kept = np.flatnonzero(cases.weight > 0)
    X, cases = take_rows(X, kept), cases.take(kept)
    if plan.weighted or (cases.weight != cases.weight[0]).any():
        check_takes_weight(estimator)
    parts: list[ReductionSolution] = []
    scores, jobs = np.empty((len(cases), 0)), check_jobs(n_jobs)
    for stage in range(plan.n_stages):
        problems = plan.problems(stage, cases, scores)
        solved = Parallel(n_jobs=jobs)(delayed(solve)(estimator, X, problem) for problem in problems)
        parts += solved
        if stage + 1 < plan.n_stages:
            scores = np.column_stack([scores, Solutions(solved).scores(X)])
    return Solutions(parts)


def solve(estimator: Any, X: Any, problem: SubProblem) -> ReductionSolution:
    """A fitted clone, or a constant where one will do."""
    answer = problem.constant()
    if answer is not None:
        return Constant(answer)
    metadata: dict[str, Any] = {}
    if has_fit_parameter(estimator, "sample_weight"):
        metadata["sample_weight"] = problem.weight
    rows = take_rows(X, problem.rows)
    if problem.target is None:
        return ClassifierSolution(clone(estimator).fit(rows, problem.sign.astype(int), **metadata))
    if has_fit_parameter(estimator, "side"):
        metadata["side"] = problem.sign.astype(int)
    return RegressorSolution(clone(estimator).fit(rows, problem.target, **metadata))
