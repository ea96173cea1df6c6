"""What the commands compare, predict and demo do."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from rich.console import Console

from ..costs import Costs
from ..data import load_dataset
from ..errors import StateError
from ..files import check_paths, write_atomically
from ..models.storage import load_model
from ..models.tables import read_costs, read_data, read_rows, row_costs
from ..validation.arrays import len_rows
from ..validation.values import invalid
from . import Comparison, compare
from .out_folder import MODEL, REPORT, claim_folder, keep_earlier
from .progress import leaderboard_table


def run_compare(
    file: Path,
    target: str | None,
    costs: str | None,
    positive: str | None,
    cost_columns: dict[str, str],
    *,
    out: Path,
    as_json: bool,
    overwrite: bool = False,
    **settings: Any,
) -> None:
    """Compare on the user's file; report and model go into ``out``."""
    check_paths(
        inputs={"the input": file, "the --costs file": costs},
        outputs={"--out's report": out / REPORT, "--out's model": out / MODEL},
    )
    claim_folder(out)
    X, y, taken = read_data(file, target, list(cost_columns.values()))
    priced = read_costs(costs, y, positive, taken, cost_columns)
    console = Console(stderr=as_json)
    labels = np.unique(y).tolist()
    if positive is None and (cost_columns or "=" in (costs or "")) and len(labels) == 2:
        said = f"A miss (fn) is about class {labels[1]!r}, the last in order; --positive {labels[0]} turns that round."
        console.print(said, highlight=False, markup=False)
    result = compare(X, y, costs=priced, out=out, console=console, **settings)
    _print_result(result, out, console, overwrite)
    if as_json:
        sys.stdout.write(result.to_json() + "\n")


def run_demo(*, time: float, jobs: int, out: Path) -> None:
    """Compare on the german credit data, where missing a bad credit costs five times as much as refusing a good one."""
    data = load_dataset("german")
    console = Console()
    console.print(
        "German credit data: 1000 applicants, 300 of them bad. A missed bad one costs 5, a refused good one 1."
    )
    result = compare(
        data.X, data.y, costs=Costs.binary(fn=5, fp=1), time_limit=time, n_jobs=jobs, out=out, console=console
    )
    _print_result(result, out, console)


def _print_result(result: Comparison, out: Path, console: Console, overwrite: bool = False) -> None:
    console.print(leaderboard_table(result.leaderboard))
    if any(line.stopped is not None for line in result.leaderboard):
        console.print("Dim: stopped early; their costs are those of the folds they ran.", style="dim")
    console.print()
    for sentence in (*result.recommendation, *result.warnings):
        console.print(f"- {sentence}", highlight=False, markup=False)
    for path in keep_earlier(out, overwrite):
        console.print(f"Kept:   {path}", soft_wrap=True, markup=False, highlight=False)
    report = result.write_report(out / REPORT)
    model = result.save(out / MODEL)
    console.print(
        f"Report: {report.resolve()}\nModel:  {model.resolve()}  (steelyard predict {model} DATA)",
        soft_wrap=True,
        markup=False,
    )


def run_predict(model: Path, file: Path, cost_columns: dict[str, str], out: Path | None) -> None:
    """Write one line a row: the decision and, where the model knows it, its expected cost."""
    check_paths(inputs={"the model": model, "the input": file}, outputs={"--out": out})
    loaded = load_model(model)
    if not hasattr(loaded, "expected_costs"):
        held = type(loaded).__name__
        raise StateError(f"{model} must be a model of compare or a state of stream; it holds a {held}.")
    X, taken = read_rows(file, loaded.columns, list(cost_columns.values()))
    if len_rows(X) == 0:
        raise invalid("the file", "have rows", file.name)
    costs = row_costs(loaded.costs, taken, cost_columns)
    decisions, expected = loaded.predict(X, costs=costs), loaded.expected_costs(X, costs=costs)
    if out is None:
        _write(sys.stdout, decisions, expected)
    else:
        text = io.StringIO()
        _write(text, decisions, expected)
        with write_atomically(out) as lines:
            lines.write(text.getvalue().encode())


def _write(lines: TextIO, decisions: Any, expected: Any) -> None:
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(["decision"] + ([] if expected is None else ["expected_cost"]))
    for i, decision in enumerate(np.asarray(decisions).tolist()):
        writer.writerow([decision] + ([] if expected is None else [f"{expected[i]:.6g}"]))
