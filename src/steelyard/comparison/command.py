"""What the commands compare, predict and demo do."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from rich.console import Console

from ..costs import Costs
from ..costs.spec import CostCellError, CostSpec
from ..data import load_dataset
from ..data.parts import as_parts
from ..files import check_paths, lock_file, write_atomically
from ..models.parsing import costs_option, parse_costs
from ..models.tables import cost_spec, read_costs, read_data
from ..scale.command import executor_for
from ..validation.arrays import is_missing, len_rows
from ..validation.text import printable
from ..validation.values import invalid
from . import Comparison, compare
from .out_folder import CARD, MODEL, REPORT, claim_folder, keep_earlier
from .parts import compare_parts
from .progress import leaderboard_table
from .side_columns import read_segments

_INTERRUPTED = 130  # as shells have it after Ctrl-C
_AGAIN = 0.5  # seconds
_STOPPING = b"\nsteelyard: stopping; what is done will be shown and saved. Ctrl-C again ends at once.\n"


def run_compare(
    file: str,
    target: str | None,
    costs: str | None,
    positive: str | None,
    cost_columns: dict[str, str],
    *,
    out: Path,
    **settings: Any,
) -> int:
    """Compare on the user's file; report and model go into ``out``. The exit code: 130 after Ctrl-C or SIGTERM."""
    check_paths(
        inputs={"the input": sys.stdin.buffer if file == "-" else file, "the --costs file": costs},
        outputs={"--out's report": out / REPORT, "--out's model": out / MODEL, "--out's card": out / CARD},
    )
    claim_folder(out)
    with lock_file(out):
        return _compare_file(file, target, costs, positive, cost_columns, out=out, **settings)


def _compare_file(
    file: str,
    target: str | None,
    costs: str | None,
    positive: str | None,
    cost_columns: dict[str, str],
    *,
    out: Path,
    as_json: bool,
    overwrite: bool = False,
    keep_cost_columns: bool = False,
    format: str | None = None,
    groups: str | None = None,
    weight: str | None = None,
    segments: Sequence[str] = (),
    current: str | None = None,
    show_rows: bool = False,
    quiet: bool = False,
    cluster: str | None = None,
    sample: int | None = None,
    lanes: int = 1,
    work: Path | None = None,
    **settings: Any,
) -> int:
    if sample is not None:
        refused: dict[str, Any] = {"--groups": groups, "--current": current, "--segment": list(segments)}
        refused |= {
            "--weight": weight,
            "--keep-cost-columns": keep_cost_columns,
            "cost columns": cost_columns,
            "--format": format,
        }
        refused["standard input"] = "-" if file == "-" else None
        for name, value in refused.items():
            if value:
                raise invalid(name, "be left out with --sample", value)
        given = {"sample": sample, "lanes": lanes, "work": work, "cluster": cluster, "overwrite": overwrite}
        return _compare_parts(Path(file), target, costs, positive, out, as_json, quiet, show_rows, given, settings)
    if lanes > 1 or work is not None:
        raise invalid("--lanes and --work", "come with --sample", lanes if work is None else work)
    spec = cost_spec(costs, cost_columns)
    named = [] if spec is None else list(dict.fromkeys(spec.columns.values()))
    looked_at = {*segments, *named, groups, current, weight}  # though no learner sees them
    unread = [name for name in settings["drop"] if name not in looked_at]
    settings["drop"] = [name for name in settings["drop"] if name in looked_at]
    reading: dict[str, Any] = {"format": format, "as_text": list(settings.get("roles") or ()), "drop": unread}
    X, y, taken = read_data(file, target, named, keep=keep_cost_columns, **reading)
    classes = np.unique(y)
    try:
        priced = read_costs(costs, classes, positive, taken, cost_columns)
    except CostCellError as bad:
        raise bad.in_file("standard input" if file == "-" else file) from None
    console = Console(stderr=as_json, quiet=quiet)
    if named and not keep_cost_columns:
        said = f"Not learned from, since they hold costs: {', '.join(named)}. --keep-cost-columns learns from them too."
        console.print(printable(said), highlight=False, markup=False)
    labels = classes.tolist()
    stated = costs_option(costs, cost_columns)
    if positive is None and isinstance(stated, CostSpec) and stated.positive is None and len(labels) == 2:
        said = f"A miss (fn) is about class {labels[1]!r}, the last in order; --positive {labels[0]} swaps them."
        console.print(printable(said), highlight=False, markup=False)
    if segments:
        settings["segments"] = _named_columns(X, taken, segments)
    if current is not None:
        X, settings["current"] = _take_column(X, current, "--current")
    if groups is not None:
        X, settings["groups"] = _take_groups(X, groups)
    if weight is not None:
        X, settings["sample_weight"] = _take_weights(X, weight)
    with _signals(quiet) as interrupted, executor_for(cluster, None) as executor:
        settings |= {"executor": executor, "isolate": True, "interrupted": interrupted}
        result = compare(X, y, costs=priced, out=out, console=console, **settings)
        left_out = [f"Column {name!r} was left out: as asked." for name in unread]
        result = replace(result, warnings=[*left_out, *result.warnings])
        result = replace(result, source="standard input" if file == "-" else Path(file).name, target=target)
        _print_result(result, out, console, overwrite, cost_spec(costs, cost_columns, classes, positive), show_rows)
        if as_json:
            sys.stdout.write(result.to_json() + "\n")
        return _INTERRUPTED if result.interrupted or interrupted() else 0


