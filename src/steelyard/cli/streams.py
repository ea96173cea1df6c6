"""``stream``: one pass over rows as they come.

Tested in ``tests/unit/streaming``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ..validation.values import invalid
from .options import (
    MOST_ROWS,
    MOST_SEED,
    Cluster,
    Costs,
    Drop,
    FnCostColumn,
    Format,
    FpCostColumn,
    KeepCostColumns,
    Target,
    TnCostColumn,
    TpCostColumn,
    check_reachable,
    complete_column,
)


def stream(
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
    from ..data.part_files import is_several

    if is_several(file):  # --cluster with one file is another error
        check_reachable(cluster)
    from ..streaming.command import Places, run_labels, run_stream
    from ..streaming.settings import StreamSettings

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
        _check_left_out(
            {"--decisions": decisions, "--drop": drop, "--n-features": n_features, "--await": most_awaited}
            | {"--append": append, "--overwrite": overwrite, "--skip-seen": skip_seen, "--zero-based": zero_based}
            | {"--cluster": cluster, "--jobs": jobs}
        )
        how: dict[str, Any] = {"quiet": quiet, "as_json": as_json, "target": target}
        run_labels(labels, places, settings, reader={"format": format, "header": header}, **how)
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


def _check_left_out(given: dict[str, Any]) -> None:
    """Raise where an option would change nothing, since labels that come late decide no row."""
    for option, value in given.items():
        if value is not None and value is not False and value != []:
            raise invalid(option, "be left out with --labels, which decide no row", value)
