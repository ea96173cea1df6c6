"""``compare``: here are my data and what mistakes cost me; what should I use, what will it cost, how sure are you?"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from rich.console import Console

from ..._checks import check_count, check_number
from ...errors import StateError
from ...evaluate import Interval
from ..runs import data_digest
from .advice import advice
from .checkup import checkup
from .contenders import contenders
from .leaderboard import Standing, standings, winner_of
from .model import Model, load_model, save_model
from .page import comparison_page
from .problem import Problem, read_problem
from .progress import Watch
from .race import Race, run_race

__all__ = ["Comparison", "Model", "compare", "load_model", "save_model"]


_MANY_ROWS = 20_000  # beyond that three folds do
_RACE_SHARE = 0.8  # of the time goes into the race; intervals, pictures and the final fit take the rest


@dataclass(frozen=True)
class Comparison:
    """What came of a comparison: the leaderboard, advice in words, warnings about the data, and the winner."""

    race: Race
    leaderboard: list[Standing]
    advice: list[str]
    noticed: list[str]

    @property
    def winner(self) -> str:
        """Name of the cheapest contender that finished."""
        return self.leaderboard[0].name

    def refit(self) -> Model:
        """The winner, taught with all rows."""
        problem, contender = self.race.problem, winner_of(self.race, self.leaderboard).contender
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as in the race
            return Model(contender.name, contender.teach(problem), problem.columns, problem.typical_costs())

    def save(self, path: str | Path) -> Path:
        """Refit the winner on all rows and write it without pickle."""
        return save_model(self.refit(), path)

    def write_report(self, path: str | Path) -> Path:
        """Write one self-contained HTML page."""
        return comparison_page(self.race, self.leaderboard, self.advice, self.noticed).write(path)

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
    return Comparison(race, lines, advice(race, lines), noticed)


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
    table = problem.costs.table(problem.y)
    names = repr(problem.columns)
    parts = (data_digest(problem.X, problem.y), data_digest(table, problem.y), names)
    return hashlib.sha256("".join(parts).encode()).hexdigest()[:16]


def _flat(line: Standing) -> dict[str, Any]:
    """A leaderboard line of plain values; what is not finite is null."""
    cells = {field.name: getattr(line, field.name) for field in fields(line)}
    return {name: _plain(value) for name, value in cells.items()} | {"like_the_best": line.like_the_best}


def _plain(value: Any) -> Any:
    if isinstance(value, Interval):
        return {"value": _plain(value.value), "low": _plain(value.low), "high": _plain(value.high)}
    return None if isinstance(value, float) and not math.isfinite(value) else value
