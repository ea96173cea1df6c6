"""The commands of the service: ``serve``, and all below ``service``."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from ..deferred import deferred
from ..validation.values import invalid, require
from .options import MOST_SEED, Overwrite, complete_column

service_app = typer.Typer(
    name="service", help="Projects of `steelyard serve`.", no_args_is_help=True, rich_markup_mode=None
)
UNUSED = ("pandas", "scipy.stats", "sklearn.metrics")  # scikit-learn imports them; half the time of a server's start
_DATA = typer.Option(help="The folder of the projects.")
_DATABASE = typer.Option(help="A PostgreSQL database instead of the folder: postgresql://...")


def serve(
    sample: Annotated[
        str | None, typer.Argument(metavar="[german]", help="With --demo: the bundled credit data instead.")
    ] = None,
    data: Annotated[Path, typer.Option(help="The folder of the projects.")] = Path("steelyard-service"),
    database: Annotated[
        str | None,
        typer.Option(help="A PostgreSQL database instead: postgresql://...; a second process waits as standby."),
    ] = None,
    bind: Annotated[str, typer.Option(help="Address to listen on; others than loopback need --tls or a proxy.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8321,
    host_name: Annotated[list[str] | None, typer.Option(help="A further name:port it is reached by.")] = None,
    behind_proxy: Annotated[str | None, typer.Option(help="https://name of the proxy in front of it.")] = None,
    tls: Annotated[tuple[str, str] | None, typer.Option(help="Certificate and key.")] = None,
    tail: Annotated[
        Path | None, typer.Option(help="A growing file of rows (JSON lines or CSV) to follow; each is decided once.")
    ] = None,
    project: Annotated[str | None, typer.Option(help="The project whose rows --tail brings.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Serve made-up card payments that label themselves.")] = False,
    keep: Annotated[Path | None, typer.Option(help="With --demo: the folder to begin in, or to go on in.")] = None,
) -> None:
    """Serve projects over HTTP: rows are decided at once, labels are asked for within the budget.

    Exit codes: 0 stopped, 3 the log does not replay, 4 another server holds the folder, 70 a commit failed: start it
    again, it goes on from the log.
    """
    with _serve_extra():
        from ..service.commands.serve import run_demo, run_serve

    if (tail is None) != (project is None) or (demo and tail is not None):
        raise invalid(
            "--tail", "be given together with --project, and not with --demo", None if tail is None else str(tail)
        )
    followed = None if tail is None or project is None else (tail, project)
    if demo:
        _check_demo(data, database, bind, host_name, behind_proxy, tls)
        raise typer.Exit(run_demo(sample or "payments", keep, port))
    if sample is not None or keep is not None:
        raise invalid("--demo", "be given together with a sample or --keep", False)
    raise typer.Exit(run_serve(_place(data, database), bind, port, host_name or [], tls, behind_proxy, followed))


def _check_demo(data: Path, database: str | None, bind: str, *others: Any) -> None:
    """Raise if options come with --demo that it has no use for."""
    given = [None if data == Path("steelyard-service") else str(data), database, None if bind == "127.0.0.1" else bind]
    options = ("--data", "--database", "--bind", "--host-name", "--behind-proxy", "--tls")
    for option, value in zip(options, [*given, *others], strict=True):
        if value:
            raise invalid(option, "be left out with --demo", value, "It runs on loopback; --keep names its folder.")


@contextmanager
def _serve_extra() -> Iterator[None]:
    """Import modules of the service in this block: the extra must be there, and what no command uses waits."""
    for module in ("msgspec", "apsw", "starlette", "uvicorn", "prometheus_client", "argon2"):
        require(module, why="steelyard serve", extra="serve")
    with deferred(*UNUSED):
        yield


def _place(data: Path, database: str | None) -> Any:
    from ..service.database.places import place_of

    return place_of(data, database)


@service_app.command("new")
def _service_new(
    project: Annotated[str, typer.Argument(help="Small letters, digits and hyphens.")],
    data: Annotated[Path, _DATA] = Path("steelyard-service"),
    database: Annotated[str | None, _DATABASE] = None,
    settings: Annotated[Path | None, typer.Option(help="A JSON file with all settings.")] = None,
    sample: Annotated[Path | None, typer.Option(help="A CSV file whose columns are guessed instead.")] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="A column to leave out; may be repeated.", autocompletion=complete_column)
    ] = None,
    shown: Annotated[
        list[str] | None,
        typer.Option(help="A column to show, not to learn from; repeatable.", autocompletion=complete_column),
    ] = None,
    classes: Annotated[str | None, typer.Option(help="All labels, the negative one first.")] = None,
    costs: Annotated[str | None, typer.Option(help="fn=10,fp=1, 10:1, or a file of C[true, predicted].")] = None,
    budget: Annotated[int | None, typer.Option(min=0, help="Labels that may be asked for in all.")] = None,
    expected_rows: Annotated[int | None, typer.Option(min=1, help="Rows the budget should last for.")] = None,
    update: Annotated[str | None, typer.Option(help='An update rule, e.g. "AROW(r=10)".')] = None,
    query: Annotated[str | None, typer.Option(help="A query rule.")] = None,
    pace: Annotated[bool, typer.Option("--pace/--no-pace", help="Scale the query rule to the budget.")] = True,
    question: Annotated[str | None, typer.Option(help="What people are asked.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Of the draws of the query rule.")] = 0,
    history: Annotated[
        Path | None, typer.Option(help="A CSV file of labelled rows, learned before the first row.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="The column of the labels in the history.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the tokens as JSON.")] = False,
) -> None:
    """Make a project and print a token for each role, this once."""
    with _serve_extra():
        from ..service.commands.project import run_new, settings_from

    given = {"classes": classes, "costs": costs, "budget": budget, "expected_rows": expected_rows, "update": update}
    given |= {"query": query, "pace": pace, "question": question, "seed": seed}
    ignored = [*(ignore or []), *([target] if target and settings is None else [])]
    columns = sample or (history if settings is None else None)
    made = settings_from(settings, columns, ignored, shown or [], given)
    run_new(_place(data, database), project, made, as_json, history, target)


@service_app.command("push")
def _service_push(
    file: Annotated[str, typer.Argument(help="A CSV file with a header, or - for standard input.")],
    project: Annotated[str, typer.Option(help="The project.")],
    url: Annotated[str, typer.Option(help="Address of the service.")] = "http://127.0.0.1:8321",
    token: Annotated[str | None, typer.Option(help="A producer's token; else STEELYARD_TOKEN.")] = None,
    id: Annotated[
        str | None, typer.Option(help="A column that names the rows.", autocompletion=complete_column)
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            help="A column whose numbers are names, such as 007; may be repeated.", autocompletion=complete_column
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where decisions go, as JSON lines; else standard output.")] = None,
    patience: Annotated[float, typer.Option(min=0, help="Seconds to wait for a server that is away.")] = 60.0,
    overwrite: Overwrite = False,
) -> None:
    """Send rows and write their decisions; sent again, a file goes on where it stopped."""
    with _serve_extra():
        from ..service.commands.rows import run_push
    from ..files import check_new, check_paths, write_atomically
    from ..models.outputs import holds_decisions

    sent: dict[str, Any] = {"url": url, "token": token, "project": project, "id_column": id}
    sent |= {"texts": text or [], "patience": patience}
    if out is None:
        raise typer.Exit(run_push(file, out=sys.stdout, **sent))
    check_paths(inputs={"the input": sys.stdin.buffer if file == "-" else file}, outputs={"--out": out})
    check_new("--out", out, overwrite=overwrite, earlier=lambda path: holds_decisions(path, "jsonl"))
    with write_atomically(out) as whole:
        lines = io.TextIOWrapper(whole, encoding="utf-8", write_through=True)
        code = run_push(file, out=lines, **sent)
        lines.detach()  # the writer closes it
    raise typer.Exit(code)


@service_app.command("token")
def _service_token(
    project: Annotated[str, typer.Option(help="The project; _service for metrics.")] = "_service",
    role: Annotated[str, typer.Option(help="owner, annotator, producer or reader.")] = "reader",
    data: Annotated[Path, _DATA] = Path("steelyard-service"),
    database: Annotated[str | None, _DATABASE] = None,
    days: Annotated[int | None, typer.Option(min=1, help="Days until it expires; for ever otherwise.")] = None,
    revoke: Annotated[str | None, typer.Option(help="Revoke the token of this number (sy_NUMBER_...) instead.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="List all tokens, by their numbers, instead.")] = False,
) -> None:
    """Make a token of one project and one role, revoke one, or list them; also while the service runs."""
    with _serve_extra():
        from ..service.commands.project import run_token

    run_token(_place(data, database), project, role, days, revoke, listed=listed)


@service_app.command("person")
def _service_person(
    name: Annotated[str | None, typer.Argument(help="Who; without it, everybody is listed.")] = None,
    project: Annotated[str | None, typer.Option(help="The project of the role; _service for all of them.")] = None,
    role: Annotated[str | None, typer.Option(help="owner, annotator, producer or reader.")] = None,
    take: Annotated[bool, typer.Option("--take", help="Take the role away instead of giving it.")] = False,
    active: Annotated[bool | None, typer.Option("--active/--no-active", help="Whether they may log in.")] = None,
    data: Annotated[Path, _DATA] = Path("steelyard-service"),
    database: Annotated[str | None, _DATABASE] = None,
    url: Annotated[str, typer.Option(help="Address of the service, for the link.")] = "http://127.0.0.1:8321",
) -> None:
    """Add a person or change what they may do, and print a link that logs in once; also while the service runs."""
    with _serve_extra():
        from ..service.commands.project import run_person

    run_person(_place(data, database), name, project, role, take=take, active=active, url=url)


@service_app.command("verify")
def _service_verify(
    data: Annotated[Path, _DATA] = Path("steelyard-service"),
    database: Annotated[str | None, _DATABASE] = None,
    project: Annotated[str | None, typer.Option(help="Only this project.")] = None,
    head: Annotated[str | None, typer.Option(help="A head SEQ:CHAIN that was noted elsewhere.")] = None,
) -> None:
    """Compute every decision and table again from the log alone; exit code 0 if all agrees, else 3."""
    with _serve_extra():
        from ..service.commands.log import run_verify

    raise typer.Exit(run_verify(_place(data, database), project, head))


@service_app.command("erase")
def _service_erase(
    project: Annotated[str, typer.Option(help="The project.")],
    items: Annotated[list[int] | None, typer.Argument(help="Rows to erase, by the number of their decision.")] = None,
    name: Annotated[list[str] | None, typer.Option("--id", help="A row by the id it was sent with.")] = None,
    data: Annotated[Path, _DATA] = Path("steelyard-service"),
    database: Annotated[str | None, _DATABASE] = None,
    url: Annotated[str | None, typer.Option(help="The running service; without, the folder must be in no use.")] = None,
    token: Annotated[str | None, typer.Option(help="An owner's token for --url; also STEELYARD_TOKEN.")] = None,
) -> None:
    """Erase rows for good: no file of the folder holds them then, and the model is learned again without them."""
    with _serve_extra():
        from ..service.commands.rows import run_erase

    raise typer.Exit(run_erase(_place(data, database), project, items or [], name or [], url=url, token=token))


@service_app.command("champion")
def _service_champion(
    project: Annotated[str, typer.Option(help="The project.")],
    file: Annotated[Path | None, typer.Argument(help="A .steelyard file of `compare` or `stream`.")] = None,
    end: Annotated[bool, typer.Option("--end", help="Have the learner decide again instead.")] = False,
    data: Annotated[Path, _DATA] = Path("steelyard-service"),
    database: Annotated[str | None, _DATABASE] = None,
    url: Annotated[str | None, typer.Option(help="The running service; without, the folder must be in no use.")] = None,
    token: Annotated[str | None, typer.Option(help="An owner's token for --url; also STEELYARD_TOKEN.")] = None,
) -> None:
    """Have a frozen model decide, while the learner goes on learning from the labels."""
    with _serve_extra():
        from ..service.commands.rows import run_champion

    raise typer.Exit(run_champion(_place(data, database), project, file, url=url, token=token, end=end))


@service_app.command("backup")
def _service_backup(
    file: Annotated[Path, typer.Argument(help="A new file.")],
    data: Annotated[Path, _DATA] = Path("steelyard-service"),
    database: Annotated[str | None, _DATABASE] = None,
) -> None:
    """Copy the database, also while the service runs, and verify the copy."""
    with _serve_extra():
        from ..service.commands.log import run_backup

    raise typer.Exit(run_backup(_place(data, database), file))


@service_app.command("restore")
def _service_restore(
    file: Annotated[Path, typer.Argument(help="A file that `backup` wrote.")],
    data: Annotated[Path, _DATA] = Path("steelyard-service"),
    database: Annotated[str | None, _DATABASE] = None,
) -> None:
    """Put a backup into an empty folder, and verify it."""
    with _serve_extra():
        from ..service.commands.log import run_restore

    raise typer.Exit(run_restore(file, _place(data, database)))


@service_app.command("export")
def _service_export(
    project: Annotated[str, typer.Option(help="The project.")],
    data: Annotated[Path, _DATA] = Path("steelyard-service"),
    database: Annotated[str | None, _DATABASE] = None,
) -> None:
    """Write every decision with its row and label as JSON lines."""
    with _serve_extra():
        from ..service.commands.log import run_export

    run_export(_place(data, database), project, sys.stdout)


@service_app.command("unit")
def _service_unit(
    data: Annotated[Path, _DATA] = Path("steelyard-service"),
    database: Annotated[str | None, _DATABASE] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port.")] = 8321,
) -> None:
    """Print a systemd unit that restarts the service whenever it ends."""
    with _serve_extra():
        from ..service.commands.serve import unit_text

    typer.echo(unit_text(_place(data, database), port))
