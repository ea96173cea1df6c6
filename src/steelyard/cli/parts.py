"""``fit`` and ``score``: more rows than memory holds.

Tested in ``tests/unit/scale``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .options import Category, Cluster, Drop, Format, Overwrite, check_reachable


def fit(
    parts: Annotated[
        str, typer.Argument(help="A folder, pattern or URL of files: columns of numbers and text, or LIBSVM.")
    ],
    target: Annotated[str | None, typer.Option(help="The column of labels; not needed for LIBSVM.")] = None,
    out: Annotated[Path | None, typer.Option(help="The model file to write (.steelyard).")] = None,
    update: Annotated[str | None, typer.Option(help='An update rule, e.g. AROW or "SCW1(C=1)".')] = None,
    costs: Annotated[
        str | None, typer.Option(help="fn=5,fp=1 (a name stands for a column), 5:1, balanced, or a file.")
    ] = None,
    positive: Annotated[str | None, typer.Option(help="The positive label of two; the last one otherwise.")] = None,
    fit_intercept: Annotated[bool, typer.Option("--fit-intercept", help="Learn an intercept.")] = False,
    lanes: Annotated[int, typer.Option(min=1, help="Learners side by side, then merged (AROW and SCW1).")] = 1,
    passes: Annotated[int, typer.Option(min=1, help="Passes over the rows.")] = 1,
    finish: Annotated[str | None, typer.Option(help="lbfgs: minimise the cost-weighted logistic loss at last.")] = None,
    work: Annotated[Path | None, typer.Option(help="The folder of the job; a later call goes on from it.")] = None,
    on_bad_part: Annotated[str, typer.Option(help="raise, or skip parts that cannot be read.")] = "raise",
    format: Format = None,
    drop: Drop = None,
    category: Category = None,
    n_features: Annotated[int | None, typer.Option(min=1, help="Columns of LIBSVM files.")] = None,
    scale: Annotated[str, typer.Option(help="standard: numbers to mean 0 and deviation 1, by a pass before.")] = "none",
    hash_bits: Annotated[
        int | None, typer.Option(min=1, max=30, help="Hash all columns into 2^N features; 18 where there is text.")
    ] = None,
    rows: Annotated[int, typer.Option(min=1, help="Rows read at a time.")] = 10_000,
    cluster: Cluster = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes of this machine.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
    overwrite: Overwrite = False,
) -> None:
    """Learn from more rows than memory holds, here or on a cluster, with the same bits."""
    check_reachable(cluster)
    from ..scale.command import FitOptions, run_fit

    stated = {"drop": drop, "nominal": category, "n_features": n_features}
    reader = {name: value for name, value in stated.items() if value}
    learning = (update, costs, positive, fit_intercept, lanes, passes, finish, work, on_bad_part)
    run_fit(
        parts,
        FitOptions(target, out, *learning, rows, cluster, jobs, quiet, scale, hash_bits, reader, overwrite, format),
    )


def score(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    parts: Annotated[str, typer.Argument(help="A folder, pattern or URL of files with labels.")],
    target: Annotated[str | None, typer.Option(help="The column of labels; not needed for LIBSVM.")] = None,
    costs: Annotated[
        str | None,
        typer.Option(help="fn=5,fp=1 (a name stands for a column), 5:1, or a file; those of the model otherwise."),
    ] = None,
    positive: Annotated[
        str | None, typer.Option(help="The positive label of two; that of a model of compare, or the last, otherwise.")
    ] = None,
    format: Format = None,
    drop: Drop = None,
    rows: Annotated[int, typer.Option(min=1, help="Rows read at a time.")] = 10_000,
    work: Annotated[Path | None, typer.Option(help="A folder that all workers share; needed on a cluster.")] = None,
    cluster: Cluster = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes of this machine.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what the decisions of a model on many files cost, with intervals."""
    check_reachable(cluster)
    from ..scale.command import run_score

    given: dict[str, Any] = {"rows": rows, "work": work, "cluster": cluster, "n_jobs": jobs, "as_json": as_json}
    given |= {"format": format}
    run_score(
        model, parts, target=target, costs=costs, positive=positive, reader={"drop": drop} if drop else {}, **given
    )