def _compare_parts(
    file: Path,
    target: str | None,
    costs: str | None,
    positive: str | None,
    out: Path,
    as_json: bool,
    quiet: bool,
    show_rows: bool,
    given: dict[str, Any],
    settings: dict[str, Any],
) -> int:
    """The same on parts: the page is that of the sample, the model the one that is cheapest on held-out parts."""
    stated = parse_costs(costs)
    if isinstance(stated, str):
        raise invalid("--costs", "be numbers, columns or a file with --sample", costs)
    if positive is not None:
        if not isinstance(stated, CostSpec):
            raise invalid("--positive", "come with costs such as fn=5,fp=1", positive)
        labels = as_parts(file).count_labels(target=target)
        found = next((label for label in labels if str(label) == positive), None)
        if found is None:
            raise invalid("--positive", f"be one of {', '.join(map(str, list(labels)[:5]))}", positive)
        stated = replace(stated, positive=found)
    console = Console(stderr=as_json, quiet=quiet)
    overwrite, cluster = given.pop("overwrite"), given.pop("cluster")
    jobs = settings.pop("n_jobs", 1)
    with _signals(quiet) as interrupted, executor_for(cluster, None if cluster else jobs) as executor:
        settings |= {"executor": executor, "interrupted": interrupted, "console": console, "out": out}
        result = compare_parts(file, target, costs=stated, **given, **settings)
        compared = replace(result.compared, source=file.name, target=target)
        _print_result(compared, out, console, overwrite, None, show_rows, model=result)
        if as_json:
            lines = [{"name": line.name, "rows": line.rows, "sampled": line.sampled} for line in result.lines]
            for line, about in zip(result.lines, lines, strict=True):
                about |= {"mean_cost": line.cost.value, "low": line.cost.low, "high": line.cost.high}
            body = {"winner": result.winner, "held_out": result.held_out, "lines": lines}
            sys.stdout.write(json.dumps(body | {"compared": json.loads(compared.to_json())}) + "\n")
        return _INTERRUPTED if compared.interrupted or interrupted() else 0


