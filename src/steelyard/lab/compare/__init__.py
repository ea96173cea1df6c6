"""``compare``: here are my data and what mistakes cost me; what should I use, what will it cost, how sure are you?"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from ..._checks import check_count, check_number
from ...evaluate import Interval
from ...errors import StateError
from ..runs import data_digest
from .advice import advice
from .checkup import checkup
from .contenders import contenders
from .leaderboard import Standing, standings, winner_of
from .model import Model, load_model, save_model
from .page import comparison_page
from .problem import Problem, read_problem
from .progress import Watch, leaderboard_table
from .race import Race, run_race

__all__ = ["Comparison", "Model", "compare", "load_model", "save_model"]


@dataclass(frozen=True)
class Comparison:
    """What came of a comparison: the leaderboard, advice in words, warnings about the data, and the winner."""

    race: Race
    leaderboard: list[Standing]
    advice: list[str]
    warnings: list[str]

    @property
    def winner(self) -> str:
        """Name of the cheapest contender that finished."""
        return self.leaderboard[0].name

    def refit(self) -> Model:
        """The winner, taught with all rows."""
        problem, contender = self.race.problem, winner_of(self.race, self.leaderboard).contender
        return Model(contender.name, contender.teach(problem), problem.columns, problem.costs)

    def save(self, path: str | Path) -> Path:
        """Refit the winner on all rows and write it without pickle."""
        return save_model(self.refit(), path)

    def write_report(self, path: str | Path) -> Path:
        """Write one self-contained HTML page."""
        return comparison_page(self.race, self.leaderboard, self.advice, self.warnings).write(path)

    def to_json(self) -> str:
        """Leaderboard, advice and warnings for machines."""
        lines = [asdict(line) | {"like_the_best": line.like_the_best} for line in self.leaderboard]
        body = {"winner": self.winner, "advice": self.advice, "warnings": self.warnings, "leaderboard": lines}
        return json.dumps(body, indent=1, default=_plain)

    def _repr_html_(self) -> str:
        return comparison_page(self.race, self.leaderboard, self.advice, self.warnings, brief=True).html()


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
    everyone = contenders(problem)
    with Watch(console, len(everyone)) as watch:
        race = run_race(problem, everyone, folds=folds, seconds=time, jobs=jobs, state=state, watch=watch)
    lines = standings(race)
    return Comparison(race, lines, advice(race, lines), checkup(problem))


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
    kept.write_text(settings)
    return folder


def _digest(problem: Problem) -> str:
    table = problem.costs.table(problem.y)
    return hashlib.sha256((data_digest(problem.X, problem.y) + data_digest(table, problem.y)).encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    if isinstance(value, Interval):
        return [value.low, value.value, value.high]
    return value.item() if isinstance(value, np.generic) else str(value)
