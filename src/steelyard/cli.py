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


def main() -> None:
    """Entry point of the ``steelyard`` command: what went wrong is one line, not a traceback."""
    try:
        app()
    except SteelyardError as error:
        typer.echo(f"steelyard: {error}", err=True)
        raise SystemExit(1) from None
