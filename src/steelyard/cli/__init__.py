"""The command line: parse, call, print.

Tested in ``tests/unit/cli``.
"""

from __future__ import annotations

import errno
import io
import sys
import traceback
import warnings
from typing import Annotated, Any

import typer

from .._version import __version__
from ..errors import SteelyardError
from ..validation.text import printable
from .papers import data_app, reproduce, story
from .parts import fit, score
from .service import serve, service_app
from .streams import stream
from .tables import compare, demo, predict

app = typer.Typer(
    name="steelyard",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
    rich_markup_mode=None,  # plain help: to import rich and its markdown takes several times as long as all the rest
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
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error; may stand anywhere.")] = False,
) -> None:
    """Classification where mistakes are not equal.

    Exit codes: 0 done, 1 reproduce --check found other numbers, 2 could not be done (one line on standard error says
    why), 130 interrupted. Those of serve and of service verify stand in their own help.
    """


app.add_typer(data_app)
for _command in (demo, compare, predict, stream, fit, score, serve, story, reproduce):  # the order of --help
    app.command()(_command)
app.add_typer(service_app)


def main() -> None:
    """Entry point of the ``steelyard`` command.

    Exit codes: 0 done; 1 done, and ``reproduce --check`` found kept numbers that differ; 2 could not be done, and one
    line on standard error says why; 130 interrupted.
    """
    arguments = sys.argv[1:]
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    debug = "--debug" in options
    arguments = [a for a in options if a != "--debug"] + arguments[len(options) :]
    for output in (sys.stdout, sys.stderr):  # a terminal without umlauts shows them escaped
        if isinstance(output, io.TextIOWrapper):
            output.reconfigure(errors="backslashreplace")
    warnings.showwarning = _show_warning
    try:
        code = app(args=arguments, prog_name="steelyard", standalone_mode=False)
    except KeyboardInterrupt:
        code = 130
    except SystemExit as left:  # typer leaves by 1 when the reader of a pipe is gone
        code = 2 if left.code == 1 else left.code
    except BaseException as error:  # the last catch: whatever it is, one line
        if debug:
            traceback.print_exc()
        code = 2 if (message := _explained(error)) else 130
        if message:
            typer.echo(f"steelyard: {printable(message)}", err=True)
    raise SystemExit(code or 0)


def _explained(error: BaseException) -> str:
    """What went wrong and what to do, in one line; empty where the user interrupted."""
    if isinstance(error, typer.Abort) and isinstance(error.__cause__, KeyboardInterrupt):
        return ""
    if isinstance(error, SteelyardError):
        return str(error)
    if hasattr(error, "format_message"):  # a usage error of the command line
        context = getattr(error, "ctx", None)
        path = "steelyard" if context is None else context.command_path
        said = error.format_message().rstrip(".")
        return f"{said}. Try '{path} --help'." if said else f"a command is missing. Try '{path} --help'."
    if isinstance(error, OSError):
        place = error.filename if error.filename is not None else "the output"
        return f"{place} cannot be used: {error.strerror or error}. {_ADVICE.get(error.errno or 0, '')}".rstrip()
    if isinstance(error, MemoryError):
        return "the memory of this machine does not suffice. Use fewer rows or columns, or a smaller --hash-bits."
    what = f"{type(error).__name__}: {error}".strip(": ")[:300]
    return f"this should not happen: {what}. Run it again with --debug and report what it shows."


_ADVICE = {
    errno.ENOSPC: "Free some space, or write elsewhere.",
    errno.EFBIG: "The file may not grow further; write elsewhere.",
    errno.EACCES: "Choose a place you may use.",
    errno.EPERM: "Choose a place you may use.",
    errno.EROFS: "Choose a place you may write to.",
    errno.ENOENT: "Make the folder first, or check the path.",
    errno.EISDIR: "Give the name of a file.",
    errno.ENOTDIR: "Part of the path is a file; check it.",
    errno.EEXIST: "A file of that name is in the way.",
    errno.ENAMETOOLONG: "Give a shorter name.",
}


def _show_warning(message: Warning | str, *rest: Any, **also: Any) -> None:
    """A warning is one line, too."""
    typer.echo(f"steelyard: warning: {printable(message)}", err=True)
