"""What the commands compare, predict and demo do."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from ..costs import Costs
from ..data import load_dataset
from ..errors import StateError
from ..files import check_paths, write_atomically
from ..models.model import Model
from ..models.storage import load_model
from ..models.tables import read_costs, read_data, read_rows, row_costs
from ..validation.arrays import len_rows
from ..validation.text import printable, safe_cell
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
        console.print(printable(said), highlight=False, markup=False)
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
        console.print(printable(f"- {sentence}"), highlight=False, markup=False)
    for path in keep_earlier(out, overwrite):
        console.print(printable(f"Kept:   {path}"), soft_wrap=True, markup=False, highlight=False)
    report = result.write_report(out / REPORT)
    model = result.save(out / MODEL)
    places = (f"Report: {report.resolve()}", f"Model:  {model.resolve()}  (steelyard predict {model} DATA)")
    for place in places:
        console.print(printable(place), soft_wrap=True, markup=False)


def run_predict(
    model: Path, file: Path, cost_columns: dict[str, str], out: Path | None, *, safe_csv: bool | None = None
) -> None:
    """Write one line a row: the decision and, where the model knows it, its expected cost.

    ``safe_csv`` keeps spreadsheets from taking a decision for a formula; by default for files, not for pipes.
    """
    check_paths(inputs={"the model": model, "the input": file}, outputs={"--out": out})
    loaded = load_model(model)
    if not hasattr(loaded, "expected_costs"):
        held = type(loaded).__name__
        raise StateError(f"{model} must be a model of compare or a state of stream; it holds a {held}.")
    X, taken = read_rows(file, loaded.columns, list(cost_columns.values()))
    if len_rows(X) == 0:
        raise invalid("the file", "have rows", file.name)
    costs = row_costs(loaded.costs, taken, cost_columns)
    decisions, expected = loaded.predict(X, costs=costs), _expected(loaded, X, costs)
    safe = out is not None if safe_csv is None else safe_csv
    text = _csv(decisions, expected, safe_cell if safe else None)
    if out is not None:
        with write_atomically(out) as lines:
            lines.write(text.encode())
    elif sys.stdout.isatty():
        sys.stdout.writelines(printable(line) + "\n" for line in text.splitlines())
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()


def _expected(loaded: Model, X: Any, costs: Costs | None) -> Any:
    return loaded.expected_cost(X, costs=costs) if hasattr(loaded.estimator, "predict_proba") else None


def _csv(decisions: Any, expected: Any, cell: Callable[[object], object] | None) -> str:
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(["decision"] + ([] if expected is None else ["expected_cost"]))
    for i, decision in enumerate(np.asarray(decisions).tolist()):
        shown = decision if cell is None else cell(decision)
        writer.writerow([shown] + ([] if expected is None else [f"{expected[i]:.6g}"]))
    return lines.getvalue()
