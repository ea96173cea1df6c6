"""The race: nested, stratified cross-validation with the same folds for all, within a time limit."""

from __future__ import annotations

import json
import re
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.stats import ttest_1samp
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from ...evaluate import costs_paid
from .contenders import Contender
from .problem import Problem

_HOPELESS = 1e-3  # chance, under equal costs, of falling this far behind: then a contender is stopped
_PILOT_ROWS = (1_000, 5_000)  # sizes tried before a large fit is begun
_FAR_TOO_LONG = 4.0  # times the time left: the smaller pilot overestimates, but not that much
_SMALL_SHARE = 0.03
_FIRST_ROUND = 0.5  # of the time at most goes into the first fold of everyone


@dataclass(frozen=True)
class FoldResult:
    """Answers of one contender on one test fold as class codes, probabilities where it has them, and what it took."""

    fold: int
    predicted: NDArray[np.intp]
    proba: NDArray[np.float64] | None
    fit_seconds: float
    predict_seconds: float


@dataclass
class Entry:
    """One contender's race so far; ``stopped`` says why it did not run every fold."""

    contender: Contender
    folds: dict[int, FoldResult] = field(default_factory=dict)
    stopped: str | None = None

    @property
    def seconds(self) -> float:
        """Time of its slowest fold so far."""
        return max((f.fit_seconds + f.predict_seconds for f in self.folds.values()), default=0.0)


@dataclass(frozen=True)
class Race:
    """The problem, its folds, and every entry."""

    problem: Problem
    splits: tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...]
    entries: tuple[Entry, ...]
    interrupted: bool = False

    def complete(self) -> list[Entry]:
        """The entries that answered for every row."""
        return [entry for entry in self.entries if len(entry.folds) == len(self.splits)]

    def answers(self, entry: Entry) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """Rows a contender has answered for, in the order of the data, and its answers."""
        done = sorted(entry.folds)
        rows = np.concatenate([self.splits[f][1] for f in done])
        predicted = np.concatenate([entry.folds[f].predicted for f in done])
        order = np.argsort(rows, kind="stable")
        return rows[order], self.problem.classes[predicted[order]]

    def paid(self, entry: Entry) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Rows answered for and the cost paid on each."""
        rows, predicted = self.answers(entry)
        part = self.problem.part(rows)
        return rows, costs_paid(part.y, predicted, costs=part.costs)


Watcher = Callable[[Race, str], None]


def make_splits(problem: Problem, folds: int) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...]:
    """Stratified folds; fewer where a class has fewer rows."""
    fewest = int(np.unique(problem.y, return_counts=True)[1].min())
    splitter = StratifiedKFold(max(2, min(folds, fewest)), shuffle=True, random_state=problem.seed)
    return tuple(splitter.split(np.zeros(len(problem.y)), problem.y))


def run_race(
    problem: Problem,
    everyone: Sequence[Contender],
    *,
    folds: int = 5,
    seconds: float = 120.0,
    jobs: int = 1,
    state: Path | None = None,
    watch: Watcher | None = None,
) -> Race:
    """Let everyone run, fold by fold, the cheap ones first; Ctrl-C and the time limit keep what is done."""
    start = time.monotonic()
    deadline = start + seconds
    race = Race(problem, make_splits(problem, folds), tuple(Entry(c) for c in everyone))
    for entry in race.entries:
        entry.folds.update(_kept(state, entry.contender))
    interrupted = False
    try:
        for fold in range(len(race.splits)):
            latest = start + _FIRST_ROUND * seconds if fold == 0 else deadline
            for entry, result in _round(race, fold, latest, jobs):
                if isinstance(result, str):
                    entry.stopped = f"{result} after {len(entry.folds)} of {len(race.splits)} folds"
                else:
                    entry.folds[fold] = result
                    _keep(state, entry.contender, result)
                if watch is not None:
                    watch(race, entry.contender.name)
            _stop_hopeless(race)
            _stop_late(race, deadline - time.monotonic(), jobs)
    except KeyboardInterrupt:
        interrupted = True
        for entry in race.entries:
            if len(entry.folds) < len(race.splits):
                entry.stopped = entry.stopped or "interrupted"
    return Race(race.problem, race.splits, race.entries, interrupted)


def _round(race: Race, fold: int, deadline: float, jobs: int) -> Iterator[tuple[Entry, FoldResult | str]]:
    """One fold of everyone still running, as they come in."""
    runners = [e for e in race.entries if e.stopped is None and fold not in e.folds]
    runners.sort(key=lambda e: (e.seconds, e.contender.work))
    problem, (fit_on, test_on) = race.problem, race.splits[fold]
    for entry in (e for e in runners if e.contender.family == "constant"):  # at once, without another process
        yield entry, _run(0, entry.contender, problem, fit_on, test_on, fold, deadline, 0.0)[1]
    runners = [e for e in runners if e.contender.family != "constant"]
    calls = (
        delayed(_run)(i, entry.contender, problem, fit_on, test_on, fold, deadline, entry.seconds)
        for i, entry in enumerate(runners)
    )
    for i, result in Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch=jobs)(calls):
        yield runners[i], result


def _run(
    index: int,
    contender: Contender,
    problem: Problem,
    fit_on: NDArray[np.intp],
    test_on: NDArray[np.intp],
    fold: int,
    deadline: float,
    expected_seconds: float,
) -> tuple[int, FoldResult | str]:
    """Teach on one part and ask about the other, or say why not: one contender's trouble does not end the race."""
    try:
        return index, _fold(contender, problem, fit_on, test_on, fold, deadline, expected_seconds)
    except Exception as error:  # other people's learners may raise anything at all
        first_line = (str(error).splitlines() or [""])[0]
        return index, f"failed ({type(error).__name__}: {first_line[:80]})"


