"""The command line: parse, call, print."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from . import __version__, fetch_dataset, list_datasets
from .errors import SteelyardError

app = typer.Typer(
    name="steelyard",
    help="Classification where mistakes are not equal.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"steelyard {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop."),
    ] = False,
) -> None:
    """Classification where mistakes are not equal."""


data_app = typer.Typer(name="data", help="The papers' data sets.", no_args_is_help=True)
app.add_typer(data_app)


@data_app.command("list")
def _data_list() -> None:
    """Print name, size, classes, papers and tasks of every data set."""
    table = Table("name", "rows", "features", "classes", "papers", "tasks", box=None)
    for info in list_datasets():
        sizes = (str(n) for n in (info.rows, info.features, len(info.classes)))
        table.add_row(info.name, *sizes, " ".join(info.papers), " ".join(t.name for t in info.tasks))
    Console().print(table)


@data_app.command("fetch")
def _data_fetch(name: Annotated[str, typer.Argument(help="A name that `steelyard data list` prints.")]) -> None:
    """Bring the files of a data set to this machine and print where they lie."""
    for path in fetch_dataset(name):
        typer.echo(path)


@app.command("reproduce")
def _reproduce(
    paper: Annotated[str, typer.Argument(help="000, 001, 002, 003, 004, or all.")],
    table: Annotated[str | None, typer.Option(help="Only this table, e.g. 2 or II.")] = None,
    figure: Annotated[str | None, typer.Option(help="Only this figure, e.g. 3.")] = None,
    data: Annotated[str | None, typer.Option(help="Only this data set.")] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Another number of runs than the recipe's.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Minutes instead of hours: fewer runs, large data left out.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Runs side by side.")] = 2,
) -> None:
    """Run a paper's tables and figures, print ours beside the printed and say what holds."""
    from .lab.reproduce import reproduce

    item = f"Table {table}" if table else f"Figure {figure}" if figure else None
    for each in ("000", "001", "002", "003", "004") if paper == "all" else (paper,):
        reproduce(each, item=item, data=data, runs=runs, quick=quick, jobs=jobs)


def main() -> None:
    """Entry point of the ``steelyard`` command: what went wrong is one line, not a traceback."""
    try:
        app()
    except SteelyardError as error:
        typer.echo(f"steelyard: {error}", err=True)
        raise SystemExit(2) from None
