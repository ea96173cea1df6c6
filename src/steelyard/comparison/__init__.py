"""``compare``: here are my data and what mistakes cost me; what should I use, what will it cost, how sure are you?

Tested in ``tests/unit/comparison``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from ..costs.spec import CostSpec
from ..data import Parts
from ..executors import check_executor
from ..models.model import Model
from ..models.storage import load_model, save_object
from ..models.training import TrainingSummary, summarize
from ..validation.docstrings import documented
from ..validation.types import ArrayLike, Splitter
from ..validation.values import check_count, check_number, invalid
from .cache import open_cache
from .candidates import Candidate
from .choice import choose_winner
from .cluster import ExecutorPool
from .data import ComparisonData, read_data, read_folds
from .data_checks import data_warnings, leaking_columns
from .evaluation import CandidateRun, Evaluation, Work, blend_runs, evaluate, last_steps_seconds
from .fold import FoldRunner, InProcess, Judged
from .given import check_portable, given_candidates
from .leaderboard import LeaderboardRow, leaderboard
from .output import comparison_json, question_of
from .page import PageSource, comparison_page
from .progress import ProgressBar, notebook_console
from .promise import Choice, Promise, promise
from .recommendation import recommend
from .refit import refit, size_when_saved
from .registry import candidates as registered
from .registry import constants, in_turn
from .schedule import Unit, read_effort
from .side_columns import read_current, read_segments
from .views import ComparisonViews
from .workers import WorkerPool

__all__ = ["Comparison", "Model", "compare", "load_model"]

_UNIT_LIMIT = 600.0  # CPU seconds that end a unit in a worker
_LEAST_UNIT_LIMIT = 30.0  # CPU seconds, however short the time asked for
_PAGE_SECONDS = 10.0  # of CPU for the page's fits (learning curve, what matters), at the least
_PAGE_SHARE = 0.1  # of the CPU time of the evaluation, where that is more


@dataclass(frozen=True, repr=False)
class Comparison(ComparisonViews):
    """The result of a comparison.

    Parameters
    ----------
    runs : Evaluation
        All that was tried.
    lines : list of LeaderboardRow
        The leaderboard as values, best first; ``leaderboard`` is the same as a frame.
    recommendation : list of str
        What to use and why, in sentences.
    warnings : list of str
        What is suspicious about the data or the result.
    promise : Promise
        What the winner will cost on new rows.
    best : CandidateRun
        The run of the winner.
    time_limit : float or None
        Seconds that were allowed.
    alternative : CandidateRun or None
        A single model that differs from the winning blend within chance.
    source, target : str or None
        File and column of the labels, for the page.
    segments : mapping of str to ndarray
        By what the page tells costs apart.
    """

    runs: Evaluation
    lines: list[LeaderboardRow]
    recommendation: list[str]
    warnings: list[str]
    promise: Promise
    best: CandidateRun
    time_limit: float | None = None
    alternative: CandidateRun | None = None  # a single model that differs from the blend within chance
    source: str | None = None  # file and column of labels, for the page
    target: str | None = None
    segments: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def winner(self) -> str:
        """Name of what is recommended."""
        return self.lines[0].name

    @property
    def interrupted(self) -> bool:
        """Whether it was ended before its plan was."""
        return self.runs.interrupted

    def speed(self) -> str | None:
        """How fast the blend answers, and the single model that would do as well; None without such a one.

        Times differ from run to run, so that this is said beside the advice and is no part of the JSON.
        """
        if self.alternative is None:
            return None
        rows = max(1, len(self.runs.judged.rows) // max(1, self.runs.judged.n_folds))
        blend, single = (1e6 * run.predict_seconds / rows for run in (self.best, self.alternative))
        times = (f"{value:,.0f}" if value >= 100 else f"{value:.3g}" for value in (single, blend))
        return "{} answered 1,000 rows in {} ms, the blend in {} ms.".format(self.alternative.name, *times)

    def refit(self) -> Model:
        """The winner, fitted on all rows, or on as many as were judged where time allowed no more."""
        most = self.best.rows if self.time_limit is not None else None
        problem = self.runs.problem.subsample(most)
        return replace(refit(self.best, problem, problem.deciding_costs()), training=self._summary())

    def _summary(self, cost_spec: CostSpec | None = None) -> TrainingSummary:
        """What the model is to remember of the data."""
        problem = self.runs.problem
        n_classes = len(problem.classes)
        given: dict[str, Any] = {"weights": problem.weights, "cost_spec": cost_spec, "card": self.card}
        return summarize(problem.X, problem.codes, n_classes, problem.columns, **given)

    def save(self, path: str | Path, *, cost_spec: CostSpec | None = None) -> Path:
        """Fit the winner on all rows and write it without pickle.

        Parameters
        ----------
        path : str or Path
            Where to write the model.
        cost_spec : CostSpec, optional
            The costs as stated, where they name columns that new rows are to have.

        Returns
        -------
        Path
            The file.
        """
        model = self.refit()
        return save_object(model if cost_spec is None else replace(model, training=self._summary(cost_spec)), path)

    def report(self, path: str | Path, *, show_rows: bool = False) -> Path:
        """Write one self-contained HTML page.

        Parameters
        ----------
        path : str or Path
            Where to write the page.
        show_rows : bool
            Whether the costliest mistakes are shown with their cells. Pages get forwarded: the default is row numbers.

        Returns
        -------
        Path
            The file.
        """
        return comparison_page(self._page_source(), show_rows=show_rows, seconds=self._page_seconds()).write(path)

    def _page_seconds(self) -> float:
        """CPU seconds for the page's fits; with a time limit what is left of it, once the model is fitted, too."""
        seconds = max(_PAGE_SECONDS, _PAGE_SHARE * self.runs.cpu_seconds)
        if self.time_limit is None:
            return seconds
        judged = sum(run.candidate is not None for run in self.runs.complete())
        last = last_steps_seconds(len(self.runs.judged.rows), judged) + self.best.refit_seconds
        left = self.time_limit - self.runs.cpu_seconds - last
        return min(seconds, max(left, 0.0))

    def _page_source(self) -> PageSource:
        shown = (self.lines, self.recommendation, self.warnings, self.promise, self.card)
        return PageSource(self.runs, self.best, *shown, self.source, self.target, self.segments)

    def to_json(self) -> str:
        """Winner, promise, leaderboard and warnings for machines; the same for the same data, seed and units."""
        parts = (self.lines, self.recommendation, self.warnings, self.promise)
        return comparison_json(self.runs, self.best, *parts)


