"""The commands fit and score: many files in, a model file or a table out, here or on a cluster."""

from __future__ import annotations

import json
import multiprocessing
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..costs import Costs
from ..data.parts import as_parts
from ..evaluate import f_score, mean_cost, sensitivity_score, specificity_score, total_cost
from ..models.parsing import stream_costs, update_rule
from ..models.records import RecordEncoder
from ..models.stream_state import StreamState
from ..online import CSOGD2, OnlineClassifier, OnlineCostClassifier
from ..validation.text import printable
from ..validation.values import invalid
from .dask import on_dask
from .fit import fit_parts
from .score import score_parts


@dataclass(frozen=True)
class FitOptions:
    """What the options of the command say."""

    target: str | None = None
    out: Path | None = None
    update: str | None = None
    costs: str | None = None
    positive: str | None = None
    fit_intercept: bool = False
    lanes: int = 1
    passes: int = 1
    finish: str | None = None
    work: Path | None = None
    on_bad_part: str = "raise"
    rows: int = 10_000
    cluster: str | None = None
    n_jobs: int | None = None
    quiet: bool = False
    reader: dict[str, Any] = field(default_factory=dict)


@contextmanager
def executor_for(cluster: str | None, n_jobs: int | None) -> Iterator[Executor | None]:
    """The cluster at an address, a pool of so many processes, or None for the default."""
    if cluster is not None:
        with on_dask(cluster) as executor:
            yield executor
    elif n_jobs is not None:
        with ProcessPoolExecutor(n_jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            yield pool
    else:
        yield None


def run_fit(source: str, options: FitOptions) -> None:
    """Fit a learner on parts and write it as a file that predict and score read."""
    if options.out is None:
        raise invalid("--out", "name the model file to write", None)
    parts = as_parts(source)
    reading = options.reader if parts.format == "libsvm" else options.reader | {"target": options.target}
    labels = list(parts.count_labels(**reading))
    costs = _costs(options, labels)
    learner = _learner(options, costs, labels)
    with executor_for(options.cluster, options.n_jobs) as executor:
        fitted = fit_parts(
            learner,
            parts,
            target=options.target,
            classes=labels,
            lanes=options.lanes,
            passes=options.passes,
            finish=options.finish,
            work=options.work,
            executor=executor,
            on_bad_part=options.on_bad_part,
            rows=options.rows,
            progress=not options.quiet,
            **options.reader,
        )
    columns = tuple(name for name in parts.schema(**reading) if name != options.target)
    as_state(fitted, columns, labels).save(options.out)
    if not options.quiet:
        sys.stderr.write(printable(f"{fitted.n_rounds_:,} rows learned; the model is in {options.out}.") + "\n")


def _costs(options: FitOptions, labels: list[Any]) -> Any:
    """Costs over the labels; of two the positive one is the last, or the one named."""
    stated = stream_costs(options.costs)
    if options.positive is None:
        return stated
    named = next((label for label in labels if str(label) == options.positive), None)
    if named is None or len(labels) != 2:
        raise invalid("--positive", f"be one of two labels ({', '.join(map(str, labels[:5]))})", options.positive)
    if not isinstance(stated, Costs) or stated.matrix is None or stated.classes is not None:
        raise invalid("--positive", "come with costs such as fn=5,fp=1", options.positive)
    at = stated.positive_index()
    fn, fp = float(stated.matrix[at, 1 - at]), float(stated.matrix[1 - at, at])
    return Costs.binary(fn=fn, fp=fp, classes=labels, positive=named)


def _learner(options: FitOptions, costs: Any, labels: list[Any]) -> OnlineClassifier | OnlineCostClassifier:
    update = None if options.update is None else update_rule(options.update)
    given: Any = {"costs": costs, "fit_intercept": options.fit_intercept}
    if len(labels) == 2:
        return OnlineClassifier(CSOGD2() if update is None else update, **given)
    return OnlineCostClassifier(update, **given)


def as_state(fitted: Any, columns: tuple[str, ...], labels: list[Any]) -> StreamState:
    """The learner as `steelyard predict` reads it: over the classes 0, 1, .., with columns and labels beside it."""
    state = fitted.state()
    state["arrays"] |= {"classes": np.arange(len(labels))}
    state["labels"] = "i"
    costs = fitted.costs
    if isinstance(costs, Costs) and costs.classes is not None:
        matrix = np.asarray(costs.aligned(labels).matrix).tolist()
        state["params"]["costs"] = {"use": "Costs", "C": matrix, "classes": None, "positive": None}
    encoder = RecordEncoder("none")
    if columns:
        encoder.begin(columns)
    else:
        encoder.columns = fitted.n_features_in_
    return StreamState(type(fitted).from_state(state), encoder, tuple(labels), np.zeros((len(labels),) * 2, dtype=int))


def run_score(
    model: Path,
    source: str,
    *,
    target: str | None,
    costs: str | None,
    reader: dict[str, Any],
    rows: int,
    work: Path | None,
    cluster: str | None,
    n_jobs: int | None,
    as_json: bool,
) -> None:
    """Print what the decisions of a model on parts cost, with intervals."""
    stated = stream_costs(costs)
    if stated is not None and not isinstance(stated, Costs):
        raise invalid("--costs", "be numbers or a file; measures need costs that stay", costs)
    measures = [mean_cost, total_cost, f_score, sensitivity_score, specificity_score]
    with executor_for(cluster, n_jobs) as executor:
        found = score_parts(
            model, source, measures, target=target, costs=stated, executor=executor, work=work, rows=rows, **reader
        )
    if as_json:
        body = {name: {"value": one.value, "low": one.low, "high": one.high} for name, one in found.items()}
        sys.stdout.write(json.dumps(body) + "\n")
        return
    for name, one in found.items():
        sys.stdout.write(f"{name:>18}  {one}\n")
