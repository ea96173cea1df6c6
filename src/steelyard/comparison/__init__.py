"""``compare``: here are my data and what mistakes cost me; what should I use, what will it cost, how sure are you?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from .._version import __version__
from ..costs.spec import CostSpec
from ..models.model import Model
from ..models.storage import load_model
from ..models.training import TrainingSummary, summarize
from ..validation.values import check_count, check_number
from .cache import open_cache
from .candidates import Candidate
from .data import ComparisonData, read_data
from .data_checks import data_warnings, leaking_columns
from .evaluation import CandidateRun, Evaluation, Work, blend_runs, evaluate
from .fold import FoldRunner, Judged
from .leaderboard import LeaderboardRow, choose_winner, leaderboard
from .output import comparison_json, data_digest_of, plain_values, question_of
from .page import comparison_page
from .progress import ProgressBar
from .promise import Choice, Promise, promise
from .recommendation import recommend
from .refit import refit
from .registry import candidates as registered
from .registry import constants
from .schedule import Unit, read_effort
from .workers import InProcess, WorkerPool

__all__ = ["Comparison", "Model", "compare", "load_model"]

_CURVE_SHARE = 0.05  # of the time at most goes into the learning curve
_UNIT_LIMIT = 600.0  # CPU seconds that end a unit in a worker
_LEAST_UNIT_LIMIT = 30.0  # CPU seconds, however short the time asked for


@dataclass(frozen=True)
class Comparison:
    """What came of a comparison: the runs, the leaderboard, what to use, warnings, and what the winner will cost."""

    runs: Evaluation
    leaderboard: list[LeaderboardRow]
    recommendation: list[str]
    warnings: list[str]
    promise: Promise
    best: CandidateRun
    time_limit: float | None = None

    @property
    def winner(self) -> str:
        """Name of what is recommended."""
        return self.leaderboard[0].name

    @property
    def interrupted(self) -> bool:
        """Whether it was ended before its plan was."""
        return self.runs.interrupted

    def refit(self) -> Model:
        """The winner, fitted on all rows, or on as many as were judged where time allowed no more."""
        most = self.best.rows if self.time_limit is not None else None
        return replace(refit(self.best, self.runs.problem.subsample(most)), training=self._summary())

    def _summary(self, cost_spec: CostSpec | None = None) -> TrainingSummary:
        """What the model is to remember of the data."""
        problem = self.runs.problem
        card = {
            "rows": len(problem.codes),
            "classes": problem.classes.tolist(),
            "columns_left_out": {str(name): why for name, why in problem.columns.left_out.items()},
            "seed": problem.seed,
            "data": data_digest_of(problem),
            "steelyard": __version__,
            "promise": self.promise.as_dict(),
            "mean_cost": plain_values(self.leaderboard[0].mean_cost),
        }
        n_classes = len(problem.classes)
        return summarize(problem.X, problem.codes, n_classes, problem.columns, cost_spec=cost_spec, card=card)

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
        return (model if cost_spec is None else replace(model, training=self._summary(cost_spec))).save(path)

    def write_report(self, path: str | Path) -> Path:
        """Write one self-contained HTML page.

        Parameters
        ----------
        path : str or Path
            Where to write the page.

        Returns
        -------
        Path
            The file.
        """
        seconds = 10.0 if self.time_limit is None else _CURVE_SHARE * self.time_limit
        written: Path = self._page(seconds=seconds).write(path)
        return written

    def to_json(self) -> str:
        """Winner, promise, leaderboard and warnings for machines; the same for the same data, seed and units."""
        parts = (self.leaderboard, self.recommendation, self.warnings, self.promise)
        return comparison_json(self.runs, self.best, *parts)

    def _page(self, **settings: Any) -> Any:
        return comparison_page(
            self.runs, self.best, self.leaderboard, self.recommendation, self.warnings, self.promise, **settings
        )

    def _repr_html_(self) -> str:
        html: str = self._page(brief=True).html()
        return html


def compare(
    X: Any,
    y: Any,
    *,
    costs: Any = None,
    effort: str | int | None = None,
    time_limit: float | None = None,
    candidates: Sequence[str] | None = None,
    blend: bool = True,
    promise_rows: int | None = None,
    confidence: float = 0.95,
    groups: Any = None,
    cv: int = 5,
    n_jobs: int = 1,
    random_state: int = 0,
    drop: Sequence[Any] = (),
    roles: dict[Any, str] | None = None,
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
    X : array, CSR matrix, pandas or polars frame
    y : labels
    costs : anything :class:`Costs` reads; None for 0 and 1
    effort : {"quick", "normal", "thorough"} or a number of work units (one setting, one fold)
        By default "normal", or with a ``time_limit`` as much as it allows.
    time_limit : ceiling in seconds of CPU time of all workers; the evaluation is cut between units
    candidates : names of the candidates to try; "+catboost" and "+xgboost" join the others when installed
    blend : whether the winner may be a blend; otherwise the best single candidate
    promise_rows : number of new rows that the promise is for; by default as many as given
    confidence : of the promise
    groups : one value per row; rows of one group are never in different folds
    cv : folds, at least 2; three at most beyond 20,000 rows
    n_jobs : units side by side; with more than one, or ``isolate``, in processes of their own
    random_state : seed of folds and learners
    drop : columns to leave out
    roles : {column: "category", "date" or "text"}, where the reader should not decide
    out : folder for finished units, from which ``resume`` goes on
    interrupted : called between units; True ends the evaluation
    console : shows progress where given
    """
    if time_limit is not None:
        check_number("time_limit", time_limit, above=0)
    check_count("cv", cv, at_least=2)
    check_count("n_jobs", n_jobs)
    check_number("confidence", confidence, above=0, below=1)
    plan = read_effort(("normal" if time_limit is None else "thorough") if effort is None else effort)
    everyone = registered(candidates)
    data = read_data(X, y, costs, drop=tuple(drop), roles=roles, groups=groups, seed=random_state)
    rows = len(data.codes) if promise_rows is None else check_count("promise_rows", promise_rows)
    cache = open_cache(None if out is None else Path(out), question_of(data, everyone, cv), resume)
    pool: InProcess | WorkerPool = InProcess(data, cv)
    if n_jobs > 1 or isolate:
        pool = WorkerPool(data, cv, n_jobs, _unit_limit(time_limit))
    runner = FoldRunner(data, cv)
    stop = interrupted or _never
    try:
        with ProgressBar(console) as watch:
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
    return _concluded(evaluation, everyone, blend, rows, confidence, time_limit)


