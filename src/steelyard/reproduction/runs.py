"""Running recipes: in parallel, with progress, each finished run kept at once so that an interrupted job resumes."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ..data import load_dataset, load_orders
from ..data.digest import data_digest
from ..errors import InvalidInputError
from ..validation.arrays import take_rows
from .protocols import ClassSizes, Holdout, Outcome, RunProtocol, Stream, Sweep, Task, ThreeGaussians
from .recipe import Recipe, build
from .results import Results, Run
from .searches import ChosenOnce, GridStream, SearchedCosts

PROTOCOLS: dict[str, Callable[..., RunProtocol]] = {
    kind.__name__: kind for kind in (Stream, Holdout, ClassSizes, Sweep, ThreeGaussians)
}
PROTOCOLS |= {"Tuned": GridStream, "SearchedCosts": SearchedCosts, "ChosenOnce": ChosenOnce}


@dataclass(frozen=True)
class Wish:
    """How much of a recipe is wanted: some learners, another number of runs, a part, and until when."""

    learners: tuple[str, ...] = ()
    runs: int | None = None
    quick: bool = False
    n_jobs: int = 1
    deadline: float | None = None

    def runs_of(self, recipe: Recipe) -> dict[str, int]:
        """Number the runs of every wanted learner."""
        full = full_runs(recipe)
        chosen = {name: n for name, n in full.items() if not self.learners or name in self.learners}
        if self.runs is not None:
            return dict.fromkeys(chosen, self.runs)
        if self.quick:
            return {name: min(n, int(recipe.quick.get("runs", 3))) for name, n in chosen.items()}
        return chosen

    def over(self) -> bool:
        """Whether the time is up."""
        return self.deadline is not None and time.monotonic() >= self.deadline


@dataclass
class Done:
    """What came of a recipe: its runs, how many of those wanted are left, for how long, and notes on its files."""

    runs: list[Run]
    left: int = 0
    hours_left: float = 0.0
    notes: list[str] = field(default_factory=list)


def full_runs(recipe: Recipe) -> dict[str, int]:
    """How many runs of each learner make the experiment; a learner's own ``runs`` wins over the protocol's."""
    runs = protocol_of(recipe).runs
    return {str(spec["name"]): int(spec.get("runs", runs)) for spec in recipe.learners}


def most_runs(recipe: Recipe) -> int | None:
    """Count the runs that can be made of a recipe at all, where published orders of the rows limit them."""
    orders = recipe.protocol.get("orders")
    return None if orders is None else len(load_orders(str(orders)))


def measures_of(recipe: Recipe) -> list[str]:
    """Name what the runs of a recipe measure, as far as the recipe says so."""
    named = [str(spec.get("name", spec["use"])) for spec in recipe.measures]
    return [*named, "seconds"] if recipe.timed else [*named, *protocol_of(recipe).extra_measures]


def protocol_of(recipe: Recipe) -> RunProtocol:
    """Build the recipe's protocol."""
    kind = str(recipe.protocol.get("use"))
    if kind not in PROTOCOLS:
        raise InvalidInputError(f"recipe {recipe.path} must use one of {', '.join(PROTOCOLS)}; got {kind!r}.")
    return PROTOCOLS[kind](**{k: v for k, v in recipe.protocol.items() if k != "use"})


def task_of(recipe: Recipe) -> tuple[Task, str]:
    """Prepare what all runs of a recipe share, and digest the rows and labels they are run on."""
    task = Task(None, np.empty(0), recipe.prepare, build(recipe.costs), recipe.measures)
    protocol = protocol_of(recipe)
    if recipe.data.get("generated"):
        return protocol.ready(task), "generated"
    X, y, digest = _loaded(data_key(recipe))
    if isinstance(protocol, Stream) and recipe.prepare:  # all runs, and all recipes on these data, share the rows
        prepared = _prepared(data_key(recipe), json.dumps(recipe.prepare))
        return protocol.ready(replace(task, X=prepared, y=y, prepare=())), digest
    return protocol.ready(replace(task, X=X, y=y)), digest


def data_key(recipe: Recipe) -> str:
    """Which rows and labels a recipe reads, whatever the paper calls them: recipes of one key share one load."""
    return json.dumps({k: v for k, v in recipe.data.items() if k != "label"}, sort_keys=True)


