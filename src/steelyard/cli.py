"""The command line: parse, call, print.

Tested in ``tests/unit/test_cli_data.py``.
"""

from __future__ import annotations

import errno
import io
import sys
import traceback
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ._version import __version__
from .cli_options import (
    MOST_ROWS,
    MOST_SEED,
    Category,
    Cluster,
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
    complete_column,
)
from .cli_service import serve, service_app
from .errors import SteelyardError
from .validation.text import printable
from .validation.values import invalid

app = typer.Typer(
    name="steelyard",
    help="Classification where mistakes are not equal.",
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

    Exit codes: 0 done, 2 could not be done (one line on standard error says why), 130 interrupted.
    """


def _reach(cluster: str | None) -> None:
    """A wrong address is said before what a command needs is loaded and its files are read, which takes longer."""
    if cluster is not None:
        from .executors import check_address

        check_address(cluster)


data_app = typer.Typer(name="data", help="The papers' data sets.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(data_app)


@data_app.command("list")
def _data_list() -> None:
    """Print name, size, classes, papers and tasks of every data set."""
    from rich.console import Console
    from rich.table import Table

    from .data.catalogue import list_datasets

    table = Table("name", "rows", "features", "classes", "papers", "tasks", box=None)
    for info in list_datasets():
        sizes = (str(n) for n in (info.rows, info.features, len(info.classes)))
        table.add_row(info.name, *sizes, " ".join(info.papers), " ".join(t.name for t in info.tasks))
    Console().print(table)


@data_app.command("fetch")
def _data_fetch(name: Annotated[str, typer.Argument(help="A name that `steelyard data list` prints.")]) -> None:
    """Bring the files of a data set to this machine and print where they lie."""
    from .data.catalogue import fetch_dataset

    for path in fetch_dataset(name):
        typer.echo(path)


@app.command("stream")
def _stream(
    file: Annotated[
        str | None,
        typer.Argument(
            help="CSV, JSON lines, LIBSVM, ARFF or Parquet (.gz may follow), a folder or pattern of them, or -."
        ),
    ] = None,
    target: Target = None,
    update: Annotated[
        str | None,
        typer.Option(help='An update rule, e.g. AROW or "CSOGD2(eta=0.1)", the default; of many labels CSOGD1.'),
    ] = None,
    query: Annotated[str, typer.Option(help='A query rule, e.g. "AskAsymmetric(c_pos=0.01, c_neg=0.1)".')] = "AskAll",
    budget: Annotated[str | None, typer.Option(help="Labels in all (1250), or per row (0.05).")] = None,
    costs: Costs = None,
    fn_cost_column: FnCostColumn = None,
    fp_cost_column: FpCostColumn = None,
    tp_cost_column: TpCostColumn = None,
    tn_cost_column: TnCostColumn = None,
    keep_cost_columns: KeepCostColumns = False,
    classes: Annotated[
        str | None, typer.Option(help="All labels, the negative one first; else those of the first chunk.")
    ] = None,
    positive: Annotated[str | None, typer.Option(help="The positive label of two; the last one otherwise.")] = None,
    threshold: Annotated[float, typer.Option(help="Positive where the score reaches it.")] = 0.0,
    after_budget: Annotated[str, typer.Option(help="last or average weights once the budget is spent.")] = "last",
    fit_intercept: Annotated[bool, typer.Option("--fit-intercept", help="Learn an intercept.")] = False,
    scale: Annotated[
        str, typer.Option(help="none, standard or unit-norm, by the past alone; auto: unit-norm for tables.")
    ] = "auto",
    hash_bits: Annotated[
        int | None,
        typer.Option(
            min=1, max=30, help="Hash into 2^bits columns of 8 bytes each (30: 8.6 GB); texts are hashed into 2^18."
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(help="A column of texts to read word by word; may be repeated.", autocompletion=complete_column),
    ] = None,
    url: Annotated[
        list[str] | None,
        typer.Option(
            help="A column of addresses to read part by part; may be repeated.", autocompletion=complete_column
        ),
    ] = None,
    format: Format = None,
    no_header: Annotated[
        bool, typer.Option("--no-header", help="CSV without names; --target is a position, -1 the last.")
    ] = False,
    n_features: Annotated[int | None, typer.Option(min=1, help="Columns of a LIBSVM stream.")] = None,
    zero_based: Annotated[bool, typer.Option("--zero-based", help="Columns of LIBSVM are counted from 0.")] = False,
    drop: Drop = None,
    chunk: Annotated[int, typer.Option(min=1, max=MOST_ROWS, help="Rows read at a time.")] = 1000,
    decisions: Annotated[str | None, typer.Option(help="Where to write decisions: .jsonl, .csv or -.")] = None,
    id: Annotated[
        str | None,
        typer.Option(
            help="A column that names the rows: written to the log, not learned from.", autocompletion=complete_column
        ),
    ] = None,
    state: Annotated[Path | None, typer.Option(help="Saved here; if it exists the stream goes on from it.")] = None,
    labels: Annotated[
        str | None,
        typer.Option(help="Instead of rows: a table with the id or t of rows of --state, and the labels that came."),
    ] = None,
    most_awaited: Annotated[
        int | None,
        typer.Option(
            "--await",
            min=0,
            help="Rows that --state keeps until their label comes, the newest; 10000 unless said, 0 gives all up.",
        ),
    ] = None,
    append: Annotated[bool, typer.Option("--append", help="Add to a --decisions file that no state knows.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing --decisions file.")] = False,
    sync: Annotated[
        str, typer.Option(help="Sync the log to the disk: never, before each state, or after each chunk.")
    ] = "state",
    safe_csv: Annotated[
        bool, typer.Option("--safe-csv", help="In a CSV log put ' before labels that spreadsheets take for formulas.")
    ] = False,
    skip_seen: Annotated[
        bool,
        typer.Option(
            "--skip-seen", help="The input starts from its beginning: skip rows already seen, which are checked."
        ),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Of the draws of the query rule.")] = 0,
    cluster: Cluster = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes of this machine that decode parts ahead; rows stay in order.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, no summary.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Learn in one pass: decide every row, ask for labels within the budget, and report the cost."""
    from .data.part_files import is_several

    if is_several(file):  # --cluster with one file is another error
        _reach(cluster)
    from .streaming.command import Places, run_labels, run_stream
    from .streaming.settings import StreamSettings

    if append and overwrite:
        raise invalid("--append", "be left out with --overwrite", "both")
    settings = StreamSettings(
        update, query, budget, costs, classes, positive, threshold, after_budget, fit_intercept, seed, scale, hash_bits
    )
    stated = {"fn": fn_cost_column, "fp": fp_cost_column, "tp": tp_cost_column, "tn": tn_cost_column}
    columns = tuple((role, name) for role, name in stated.items() if name is not None)
    settings = replace(settings, text=tuple(text or ()), url=tuple(url or ()), id=id)
    settings = replace(settings, cost_columns=columns, keep_cost_columns=keep_cost_columns)
    existing = "append" if append else "overwrite" if overwrite else "refuse"
    column = int(target) if target is not None and no_header and target.lstrip("-").isdigit() else target
    header = False if no_header else None
    reader = {"format": format, "target": column, "header": header, "n_features": n_features, "drop": drop or None}
    reader["zero_based"] = zero_based or None
    if (file is None) == (labels is None):
        raise invalid("stream", "be given rows or --labels", "both" if file is not None else "neither")
    places = Places(file or "", decisions, state, existing, sync, safe_csv)
    if labels is not None:
        how: dict[str, Any] = {"quiet": quiet, "as_json": as_json, "target": target}
        run_labels(labels, places, reader={"format": format, "header": header}, **how)
        return
    run_stream(
        places,
        settings,
        reader={name: value for name, value in reader.items() if value is not None},
        chunk=chunk,
        skip=skip_seen,
        quiet=quiet,
        as_json=as_json,
        most_awaited=most_awaited,
        cluster=cluster,
        n_jobs=jobs,
    )


@app.command("fit")
def _fit(
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
    _reach(cluster)
    from .scale.command import FitOptions, run_fit

    stated = {"drop": drop, "nominal": category, "n_features": n_features}
    reader = {name: value for name, value in stated.items() if value}
    learning = (update, costs, positive, fit_intercept, lanes, passes, finish, work, on_bad_part)
    run_fit(parts, FitOptions(target, out, *learning, rows, cluster, jobs, quiet, scale, hash_bits, reader, overwrite))


@app.command("score")
def _score(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    parts: Annotated[str, typer.Argument(help="A folder, pattern or URL of files with labels.")],
    target: Annotated[str | None, typer.Option(help="The column of labels; not needed for LIBSVM.")] = None,
    costs: Annotated[
        str | None, typer.Option(help="fn=5,fp=1 (a name stands for a column), 5:1, or a CSV or TOML file.")
    ] = None,
    drop: Drop = None,
    rows: Annotated[int, typer.Option(min=1, help="Rows read at a time.")] = 10_000,
    work: Annotated[Path | None, typer.Option(help="A folder that all workers share; needed on a cluster.")] = None,
    cluster: Cluster = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes of this machine.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what the decisions of a model on many files cost, with intervals."""
    _reach(cluster)
    from .scale.command import run_score

    given: dict[str, Any] = {"rows": rows, "work": work, "cluster": cluster, "n_jobs": jobs, "as_json": as_json}
    run_score(model, parts, target=target, costs=costs, reader={"drop": drop} if drop else {}, **given)


@app.command("reproduce")
def _reproduce(
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
    hours: Annotated[float | None, typer.Option(min=0, help="Begin no run after this time; say what is left.")] = None,
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
    from .reproduction.command import Mode, one_item, run_reproduce

    papers = ("000", "001", "002", "003", "004") if paper == "all" else (paper,)
    part = {"item": one_item(table, figure, item), "data": data}
    wish = {"learners": learner or [], "runs": runs, "quick": quick, "hours": hours, "n_jobs": jobs}
    how = Mode(to=to, resume=resume, keep=keep, show=show, check=check, share=share, decide=decide)
    raise typer.Exit(run_reproduce(papers, part, wish, how))


@app.command("compare")
def _compare(
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
    _reach(cluster)
    from .comparison.command import run_compare

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


@app.command("predict")
def _predict(
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
    _reach(cluster)
    from .models.prediction import PredictOptions, run_predict

    stated = {"fn": fn_cost_column, "fp": fp_cost_column, "tp": tp_cost_column, "tn": tn_cost_column}
    if cluster is not None or jobs is not None:
        from .scale.command import predict_in_parts

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


@app.command("story")
def _story(
    name: Annotated[
        str | None, typer.Argument(help="A name that `steelyard story` prints; without one they are listed.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="The short form: less data, a few seconds.")] = False,
    to: Annotated[Path | None, typer.Option(help="Folder for picture and numbers; else steelyard-story/NAME.")] = None,
) -> None:
    """Tell a whole scene on real or generated data: one picture and its numbers."""
    from .stories.command import list_stories, tell_story

    if name is None:
        list_stories()
    else:
        tell_story(name, quick=quick, to=to)


@app.command("demo")
def _demo(
    time: Annotated[float, typer.Option(min=1, help="Ceiling in seconds of CPU time.")] = 20.0,
    jobs: Annotated[int, typer.Option(min=1, help="Work units side by side.")] = 2,
    out: Annotated[Path, typer.Option(help="Folder for report, model and state.")] = Path("steelyard-report"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, tables or advice.")] = False,
) -> None:
    """Compare on the bundled credit data: a missed bad credit costs 5, a refused good one 1."""
    from .comparison.command import run_demo

    raise typer.Exit(run_demo(time_limit=time, n_jobs=jobs, out=out, as_json=as_json, quiet=quiet))


app.command("serve")(serve)
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
    for stream in (sys.stdout, sys.stderr):  # a terminal without umlauts shows them escaped
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
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


if __name__ == "__main__":
    main()
