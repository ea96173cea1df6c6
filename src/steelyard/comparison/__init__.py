"""``compare``: here are my data and what mistakes cost me; what should I use, what will it cost, how sure are you?"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from rich.console import Console

from ..data.digest import data_digest
from ..errors import StateError
from ..evaluate import Interval
from ..models.model import Model, found
from ..models.storage import load_model
from ..validation.values import check_count, check_number
from .data import Problem, read_problem
from .data_checks import checkup
from .evaluation import Race, run_race
from .fold import as_in_the_race
from .leaderboard import Standing, advice, standings, winner_of
from .page import comparison_page
from .progress import Watch
from .registry import contenders

__all__ = ["Comparison", "Model", "compare", "load_model"]


_MANY_ROWS = 20_000  # beyond that three folds do
_CURVE_SHARE = 0.1  # of the time at most goes into the learning curve
_RACE_SHARE = 0.7  # of the time goes into the race; intervals, pictures and the final fit take the rest


@dataclass(frozen=True)
class Comparison:
    """What came of a comparison: the leaderboard, advice in words, warnings about the data, and the winner."""

    race: Race
    leaderboard: list[Standing]
    advice: list[str]
    noticed: list[str]
    seconds: float = 120.0  # that were given

    @property
    def winner(self) -> str:
        """Name of the cheapest contender that finished."""
        return self.leaderboard[0].name

    def refit(self) -> Model:
        """The winner, taught with all rows, or with as many as in the race where time allowed no more."""
        problem, entry = self.race.problem, winner_of(self.race, self.leaderboard)
        contender = entry.contender
        with as_in_the_race():
            taught = contender.teach(problem.capped(self.race.taught_with(entry)))
        return Model(contender.name, found(taught), problem.columns, problem.typical_costs())

    def save(self, path: str | Path) -> Path:
        """Refit the winner on all rows and write it without pickle."""
        return self.refit().save(path)

    def write_report(self, path: str | Path) -> Path:
        """Write one self-contained HTML page."""
        return comparison_page(
            self.race, self.leaderboard, self.advice, self.noticed, seconds=_CURVE_SHARE * self.seconds
        ).write(path)

    def to_json(self) -> str:
        """Leaderboard, advice and warnings for machines."""
        lines = [_flat(line) for line in self.leaderboard]
        body = {"winner": self.winner, "advice": self.advice, "noticed": self.noticed, "leaderboard": lines}
        return json.dumps(body, indent=1, default=str, allow_nan=False)

    def _repr_html_(self) -> str:
        return comparison_page(self.race, self.leaderboard, self.advice, self.noticed, brief=True).html()


def compare(
    X: Any,
    y: Any,
    *,
    costs: Any = None,
    time: float = 120.0,
    folds: int = 5,
    jobs: int = 1,
    seed: int = 0,
    drop: Sequence[Any] = (),
    out: str | Path | None = None,
    resume: bool = False,
    console: Console | None = None,
) -> Comparison:
    """Compare what a user might use on data where mistakes cost differently.

    Every contender answers for every row out of fold: nested stratified cross-validation, the same folds for all,
    every search inside the training part. ``X`` array, CSR matrix, pandas or polars frame; ``costs`` anything
    :class:`Costs` reads; ``time`` seconds; ``out`` folder for what is kept, from which ``resume`` goes on;
    ``console`` shows progress where given.
    """
    check_number("time", time, above=0)
    check_count("folds", folds, at_least=2)
    check_count("jobs", jobs)
    problem = read_problem(X, y, costs, drop=tuple(drop), seed=seed)
    state = None if out is None else _state_folder(Path(out), problem, folds, resume)
    used = folds if len(problem.y) <= _MANY_ROWS else min(folds, 3)
    everyone = contenders(problem)
    with Watch(console, len(everyone)) as watch:
        race = run_race(problem, everyone, folds=used, seconds=_RACE_SHARE * time, jobs=jobs, state=state, watch=watch)
    lines = standings(race)
    noticed = checkup(problem)
    if used < folds:
        noticed.append(f"{used} folds instead of {folds}: with {len(problem.y):,} rows they say enough.")
    return Comparison(race, lines, advice(race, lines), noticed, time)


def _state_folder(out: Path, problem: Problem, folds: int, resume: bool) -> Path:
    """Where finished folds are kept; only the same question may go on from them."""
    folder = out / "state"
    settings = json.dumps({"data": _digest(problem), "folds": folds, "seed": problem.seed})
    kept = folder / "settings.json"
    if resume and kept.exists() and kept.read_text() != settings:
        raise StateError(f"{folder} must hold the same data, costs, folds and seed to go on from; start anew instead.")
    if not resume and folder.exists():
        for path in folder.glob("*.npz"):
            path.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n")
    kept.write_text(settings)
    return folder


def _digest(problem: Problem) -> str:
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


def _flat(line: Standing) -> dict[str, Any]:
    """A leaderboard line of plain values; what is not finite is null."""
    cells = {field.name: getattr(line, field.name) for field in fields(line)}
    return {name: _plain(value) for name, value in cells.items()} | {"like_the_best": line.like_the_best}


def _plain(value: Any) -> Any:
    if isinstance(value, Interval):
        return {"value": _plain(value.value), "low": _plain(value.low), "high": _plain(value.high)}
    return None if isinstance(value, float) and not math.isfinite(value) else value