def _fold_cost(data: ComparisonData, judged: Judged, fold: int, proba: Any) -> float:
    """Mean cost of the answers of one fold, as they come from the candidate."""
    part = data.labels_only().subset(judged.split(fold)[1])
    return float(part.paid(part.decide(proba)).mean())


def _never() -> bool:
    return False


def _concluded(
    evaluation: Evaluation,
    everyone: Sequence[Candidate],
    blend: bool,
    rows: int,
    confidence: float,
    time_limit: float | None,
) -> Comparison:
    """Blend, winner, leaderboard, promise and words."""
    data, problem = evaluation.data, evaluation.problem
    fixed = [_constant(problem, data, k) for k in constants(problem)]
    singles = evaluation.complete()
    usable = [run for run in singles if run.candidate is not None and not run.candidate.kind.requires]
    blended = blend_runs(usable, data) if blend else None
    if blended is not None and len(blended.members) == 1:
        blended = blended.members[0][0]
    winner = choose_winner(singles, fixed, blended)
    runs = [*singles, *fixed] + ([blended] if blended is not None and blended.members else [])
    evaluation = replace(evaluation, entries=(*evaluation.entries, *runs[len(singles) :]))
    promised, rare = promise(data, Choice(usable, fixed, blend), rows=rows, confidence=confidence)
    lines = leaderboard(evaluation, runs, winner)
    leaks = leaking_columns(problem)
    said = _leak_warnings(problem, leaks, everyone, evaluation.judged.n_folds)
    said += recommend(evaluation, lines, winner, promised, rare)
    if time_limit is not None and not evaluation.cut and not evaluation.interrupted:
        said.append("Nothing was left to try: the plan was finished before the time was.")
    return Comparison(evaluation, lines, said, data_warnings(problem), promised, winner, time_limit)


def _constant(problem: ComparisonData, data: ComparisonData, code: int) -> CandidateRun:
    answers = np.full(len(data.codes), code, dtype=np.intp)
    run = CandidateRun(f"always {problem.classes[code]}", "constant", answers=answers, paid=data.paid(answers))
    run.folds = 0
    return run


def _leak_warnings(
    problem: ComparisonData, leaks: dict[Any, float], everyone: Sequence[Candidate], cv: int
) -> list[str]:
    """Of each column that gives the labels away, and what the first candidate costs without all of them."""
    said = [
        f"Column {name!r} alone gives away {share:.1%} of the labels: check that it is known before the outcome is."
        for name, share in leaks.items()
    ]
    if not leaks:
        return said
    cost = _cost_without(problem, set(leaks), everyone[0], cv)
    names = ", ".join(repr(name) for name in leaks)
    if cost is None:
        return [*said, f"Without {names} there is nothing to learn from."]
    return [*said, f"Without {names} {everyone[0].name} costs {cost:.4g} per example."]


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
        total += float(part.paid(part.decide(result.proba)).sum())
    return total / rows


def _unit_limit(time_limit: float | None) -> float:
    """CPU seconds that one fold of a candidate may take; a worker just started still imports its libraries."""
    return _UNIT_LIMIT if time_limit is None else min(_UNIT_LIMIT, max(_LEAST_UNIT_LIMIT, 2 * time_limit))
