"""``steelyard reproduce``: run a paper's recipes, put our numbers beside its own, and say what holds."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from ..errors import DataNotFoundError
from ..validation.values import check_number, invalid
from .check import check_kept, write_checked
from .claims import Evidence, Verdict, claim_key, judge, read_claims
from .decide import Decider, about, read_plans
from .figures import draw_figures
from .page import write_page, write_verdicts
from .recipe import Recipe, find_recipes, learners_of, papers_folder, with_learners
from .requirements import check_requirements
from .results import Results
from .runs import Done, Wish, data_key, run_recipe
from .sequential import LookSchedule
from .tables import Line, write_summary
from .terminal import line_table, verdict_table


@dataclass(frozen=True)
class Reproduction:
    """What came of a paper: the lines of this run, its verdicts, what could not run, what is left, and the page."""

    lines: list[Line]
    verdicts: list[Verdict]
    skipped: dict[str, str]
    page: Path | None = None
    left: dict[str, Done] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """Where results go: a fresh folder, a folder to go on in, or the committed results."""

    to: Path | None = None
    resume: Path | None = None
    keep: bool = False

    def results(self, paper: str, recipes: Sequence[Recipe]) -> Results:
        """The folder to work in; one that holds results is taken only if that was asked for."""
        if self.keep:
            if self.to is not None or self.resume is not None:
                raise invalid("--keep", "not be combined with --to or --resume", str(self.to or self.resume))
            return Results.committed(recipes[0])
        if self.to is not None and self.resume is not None:
            raise invalid("--to", "not be combined with --resume", str(self.to), "Results stay in the folder resumed.")
        if self.resume is not None:
            if not self.resume.is_dir():
                raise invalid("--resume", "name a folder of results", str(self.resume), "Start one by --to.")
            return Results(self.resume)
        results = Results(self.to or Path("steelyard-reproduce") / paper)
        if not results.empty():
            hint = f"Go on there by --resume {results.folder}, or choose another folder."
            raise invalid("--to", "name a folder without results", str(results.folder), hint)
        return results


def reproduce(
    paper: str,
    *,
    item: str | None = None,
    data: str | None = None,
    learners: Sequence[str] = (),
    runs: int | None = None,
    quick: bool = False,
    hours: float | None = None,
    n_jobs: int = 1,
    place: Place | None = None,
    console: Console | None = None,
) -> Reproduction:
    """Run the recipes of a paper and write what came of them.

    Parameters
    ----------
    paper : str
        ``000`` to ``004``.
    item, data : str, optional
        Only this table or figure, only this data set.
    learners : sequence of str
        Only these learners; all by default.
    runs : int, optional
        Another number of runs than the recipe's.
    quick : bool
        Fewer runs, and no recipe that takes long; claims are not judged on them.
    hours : float, optional
        Begin no run after this time, and say what is left.
    n_jobs : int
        Runs side by side.
    place : Place, optional
        Where to; a fresh folder ``steelyard-reproduce/NNN`` by default.
    console : rich.console.Console, optional
        Where to print.

    Returns
    -------
    reproduction : Reproduction
    """
    console, place = console or Console(), place or Place()
    recipes = with_learners(find_recipes(paper, item=item, data=data), learners)
    if quick and place.keep:
        raise invalid("--keep", "not be combined with --quick", "--quick", "A part of a run is not a result.")
    check_requirements(recipes)
    results = place.results(paper, recipes)
    wish = Wish(tuple(learners), runs, quick, n_jobs, None if hours is None else time.monotonic() + hours * 3600)
    with results.locked():
        made = Reproduction([], [], {})
        for recipe in sorted(recipes, key=data_key):  # those of one data set in a row: it is loaded once
            _one_recipe(recipe, results, wish, made, console)
        return _concluded(paper, results, made, quick=quick, console=console)


def _one_recipe(recipe: Recipe, results: Results, wish: Wish, made: Reproduction, console: Console) -> None:
    """Run one recipe, print its cells and draw its figure; or say why not."""
    reason = _why_not(recipe, wish.quick)
    if reason is None:
        try:
            done = run_recipe(recipe, results, wish, console)
        except DataNotFoundError as error:
            reason = str(error)
        else:
            for note in done.notes:
                console.print(f"[yellow]note[/] {note}")
            found = Evidence.of(recipe, done.runs).lines
            if found:
                console.print(line_table(recipe, found))
                draw_figures(recipe, Evidence.of(recipe, results.runs(recipe)).lines, results)  # of all, not of a part
            made.lines.extend(found)
            if done.left:
                made.left[recipe.name] = done
                console.print(f"[yellow]stopped[/] {recipe.claim}: {done.left} runs left, {about(done.hours_left)}")
    if reason is not None:
        made.skipped[recipe.name] = reason
        console.print(f"[yellow]skipped[/] {recipe.claim}: {reason}")


def decide(
    paper: str,
    *,
    hours: float | None = None,
    n_jobs: int = 1,
    place: Place | None = None,
    console: Console | None = None,
) -> Reproduction:
    """Run more of what is undecided, the cheapest claim first, until looks declared beforehand decide it.

    Parameters
    ----------
    paper : str
        ``000`` to ``004``.
    hours : float, optional
        Begin no run after this time.
    n_jobs : int
        Runs side by side.
    place : Place, optional
        Where to; a fresh folder ``steelyard-reproduce/NNN`` by default.
    console : rich.console.Console, optional
        Where to print.

    Returns
    -------
    reproduction : Reproduction
        Its lines are those of the recipes that got more runs.
    """
    console, place = console or Console(), place or Place()
    recipes = find_recipes(paper)
    check_requirements(recipes)
    results = place.results(paper, recipes)
    wish = Wish(n_jobs=n_jobs, deadline=None if hours is None else time.monotonic() + hours * 3600)
    with results.locked():
        known = {each.recipe.name: each for each in _evidence(paper, results, console)}
        decider = Decider(read_claims(recipes[0].path.parent), results, known, wish, console)
        decider.decide()
        made = Reproduction([], [], {})
        for name in sorted(decider.touched):
            found = decider.evidence[name]
            made.lines.extend(found.lines)
            draw_figures(found.recipe, found.lines, results)
        for key, left in decider.left.items():
            how_long = "its runs are used up" if left == math.inf else f"{about(left)} to its next look"
            console.print(f"[yellow]undecided[/] {key}: {how_long}")
        return _concluded(paper, results, made, quick=False, console=console)


def show_committed(
    paper: str,
    *,
    item: str | None = None,
    data: str | None = None,
    learners: Sequence[str] = (),
    console: Console | None = None,
) -> Reproduction:
    """Print the committed results of a paper; nothing is run and nothing written."""
    console = console or Console()
    console.print("The committed results are shown; nothing is run.")
    chosen = with_learners(find_recipes(paper, item=item, data=data), learners)
    results = Results.committed(chosen[0])
    evidence = _evidence(paper, results, console)
    names, lines = {recipe.name for recipe in chosen}, list[Line]()
    for each in evidence:
        shown = [line for line in each.lines if not learners or line.learner in learners]
        if each.recipe.name in names and shown:
            console.print(line_table(each.recipe, shown))
            lines.extend(shown)
    verdicts = judged(evidence, results)
    console.print(verdict_table(verdicts))
    return Reproduction(lines, verdicts, {r.name: r.skip for r in chosen if r.skip is not None})


def judged(evidence: Sequence[Evidence], results: Results, *, quick: bool = False) -> list[Verdict]:
    """Judge every claim of a paper by what a folder holds and the looks that were declared in it."""
    plans = read_plans(results)
    claims = read_claims(evidence[0].recipe.path.parent)
    decider = Decider(claims, results, {e.recipe.name: e for e in evidence}, Wish(), Console(quiet=True), plans)
    found = []
    for claim in claims:
        verdict = judge(claim, evidence, quick=quick, plan=plans.get(claim_key(claim), LookSchedule.ONCE))
        cost = decider.remaining(claim, verdict)
        found.append(verdict if cost is None else replace(verdict, left=str(cost)))
    return found


def _evidence(paper: str, results: Results, console: Console) -> list[Evidence]:
    """Everything a folder holds of a paper, with a note on each line that cannot be trusted."""
    evidence = []
    for recipe in find_recipes(paper):
        notes: list[str] = []
        evidence.append(Evidence.of(recipe, results.runs(recipe, notes=notes)))
        for note in notes:
            console.print(f"[yellow]note[/] {note}")
    return evidence


def _concluded(paper: str, results: Results, made: Reproduction, *, quick: bool, console: Console) -> Reproduction:
    """Judge every claim and write the page, from all that the folder holds: an earlier run counts as well."""
    evidence = _evidence(paper, results, console)
    skipped = made.skipped | {e.recipe.name: e.recipe.skip for e in evidence if e.recipe.skip is not None}
    verdicts = judged(evidence, results, quick=quick)
    console.print(verdict_table(verdicts))
    write_summary(results.folder, [line for each in evidence for line in each.lines])
    write_verdicts(results, verdicts)
    page = None  # the committed results have theirs on the site
    if results != Results.committed(evidence[0].recipe):
        page = write_page(paper, results, [(e.recipe, e.lines) for e in evidence if e.lines], verdicts, skipped)
    if made.left:
        runs, hours = (sum(each) for each in zip(*((d.left, d.hours_left) for d in made.left.values()), strict=True))
        console.print(f"Time is up: {runs:g} runs left, {about(hours)}. Go on by --resume {results.folder}.")
    console.print(f"The whole of paper {paper} so far: {page or results.folder}")
    return Reproduction(made.lines, verdicts, skipped, page, made.left)


@dataclass(frozen=True)
class Mode:
    """What ``steelyard reproduce`` is to do: compute, show, check or decide, and where."""

    to: Path | None = None
    resume: Path | None = None
    keep: bool = False
    show: bool = False
    check: bool = False
    share: float | None = None
    decide: bool = False

    def validate(self, part: Mapping[str, Any], wish: Mapping[str, Any]) -> None:
        """Refuse options that exclude one another."""
        if self.share is not None and not self.check:
            raise invalid("SHARE", "be given with --check only", self.share)
        place = self.to is not None or self.resume is not None
        running = wish["runs"] is not None or wish["quick"] or wish["hours"] is not None
        if self.show and (self.check or self.decide or self.keep or place or running):
            hint = "Only --table, --figure, --item, --data and --learner go with it."
            raise invalid("--show", "stand alone: it runs and writes nothing", "other options", hint)
        if self.check and (place or wish["runs"] is not None):
            raise invalid("--check", "not be combined with --to, --resume and --runs", "one of them", "It takes SHARE.")
        narrowed = [*part.values(), wish["learners"], wish["runs"], wish["quick"]]
        if self.decide and (self.check or any(narrowed)):
            raise invalid("--decide", "go with --hours, --jobs, --to, --resume and --keep only", "other options")

    def place(self, paper: str, *, several: bool) -> Place:
        """Where results of a paper go; of several each has a folder below, that an earlier job may not have reached."""
        to, resume = (v / paper if v is not None and several else v for v in (self.to, self.resume))
        if several and self.resume is not None and self.resume.is_dir() and resume is not None and not resume.is_dir():
            to, resume = resume, None
        return Place(to, resume, self.keep)


def one_item(table: str | None, figure: str | None, item: str | None) -> str | None:
    """Name the one item that ``--table``, ``--figure`` or ``--item`` ask for."""
    given = {"--table": table and f"Table {table}", "--figure": figure and f"Figure {figure}", "--item": item}
    named = {option: name for option, name in given.items() if name}
    if len(named) > 1:
        raise invalid(" and ".join(named), "not be combined", ", ".join(named.values()))
    return next(iter(named.values()), None)


def run_reproduce(
    papers: Sequence[str], part: Mapping[str, Any], wish: Mapping[str, Any], mode: Mode | None = None
) -> int:
    """Answer ``steelyard reproduce``: show, check, decide or compute; the exit code: 1 if a check differs."""
    mode = mode or Mode()
    mode.validate(part, wish)
    hours = None if wish["hours"] is None else check_number("--hours", wish["hours"], at_least=0)
    end = None if hours is None else time.monotonic() + hours * 3600  # of all papers together
    learners = learners_of(papers, part, wish["learners"])
    places = {paper: mode.place(paper, several=len(papers) > 1) for paper in learners}
    if not (mode.show or mode.check):
        for paper, place in places.items():  # before the first run, not hours later
            recipes = with_learners(find_recipes(paper, **part), learners[paper])
            check_requirements(recipes)
            place.results(paper, recipes)
    different = False
    for paper, place in places.items():
        left = None if end is None else max(0.0, end - time.monotonic()) / 3600
        limits = {"learners": learners[paper], "quick": wish["quick"], "hours": left, "n_jobs": wish["n_jobs"]}
        if mode.show:
            show_committed(paper, **part, learners=learners[paper])
        elif mode.check:
            found = check_kept(paper, mode.share, **part, **limits)
            different |= bool(found.different)
            if mode.keep:
                write_checked(papers_folder(), paper, found)
        elif mode.decide:
            decide(paper, hours=left, n_jobs=wish["n_jobs"], place=place)
        else:
            reproduce(paper, **part, **limits, runs=wish["runs"], place=place)
    return int(different)


def _why_not(recipe: Recipe, quick: bool) -> str | None:
    if recipe.skip is not None:
        return recipe.skip
    return str(recipe.quick["skip"]) if quick and "skip" in recipe.quick else None