@documented()
def compare(
    X: Any,
    y: Any,
    *,
    costs: Any = None,
    effort: str | int | None = None,
    time_limit: float | None = None,
    candidates: Sequence[str] | str | None = None,
    estimators: Mapping[str, Any] | None = None,
    blend: bool = True,
    promise_rows: int | None = None,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
    groups: Any = None,
    cv: int | Splitter = 5,
    n_jobs: int = 1,
    executor: Executor | None = None,
    random_state: int = 0,
    drop: Sequence[Any] | str = (),
    roles: dict[Any, str] | None = None,
    segments: Mapping[str, Any] | Sequence[str] | None = None,
    current: Any = None,
    out: str | Path | None = None,
    resume: bool = False,
    isolate: bool = False,
    interrupted: Callable[[], bool] | None = None,
    console: Console | None = None,
) -> Comparison:
    """Compare what a user might use on data where mistakes cost differently.

    Every candidate answers for every row out of fold, all preparation is fitted inside the folds, and the probabilities
    of the candidates are calibrated out of fold and blended. The same data, seed and effort give the same result.

    Parameters
    ----------
    X : array, CSR matrix, pandas, polars or pyarrow frame, or list of rows
        Rows.
    effort : {"quick", "normal", "thorough"} or a number of work units (one setting, one fold)
        By default "normal", or with a ``time_limit`` as much as it allows.
    time_limit : float or None
        Ceiling in seconds of CPU time of all workers; the evaluation is cut between units.
    candidates : sequence of str, str or None
        Names of the candidates to try; "+catboost" and "+xgboost" join the others when installed.
    estimators : dict or None
        {name: classifier of yours}, candidates like the others: a copy is fitted on rows that are imputed, scaled and
        encoded, with labels 0, 1, .. and, where its ``fit`` takes them, ``costs``. One whose class cannot be saved is
        compared, and neither named nor blended.
    blend : bool
        Whether the winner may be a blend; otherwise the best single candidate.
    promise_rows : int or None
        Number of new rows that the promise is for; by default as many as given.
    confidence : float in (0, 1)
        Of the promise.
    sample_weight : array-like of shape (n,) or None
        How much each row counts, above 0: in every fit that takes weights, in calibration, blend and promise, and in
        all figures, which are those of rows repeated so often. Intervals and tests draw rows, whatever these weigh.
    groups : array-like of shape (n,) or None
        One value per row; rows of one group are never in different folds. A row without a value is a group of its own.
    cv : int or splitter
        Folds, at least 2; three at most where rows times classes are more than 40,000. Or a splitter of scikit-learn
        that holds every row out once; it is given the class codes and ``groups``, and folds are not dealt out again.
    n_jobs : int
        Units side by side; with more than one, or ``isolate``, in processes of their own.
    executor : Executor or None
        Where units run instead, such as what :func:`steelyard.scale.on_dask` gives: the data are sent once, a lost
        worker's unit is run again, and the result is the same.
    random_state : int
        Seed of folds and learners.
    drop : sequence or str
        Columns to leave out.
    roles : dict or None
        {column: "category", "date" or "text"}, where the reader should not decide.
    segments : dict, sequence or None
        {name: one value per row}, or names of columns of ``X``, by which the page tells costs apart.
    current : array-like of shape (n,) or None
        Labels that today's rule gives the rows; it is compared with all others.
    out : path-like or None
        Folder for finished units.
    resume : bool
        Go on from the units found there.
    isolate : bool
        Run units in a process of their own even with one job.
    interrupted : callable or None
        Called between units; True ends the evaluation.
    console : rich Console or None
        Shows progress where given.

    Returns
    -------
    Comparison
        Leaderboard, winner, promise and warnings.
    """
    if isinstance(X, Parts):
        raise invalid("X", "be rows that memory holds", X, "For parts: compare_parts(parts, target, sample=100_000).")
    if time_limit is not None:
        check_number("time_limit", time_limit, above=0)
    check_count("n_jobs", n_jobs)
    check_number("confidence", confidence, above=0, below=1)
    random_state = check_count("random_state", random_state, at_least=0)
    plan = read_effort(("normal" if time_limit is None else "thorough") if effort is None else effort)
    everyone = registered(candidates)
    everyone = [*everyone, *given_candidates(estimators, {each.name for each in everyone})]
    if executor is None and (n_jobs > 1 or isolate):
        check_portable(estimators)
    data = read_data(X, y, costs, drop=drop, roles=roles, groups=groups, weights=sample_weight, seed=random_state)
    everyone = in_turn(everyone, data)
    n_folds, folds = read_folds(cv, data)
    if folds is not None:
        data, plan = replace(data, folds=folds), replace(plan, repeats=0)
    parts, today = read_segments(X, segments, len(data.codes)), read_current(current, data)
    rows = len(data.codes) if promise_rows is None else check_count("promise_rows", promise_rows)
    cache = open_cache(None if out is None else Path(out), question_of(data, everyone, n_folds), resume)
    pool: InProcess | WorkerPool | ExecutorPool = InProcess(data, n_folds)
    stop = interrupted or _never
    if check_executor(executor) is not None:
        pool = ExecutorPool(data, n_folds, executor, interrupted=stop)  # type: ignore[arg-type]
    elif n_jobs > 1 or isolate:
        pool = WorkerPool(data, n_folds, n_jobs, _unit_limit(time_limit), interrupted=stop)
    runner = FoldRunner(data, n_folds)
    try:
        with ProgressBar(notebook_console() if console is None else console) as watch:
            work = Work(
                pool,
                cache,
                runner.judged,
                len(data.classes),
                limit=plan.limit,
                time_limit=time_limit,
                interrupted=stop,
                cost_of=lambda unit, result: _fold_cost(data, runner.judged(unit.rows), unit.fold, result.proba),
                watch=watch,
            )
            evaluation = evaluate(data, everyone, work, runner.judged, plan)
    finally:
        pool.close()
    if stop():
        evaluation = replace(evaluation, interrupted=True)
    found = _concluded(evaluation, everyone, blend, rows, confidence, time_limit, today)
    return replace(found, segments=parts)


