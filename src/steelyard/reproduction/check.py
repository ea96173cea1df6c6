"""``steelyard reproduce --check``: kept runs computed again by today's code, every digit compared.

Tested in ``tests/unit/reproduction/test_command.py``.
"""

from __future__ import annotations

import math
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.console import Console

from ..errors import DataNotFoundError
from ..files import write_atomically
from ..validation.values import check_number
from .provenance import provenance
from .recipe import Recipe, find_recipes, with_learners
from .results import Results, Run
from .runs import Wish, data_key, outcomes, protocol_of, run_of, task_of
from .searches import ChosenOnce, SearchedCosts

LISTED = 50  # differences printed
SHARE = 0.02  # of the kept runs
QUICK_SECONDS = 60.0  # of learning a paper; loading, predicting and measuring come on top


@dataclass
class CheckResult:
    """What a check found: cells and curve points compared, those that differ, and what was left out and why."""

    cells: int = 0
    points: int = 0
    different: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    passed: dict[str, int] = field(default_factory=dict)
    without: dict[str, list[str]] = field(default_factory=dict)  # recipe -> learners that were left out of it
    digests: dict[str, str] = field(default_factory=dict)  # of the recipes as they are now

    def __str__(self) -> str:
        wrong = len(self.different)
        text = f"{self.cells - wrong:,} of {self.cells:,} cells equal"
        return f"{text}, {self.points:,} of them points of curves" if self.points else text


def check_kept(
    paper: str,
    share: float | None = None,
    *,
    item: str | None = None,
    data: str | None = None,
    learners: Sequence[str] = (),
    quick: bool = False,
    hours: float | None = None,
    n_jobs: int = 1,
    console: Console | None = None,
) -> CheckResult:
    """Compute kept runs of a paper again and compare every digit.

    Parameters
    ----------
    paper : str
        ``000`` to ``004``.
    share : float, optional
        Share of the kept runs, above 0 and at most 1; at least one run of every learner of every recipe. By default
        2%, with ``quick`` that one run.
    item, data : str, optional
        Only this table or figure, only this data set.
    learners : sequence of str
        Only these learners; all by default.
    quick : bool
        Leave out runs that took long when they were kept, so that learning takes about a minute, and say which.
    hours : float, optional
        Begin no run after this time.
    n_jobs : int
        Runs side by side.
    console : rich.console.Console, optional
        Where to print.

    Returns
    -------
    result : CheckResult
    """
    given = check_number("SHARE", SHARE if share is None else share, above=0, at_most=1)
    taken = 0.0 if quick and share is None else given
    console, result = console or Console(), CheckResult()
    deadline = None if hours is None else time.monotonic() + hours * 3600
    recipes = sorted(with_learners(find_recipes(paper, item=item, data=data), learners), key=data_key)
    result.digests = {recipe.name: recipe.digest for recipe in recipes}
    chosen = {r.name: _chosen(r, Results.committed(r).runs(r), taken) for r in recipes if _why_not(r, quick) is None}
    limit = _limit([run.seconds for runs in chosen.values() for run in runs]) if quick else math.inf
    for recipe in recipes:
        if (reason := _why_not(recipe, quick)) is not None:
            result.left_out[recipe.name] = reason
            continue
        if not chosen[recipe.name]:
            _no_runs(recipe, result)
            continue
        wanted = [run for run in chosen[recipe.name] if not learners or run.learner in learners]
        some = [run for run in wanted if run.seconds <= limit]
        if reason := _left_out(recipe, chosen[recipe.name], [run for run in wanted if run not in some], learners):
            result.left_out[recipe.name] = reason
        result.without[recipe.name] = sorted(_names(recipe) - {run.learner for run in some})
        try:
            _check_recipe(recipe, some, Wish(n_jobs=n_jobs, deadline=deadline), result)
        except DataNotFoundError as error:
            result.left_out[recipe.name] = str(error)
    for name, reason in result.left_out.items():
        console.print(f"[yellow]not checked[/] {name}: {reason}")
    for line in result.different[:LISTED]:
        console.print(f"[red]different[/] {line}")
    if len(result.different) > LISTED:
        console.print(f"and {len(result.different) - LISTED:,} more")
    console.print(str(result))
    return result


def _why_not(recipe: Recipe, quick: bool) -> str | None:
    if recipe.skip is None and quick and isinstance(protocol_of(recipe), ChosenOnce | SearchedCosts):
        return "its search takes too long for --quick"  # of which the time of a run says nothing
    return recipe.skip


def _no_runs(recipe: Recipe, result: CheckResult) -> None:
    """Say of a recipe that it has no kept runs; where those of another one stand in their place, they are wrong."""
    if Results.committed(recipe).path(recipe).exists():
        result.cells += 1
        result.different.append(f"{recipe.name}: the kept runs are those of another recipe")
    else:
        result.left_out[recipe.name] = "no runs are kept; --keep makes them"