@lru_cache(maxsize=1)
def _loaded(key: str) -> tuple[Any, NDArray[Any], str]:
    data = json.loads(key)
    dataset = load_dataset(**{k: v for k, v in data.items() if k not in ("dense", "rows")})
    X, y = dataset.X, np.asarray(dataset.y)
    if "rows" in data:  # a random part of a data set too large to use whole
        chosen = np.sort(np.random.default_rng(0).choice(len(y), int(data["rows"]), replace=False))
        X, y = take_rows(X, chosen), y[chosen]
    return X.toarray() if data.get("dense") else X, y, data_digest(X, y)


@lru_cache(maxsize=1)
def _prepared(key: str, steps: str) -> Any:
    rows = _loaded(key)[0]
    for step in json.loads(steps):
        rows = build(step).fit_transform(rows)
    return rows


def run_recipe(recipe: Recipe, results: Results, wish: Wish | None = None, console: Console | None = None) -> Done:
    """Do what of a recipe is not done yet, keep every run as it ends, and return all of them."""
    wish = wish or Wish()
    wanted, declared = wish.runs_of(recipe), full_runs(recipe)  # runs beyond the experiment's keep no curve
    task, data = task_of(recipe)
    notes = results.repair(recipe, data)
    kept = results.runs(recipe, data)
    finished = {(run.learner, run.run) for run in kept}
    todo = [(name, r) for r in range(max(wanted.values(), default=0)) for name in wanted if r < wanted[name]]
    left = [pair for pair in todo if pair not in finished]
    protocol, learners = protocol_of(recipe), {str(spec["name"]): spec for spec in recipe.learners}
    with _progress(console) as progress:
        bar = progress.add_task(f"{recipe.paper} {recipe.item}, {recipe.data_name}", total=len(todo))
        progress.advance(bar, len(todo) - len(left))
        for (name, r), outcome in outcomes(protocol, task, learners, left, wish):
            run = run_of(recipe, name, r, outcome)
            results.append(recipe, data, run, outcome.curve if r < declared[name] else {})
            finished.add((name, r))
            progress.advance(bar)
    results.tidy(recipe)
    runs = [run for run in results.runs(recipe, data) if run.learner in wanted and run.run < wanted[run.learner]]
    missing = [pair for pair in left if pair not in finished]
    return Done(runs, len(missing), hours_of(missing, runs or Results.committed(recipe).runs(recipe)), notes)


def run_of(recipe: Recipe, name: str, r: int, outcome: Outcome) -> Run:
    """Turn a protocol's outcome into what is kept of it."""
    values = {**outcome.values, "seconds": outcome.seconds} if recipe.timed else outcome.values
    return Run(name, r, outcome.seconds, values)


def hours_of(missing: Sequence[tuple[str, int]], runs: Sequence[Run]) -> float:
    """How long the missing runs will take by what others took; a learner without any counts as the slowest.

    Where there are no others at all nobody knows: nan.
    """
    if not missing:
        return 0.0
    seconds: dict[str, list[float]] = {}
    for run in runs:
        seconds.setdefault(run.learner, []).append(run.seconds)
    means = {name: sum(some) / len(some) for name, some in seconds.items()}
    return sum(means.get(name, max(means.values(), default=math.nan)) for name, _ in missing) / 3600


def outcomes(
    protocol: RunProtocol,
    task: Task,
    learners: Mapping[str, Mapping[str, Any]],
    left: Sequence[tuple[str, int]],
    wish: Wish,
) -> Iterator[tuple[tuple[str, int], Outcome]]:
    """Do runs one after another or side by side, none started after the deadline."""
    if wish.n_jobs == 1:
        for name, r in left:
            if wish.over():
                return
            yield (name, r), protocol.one(task, learners[name], r)
        return
    calls = (delayed(_tagged)(protocol, task, learners[name], name, r) for name, r in left if not wish.over())
    yield from Parallel(n_jobs=wish.n_jobs, return_as="generator_unordered", pre_dispatch="n_jobs")(calls)


def _tagged(
    protocol: RunProtocol, task: Task, learner: Mapping[str, Any], name: str, run: int
) -> tuple[tuple[str, int], Outcome]:
    return (name, run), protocol.one(task, learner, run)


def _progress(console: Console | None) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console or Console(stderr=True), transient=True)
