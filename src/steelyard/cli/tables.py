"""``compare``, ``predict`` and ``demo``: the main job.

Tested in ``tests/unit/comparison``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .options import (
    MOST_SEED,
    Category,
    Costs,
    Drop,
    FnCostColumn,
    Format,
    FpCostColumn,
    KeepCostColumns,
    Overwrite,
    Target,
    TnCostColumn,
    TpCostColumn,
    check_reachable,
    complete_column,
)


def compare(
    file: Annotated[
        str,
        typer.Argument(
            help="CSV, JSON lines, LIBSVM, ARFF or Parquet (.gz may follow), a folder or pattern of them, or -."
        ),
    ],
    target: Target = None,
    costs: Costs = None,
    positive: Annotated[str | None, typer.Option(help="The positive class of two; the last one otherwise.")] = None,
    fn_cost_column: FnCostColumn = None,
    fp_cost_column: FpCostColumn = None,
    tp_cost_column: TpCostColumn = None,
    tn_cost_column: TnCostColumn = None,
    keep_cost_columns: KeepCostColumns = False,
    format: Format = None,
    drop: Drop = None,
    effort: Annotated[
        str | None, typer.Option(help="quick, normal, thorough, or a number of work units; normal without --time.")
    ] = None,
    time: Annotated[float | None, typer.Option(min=1, help="Ceiling in seconds of CPU time of all workers.")] = None,
    candidates: Annotated[
        list[str] | None, typer.Option(help="A candidate to try; +catboost and +xgboost join the others.")
    ] = None,
    no_blend: Annotated[bool, typer.Option("--no-blend", help="Name the best single candidate.")] = False,
    promise_rows: Annotated[
        int | None, typer.Option(min=1, help="New rows that the promised cost is for; else as many as given.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the promised interval.")] = 0.95,
    groups: Annotated[
        str | None, typer.Option(help="Column whose equal cells stay in one fold.", autocompletion=complete_column)
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option(
            help="Column that says how much each row counts; not learned from.", autocompletion=complete_column
        ),
    ] = None,
    segment: Annotated[
        list[str] | None,
        typer.Option(
            help="A column by whose cells the page tells costs apart; may be repeated.", autocompletion=complete_column
        ),
    ] = None,
    current: Annotated[
        str | None,
        typer.Option(
            help="Column with the decisions of today's rule, to compare with; not learned from.",
            autocompletion=complete_column,
        ),
    ] = None,
    show_rows: Annotated[
        bool,
        typer.Option("--show-rows", help="Show the cells of the costliest mistakes on the page, not their rows only."),
    ] = False,
    text: Annotated[
        list[str] | None, typer.Option(help="A column of texts; may be repeated.", autocompletion=complete_column)
    ] = None,
    category: Category = None,
    date: Annotated[
        list[str] | None, typer.Option(help="A column of dates; may be repeated.", autocompletion=complete_column)
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 5,
    jobs: Annotated[int, typer.Option(min=1, help="Work units side by side.")] = 2,
    cluster: Annotated[str | None, typer.Option(help="A Dask scheduler where units run instead.")] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Of a folder: compare on so many rows, then fit on all training parts and judge on held-out ones.",
        ),
    ] = None,
    lanes: Annotated[int, typer.Option(min=1, help="With --sample: learners side by side, then merged (AROW).")] = 1,
    work: Annotated[
        Path | None, typer.Option(help="With --sample: a folder that all workers share; needed on a cluster.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Of folds and learners.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for report, model and state.")] = Path("steelyard-report"),
    resume: Annotated[bool, typer.Option("--resume", help="Go on from what the folder holds.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an earlier report and model instead of keeping them.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, tables or advice.")] = False,
) -> None:
    """Compare learners on your data and your costs: a leaderboard, a recommendation, a page and a model."""
    check_reachable(cluster)
    from ..comparison.command import run_compare

    stated = {"fn": fn_cost_column, "fp": fp_cost_column, "tp": tp_cost_column, "tn": tn_cost_column}
    columns = {role: name for role, name in stated.items() if name is not None}
    given = (("text", text), ("category", category), ("date", date))
    roles = {name: role for role, names in given for name in names or ()}
    settings: dict[str, Any] = {"drop": drop or [], "time_limit": time, "cv": folds, "n_jobs": jobs}
    settings |= {"resume": resume, "effort": effort, "candidates": candidates, "blend": not no_blend, "roles": roles}
    settings |= {"random_state": seed, "promise_rows": promise_rows, "confidence": confidence, "groups": groups}
    settings |= {"weight": weight}
    settings |= {"segments": segment or [], "current": current, "show_rows": show_rows, "quiet": quiet}
    settings |= {"out": out, "as_json": as_json, "overwrite": overwrite, "keep_cost_columns": keep_cost_columns}
    settings |= {"cluster": cluster, "sample": sample, "lanes": lanes, "work": work, "format": format}
    raise typer.Exit(run_compare(file, target, costs, positive, columns, **settings))


def predict(
    model: Annotated[Path, typer.Argument(help="A model of `steelyard compare`, or a state of `steelyard stream`.")],
    file: Annotated[str, typer.Argument(help="New rows with the same columns: a file, folder or pattern; or -.")],
    format: Annotated[str | None, typer.Option(help="Format of the rows; else from the name. Needed for -.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Where to write: .csv, .tsv, .jsonl, .parquet or .arrow; otherwise to standard output."),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(help="A column that names the rows; it is written first.", autocompletion=complete_column),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="A column to write as well; may be repeated.", autocompletion=complete_column),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Write the probability of every class.")] = False,
    explain: Annotated[
        int | None, typer.Option(min=1, help="Write so many columns that moved the probability most.")
    ] = None,
    costs: Annotated[
        str | None, typer.Option(help="Other prices: fn=5,fp=1 (a name stands for a column), 5:1, or a file.")
    ] = None,
    fn_cost_column: FnCostColumn = None,
    fp_cost_column: FpCostColumn = None,
    tp_cost_column: TpCostColumn = None,
    tn_cost_column: TnCostColumn = None,
    typical_costs: Annotated[
        bool, typer.Option("--typical-costs", help="Mean costs of training instead of the columns compared with.")
    ] = False,
    abstain: Annotated[float | None, typer.Option(help="Price of deciding nothing, e.g. of asking a person.")] = None,
    capacity: Annotated[
        int | None, typer.Option(min=0, help="Most rows that may be answered with the positive class.")
    ] = None,
    chunk: Annotated[int, typer.Option(min=1, help="Rows read at a time.")] = 10_000,
    cluster: Annotated[
        str | None, typer.Option(help="A Dask scheduler: an output part for each part, below the folder --out.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="The same with so many processes of this machine.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="A summary as JSON on standard error.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No notices on standard error.")] = False,
    safe_csv: Annotated[
        bool | None,
        typer.Option("--safe-csv/--no-safe-csv", help="Put ' before labels that spreadsheets take for formulas."),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Decisions of a saved model, with their expected costs."""
    check_reachable(cluster)
    from ..models.prediction import PredictOptions, run_predict

    stated = {"fn": fn_cost_column, "fp": fp_cost_column, "tp": tp_cost_column, "tn": tn_cost_column}
    if cluster is not None or jobs is not None:
        from ..scale.command import predict_in_parts

        refused: dict[str, Any] = {"--proba": proba, "--explain": explain, "--abstain": abstain, "--capacity": capacity}
        refused |= {"--json": as_json, "--typical-costs": typical_costs, "--format": format, "--overwrite": overwrite}
        refused |= {f"--{role}-cost-column": name for role, name in stated.items()}
        columns = [*([] if id is None else [id]), *(keep or ())]
        more: dict[str, Any] = {"rows": chunk, "cluster": cluster, "n_jobs": jobs, "quiet": quiet}
        predict_in_parts(model, file, out=out, columns=columns, costs=costs, refused=refused, **more)
        return
    options = PredictOptions(
        format=format,
        out=out,
        id=id,
        keep=tuple(keep or ()),
        proba=proba,
        explain=explain,
        costs=costs,
        cost_columns={role: name for role, name in stated.items() if name is not None},
        typical=typical_costs,
        abstain=abstain,
        capacity=capacity,
        chunk=chunk,
        as_json=as_json,
        quiet=quiet,
        safe_csv=safe_csv,
        overwrite=overwrite,
    )
    run_predict(model, file, options)


def demo(
    time: Annotated[float, typer.Option(min=1, help="Ceiling in seconds of CPU time.")] = 20.0,
    jobs: Annotated[int, typer.Option(min=1, help="Work units side by side.")] = 2,
    out: Annotated[Path, typer.Option(help="Folder for report, model and state.")] = Path("steelyard-report"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, tables or advice.")] = False,
) -> None:
    """Compare on the bundled credit data: a missed bad credit costs 5, a refused good one 1."""
    from ..comparison.command import run_demo

    raise typer.Exit(run_demo(time_limit=time, n_jobs=jobs, out=out, as_json=as_json, quiet=quiet))
