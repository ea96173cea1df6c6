"""The evaluation: units in a fixed order until effort or time ends, then what every candidate answered out of fold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..decision.blending import greedy_blend
from ..decision.calibration import LEAST, Calibration, fit_calibration
from .cache import FoldResult, UnitCache
from .candidates import Candidate
from .data import ComparisonData
from .fold import Failed, Judged, Outcome, Results, Task
from .schedule import Effort, Unit, count_survivors, rungs
from .tuning import near

Floats = NDArray[np.float64]
_BATCH = 4  # random settings that are drawn at a time
_ENOUGH_ON_A_RUNG = 3  # candidates: with fewer on the larger rows those on fewer rows are shown
_REFIT = 1.04  # times the CPU of a fold, rows being equal, for another fit
_KNOWN_ROUNDS = 0.75  # of the CPU of a fold of boosting: another fit need not find the rounds
_PAGE_SHARE = 0.1  # of the time limit may be kept for the page's fits of all folds; one fit is kept in any case
_LIKELY_MEMBERS = 6  # of a blend, before one was made
_LEAST_UNIT = 0.01  # seconds of CPU that any unit takes
_LAST_STEPS = 1.3  # seconds of CPU for intervals and page, whatever the table
_PROMISE_STEP = 3e-5  # and for the promise, for each row and candidate
_PROMISE_ROWS = 3_000  # beyond that it takes no more


class Folds(Protocol):
    """The rows and folds of a rung."""

    def __call__(self, rows: int, repeat: int = 0) -> Judged:
        """Those of so many rows, dealt out for the ``repeat``-th time."""
        ...


class Pool(Protocol):
    """Where units run."""

    cpu_limit: float

    def run(self, tasks: list[Task], may_start: Callable[[Unit], bool], failed: Failed) -> Results:
        """Results in the order of the tasks, until one may not start."""
        ...

    def cpu_beside(self) -> float:
        """CPU seconds that no unit took: preparing, choosing, counting."""
        ...


@dataclass
class CandidateRun:
    """What one candidate, constant or blend answered for the judged rows; ``stopped`` says why it is not ranked.

    ``proba`` are out-of-fold probabilities, each fold calibrated on the others; ``repeats`` are the same of folds
    dealt out anew; ``calibration`` is of all folds and goes into the model; ``members`` are the runs of a blend with
    their weights. Whatever is said of costs is said of ``proba``, where all candidates have the same folds.
    """

    name: str
    family: str
    candidate: Candidate | None = None
    proba: NDArray[np.float32] | None = None
    repeats: list[NDArray[np.float32]] = field(default_factory=list)
    answers: NDArray[np.intp] | None = None
    paid: Floats | None = None
    weights: Floats | None = None  # how much each row counts; None: every row counts once
    calibration: Calibration | None = None
    rounds: int | None = None
    members: list[tuple[CandidateRun, float]] = field(default_factory=list)
    fit_seconds: float = 0.0
    refit_seconds: float = 0.0  # of CPU that a fit on all rows will likely take
    predict_seconds: float = 0.0
    folds: int = 0
    rows: int | None = None
    stopped: str | None = None

    @property
    def complete(self) -> bool:
        """Whether it answered for every judged row."""
        return self.answers is not None

    @property
    def cost(self) -> float:
        """Mean cost over the judged rows."""
        assert self.paid is not None
        return float(np.average(self.paid, weights=self.weights))

    def judge(self, answers: NDArray[np.intp], labels: ComparisonData) -> None:
        """Take answers, given as codes, with what they cost."""
        self.answers, self.paid, self.weights = answers, labels.paid(answers), labels.weights


@dataclass(frozen=True)
class Evaluation:
    """The data, the judged rows with their folds, every run, and how far the plan was carried out."""

    problem: ComparisonData
    judged: Judged
    entries: tuple[CandidateRun, ...]
    units: int
    planned: int
    cpu_seconds: float
    interrupted: bool = False
    cut: bool = False  # effort or time ended before the plan

    @property
    def data(self) -> ComparisonData:
        """The judged rows: labels and costs, without the columns."""
        return self.problem.labels_only().subset(self.judged.rows)

    def complete(self) -> list[CandidateRun]:
        """The runs that answered for every judged row."""
        return [entry for entry in self.entries if entry.complete]


class Work:
    """Runs units and keeps count: the one place that knows what is left of effort and time."""

    def __init__(
        self,
        pool: Pool,
        cache: UnitCache,
        judged: Folds,
        n_classes: int,
        *,
        limit: int | None,
        time_limit: float | None,
        interrupted: Callable[[], bool],
        cost_of: Callable[[Unit, FoldResult], float],
        watch: Callable[[Work, Unit], None] | None = None,
    ) -> None:
        self.everyone: list[Candidate] = []
        self.results: dict[tuple[int, int, int], dict[int, FoldResult]] = {}  # candidate, rows, repeat: by fold
        self.failed: dict[int, str] = {}
        self.done, self.planned, self.cpu = 0, 0, 0.0
        self.stopped = False
        self.members: list[int] = []  # of the latest blend
        self.runs: dict[tuple[int, int], CandidateRun] = {}  # candidate, rows: calibrated and judged, as far as it ran
        self._running: dict[Unit, float] = {}  # units that were started, with the CPU time that they will likely take
        self._cost_of, self._sums = cost_of, dict[tuple[int, int], list[float]]()
        self._pool, self._cache, self._judged, self._n_classes = pool, cache, judged, n_classes
        self._limit, self._time_limit = limit, time_limit
        self._interrupted, self._watch = interrupted, watch

    def run(self, chosen: Sequence[int], rows: int, repeat: int = 0) -> bool:
        """All folds of these candidates on so many rows; False when effort, time or the user ended it."""
        judged = self._judged(rows, repeat)
        units = [Unit(c, rows, fold, repeat) for c in chosen for fold in range(judged.n_folds)]
        if self._limit is not None:
            units = units[: max(0, self._limit - self.done)]
        self.planned = max(self.planned, self.done + len(units))
        before = self.done
        for unit, result, is_new in self._outcomes(units, judged):
            if is_new:
                self._cache.save_fold(unit, result)
            self._note(unit, result)
        if self.done - before < len(units) or (self._limit is not None and self.done >= self._limit):
            self.stopped = True
        return not self.stopped

    def _outcomes(self, units: list[Unit], judged: Judged) -> Iterator[tuple[Unit, Outcome, bool]]:
        """Results in the order of the units; those of an earlier run are read, the others are computed."""
        held = np.bincount(judged.fold, minlength=judged.n_folds)
        at = 0
        while at < len(units):
            known = self._cache.read_fold(units[at], (int(held[units[at].fold]), self._n_classes))
            if known is None:
                break
            if not self._may_start(units[at]):
                return
            yield units[at], known, False
            at += 1
        tasks = [(unit, self.everyone[unit.candidate]) for unit in units[at:]]
        for unit, result in self._pool.run(tasks, self._may_start, self.failed.__contains__):
            yield unit, result, True

    def _note(self, unit: Unit, result: Outcome) -> None:
        self.done += 1
        self._running.pop(unit, None)
        if isinstance(result, str):
            self.failed.setdefault(unit.candidate, result)
            if result.startswith("stopped") and math.isfinite(self._pool.cpu_limit):  # its work counts all the same
                self.cpu += self._pool.cpu_limit
        else:
            self.cpu += result.cpu_seconds
            self.results.setdefault((unit.candidate, unit.rows, unit.repeat), {})[unit.fold] = result
            if unit.repeat == 0:
                self._sums.setdefault((unit.candidate, unit.rows), []).append(self._cost_of(unit, result))
        if self._watch is not None:
            self._watch(self, unit)

    def _may_start(self, unit: Unit) -> bool:
        """Whether the unit would end in time, beside those that run; if not, no other takes its place in the order."""
        if self._interrupted():
            return False
        if self._time_limit is None:
            return True
        likely = max(_LEAST_UNIT, self._likely_seconds(unit))
        if self.cpu_used + sum(self._running.values()) + likely + self._reserve() >= self._time_limit:
            return False
        self._running[unit] = likely
        return True

    def _likely_seconds(self, unit: Unit) -> float:
        """CPU time of a unit on as many rows: of its candidate, else of the costliest of its kind, else of all."""
        found = {key: folds for key, folds in self.results.items() if key[1] == unit.rows}
        own = [r.cpu_seconds for (c, _, _), folds in found.items() if c == unit.candidate for r in folds.values()]
        if own:
            return float(np.mean(own))
        kind = self.everyone[unit.candidate].kind
        alike = [folds for (c, _, _), folds in found.items() if self.everyone[c].kind is kind]
        means = [float(np.mean([r.cpu_seconds for r in folds.values()])) for folds in alike or found.values()]
        return max(means, default=0.0)

    @property
    def cpu_used(self) -> float:
        """CPU seconds of all units and of what stands beside them."""
        return self.cpu + self._pool.cpu_beside()

    def _reserve(self) -> float:
        """CPU time that the last steps will take: the promise, the members fitted on all rows, and the page."""
        assert self._time_limit is not None
        if not self.results:
            return 0.0
        rows = max(rows for _, rows, _ in self.results)
        n_folds = self._folds(rows)
        taken = {key: refit_seconds(list(folds.values()), n_folds) for key, folds in self.results.items()}
        fits = sorted(taken.values())
        likely = fits[len(fits) // 4 : len(fits) // 4 + _LIKELY_MEMBERS]
        if self.members:
            likely = [max(s for (c, _, _), s in taken.items() if c == member) for member in self.members]
        on_all = sum(likely) + max(likely)  # one more for the size of a single model beside the blend
        on_fold = sum(likely) * (n_folds - 1) / n_folds
        page = max(on_fold, min(n_folds * on_fold, _PAGE_SHARE * self._time_limit))
        return last_steps_seconds(rows, len({c for c, r, _ in self.results if r == rows})) + on_all + page

    @property
    def best_cost(self) -> float | None:
        """The least mean cost of a candidate that finished its folds, before calibration; None before the first."""
        whole = [float(np.mean(costs)) for (_, rows), costs in self._sums.items() if len(costs) == self._folds(rows)]
        return min(whole, default=None)

    def _folds(self, rows: int) -> int:
        return self._judged(rows).n_folds

    def whole_repeats(self, c: int, rows: int) -> int:
        """How often the candidate answered every fold of so many rows, folds dealt out anew included."""
        repeat = 0
        while len(self.results.get((c, rows, repeat), {})) == self._judged(rows, repeat).n_folds:
            repeat += 1
        return repeat

    def finished(self, rows: int, repeat: int = 0) -> list[int]:
        """Candidates that answered every fold of so many rows."""
        wanted = self._judged(rows, repeat).n_folds
        return [c for c in range(len(self.everyone)) if len(self.results.get((c, rows, repeat), {})) == wanted]


def refit_seconds(folds: Sequence[FoldResult], n_folds: int) -> float:
    """CPU time that a fit on all rows will likely take, after so many of the folds."""
    known = [r.cpu_seconds * (1.0 if r.rounds is None else _KNOWN_ROUNDS) for r in folds]
    return _REFIT * n_folds / (n_folds - 1) * float(np.mean(known))


def last_steps_seconds(rows: int, candidates: int) -> float:
    """CPU time of intervals, promise and page, but for the fits, once so many candidates were judged."""
    return _LAST_STEPS + _PROMISE_STEP * min(rows, _PROMISE_ROWS) * candidates


def evaluate(
    data: ComparisonData, everyone: Sequence[Candidate], work: Work, judged: Folds, plan: Effort
) -> Evaluation:
    """Run the plan and gather what came of it; Ctrl-C keeps what is done."""
    able = [c for c in everyone if c.unable(data) is None]
    few = [c for c in able if not c.requested][: plan.settings]
    work.everyone = [c for c in able if c.requested or c in few]
    interrupted = False
    try:
        _run_plan(data, work, judged, plan)
    except KeyboardInterrupt:
        interrupted = work.stopped = True
    rows = _shown_rung(data, work)
    part = judged(rows)
    labels = data.labels_only().subset(part.rows)
    entries = [_run_of(work, c, rows, judged, labels) for c in range(len(work.everyone))]
    entries += [
        CandidateRun(c.name, c.family, c, stopped=reason) for c in everyone if (reason := c.unable(data)) is not None
    ]
    if rows < len(data.codes):
        for entry in entries:
            entry.rows = rows
    return Evaluation(data, part, tuple(entries), work.done, work.planned, work.cpu_used, interrupted, work.stopped)


def _run_plan(data: ComparisonData, work: Work, judged: Folds, plan: Effort) -> None:
    chosen = list(range(len(work.everyone)))
    ladder = rungs(len(data.codes))
    for rung, rows in enumerate(ladder):
        chosen = chosen[: count_survivors(len(work.everyone), rung)]
        if not work.run(chosen, rows):
            return
        if rung + 1 < len(ladder):
            chosen = _ranked(data, work, judged, rows, chosen)
    last = ladder[-1]
    drawn = 0
    while _repeat_members(data, work, judged, last, plan.repeats):
        bases = _ranked(data, work, judged, last, chosen) if drawn < plan.random else []
        if not bases:
            return
        fresh = [near(work.everyone[bases[i % min(3, len(bases))]], drawn + i, data.seed) for i in range(_BATCH)]
        start = len(work.everyone)
        work.everyone += fresh
        drawn += len(fresh)
        chosen = [*chosen, *range(start, len(work.everyone))]
        if not work.run(range(start, len(work.everyone)), last):
            return


def _repeat_members(data: ComparisonData, work: Work, judged: Folds, rows: int, repeats: int) -> bool:
    """Repeats of the folds for those in the blend that have none yet; False when effort, time or the user ended it."""
    if not repeats:
        return True
    part = judged(rows)
    labels = data.labels_only().subset(part.rows)
    runs = [_run_of(work, c, rows, judged, labels) for c in work.finished(rows) if c not in work.failed]
    blend = blend_runs(runs, labels)
    names = {run.name for run, _ in blend.members} if blend is not None else set()
    members = work.members = [c for c, candidate in enumerate(work.everyone) if candidate.name in names]
    for repeat in range(1, repeats + 1):
        done = set(work.finished(rows, repeat))
        if not work.run([c for c in members if c not in done], rows, repeat):
            return False
    return True


def _ranked(data: ComparisonData, work: Work, judged: Folds, rows: int, chosen: Sequence[int]) -> list[int]:
    """The candidates that finished on these rows, the least calibrated log loss first."""
    labels = data.labels_only().subset(judged(rows).rows)
    finished = [c for c in work.finished(rows) if c in set(chosen) and c not in work.failed]
    losses = {}
    for c in finished:
        proba = _run_of(work, c, rows, judged, labels).proba
        assert proba is not None
        true_proba = np.maximum(proba[np.arange(len(labels.codes)), labels.codes], LEAST)
        losses[c] = float(-np.average(np.log(true_proba), weights=labels.weights))
    return sorted(finished, key=lambda c: (losses[c], c))


def _shown_rung(data: ComparisonData, work: Work) -> int:
    """The most rows on which enough candidates finished; never are candidates of different rows ranked together."""
    ladder = rungs(len(data.codes))
    for rows in reversed(ladder):
        if len(work.finished(rows)) >= _ENOUGH_ON_A_RUNG:
            return rows
    return max(ladder, key=lambda rows: (len(work.finished(rows)), rows))


def _gather(work: Work, c: int, rows: int, repeat: int, part: Judged, n_classes: int) -> NDArray[np.float32]:
    proba = np.zeros((len(part.rows), n_classes), dtype=np.float32)
    for fold, result in work.results[c, rows, repeat].items():
        proba[part.fold == fold] = result.proba
    return proba


def calibrate_out_of_fold(
    proba: NDArray[np.float32], labels: ComparisonData, fold: NDArray[np.intp]
) -> NDArray[np.float32]:
    """Each fold through curves fitted on the others."""
    found = np.empty_like(proba)
    for k in range(int(fold.max()) + 1):
        held = fold == k
        weights = None if labels.weights is None else labels.weights[~held]
        found[held] = fit_calibration(proba[~held], labels.codes[~held], weights).apply(proba[held])
    return found


def _run_of(work: Work, c: int, rows: int, judged: Folds, labels: ComparisonData) -> CandidateRun:
    """What came of a candidate; what is whole is calibrated and judged once, however often it is asked for."""
    whole = 0 if c in work.failed else work.whole_repeats(c, rows)
    known = work.runs.get((c, rows))
    if known is not None and whole == 1 + len(known.repeats):
        return known
    candidate, part = work.everyone[c], judged(rows)
    run = CandidateRun(candidate.name, candidate.family, candidate)
    folds = work.results.get((c, rows, 0), {})
    run.folds = len(folds)
    run.fit_seconds = float(np.mean([r.fit_seconds for r in folds.values()])) if folds else 0.0
    run.predict_seconds = float(np.mean([r.predict_seconds for r in folds.values()])) if folds else 0.0
    run.refit_seconds = refit_seconds(list(folds.values()), part.n_folds) if folds else 0.0
    if c in work.failed:
        run.stopped = work.failed[c]
    elif not whole:
        tried = [r for (which, r, _) in work.results if which == c]
        run.stopped = f"{len(folds)} of {part.n_folds} folds" if folds else _why_not(tried)
    else:
        _judge(run, work, c, rows, whole, judged, labels)
        work.runs[c, rows] = run
    return run


def _judge(run: CandidateRun, work: Work, c: int, rows: int, whole: int, judged: Folds, labels: ComparisonData) -> None:
    """Calibrated probabilities and what they cost; curves and rounds of all ``whole`` repeats."""
    raw, rounds = [], []
    for repeat in range(whole):
        part = judged(rows, repeat)
        raw.append(_gather(work, c, rows, repeat, part, len(labels.classes)))
        run.repeats.append(calibrate_out_of_fold(raw[-1], labels, part.fold))
        rounds += [r.rounds for r in work.results[c, rows, repeat].values() if r.rounds is not None]
    run.proba, run.repeats = run.repeats[0], run.repeats[1:]
    weights = None if labels.weights is None else np.tile(labels.weights, len(raw))
    run.calibration = fit_calibration(np.concatenate(raw), np.tile(labels.codes, len(raw)), weights)
    run.judge(labels.decide(run.proba), labels)
    run.rounds = round(float(np.mean(rounds))) if rounds else None


def _why_not(tried: list[int]) -> str:
    return f"left out after {max(tried):,} rows" if tried else "not reached"


def blend_runs(runs: Sequence[CandidateRun], labels: ComparisonData) -> CandidateRun | None:
    """The greedy blend of complete runs that can be saved; None where there is none.

    The members are found on the folds that all have in common; their weights on all repeats that they have in common.
    """
    able = [r for r in runs if r.proba is not None and r.candidate is not None and r.candidate.kind.savable]
    if not able:
        return None
    weights = greedy_blend(_truth_probabilities(able, 0, labels), labels.weights)
    able = [r for r, w in zip(able, weights, strict=True) if w > 0]
    common = min(len(r.repeats) for r in able)
    count = None if labels.weights is None else np.tile(labels.weights, common + 1)
    weights = greedy_blend(
        np.vstack([_truth_probabilities(able, repeat, labels) for repeat in range(common + 1)]), count
    )
    members = [(r, float(w)) for r, w in zip(able, weights, strict=True) if w > 0]
    mean: Floats = np.sum([w * np.asarray(r.proba, dtype=np.float64) for r, w in members], axis=0)
    blend = CandidateRun("blend", "blend", proba=mean.astype(np.float32), members=members, folds=members[0][0].folds)
    blend.judge(labels.decide(mean), labels)
    blend.rows = members[0][0].rows
    blend.fit_seconds = sum(r.fit_seconds for r, _ in members)
    blend.refit_seconds = sum(r.refit_seconds for r, _ in members)
    blend.predict_seconds = sum(r.predict_seconds for r, _ in members)
    return blend


def _truth_probabilities(runs: Sequence[CandidateRun], repeat: int, labels: ComparisonData) -> Floats:
    """The probability that each run gives the truth."""
    at = np.arange(len(labels.codes))
    proba = [r.proba if repeat == 0 else r.repeats[repeat - 1] for r in runs]
    return np.column_stack([np.asarray(p)[at, labels.codes] for p in proba])
