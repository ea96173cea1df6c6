"""What the commands compare, predict and demo do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from ..costs import Costs
from ..costs.spec import CostSpec
from ..data import load_dataset
from ..files import check_paths
from ..models.tables import cost_spec, read_costs, read_data
from ..validation.text import printable
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
    keep_cost_columns: bool = False,
    **settings: Any,
) -> None:
    """Compare on the user's file; report and model go into ``out``."""
    check_paths(
        inputs={"the input": file, "the --costs file": costs},
        outputs={"--out's report": out / REPORT, "--out's model": out / MODEL},
    )
    claim_folder(out)
    spec = cost_spec(costs, cost_columns)
    named = [] if spec is None else list(dict.fromkeys(spec.columns.values()))
    X, y, taken = read_data(file, target, named, keep=keep_cost_columns)
    priced = read_costs(costs, y, positive, taken, cost_columns)
    console = Console(stderr=as_json)
    if named and not keep_cost_columns:
        said = f"Not learned from, since they hold costs: {', '.join(named)}. --keep-cost-columns learns from them too."
        console.print(printable(said), highlight=False, markup=False)
    labels = np.unique(y).tolist()
    if positive is None and (cost_columns or "=" in (costs or "")) and len(labels) == 2:
        said = f"A miss (fn) is about class {labels[1]!r}, the last in order; --positive {labels[0]} turns that round."
        console.print(printable(said), highlight=False, markup=False)
    result = compare(X, y, costs=priced, out=out, console=console, **settings)
    _print_result(result, out, console, overwrite, cost_spec(costs, cost_columns, y, positive))
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


def _print_result(
    result: Comparison, out: Path, console: Console, overwrite: bool = False, spec: CostSpec | None = None
) -> None:
    console.print(leaderboard_table(result.leaderboard))
    if any(line.stopped is not None for line in result.leaderboard):
        console.print("Dim: stopped early; their costs are those of the folds they ran.", style="dim")
    console.print()
    for sentence in (*result.recommendation, *result.warnings):
        console.print(printable(f"- {sentence}"), highlight=False, markup=False)
    for path in keep_earlier(out, overwrite):
        console.print(printable(f"Kept:   {path}"), soft_wrap=True, markup=False, highlight=False)
    report = result.write_report(out / REPORT)
    model = result.save(out / MODEL, cost_spec=spec)
    places = (f"Report: {report.resolve()}", f"Model:  {model.resolve()}  (steelyard predict {model} DATA)")
    for place in places:
        console.print(printable(place), soft_wrap=True, markup=False)
