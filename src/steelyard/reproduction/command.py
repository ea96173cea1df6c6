"""``steelyard reproduce``: run a paper's recipes, put our numbers beside its own, and say what holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ..errors import DataNotFoundError
from .claims import Verdict, judge, read_claims
from .figures import draw
from .page import cells, write_page, write_verdicts
from .recipe import Recipe, find_recipes
from .requirements import check_requirements
from .runs import read_runs, run_recipe
from .tables import Line, lines_of, write_summary


@dataclass(frozen=True)
class Reproduction:
    """What came of a paper: the lines of this run, its verdicts, what could not run and why, and the page."""

    lines: list[Line]
    verdicts: list[Verdict]
    skipped: dict[str, str]
    page: Path


def reproduce(
    paper: str,
    *,
    item: str | None = None,
    data: str | None = None,
    runs: int | None = None,
    quick: bool = False,
    jobs: int = 1,
    console: Console | None = None,
) -> Reproduction:
    """Run the recipes of a paper (all, or one table, figure or data set) and write what came of them."""
    console = console or Console()
    lines: list[Line] = []
    skipped: dict[str, str] = {}
    recipes = find_recipes(paper, item=item, data=data)
    check_requirements(recipes)
    for recipe in recipes:
        reason = _why_not(recipe, quick)
        if reason is None:
            try:
                found = lines_of(recipe, run_recipe(recipe, runs=runs, quick=quick, jobs=jobs, console=console))
            except DataNotFoundError as error:
                reason = str(error)
            else:
                console.print(line_table(recipe, found))
                write_summary(recipe.path.parent, found)
                draw(recipe, found)
                lines += found
        if reason is not None:
            skipped[recipe.name] = reason
            console.print(f"[yellow]skipped[/] {recipe.claim}: {reason}")
    return _concluded(paper, lines, skipped, console)


def _concluded(paper: str, lines: list[Line], skipped: dict[str, str], console: Console) -> Reproduction:
    """Judge every claim and write the page, from all that is kept: an earlier run counts as well."""
    everything = find_recipes(paper)
    folder = everything[0].path.parent
    found = [(recipe, lines_of(recipe, kept)) for recipe in everything if (kept := read_runs(recipe))]
    skipped |= {recipe.name: recipe.skip for recipe in everything if recipe.skip is not None}
    kept_lines = [line for _, some in found for line in some]
    verdicts = [judge(claim, kept_lines) for claim in read_claims(folder)]
    console.print(verdict_table(verdicts))
    (folder / "results").mkdir(exist_ok=True)
    write_verdicts(folder, verdicts)
    page = write_page(folder, found, verdicts, skipped)
    console.print(f"The whole of paper {paper} so far: {page}")
    return Reproduction(lines, verdicts, skipped, page)


def _why_not(recipe: Recipe, quick: bool) -> str | None:
    if recipe.skip is not None:
        return recipe.skip
    return str(recipe.quick["skip"]) if quick and "skip" in recipe.quick else None


def line_table(recipe: Recipe, lines: Sequence[Line]) -> Table:
    """Ours beside the printed, for the terminal."""
    table = Table(title=f"Paper {recipe.paper}, {recipe.claim}", title_justify="left")
    for column in ("learner", "measure"):
        table.add_column(column)
    for column in ("ours", "+-", "runs", "printed", "+-", "difference", "equal"):
        table.add_column(column, justify="right")
    for line in lines:
        table.add_row(line.learner, line.measure, *cells(line))
    return table


def verdict_table(verdicts: Sequence[Verdict]) -> Table:
    """What holds, for the terminal."""
    table = Table(title="Claims", title_justify="left")
    for column in ("item", "claim", "verdict", "because"):
        table.add_column(column, overflow="fold")
    colour = {"holds": "green", "does not hold": "red"}
    for v in verdicts:
        table.add_row(v.item, v.claim, f"[{colour.get(v.word, 'yellow')}]{v.word}[/]", v.reason)
    return table
