"""The race: nested, stratified cross-validation with the same folds for all, within a time limit."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.stats import ttest_1samp
from sklearn.model_selection import StratifiedKFold

from ..evaluate import costs_paid
from .cache import FoldResult, read_folds, save_fold
from .candidates import Candidate, shared_groups
from .data import ComparisonData
from .fold import Task, run_fold
from .schedule import FIRST_ROWS

_HOPELESS = 1e-3  # chance, under equal costs, of falling this far behind: then a contender is stopped
_SMALL_SHARE = 0.03
_FIRST_ROUND = 0.5  # of the time at most goes into the first fold of everyone
_QUICK = 0.1  # of work at most is done without another process
_QUICK_SHARE = 0.15
_EARLY = 3.0  # times the time of others for the ones nobody would leave out: few rows would belittle them
_GRACE = 0.1  # of the time left more, for folds that were planned and took a little longer


@dataclass
class CandidateRun:
    """One contender's race so far; ``stopped`` says why it did not run every fold."""

    candidate: Candidate
    folds: dict[int, FoldResult] = field(default_factory=dict)
    stopped: str | None = None

    @property
    def seconds(self) -> float:
        """Time of its slowest fold so far, with those it shares work with."""
        return max((f.team_seconds for f in self.folds.values()), default=0.0)

    @property
    def cost(self) -> float:
        """Mean cost over the folds so far."""
        return statistics.fmean(f.cost for f in self.folds.values())

    @property
    def rows(self) -> int | None:
        """Rows it was taught with at the first fold; None before that."""
        return self.folds[min(self.folds)].rows if self.folds else None


SharedGroup = list[CandidateRun]  # entries that share work, run together


