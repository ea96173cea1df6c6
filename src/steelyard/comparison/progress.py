"""What the terminal shows: what runs, how far it is, and the leaderboard."""

from __future__ import annotations

import math
import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ..report.amounts import significant
from ..validation.text import printable
from .evaluation import Work
from .leaderboard import LeaderboardRow
from .schedule import Unit

_WIDTH = 80  # of a terminal
_SHORTEST_NAME, _LONGEST_NAME = 12, 36
_DIGITS, _DIGITS_OF_ENDS = 4, 3


class ProgressBar:
    """Units done of planned, the last candidate and the CPU time so far; silent without a console."""

    def __init__(self, console: Console | None) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = None if console is None else Progress(*columns, console=console, transient=True)

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.start()
            self._bar = self._progress.add_task("comparing", total=None)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._progress is not None:
            self._progress.stop()

    def __call__(self, work: Work, unit: Unit) -> None:
        """Called after every unit."""
        if self._progress is None:
            return
        name, best = work.everyone[unit.candidate].name, work.best_cost
        cost = "" if best is None else f"best cost {significant(best, _DIGITS)}"
        shown = f"{name:26.26s} {cost:16.16s} {work.cpu_used:5.1f} s CPU"  # with counts and time 80 columns
        self._progress.update(self._bar, total=work.planned, completed=work.done, description=escape(printable(shown)))


def notebook_console() -> Console | None:
    """A console that shows progress below the cell, where Python runs in a notebook; else none."""
    return Console(force_jupyter=True) if "ipykernel" in sys.modules else None


def leaderboard_table(lines: list[LeaderboardRow], currency: str | None = None) -> Table:
    """The leaderboard for a terminal of 80 columns; the page has the rest."""
    two = lines[0].sensitivity is not None
    unit = "" if currency is None else f" in {escape(printable(currency))}"
    title = f"Mean cost per example{unit}, out of fold; * not distinguishable from the best"
    table = Table(title=title, box=None, title_justify="left", pad_edge=False, padding=(0, 1, 0, 0))
    heads = ["cost", "95% interval", "saved", *(("sens", "spec") if two else ("G-mean",)), "fit s"]
    rows = [_cells(line, two) for line in lines]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    widths[0] += 1  # for the mark
    left = _WIDTH - sum(widths) - len(widths)  # names are cut before numbers are
    table.add_column("candidate", no_wrap=True, max_width=max(_SHORTEST_NAME, min(_LONGEST_NAME, left)))
    for head, width in zip(heads, widths, strict=True):
        table.add_column(head, justify="right", no_wrap=True, min_width=width)
    for line, row in zip(lines, rows, strict=True):
        name = escape(printable(line.name))
        shown = f"[bold]{name}[/]" if line is lines[0] else name
        mark = "*" if line.tied_with_best and line is not lines[0] else " "
        table.add_row(shown, row[0] + mark, *row[1:], style="dim" if line.stopped is not None else None)
    return table


def _cells(line: LeaderboardRow, two: bool) -> list[str]:
    """The numbers of a line."""
    cost = line.mean_cost
    low, high = (significant(v, _DIGITS_OF_ENDS) for v in (cost.low, cost.high))
    cells = [
        significant(cost.value, _DIGITS),
        f"{low}{'-' if cost.low >= 0 else ' to '}{high}",
        _percent(line.savings.value),
    ]
    shown = (line.sensitivity, line.specificity) if two else (line.g_mean,)
    cells += ["" if value is None else f"{value.value:.2f}" for value in shown]
    return [*cells, f"{line.fit_seconds:.2f}"]


def _percent(share: float) -> str:
    return f"{share:.0%}" if math.isfinite(share) else "-"
