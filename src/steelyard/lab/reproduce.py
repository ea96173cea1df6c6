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
from .page import write_page
from .recipe import Recipe, find_recipes
from .runs import run_recipe
from .tables import Line, lines_of, write_summary


@dataclass(frozen=True)
class Reproduction:
    """What came of a paper: its lines, verdicts, the recipes that could not run and why, and the page."""

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
    recipes = find_recipes(paper, item=item, data=data)
    folder = recipes[0].path.parent
    lines: list[Line] = []
    skipped: dict[str, str] = {}
    for recipe in recipes:
        reason = _why_not(recipe, quick)
        if reason is None:
            try:
                found = lines_of(recipe, run_recipe(recipe, runs=runs, quick=quick, jobs=jobs))
            except DataNotFoundError as error:
                reason = str(error)
            else:
                console.print(line_table(recipe, found))
                write_summary(folder, found)
                draw(recipe, found)
                lines += found
        if reason is not None:
            skipped[recipe.name] = reason
            console.print(f"[yellow]skipped[/] {recipe.claim}: {reason}")
    verdicts = [judge(claim, lines) for claim in read_claims(folder) if _asked_for(claim, recipes)]
    console.print(verdict_table(verdicts))
    return Reproduction(lines, verdicts, skipped, write_page(folder, recipes, lines, verdicts, skipped))


def _why_not(recipe: Recipe, quick: bool) -> str | None:
    if recipe.skip is not None:
        return recipe.skip
    return str(recipe.quick["skip"]) if quick and "skip" in recipe.quick else None


def _asked_for(claim: object, recipes: Sequence[Recipe]) -> bool:
    assert isinstance(claim, dict)
    items = {item for recipe in recipes for item in recipe.items}
    names = {recipe.data_name for recipe in recipes}
    return claim["item"] in items and bool(names & set(claim.get("data", names)))


def line_table(recipe: Recipe, lines: Sequence[Line]) -> Table:
    """Ours beside the printed, for the terminal."""
    table = Table(title=f"Paper {recipe.paper}, {recipe.claim}", title_justify="left")
    for column in ("learner", "measure"):
        table.add_column(column)
    for column in ("ours", "+-", "runs", "printed", "+- ", "difference", "equal"):
        table.add_column(column, justify="right")
    for line in lines:
        table.add_row(line.learner, line.measure, *cells(line))
    return table


def cells(line: Line) -> list[str]:
    """A line as text: ours, its spread, runs, the printed pair, the gap in standard errors, and equality."""
    ours = [f"{line.mean:.4f}" if abs(line.mean) < 10 else f"{line.mean:.3f}", f"{line.std:.3f}", str(line.runs)]
    if line.printed is None:
        return [*ours, "", "", "", ""]
    spread = "" if line.printed.spread is None else f"{line.printed.spread:g}"
    return [*ours, f"{line.printed.mean:g}", spread, f"{line.gap:+.1f} s.e.", "yes" if line.equal else ""]


def verdict_table(verdicts: Sequence[Verdict]) -> Table:
    """What holds, for the terminal."""
    table = Table(title="Claims", title_justify="left")
    for column in ("item", "claim", "verdict", "because"):
        table.add_column(column, overflow="fold")
    colour = {"holds": "green", "does not hold": "red"}
    for v in verdicts:
        table.add_row(v.item, v.claim, f"[{colour.get(v.word, 'yellow')}]{v.word}[/]", v.reason)
    return table