def _named_columns(X: Any, taken: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Cells of the segments; a column that holds costs may be one."""
    return {name: taken[name] if name in taken else read_segments(X, [name], len_rows(X))[name] for name in names}


def _take_column(X: Any, name: str, option: str) -> tuple[Any, Any]:
    """The rows without a column, and its cells."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame) or name not in frame.columns:
        known = ", ".join(frame.columns) if isinstance(frame, nw.DataFrame) else "none: the rows have no names"
        raise invalid(option, f"name a column of the data ({known})", name)
    return frame.drop(name).to_native(), np.asarray(frame[name].cast(nw.String).fill_null("").to_list(), dtype=str)


def _take_groups(X: Any, name: str) -> tuple[Any, list[str | None]]:
    """The rows without the column of their groups, and these; None where a row has none."""
    rest, texts = _take_column(X, name, "--groups")
    cells = nw.from_native(X, eager_only=True)[name].to_list()
    return rest, [None if is_missing(cell) else text for cell, text in zip(cells, texts.tolist(), strict=True)]


def _take_weights(X: Any, name: str) -> tuple[Any, Any]:
    """The rows without the column of their weights, and these as numbers."""
    rest, cells = _take_column(X, name, "--weight")
    numbers = np.empty(len(cells))
    for row, cell in enumerate(cells.tolist()):
        try:
            numbers[row] = float(cell)
        except ValueError:
            raise invalid("--weight", f"name a column of numbers; see {name!r}, row {row + 1}", cell) from None
    return rest, numbers


@contextmanager
def _signals(quiet: bool) -> Iterator[Callable[[], bool]]:
    """Ctrl-C and SIGTERM end the evaluation, not the command: what is done is still shown and saved.

    A second one, later than a wrapper passes the first on, ends the command.
    """
    caught: list[float] = []

    def note(number: int, frame: Any) -> None:
        caught.append(time.monotonic())
        if caught[-1] - caught[0] > _AGAIN:
            raise KeyboardInterrupt
        if len(caught) == 1 and not quiet:  # past the buffers, which the signal may have met at work
            with suppress(OSError):
                os.write(2, _STOPPING)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(caught)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_demo(*, time_limit: float, n_jobs: int, out: Path, as_json: bool = False, quiet: bool = False) -> int:
    """Compare on the german credit data, where missing a bad credit costs five times as much as refusing a good one."""
    data = load_dataset("german")
    console = Console(stderr=as_json, quiet=quiet)
    console.print(
        "German credit data: 1000 applicants, 300 of them bad. A missed bad one costs 5, a refused good one 1."
    )
    labels = np.where(data.y == 1, "bad", "good")
    costs = Costs.binary(fn=5, fp=1, classes=["good", "bad"], positive="bad")
    claim_folder(out)
    with lock_file(out), _signals(quiet) as interrupted:
        settings: dict[str, Any] = {
            "time_limit": time_limit,
            "n_jobs": n_jobs,
            "isolate": True,
            "interrupted": interrupted,
        }
        result = compare(data.X, labels, costs=costs, out=out, console=console, **settings)
        result = replace(result, source="German credit data")
        _print_result(result, out, console)
        if as_json:
            sys.stdout.write(result.to_json() + "\n")
        return _INTERRUPTED if result.interrupted or interrupted() else 0


def _print_result(
    result: Comparison,
    out: Path,
    console: Console,
    overwrite: bool = False,
    spec: CostSpec | None = None,
    show_rows: bool = False,
    *,
    model: Any = None,
) -> None:
    console.print(leaderboard_table(result.lines, result.runs.data.costs.currency))
    console.print()
    speed = result.speed()
    for sentence in (*result.recommendation, *([] if speed is None else [speed]), *result.warnings):
        console.print(printable(f"- {sentence}"), highlight=False, markup=False)
    for path in keep_earlier(out, overwrite):
        console.print(printable(f"Kept:   {path}"), soft_wrap=True, markup=False, highlight=False)
    report = result.report(out / REPORT, show_rows=show_rows)
    saved = result.save(out / MODEL, cost_spec=spec) if model is None else model.save(out / MODEL)
    with write_atomically(out / CARD) as card:
        card.write((json.dumps(result.card, indent=1, default=str, ensure_ascii=False) + "\n").encode())
    places = (f"Report: {report.resolve()}", f"Model:  {saved.resolve()}  (steelyard predict {saved} DATA)")
    digest = hashlib.sha256(saved.read_bytes()).hexdigest()
    for place in (*places, f"SHA-256 of the model: {digest}"):
        console.print(printable(place), soft_wrap=True, markup=False, highlight=False)