def _names(recipe: Recipe) -> set[str]:
    return {str(spec["name"]) for spec in recipe.learners}


def _left_out(recipe: Recipe, kept: Sequence[Run], long: Sequence[Run], learners: Sequence[str]) -> str:
    """Name the wanted learners that are not checked: those without kept runs, and those that took long."""
    absent = sorted((_names(recipe) & set(learners or _names(recipe))) - {run.learner for run in kept})
    slow = {run.learner: f"{run.learner} ({run.seconds:.0f} s)" for run in long}
    said = {"no runs are kept of": absent, "too long for --quick:": list(slow.values())}
    return "; ".join(f"{words} {', '.join(names)}" for words, names in said.items() if names)


def _chosen(recipe: Recipe, runs: Sequence[Run], share: float) -> list[Run]:
    """One run of every learner, and a share of all; which ones changes with the package, so that all get their turn."""
    order = np.random.default_rng(int(provenance().package, 16)).permutation(len(runs))
    by_learner: dict[str, list[Run]] = {}
    for k in order:
        by_learner.setdefault(runs[k].learner, []).append(runs[k])
    each = [some[: max(1, math.ceil(share * len(some)))] for some in by_learner.values()]
    return sorted((run for some in each for run in some), key=lambda run: (run.run, run.learner))


def _limit(seconds: Sequence[float]) -> float:
    """The longest run that still fits when the shortest are taken first."""
    total, limit = 0.0, 0.0
    for each in sorted(seconds):
        total += each
        if total > QUICK_SECONDS:
            break
        limit = each
    return limit


def _check_recipe(recipe: Recipe, runs: Sequence[Run], wish: Wish, result: CheckResult) -> None:
    if not runs:
        return
    results = Results.committed(recipe)
    kept = {(run.learner, run.run): run for run in runs}
    task, data = task_of(recipe)
    if len(results.runs(recipe, data)) < len(results.runs(recipe)):
        result.different.append(f"{recipe.name}: the data are not those of the kept runs")
        result.cells += 1
        return
    learners = {str(spec["name"]): spec for spec in recipe.learners}
    curves = results.curves(recipe)
    before, wrong = result.cells, len(result.different)
    for (name, r), outcome in outcomes(protocol_of(recipe), task, learners, list(kept), wish):
        where = f"{recipe.name}, {name}, run {r}"
        now = run_of(recipe, name, r, outcome).values
        for measure, value in kept.pop((name, r)).values.items():
            if not (recipe.timed and measure == "seconds"):
                _compare(result, f"{where}, {measure}", value, round(now.get(measure, math.nan), 10))
        for column, values in curves.get(name, {}).get(r, {}).items():
            result.points += len(values)
            again = [float(f"{v:.6g}") for v in outcome.curve.get(column, [])]
            again += [math.nan] * (len(values) - len(again))
            for at, (value, second) in enumerate(zip(values, again, strict=False)):
                _compare(result, f"{where}, {column} at point {at}", value, second)
    if kept:
        result.left_out[recipe.name] = f"time is up, {len(kept)} runs left"
    elif len(result.different) == wrong:
        result.passed[recipe.name] = result.cells - before


def _compare(result: CheckResult, where: str, before: float, now: float) -> None:
    result.cells += 1
    if before != now and not (math.isnan(before) and math.isnan(now)):
        result.different.append(f"{where}: kept {before!r}, now {now!r}")


def write_checked(papers: Path, paper: str, result: CheckResult) -> Path:
    """Record in ``papers/CHECKED.toml`` the commit at which each recipe passed; other recipes stay as they are.

    Of a recipe that passed in part the learners that were left out are named: ``without``. What was recorded of a
    recipe that has changed since is dropped: its runs are others.
    """
    path = papers / "CHECKED.toml"
    known = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    now = {"commit": provenance().commit, "dirty": provenance().dirty, "package": provenance().package}
    mine = known.setdefault(paper, {})
    for name, digest in result.digests.items():
        if name in mine and mine[name].get("recipe") != digest:
            del mine[name]
    for name, cells in result.passed.items():
        mine[name] = {"recipe": result.digests[name], **now, "cells": cells}
        if result.without.get(name):
            mine[name]["without"] = ", ".join(result.without[name])
    lines = ["# The last commit at which kept runs of each recipe were computed again and every digit was equal."]
    lines.append("# Written by: steelyard reproduce NNN --check --keep")
    for each in sorted(known):
        lines.append(f'\n["{each}"]')
        for name, entry in sorted(known[each].items()):
            pairs = ", ".join(f"{k} = {v}" if isinstance(v, int) else f'{k} = "{v}"' for k, v in entry.items())
            lines.append(f"{name} = {{ {pairs} }}")
    with write_atomically(path) as file:
        file.write(("\n".join(lines) + "\n").encode())
    return path
