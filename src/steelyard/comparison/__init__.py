"""``compare``: here are my data and what mistakes cost me; what should I use, what will it cost, how sure are you?"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from rich.console import Console

from .._version import __version__
from ..costs.spec import CostSpec
from ..data.digest import data_digest
from ..evaluate import Interval
from ..models.model import Model, unwrap_search
from ..models.storage import load_model
from ..models.training import TrainingSummary, summarize
from ..validation.values import check_count, check_number
from .data import ComparisonData, read_data
from .data_checks import data_warnings
from .evaluation import Evaluation, evaluate
from .fold import as_in_the_race
from .leaderboard import LeaderboardRow, leaderboard, recommend, winner_of
from .out_folder import open_state
from .page import comparison_page
from .progress import ProgressBar
from .registry import candidates

__all__ = ["Comparison", "Model", "compare", "load_model"]


_MANY_ROWS = 20_000  # beyond that three folds do
_CURVE_SHARE = 0.1  # of the time at most goes into the learning curve
_RACE_SHARE = 0.7  # of the time goes into the race; intervals, pictures and the final fit take the rest


@dataclass(frozen=True)
class Comparison:
    """What came of a comparison: the leaderboard, advice in words, warnings about the data, and the winner."""

    runs: Evaluation
    leaderboard: list[LeaderboardRow]
    recommendation: list[str]
    warnings: list[str]
    seconds: float = 120.0  # that were given

    @property
    def winner(self) -> str:
        """Name of the cheapest contender that finished."""
        return self.leaderboard[0].name

    def refit(self) -> Model:
        """The winner, taught with all rows, or with as many as in the race where time allowed no more."""
        problem, entry = self.runs.problem, winner_of(self.runs, self.leaderboard)
        candidate = entry.candidate
        with as_in_the_race():
            fitted = candidate.fit(problem.subsample(self.runs.taught_with(entry)))
        return Model(candidate.name, unwrap_search(fitted), problem.columns, problem.mean_costs(), self._summary())

    def _summary(self, cost_spec: CostSpec | None = None) -> TrainingSummary:
        """What the model is to remember of the data."""
        problem, best = self.runs.problem, self.leaderboard[0]
        card = {
            "rows": len(problem.y),
            "classes": problem.classes.tolist(),
            "columns_left_out": {str(name): why for name, why in problem.columns.left_out.items()},
            "seed": problem.seed,
            "data": _digest(problem),
            "steelyard": __version__,
            "mean_cost": _plain(best.mean_cost),
        }
        codes = problem.costs.encode(problem.y)
        return summarize(problem.X, codes, len(problem.classes), problem.columns, cost_spec=cost_spec, card=card)

    def save(self, path: str | Path, *, cost_spec: CostSpec | None = None) -> Path:
        """Refit the winner on all rows and write it without pickle.

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
        return comparison_page(
            self.runs, self.leaderboard, self.recommendation, self.warnings, seconds=_CURVE_SHARE * self.seconds
        ).write(path)

    def to_json(self) -> str:
        """Leaderboard, advice and warnings for machines."""
        lines = [_flat(line) for line in self.leaderboard]
        body = {
            "winner": self.winner,
            "recommendation": self.recommendation,
            "warnings": self.warnings,
            "leaderboard": lines,
        }
        return json.dumps(body, indent=1, default=str, allow_nan=False)

    def _repr_html_(self) -> str:
        return comparison_page(self.runs, self.leaderboard, self.recommendation, self.warnings, brief=True).html()


def compare(
    X: Any,
    y: Any,
    *,
    costs: Any = None,
    time_limit: float = 120.0,
    cv: int = 5,
    n_jobs: int = 1,
    random_state: int = 0,
    drop: Sequence[Any] = (),
    out: str | Path | None = None,
    resume: bool = False,
    console: Console | None = None,
) -> Comparison:
    """Compare what a user might use on data where mistakes cost differently.

    Every contender answers for every row out of fold: nested stratified cross-validation, the same folds for all,
    every search inside the training part. ``X`` array, CSR matrix, pandas or polars frame; ``costs`` anything
    :class:`Costs` reads; ``time_limit`` seconds; ``out`` folder for what is kept, from which ``resume`` goes on;
    ``console`` shows progress where given.
    """
    check_number("time_limit", time_limit, above=0)
    check_count("cv", cv, at_least=2)
    check_count("n_jobs", n_jobs)
    problem = read_data(X, y, costs, drop=tuple(drop), seed=random_state)
    state = None if out is None else _state_folder(Path(out), problem, cv, resume)
    used = cv if len(problem.y) <= _MANY_ROWS else min(cv, 3)
    everyone = candidates(problem)
    with ProgressBar(console, len(everyone)) as watch:
        evaluation = evaluate(
            problem, everyone, folds=used, seconds=_RACE_SHARE * time_limit, jobs=n_jobs, state=state, watch=watch
        )
    lines = leaderboard(evaluation)
    warnings = data_warnings(problem)
    if used < cv:
        warnings.append(f"{used} folds instead of {cv}: with {len(problem.y):,} rows they say enough.")
    return Comparison(evaluation, lines, recommend(evaluation, lines), warnings, time_limit)


def _state_folder(out: Path, problem: ComparisonData, folds: int, resume: bool) -> Path:
    """Where finished folds are kept; only the same question may go on from them."""
    settings = json.dumps({"data": _digest(problem), "folds": folds, "seed": problem.seed})
    return open_state(out, settings, resume)


def _digest(problem: ComparisonData) -> str:
    """Sixteen digits that change when a cell, a name, a label or a cost does."""
    frame = nw.from_native(problem.X, eager_only=True, pass_through=True)
    parts = [data_digest(problem.costs.per_example(problem.y), problem.y), repr(problem.columns)]
    if isinstance(frame, nw.DataFrame):
        parts += [data_digest(_cells(frame[name]), ()) for name in problem.columns.used]
    else:
        parts.append(data_digest(problem.X, ()))
    return hashlib.sha256("".join(parts).encode()).hexdigest()[:16]


def _cells(column: Any) -> Any:
    """A column as an array of numbers, words as their bytes."""
    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        return column.cast(nw.Float64).to_numpy()
    return np.frombuffer("\0".join(map(str, column.to_list())).encode(), dtype=np.uint8)


def _flat(line: LeaderboardRow) -> dict[str, Any]:
    """A leaderboard line of plain values; what is not finite is null."""
    cells = {field.name: getattr(line, field.name) for field in fields(line)}
    return {name: _plain(value) for name, value in cells.items()} | {"tied_with_best": line.tied_with_best}


def _plain(value: Any) -> Any:
    if isinstance(value, Interval):
        return {"value": _plain(value.value), "low": _plain(value.low), "high": _plain(value.high)}
    return None if isinstance(value, float) and not math.isfinite(value) else value