def _fold(
    contender: Contender,
    problem: Problem,
    fit_on: NDArray[np.intp],
    test_on: NDArray[np.intp],
    fold: int,
    deadline: float,
    expected_seconds: float,
) -> FoldResult | str:
    with warnings.catch_warnings(), threadpool_limits(1):  # contenders run side by side instead
        warnings.simplefilter("ignore")  # a contender that did not quite converge still answers, and is judged by that
        training = problem.part(fit_on).capped(contender.most_rows)
        if contender.family != "constant":  # those are what everyone is measured against, and take no time
            expected = expected_seconds or _pilot(contender, training, deadline)
            if time.monotonic() + expected > deadline:
                return "out of time"
        start = time.perf_counter()
        model = contender.teach(training)
        taught = time.perf_counter()
        asked = problem.part(test_on)
        predicted = problem.costs.codes(contender.ask(model, asked))
        answered = time.perf_counter()
        return FoldResult(fold, predicted, _probabilities(model, asked), taught - start, answered - taught)


def _pilot(contender: Contender, training: Problem, deadline: float) -> float:
    """Seconds a fit will take, from smaller ones; nothing for data that are small anyway."""
    n, expected = len(training.y), 0.0
    power = 1.0 if contender.most_rows is None else 1.5
    taken: list[float] = []
    for rows in _PILOT_ROWS:
        if n < 2 * rows or expected > _FAR_TOO_LONG * (deadline - time.monotonic()):
            break
        start = time.perf_counter()
        contender.teach(training.capped(rows))
        taken.append(time.perf_counter() - start)
        growth = taken[-1] - (taken[-2] if len(taken) > 1 else 0.0)  # what does not grow with the rows is paid once
        expected = taken[-1] + max(growth, 0.0) * ((n / rows) ** power - 1.0)
    return expected


def _probabilities(model: Any, asked: Problem) -> NDArray[np.float64] | None:
    if not hasattr(model, "predict_proba"):
        return None
    return np.asarray(model.predict_proba(asked.X), dtype=np.float64)


def _stop_late(race: Race, left: float, jobs: int) -> None:
    """Of those still running keep the best ones, as many as can finish in the time left."""
    running = [
        e
        for e in race.entries
        if e.stopped is None and e.contender.family != "constant" and 0 < len(e.folds) < len(race.splits)
    ]
    need = {id(e): e.seconds * (len(race.splits) - len(e.folds)) / jobs for e in running}
    small = _SMALL_SHARE * left  # what takes next to nothing is not worth stopping
    for entry in sorted(running, key=lambda e: (need[id(e)] > small, race.paid(e)[1].mean())):
        if need[id(entry)] > left:
            entry.stopped = f"out of time after {len(entry.folds)} of {len(race.splits)} folds"
        else:
            left -= need[id(entry)]


def _stop_hopeless(race: Race) -> None:
    """Stop whoever pays significantly more than the leader on the rows both have answered for."""
    running = [e for e in race.entries if e.stopped is None and len(e.folds) >= 2]
    if len(running) < 2:
        return
    paid = {id(e): race.paid(e) for e in running}
    leader = min(running, key=lambda e: paid[id(e)][1].mean())
    rows, best = paid[id(leader)]
    for entry in running:
        if entry is leader or entry.contender.family == "constant" or len(entry.folds) == len(race.splits):
            continue
        mine, cost = paid[id(entry)]
        _, at_best, at_mine = np.intersect1d(rows, mine, return_indices=True)
        difference = cost[at_mine] - best[at_best]
        if difference.std() > 0 and ttest_1samp(difference, 0.0, alternative="greater").pvalue < _HOPELESS:
            entry.stopped = f"far behind after {len(entry.folds)} of {len(race.splits)} folds"


# -- what is kept for resuming ---------------------------------------------------------------------------------------


def _slug(contender: Contender) -> str:
    return re.sub(r"[^a-z0-9]+", "-", contender.name.lower()).strip("-")


def _keep(state: Path | None, contender: Contender, result: FoldResult) -> None:
    if state is None:
        return
    state.mkdir(parents=True, exist_ok=True)
    proba: dict[str, Any] = {} if result.proba is None else {"proba": result.proba}
    target = state / f"{_slug(contender)}.{result.fold}.npz"
    times = json.dumps([result.fit_seconds, result.predict_seconds])
    partial = target.with_suffix(".partial")
    with partial.open("wb") as file:
        np.savez_compressed(file, predicted=result.predicted, times=np.array(times), **proba)
    partial.replace(target)


def _kept(state: Path | None, contender: Contender) -> dict[int, FoldResult]:
    found: dict[int, FoldResult] = {}
    if state is None:
        return found
    for path in state.glob(f"{_slug(contender)}.*.npz"):
        with np.load(path, allow_pickle=False) as kept:
            fold = int(path.suffixes[-2][1:])
            fit_seconds, predict_seconds = json.loads(str(kept["times"]))
            found[fold] = FoldResult(fold, kept["predicted"], kept.get("proba"), fit_seconds, predict_seconds)
    return found
