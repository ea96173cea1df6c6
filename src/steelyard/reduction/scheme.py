"""What a reduction is: costs become sub-problems, the scores of their solutions become an answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
ScoreSome = Callable[[int, NDArray[np.intp]], Floats]  # of one sub-problem, at some rows


class SolvedProblems(Protocol):
    """Solutions of all sub-problems of a reduction, for all rows at once or as they are asked for."""

    def scores(self, X: Any) -> Floats:
        """Scores (n, m) of all sub-problems on these rows."""
        ...

    def on_demand(self, X: Any) -> Iterator[tuple[slice, ScoreSome]]:
        """Blocks of rows, each with a function that scores one sub-problem at some rows of the block."""
        ...


@dataclass(frozen=True)
class CostExamples:
    """Training examples as a reduction sees them: what each answer costs, the true class and the example's weight."""

    table: Floats
    codes: NDArray[np.intp]
    weight: Floats

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: NDArray[Any]) -> CostExamples:
        """The cases of these rows."""
        return CostExamples(self.table[rows], self.codes[rows], self.weight[rows])

    def regret(self) -> Floats:
        """Costs with the cheapest answer of every example at 0. Paper 002, sec. 2."""
        return np.asarray(self.table - self.table.min(axis=1, keepdims=True))


@dataclass(frozen=True)
class SubProblem:
    """One question put to a base learner. Its solution scores rows: the higher, the more ``sign`` looks like +1.

    ``rows`` are positions among the cases, ``weight`` is positive. With a ``target`` the question is a one-sided
    regression r(x) of that target, with loss above it where ``sign`` is +1 and below it where ``sign`` is -1, and the
    score is -r(x). Without one it is a weighted two-class problem: the same with target = -sign (paper 002, sec. 4).
    """

    rows: NDArray[np.intp]
    sign: Floats
    weight: Floats
    target: Floats | None = None

    @staticmethod
    def of(sign: Floats, weight: Floats, target: Floats | None = None) -> SubProblem:
        """The question over all cases; those of no weight are dropped."""
        rows = np.flatnonzero(weight > 0)
        return SubProblem(rows, sign[rows], weight[rows], None if target is None else target[rows])

    @staticmethod
    def comparing(first: Floats, second: Floats, weight: Floats) -> SubProblem:
        """Which of two costs is the smaller? The difference is what a wrong answer costs."""
        return SubProblem.of(np.where(first < second, 1.0, -1.0), np.abs(first - second) * weight)

    def constant(self) -> float | None:
        """The score that answers a question with one side only without any loss; None where both sides occur.

        No rows at all are no reason to prefer either side: 0.
        """
        if len(self.sign) == 0:
            return 0.0
        if (self.sign != self.sign[0]).any():
            return None
        if self.target is None:
            return float(self.sign[0])
        return -float(self.target.min() if self.sign[0] > 0 else self.target.max())


class ReductionScheme(ABC):
    """A reduction for K classes. Sub-problems come in stages; a later stage may look at the scores of earlier ones."""

    n_stages = 1
    weighted = True  # False: all examples of a sub-problem weigh the same unless the user says otherwise
    one_sided = False  # True: sub-problems have targets

    @abstractmethod
    def problems(self, stage: int, cases: CostExamples, scores: Floats) -> list[SubProblem]:
        """The sub-problems of a stage, given the scores (n, m) of all sub-problems of earlier stages on the cases."""

    @abstractmethod
    def preference(self, scores: Floats) -> Floats:
        """How much each class is preferred, (n, K), from the scores of all sub-problems."""

    def answer(self, scores: Floats) -> NDArray[np.intp]:
        """The code of the most preferred class; ties go to the first."""
        return np.asarray(self.preference(scores).argmax(axis=1))

    def predict(self, solution: SolvedProblems, X: Any) -> NDArray[np.intp]:
        """The answer for every row; a scheme that need not ask all sub-problems says so here."""
        return self.answer(solution.scores(X))


def vote(scores: Floats) -> Floats:
    """1 where a score is positive, 0 where negative; a score of 0 counts half for either side."""
    return np.heaviside(scores, 0.5)
