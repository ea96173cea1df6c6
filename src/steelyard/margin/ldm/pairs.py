"""Algorithm 2 over all rows for one rho, and the balance point of its solutions. Paper 004, sec. 4.2 and 5.1.

Tested in ``tests/unit/margin/ldm/test_estimator.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...validation.arrays import Rows
from .balance import Advantage, recall_gap, stratified_folds
from .dual import Examples, Floats, primal_objective
from .inputs import LDMSettings, Ready, check_in_range
from .sgd import LossScale, PairRows, PairSgd

EPOCHS = 5  # T of the paper's Algorithm 2


class PairSolution(NamedTuple):
    """What a run over all rows leaves behind; ``w`` are the averaged weights."""

    stream: PairSgd
    w: Floats
    margins: Floats
    epochs: int
    objective: float


class PairProblem(NamedTuple):
    """Rows and settings of one problem; every rho is solved with the same draws."""

    rows: Rows
    examples: Examples
    settings: LDMSettings
    fit_intercept: bool
    seed: int

    def solve(self, rho: float) -> PairSolution:
        """Weights at this rho."""
        settings, examples = self.settings, self.examples
        epochs = settings.max_iter or EPOCHS
        data = PairRows(self.rows, examples.sign, examples.theta(rho), self.fit_intercept)
        count = len(data.sign)
        stream = PairSgd.start(np.zeros(data.width), average_from=count)
        pulls = LossScale(examples.size, settings.C, settings.lambda1, settings.lambda2)
        packed = stream.run(data, pulls, examples.weight, epochs * count, np.random.default_rng(self.seed))
        w = stream.average()
        margins = packed.margins(w)
        terms = {"C": settings.C, "lambda1": settings.lambda1, "lambda2": settings.lambda2, "rho": rho}
        objective = primal_objective(w, margins, examples, **terms)
        check_in_range(objective)
        return PairSolution(stream, w, margins, epochs, objective)

    def scores(self, rows: Rows, w: Floats) -> Any:
        """f of other rows."""
        return rows @ w[:-1] + w[-1] if self.fit_intercept else rows @ w


def pair_problem(ready: Ready, fit_intercept: bool) -> PairProblem:
    """The problem of a fit."""
    return PairProblem(ready.rows, ready.examples, ready.settings, fit_intercept, ready.seed)


def pair_training_advantage(problem: PairProblem) -> Advantage:
    """The advantage of the rare class on the training rows, as function of rho."""
    examples = problem.examples
    return lambda rho: recall_gap(examples, problem.solve(rho).margins * examples.sign)


def pair_cross_validated_advantage(problem: PairProblem) -> Advantage:
    """The advantage of the rare class on held-out rows, over stratified folds."""
    parts = [
        (problem._replace(rows=problem.rows[train], examples=problem.examples.rows(train)), test)
        for train, test in stratified_folds(problem.examples, problem.seed)
    ]

    def advantage(rho: float) -> float:
        scores = np.empty(len(problem.examples.sign))
        for part, test in parts:
            scores[test] = part.scores(problem.rows[test], part.solve(rho).w)
        return recall_gap(problem.examples, scores)

    return advantage
