"""``reproduce``, ``story`` and ``data``: the papers, scenes on their data, and the data.

Tested in ``tests/unit/reproduction/test_command.py``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

# Kernels of NumPy, its BLAS and our solvers are chosen by the width of the processor's vectors, and their last bits
# with them, which decide where two parameters are equally good; so does the number of threads that share a product.
# Kept runs are those of AVX2, which nearly all have, and of one thread a run.
_AVX2 = {
    "STEELYARD_ISA": "avx2",
    "OPENBLAS_CORETYPE": "Haswell",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
}
_CPU = Path("/proc/cpuinfo")


def _same_arithmetic() -> None:
    """Have what is imported from now on use AVX2 and one thread, unless the caller's environment says otherwise."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if _CPU.exists() and " avx512f " in _CPU.read_text():
        for name, value in _AVX2.items():
            os.environ.setdefault(name, value)


def reproduce(
    paper: Annotated[str, typer.Argument(help="000, 001, 002, 003, 004, or all.")],
    share: Annotated[
        float | None, typer.Argument(help="With --check: the share of kept runs, 0.02 by default.")
    ] = None,
    table: Annotated[str | None, typer.Option(help="Only this table, e.g. 2 or II.")] = None,
    figure: Annotated[str | None, typer.Option(help="Only this figure, e.g. 3.")] = None,
    item: Annotated[str | None, typer.Option(help="Only this item by its name, e.g. 'Option II'.")] = None,
    data: Annotated[str | None, typer.Option(help="Only this data set.")] = None,
    learner: Annotated[list[str] | None, typer.Option(help="Only this learner; may be repeated.")] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Another number of runs than the recipe's.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Two minutes: fewer runs, long ones left out, nothing judged on them.")
    ] = False,
    hours: Annotated[
        float | None, typer.Option(min=0, help="Begin no run after this time, of all papers; say what is left.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Runs side by side.")] = 2,
    to: Annotated[Path | None, typer.Option(help="A new folder for results; else steelyard-reproduce/PAPER.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on in this folder of results.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Print the committed results; run nothing.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Compute a share of the committed runs again, compare every digit.")
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Work in the committed results; with --check record what passed.")
    ] = False,
    decide: Annotated[
        bool, typer.Option("--decide", help="More runs of what is undecided, the cheapest claim first.")
    ] = False,
) -> None:
    """Run a paper's tables and figures, print ours beside the printed and say what holds."""
    _same_arithmetic()
    from ..reproduction.command import Mode, one_item, run_reproduce

    papers = ("000", "001", "002", "003", "004") if paper == "all" else (paper,)
    part = {"item": one_item(table, figure, item), "data": data}
    wish = {"learners": learner or [], "runs": runs, "quick": quick, "hours": hours, "n_jobs": jobs}
    how = Mode(to=to, resume=resume, keep=keep, show=show, check=check, share=share, decide=decide)
    raise typer.Exit(run_reproduce(papers, part, wish, how))


def story(
    name: Annotated[
        str | None, typer.Argument(help="A name that `steelyard story` prints; without one they are listed.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="The short form: less data, a few seconds.")] = False,
    to: Annotated[Path | None, typer.Option(help="Folder for picture and numbers; else steelyard-story/NAME.")] = None,
) -> None:
    """Tell a whole scene on real or generated data: one picture and its numbers."""
    from ..stories.command import list_stories, tell_story

    if name is None:
        list_stories()
    else:
        tell_story(name, quick=quick, to=to)


data_app = typer.Typer(name="data", help="The papers' data sets.", no_args_is_help=True, rich_markup_mode=None)


@data_app.command("list")
def _data_list() -> None:
    """Print name, size, classes, papers and tasks of every data set."""
    from rich.console import Console
    from rich.table import Table

    from ..data.catalogue import list_datasets

    table = Table("name", "rows", "features", "classes", "papers", "tasks", box=None)
    for info in list_datasets():
        sizes = (str(n) for n in (info.rows, info.features, len(info.classes)))
        table.add_row(info.name, *sizes, " ".join(info.papers), " ".join(t.name for t in info.tasks))
    Console().print(table)


@data_app.command("fetch")
def _data_fetch(name: Annotated[str, typer.Argument(help="A name that `steelyard data list` prints.")]) -> None:
    """Bring the files of a data set to this machine and print where they lie."""
    from ..data.catalogue import fetch_dataset

    for path in fetch_dataset(name):
        typer.echo(path)
