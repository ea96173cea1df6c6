"""One fold of contenders that share work: taught on one part, asked about the other, within a time."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..evaluate import costs_paid
from ..models.model import decide, split_pipeline
from .cache import FoldResult
from .candidates import Candidate, prepared
from .data import ComparisonData
from .schedule import fit_within_time

_FAR_TOO_LONG = 3.0  # times its share of the time: then even a first try is not begun


@dataclass(frozen=True)
class Task:
    """One fold of one team: what may be looked at, and for how long."""

    candidates: list[Candidate]
    fold: int
    rows: int | None  # to be taught with; None: as many as the time allows
    seconds: float  # for the fit, where the rows are to be found
    expected: float
    deadline: float


@contextmanager
def as_in_the_race() -> Iterator[None]:
    """One thread, since contenders run side by side, and no warnings.

    A contender that did not quite converge still answers, and is judged by that.
    """
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        yield


def run_fold(
    index: int, task: Task, problem: ComparisonData, fit_on: NDArray[np.intp], test_on: NDArray[np.intp]
) -> tuple[int, list[FoldResult | str]]:
    """Teach on one part and ask about the other, or say why not: one contender's trouble does not end the race."""
    too_long = task.rows is None and task.expected > _FAR_TOO_LONG * task.seconds
    if too_long or time.monotonic() + task.expected > task.deadline:
        return index, ["out of time"] * len(task.candidates)
    with as_in_the_race():
        most = task.candidates[0].most_rows if task.rows is None else task.rows
        training = problem.subset(fit_on[problem.labels_only().subset(fit_on).sample_rows(most)])
        if task.rows is None:
            growth = task.candidates[0].growth
            fitted, rows = fit_within_time(
                lambda subset: _teach(task.candidates, subset), training, task.seconds, growth
            )
        else:
            fitted, rows = _teach(task.candidates, training), len(training.y)
        begun = time.perf_counter()
        asked = TestRows(problem.subset(test_on))
        results = [_answers(t, asked, task.fold, rows) for t in fitted]
    whole = fitted[0].team_seconds + time.perf_counter() - begun
    return index, [r if isinstance(r, str) else replace(r, team_seconds=whole) for r in results]


@dataclass(frozen=True)
class FittedCandidate:
    """A candidate after its fit, or what went wrong."""

    model: Any
    seconds: float
    team_seconds: float = 0.0
    trouble: str | None = None


def _teach(candidates: Sequence[Candidate], training: ComparisonData) -> list[FittedCandidate]:
    """Everyone of a team, what they share once; each one's time is what it would take alone."""
    start = time.perf_counter()
    shares = candidates[0].shares
    try:
        shared = None if shares is None else shares(training)
    except Exception as error:  # other people's learners may raise anything at all
        return [FittedCandidate(None, 0.0, 0.0, _trouble(error))] * len(candidates)
    common = time.perf_counter() - start
    fitted = []
    for candidate in candidates:
        begun = time.perf_counter()
        try:
            model, trouble = candidate.fit(training, shared), None
        except Exception as error:
            model, trouble = None, _trouble(error)
        fitted.append(FittedCandidate(model, common + time.perf_counter() - begun, 0.0, trouble))
    whole = time.perf_counter() - start
    return [replace(t, team_seconds=whole) for t in fitted]


class TestRows:
    """The rows of a test fold, prepared once for all models that prepare them in the same way."""

    def __init__(self, problem: ComparisonData) -> None:
        self.problem = problem
        self._ready: dict[int, tuple[Any, float]] = {}

    def rows_for(self, prepare: Any) -> tuple[Any, float]:
        """The rows, and the seconds it took to prepare them."""
        key = id(prepare.steps[0][1]) if prepare is not None and len(prepare) == 1 else id(prepare)
        if key not in self._ready:
            start = time.perf_counter()
            rows = prepared(prepare, self.problem.X)
            self._ready[key] = rows, time.perf_counter() - start
        return self._ready[key]


def _answers(fitted: FittedCandidate, asked: TestRows, fold: int, rows: int) -> FoldResult | str:
    if fitted.trouble is not None:
        return fitted.trouble
    problem = asked.problem
    try:
        prepare, decider = split_pipeline(fitted.model)
        ready, seconds = asked.rows_for(prepare)
        start = time.perf_counter()
        answers = np.asarray(decide(decider, ready, problem.costs_at_predict()))
        seconds += time.perf_counter() - start
        predicted, cost = problem.costs.encode(answers), costs_paid(problem.y, answers, costs=problem.costs).mean()
        proba = _probabilities(decider, ready, problem)
        return FoldResult(fold, predicted, proba, fitted.seconds, seconds, 0.0, rows, float(cost))
    except Exception as error:
        return _trouble(error)


def _trouble(error: Exception) -> str:
    return f"failed ({type(error).__name__}: {(str(error).splitlines() or [''])[0][:80]})"


def _probabilities(decider: Any, rows: Any, problem: ComparisonData) -> NDArray[np.float32] | None:
    """Of two classes, for the curves of the report."""
    if len(problem.classes) > 2 or not hasattr(decider, "predict_proba"):
        return None
    return np.asarray(decider.predict_proba(rows), dtype=np.float32)