def _fold_cost(data: ComparisonData, judged: Judged, fold: int, proba: Any) -> float:
    """Mean cost of the answers of one fold, as they come from the candidate."""
    part = data.labels_only().subset(judged.split(fold)[1])
    return float(np.average(part.paid(part.decide(proba)), weights=part.weights))


def _never() -> bool:
    return False


def _concluded(
    evaluation: Evaluation,
    everyone: Sequence[Candidate],
    blend: bool,
    rows: int,
    confidence: float,
    time_limit: float | None,
    today: NDArray[np.intp] | None = None,
) -> Comparison:
    """Blend, winner, leaderboard, promise and words."""
    data, problem = evaluation.data, evaluation.problem
    fixed = [_constant(problem, data, k) for k in constants(problem)]
    singles = evaluation.complete()
    usable = [run for run in singles if run.candidate is not None and run.candidate.kind.savable]
    blended = blend_runs(usable, data) if blend else None
    if blended is not None and len(blended.members) == 1:
        blended = blended.members[0][0]
    winner = choose_winner(singles, fixed, blended)
    runs = [*singles, *fixed] + ([blended] if blended is not None and blended.members else [])
    if today is not None:
        runs.append(_fixed_run("today's rule", "current", today[evaluation.judged.rows], data))
    evaluation = replace(evaluation, entries=(*evaluation.entries, *runs[len(singles) :]))
    choice, folds = Choice(usable, fixed, blend), evaluation.judged.n_folds
    promised, rare = promise(data, choice, folds=folds, rows=rows, confidence=confidence)
    lines = leaderboard(evaluation, runs, winner)
    leaks = leaking_columns(problem)
    said = _leak_warnings(problem, leaks, everyone, evaluation.judged.n_folds)
    alternative = _alternative(lines, winner, singles)
    size = None
    if alternative is not None and not evaluation.interrupted:  # it takes a fit
        size = size_when_saved(alternative, problem.subsample(alternative.rows))
    said += recommend(evaluation, lines, winner, promised, rare, size) + _weight_warnings(problem, singles)
    if time_limit is not None and not evaluation.cut and not evaluation.interrupted:
        said.append("Nothing was left to try: the plan was finished before the time was.")
    return Comparison(evaluation, lines, said, data_warnings(problem), promised, winner, time_limit, alternative)


