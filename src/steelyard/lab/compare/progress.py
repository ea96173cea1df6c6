"""What the terminal shows: what runs, how far it is, and the standings so far."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ...evaluate import Interval
from .leaderboard import Standing
from .race import Race


class Watch:
    """A progress bar over contenders and folds, with the leader so far; silent without a console."""

    def __init__(self, console: Console | None, contenders: int) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = None if console is None else Progress(*columns, console=console, transient=True)
        self._contenders = contenders

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.start()
            self._bar = self._progress.add_task("comparing", total=None)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._progress is not None:
            self._progress.stop()

    def __call__(self, race: Race, name: str) -> None:
        """Called after every finished fold."""
        if self._progress is None:
            return
        running = [e for e in race.entries if e.stopped is None]
        done = sum(len(e.folds) for e in running)
        answered = [e for e in race.entries if e.folds]
        leader = min(answered, key=lambda e: race.paid(e)[1].mean(), default=None)
        standing = "" if leader is None else f"  best so far: {leader.contender.name} {race.paid(leader)[1].mean():.4g}"
        self._progress.update(
            self._bar,
            total=len(running) * len(race.splits),
            completed=done,
            description=f"{name:32.32s}{standing:52.52s}",
        )


def leaderboard_table(lines: list[Standing]) -> Table:
    """The leaderboard for the terminal."""
    two = lines[0].f1 is not None
    table = Table(title="Leaderboard (mean cost per example, 95% interval; * not distinguishable from the best)")
    table.add_column("contender")
    heads = ["mean cost", "95% interval", "savings", "G-mean"]
    heads += ["F1", "sensitivity", "specificity"] if two else []
    for head in [*heads, "fit s"]:
        table.add_column(head, justify="right")
    for line in lines:
        mark = " *" if line.like_the_best and line is not lines[0] and line.stopped is None else ""
        name = f"[bold]{line.name}[/]" if line is lines[0] else line.name + mark
        cells = [f"{line.mean_cost.value:.4f}", f"{line.mean_cost.low:.3f} to {line.mean_cost.high:.3f}"]
        cells += [f"{line.savings.value:.1%}", f"{line.g_mean.value:.3f}"]
        cells += [_short(v) for v in (line.f1, line.sensitivity, line.specificity)] if two else []
        style = "dim" if line.stopped is not None else None
        table.add_row(
            name + (f" ({line.stopped})" if line.stopped else ""), *cells, f"{line.fit_seconds:.2f}", style=style
        )
    return table


def _short(value: Interval | None) -> str:
    return "" if value is None else f"{value.value:.3f}"
