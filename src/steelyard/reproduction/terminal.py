"""What ``steelyard reproduce`` shows on a terminal: ours beside the printed, and a word for every claim.

Tested in ``tests/unit/reproduction/test_command.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from .claims import Verdict
from .page import cells
from .recipe import Recipe
from .tables import Line

COLOURS = {"holds": "green", "fails": "red"}  # any other word is yellow


def line_table(recipe: Recipe, lines: Sequence[Line]) -> Table:
    """Ours beside the printed; the gap is in standard errors of the difference, in brackets the difference itself."""
    title = f"Paper {recipe.paper}, {recipe.claim}"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for column in ("learner", "measure"):
        table.add_column(column, overflow="fold")  # of a name that is cut off nobody knows whose numbers these are
    for column in ("ours", "+-", "runs", "printed", "+-", "gap", "="):
        table.add_column(column, justify="right", no_wrap=True)
    for line in lines:
        *numbers, gap, same = cells(line)
        short = gap.removesuffix(" s.e.")
        table.add_row(line.learner, line.measure, *numbers, f"({gap})" if gap and short == gap else short, same)
    return table


def verdict_table(verdicts: Sequence[Verdict]) -> Table:
    """Both words of every claim; beside them the claim and, a line each, the numbers behind them."""
    table = Table(title="Claims", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, leading=1)
    for column in ("in this\nexperiment", "on other\nsamples"):
        table.add_column(column, max_width=14)
    table.add_column("claim, and why", vertical="bottom")
    for verdict in verdicts:
        words = (Text(word, style=COLOURS.get(word, "yellow")) for word in (verdict.word, verdict.elsewhere))
        table.add_row(*words, _why(verdict))
    return table


def _why(verdict: Verdict) -> Text:
    text = Text(f"{verdict.item}: {verdict.claim}", style="bold")
    for reason in verdict.reasons:
        text.append(f"\n{reason}", style="not bold")
    return text