def _weight_warnings(problem: ComparisonData, singles: Sequence[CandidateRun]) -> list[str]:
    """Who was judged by weights of rows that its fit cannot take."""
    names = [run.name for run in singles if run.candidate is not None and not run.candidate.kind.takes_weights]
    if problem.weights is None or not names:
        return []
    return [
        f"Fitted without the weights of the rows, which they cannot take, and judged with them: {'; '.join(names)}."
    ]


def _alternative(
    lines: Sequence[LeaderboardRow], winner: CandidateRun, singles: Sequence[CandidateRun]
) -> CandidateRun | None:
    """The cheapest single model whose distance to the blend is within chance."""
    if not winner.members:
        return None
    tied = {line.name for line in lines if line.tied_with_best}
    alike = [run for run in singles if run.name in tied and run.candidate is not None and run.candidate.kind.savable]
    return min(alike, key=lambda run: (run.cost, run.name), default=None)


def _constant(problem: ComparisonData, data: ComparisonData, code: int) -> CandidateRun:
    answers = np.full(len(data.codes), code, dtype=np.intp)
    return _fixed_run(f"always {problem.classes[code]}", "constant", answers, data)


def _fixed_run(name: str, family: str, answers: NDArray[np.intp], data: ComparisonData) -> CandidateRun:
    run = CandidateRun(name, family)
    run.judge(answers, data)
    return run


def _leak_warnings(
    problem: ComparisonData, leaks: dict[Any, float], everyone: Sequence[Candidate], cv: int
) -> list[str]:
    """Of each column that gives the labels away, and what the first candidate costs without all of them."""
    said = [
        f"Column {name!r} alone gives away {share:.1%} of the labels: check that it is known before the outcome is."
        for name, share in leaks.items()
    ]
    if not leaks or not everyone:  # nobody but the constants takes part
        return said
    cost = _cost_without(problem, set(leaks), everyone[0], cv)
    names = ", ".join(repr(name) for name in leaks)
    if cost is None:
        return [*said, f"Without {names} there is nothing to learn from."]
    return [
        *said,
        f"Without {names} {everyone[0].name} costs {problem.costs.format(float(f'{cost:.4g}'))} per example.",
    ]


def _cost_without(problem: ComparisonData, names: set[Any], candidate: Candidate, cv: int) -> float | None:
    columns = problem.columns
    kept: dict[str, Any] = {
        role: tuple(name for name in getattr(columns, role) if name not in names)
        for role in ("numeric", "nominal", "many", "dates", "texts")
    }
    rest = replace(problem, columns=replace(columns, **kept))
    if not rest.columns.used or candidate.unable(rest) is not None:
        return None
    runner = FoldRunner(rest, cv)
    rows = len(problem.codes)
    judged: Judged = runner.judged(rows)
    total = 0.0
    for fold in range(judged.n_folds):
        result = runner.run(Unit(0, rows, fold), candidate)
        if isinstance(result, str):
            return None
        part = problem.labels_only().subset(judged.split(fold)[1])
        total += float(part.row_weights @ part.paid(part.decide(result.proba)))
    return total / float(problem.row_weights.sum())


def _unit_limit(time_limit: float | None) -> float:
    """CPU seconds that one fold of a candidate may take; a worker just started still imports its libraries."""
    return _UNIT_LIMIT if time_limit is None else min(_UNIT_LIMIT, max(_LEAST_UNIT_LIMIT, 2 * time_limit))
