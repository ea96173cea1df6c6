"""Running recipes: in parallel, with progress, each finished run kept at once so that an interrupted job resumes."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ..data import load_dataset
from ..data.digest import data_digest
from ..errors import InvalidInputError
from ..validation.arrays import take_rows
from .protocols import ClassSizes, Holdout, Outcome, RunProtocol, Stream, Sweep, Task, ThreeGaussians
from .recipe import Recipe, build

PROTOCOLS = {kind.__name__: kind for kind in (Stream, Holdout, ClassSizes, Sweep, ThreeGaussians)}
_FIXED = ["recipe", "data", "commit", "learner", "run", "took"]


@dataclass(frozen=True)
class Run:
    """One learner's finished run as it is kept on disk."""

    learner: str
    run: int
    seconds: float
    values: Mapping[str, float]


def protocol_of(recipe: Recipe, *, runs: int | None = None, quick: bool = False) -> RunProtocol:
    """The recipe's protocol; ``runs`` and the recipe's own ``quick`` shorten it."""
    kind = str(recipe.protocol.get("use"))
    if kind not in PROTOCOLS:
        raise InvalidInputError(f"recipe {recipe.path} must use one of {', '.join(PROTOCOLS)}; got {kind!r}.")
    made: Any = PROTOCOLS[kind](**{k: v for k, v in recipe.protocol.items() if k != "use"})
    wanted = runs if runs is not None else recipe.quick.get("runs", min(made.runs, 3)) if quick else made.runs
    return replace(made, runs=min(int(wanted), made.runs) if runs is None else int(wanted))  # type: ignore[no-any-return]


def task_of(recipe: Recipe) -> tuple[Task, str]:
    """The recipe's data and measures, and the digest of the rows and labels they were run on."""
    if recipe.data.get("generated"):
        return Task(None, np.empty(0), recipe.prepare, build(recipe.costs), recipe.measures), "generated"
    dataset = load_dataset(**{k: v for k, v in recipe.data.items() if k not in ("label", "dense", "rows")})
    X, y = dataset.X, np.asarray(dataset.y)
    if "rows" in recipe.data:  # a random part of a data set too large to use whole
        chosen = np.sort(np.random.default_rng(0).choice(len(y), int(recipe.data["rows"]), replace=False))
        X, y = take_rows(X, chosen), y[chosen]
    task = Task(X.toarray() if recipe.data.get("dense") else X, y, recipe.prepare, build(recipe.costs), recipe.measures)
    return task, data_digest(X, y)


def run_recipe(
    recipe: Recipe, *, runs: int | None = None, quick: bool = False, jobs: int = 1, console: Console | None = None
) -> list[Run]:
    """Do what of a recipe is not done yet, keep every run as it ends, and return all of them."""
    protocol = protocol_of(recipe, runs=runs, quick=quick)
    task, data = task_of(recipe)
    task = protocol.ready(task)
    learners = {str(spec["name"]): spec for spec in recipe.learners}
    done = [run for run in read_runs(recipe, data) if run.learner in learners and run.run < protocol.runs]
    finished = {(run.learner, run.run) for run in done}
    left = [(name, r) for r in range(protocol.runs) for name in learners if (name, r) not in finished]
    with _progress(console) as progress:
        bar = progress.add_task(f"{recipe.paper} {recipe.item}, {recipe.data_name}", total=len(done) + len(left))
        progress.advance(bar, len(done))
        for (name, r), outcome in _outcomes(protocol, task, learners, left, jobs):
            values = {**outcome.values, "seconds": outcome.seconds} if recipe.timed else outcome.values
            run = Run(name, r, outcome.seconds, values)
            _append(recipe, data, [run])
            keep_curve(recipe, run, outcome)
            done.append(run)
            progress.advance(bar)
    return sorted(done, key=lambda run: (run.run, list(learners).index(run.learner)))


def _outcomes(
    protocol: RunProtocol,
    task: Task,
    learners: Mapping[str, Mapping[str, Any]],
    left: list[tuple[str, int]],
    jobs: int,
) -> Iterator[tuple[tuple[str, int], Outcome]]:
    if jobs == 1:
        for name, r in left:
            yield (name, r), protocol.one(task, learners[name], r)
        return
    calls = (delayed(_tagged)(protocol, task, learners[name], name, r) for name, r in left)
    yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(calls)


def _tagged(
    protocol: RunProtocol, task: Task, learner: Mapping[str, Any], name: str, run: int
) -> tuple[tuple[str, int], Outcome]:
    return (name, run), protocol.one(task, learner, run)


def _progress(console: Console | None) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console or Console(stderr=True), transient=True)


# -- what is kept -----------------------------------------------------------------------------------------------------


def read_runs(recipe: Recipe, data: str | None = None) -> list[Run]:
    """The kept runs that belong to this very recipe (and data): others are left out."""
    if not recipe.results.exists():
        return []
    with recipe.results.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["recipe"] == recipe.digest and data in (None, row["data"])]
    return [
        Run(
            row["learner"],
            int(row["run"]),
            float(row["took"]),
            {k: float(v) for k, v in row.items() if k not in _FIXED and v},
        )
        for row in rows
    ]


def _append(recipe: Recipe, data: str, runs: Iterable[Run]) -> None:
    path = recipe.results
    path.parent.mkdir(exist_ok=True)
    if path.exists() and not _same_recipe(path, recipe, data):
        path.unlink()  # the recipe or the data changed: its old runs say nothing about it
        _curve_path(recipe).unlink(missing_ok=True)
    commit = _commit()
    fresh = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for run in runs:
            if fresh:
                writer.writerow([*_FIXED, *run.values])
                fresh = False
            fixed = [recipe.digest, data, commit, run.learner, run.run, f"{run.seconds:.4g}"]
            writer.writerow([*fixed, *(repr(round(v, 10)) for v in run.values.values())])


def _same_recipe(path: Path, recipe: Recipe, data: str) -> bool:
    with path.open(newline="") as file:
        first = next(csv.DictReader(file), None)
    return first is None or (first["recipe"], first["data"]) == (recipe.digest, data)


def _commit() -> str:
    answer = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "unknown"


def _curve_path(recipe: Recipe) -> Path:
    return recipe.results.with_suffix(".curves.csv")


def keep_curve(recipe: Recipe, run: Run, outcome: Outcome) -> None:
    """Append a run's curve, one line a point, beside its results."""
    if not outcome.curve:
        return
    path = _curve_path(recipe)
    fresh = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if fresh:
            writer.writerow(["learner", "run", *outcome.curve])
        for point in zip(*outcome.curve.values(), strict=True):
            writer.writerow([run.learner, run.run, *(f"{v:.6g}" for v in point)])


def read_curves(recipe: Recipe) -> dict[str, dict[int, dict[str, list[float]]]]:
    """The kept curves: learner -> run -> column -> values."""
    curves: dict[str, dict[int, dict[str, list[float]]]] = {}
    path = _curve_path(recipe)
    if path.exists():
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                columns = curves.setdefault(row.pop("learner"), {}).setdefault(int(row.pop("run")), {})
                for name, value in row.items():
                    columns.setdefault(name, []).append(float(value))
    return curves