@dataclass(frozen=True)
class Evaluation:
    """The problem, its folds, and every entry."""

    problem: ComparisonData
    splits: tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...]
    entries: tuple[CandidateRun, ...]
    interrupted: bool = False
    _paid: dict[tuple[str, int], tuple[NDArray[np.intp], NDArray[np.float64]]] = field(default_factory=dict, repr=False)

    def complete(self) -> list[CandidateRun]:
        """The entries that answered for every row."""
        return [entry for entry in self.entries if len(entry.folds) == len(self.splits)]

    def taught_with(self, entry: CandidateRun) -> int | None:
        """How many rows it was taught with, where that is fewer than the training part of a fold."""
        fewest = min(len(fit_on) for fit_on, _ in self.splits)
        return None if entry.rows is None or entry.rows >= fewest else entry.rows

    def answers(self, entry: CandidateRun) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """Rows a contender has answered for, in the order of the data, and its answers."""
        done = sorted(entry.folds)
        rows = np.concatenate([self.splits[f][1] for f in done])
        predicted = np.concatenate([entry.folds[f].predicted for f in done])
        order = np.argsort(rows, kind="stable")
        return rows[order], self.problem.classes[predicted[order]]

    def paid(self, entry: CandidateRun) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Rows answered for and the cost paid on each."""
        key = (entry.candidate.name, len(entry.folds))
        if key not in self._paid:
            rows, predicted = self.answers(entry)
            subset = self.problem.labels_only().subset(rows)
            self._paid[key] = rows, costs_paid(subset.y, predicted, costs=subset.costs)
        return self._paid[key]


Watcher = Callable[[Evaluation, str], None]


def make_splits(problem: ComparisonData, folds: int) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...]:
    """Stratified folds; fewer where a class has fewer rows."""
    fewest = int(np.unique(problem.y, return_counts=True)[1].min())
    splitter = StratifiedKFold(max(2, min(folds, fewest)), shuffle=True, random_state=problem.seed)
    return tuple(splitter.split(np.zeros(len(problem.y)), problem.y))


def evaluate(
    problem: ComparisonData,
    everyone: Sequence[Candidate],
    *,
    folds: int = 5,
    seconds: float = 120.0,
    jobs: int = 1,
    state: Path | None = None,
    watch: Watcher | None = None,
) -> Evaluation:
    """Let everyone run, fold by fold, the cheap ones first; Ctrl-C and the time limit keep what is done."""
    start = time.monotonic()
    evaluation = Evaluation(
        problem, make_splits(problem, folds), tuple(CandidateRun(c, stopped=c.unable) for c in everyone)
    )
    for entry in evaluation.entries:
        entry.folds.update(read_folds(state, entry.candidate))
    interrupted = False
    starting = Thread(target=_start_others, args=(jobs,))
    starting.start()
    try:
        for fold in range(
            len(evaluation.splits)
        ):  # the quick ones first, so that there is something to say in any case
            for team in _waiting(evaluation, fold, quick=True):
                _note(evaluation, _at_once(evaluation, team, fold, start + seconds), fold, state, watch)
        starting.join()
        for fold in range(len(evaluation.splits)):
            share = _FIRST_ROUND if fold == 0 else 1.0 + _GRACE
            _note(evaluation, _round(evaluation, fold, start + seconds, share, jobs), fold, state, watch)
            _stop_hopeless(evaluation)
            _stop_late(evaluation, start + seconds - time.monotonic(), jobs)
    except KeyboardInterrupt:
        interrupted = True
        for entry in evaluation.entries:
            if len(entry.folds) < len(evaluation.splits):
                entry.stopped = entry.stopped or "interrupted"
    return Evaluation(evaluation.problem, evaluation.splits, evaluation.entries, interrupted)


def _running_teams(evaluation: Evaluation) -> list[SharedGroup]:
    """The teams of those still in the race."""
    by_name = {e.candidate.name: e for e in evaluation.entries if e.stopped is None}
    return [[by_name[c.name] for c in team] for team in shared_groups([e.candidate for e in by_name.values()])]


# -- one fold of everyone ---------------------------------------------------------------------------------------------


Outcomes = Iterator[tuple[CandidateRun, FoldResult | str]]


def _note(evaluation: Evaluation, outcomes: Outcomes, fold: int, state: Path | None, watch: Watcher | None) -> None:
    """Write down results as they come in, and who failed or ran out of time."""
    for entry, result in outcomes:
        if isinstance(result, str):
            entry.stopped = f"{result} after {len(entry.folds)} of {len(evaluation.splits)} folds"
        else:
            entry.folds[fold] = result
            save_fold(state, entry.candidate, result)
        if watch is not None:
            watch(evaluation, entry.candidate.name)


def _waiting(evaluation: Evaluation, fold: int, *, quick: bool) -> list[SharedGroup]:
    """The teams, or what is left of them, that have this fold before them, the least work a contender first."""
    found = [[e for e in team if fold not in e.folds] for team in _running_teams(evaluation)]
    found = [team for team in found if team and (team[0].candidate.work <= _QUICK) is quick]
    return sorted(found, key=_turn)


def _turn(team: SharedGroup) -> tuple[bool, bool, float]:
    first = team[0]
    return not first.candidate.early, first.seconds > 0, (first.seconds or first.candidate.work) / len(team)


def _claim(team: SharedGroup) -> float:
    """What a team may claim of the time left, compared with others."""
    return len(team) * (_EARLY if team[0].candidate.early else 1.0)


def _at_once(evaluation: Evaluation, team: SharedGroup, fold: int, deadline: float) -> Outcomes:
    """One fold of a quick team, without another process; the constants whatever the time."""
    seconds = _QUICK_SHARE * max(deadline - time.monotonic(), 0.0)
    constant = team[0].candidate.family == "constant"
    task = _task(team, fold, [], seconds, np.inf if constant else deadline)
    problem = evaluation.problem.labels_only() if constant else evaluation.problem
    yield from zip(team, run_fold(0, task, problem, *evaluation.splits[fold])[1], strict=True)


def _start_others(jobs: int) -> None:
    """Start the processes that contenders will run in: they import what this module does, which takes seconds."""
    if jobs > 1:
        Parallel(n_jobs=jobs)(delayed(_ready)() for _ in range(jobs))


def _ready() -> None:
    """Another process that can run this is ready."""


def _round(evaluation: Evaluation, fold: int, deadline: float, share: float, jobs: int) -> Outcomes:
    """One fold of everyone still running, as they come in, within a share of the time left."""
    learners = _waiting(evaluation, fold, quick=False)
    problem, (fit_on, test_on) = evaluation.problem, evaluation.splits[fold]
    now = time.monotonic()
    deadline = now + share * (deadline - now)
    pace: list[float] = []  # seconds for a guess of work 1, as seen so far

    def calls() -> Iterator[Any]:  # asked for the next one when there is somebody to run it
        for i, team in enumerate(learners):
            mine = _claim(team) / sum(map(_claim, learners[i:]))
            left = max(deadline - time.monotonic(), 0.0) * min(jobs, len(learners) - i)
            yield delayed(run_fold)(i, _task(team, fold, pace, mine * left, deadline), problem, fit_on, test_on)

    for i, results in Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch=jobs)(calls()):
        team = learners[i]
        pace.extend(
            r.team_seconds / team[0].candidate.work * min(1.0, FIRST_ROWS / r.rows)
            for r in results[:1]
            if isinstance(r, FoldResult)
        )
        yield from zip(team, results, strict=True)


def _task(team: SharedGroup, fold: int, pace: Sequence[float], seconds: float, deadline: float) -> Task:
    first = team[0]
    guess = statistics.median(pace) * first.candidate.work if pace else 0.0
    return Task([e.candidate for e in team], fold, first.rows, seconds, first.seconds or guess, deadline)


# -- who is stopped ---------------------------------------------------------------------------------------------------


def _stop_late(evaluation: Evaluation, left: float, jobs: int) -> None:
    """Of those still running keep the best teams, as many as can finish in the time left."""
    folds = len(evaluation.splits)
    running = [[e for e in team if 0 < len(e.folds) < folds] for team in _running_teams(evaluation)]
    running = [team for team in running if team and team[0].candidate.family != "constant"]
    need = {id(team): max(e.seconds * (folds - len(e.folds)) for e in team) / jobs for team in running}
    small = _SMALL_SHARE * left  # what takes next to nothing is not worth stopping
    best = {id(team): min(e.cost for e in team) for team in running}
    for team in sorted(running, key=lambda t: (need[id(t)] > small, best[id(t)])):
        if need[id(team)] > left:
            for entry in team:
                entry.stopped = f"out of time after {len(entry.folds)} of {folds} folds"
        else:
            left -= need[id(team)]


def _stop_hopeless(evaluation: Evaluation) -> None:
    """Stop whoever pays significantly more than the leader on the rows both have answered for."""
    running = [e for e in evaluation.entries if e.stopped is None and len(e.folds) >= 2]
    if len(running) < 2:
        return
    paid = {id(e): evaluation.paid(e) for e in running}
    leader = min(running, key=lambda e: paid[id(e)][1].mean())
    rows, best = paid[id(leader)]
    for entry in running:
        if entry is leader or entry.candidate.family == "constant" or len(entry.folds) == len(evaluation.splits):
            continue
        mine, cost = paid[id(entry)]
        _, at_best, at_mine = np.intersect1d(rows, mine, return_indices=True)
        difference = cost[at_mine] - best[at_best]
        if difference.std() > 0 and ttest_1samp(difference, 0.0, alternative="greater").pvalue < _HOPELESS:
            entry.stopped = f"far behind after {len(entry.folds)} of {len(evaluation.splits)} folds"
