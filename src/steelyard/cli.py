"""The command line: parse, call, print."""

from __future__ import annotations

from typing import Annotated

import typer

from . import __version__

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


def main() -> None:
    """Entry point of the ``steelyard`` command."""
    app()
