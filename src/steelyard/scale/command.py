"""The commands fit and score: many files in, a model file or a table out, here or on a cluster."""

from __future__ import annotations

import json
import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any

import numpy as np

from ..costs import Costs
from ..costs.spec import CostSpec
from ..data.parts import as_parts
from ..evaluate import f_score, g_mean_score, mean_cost, sensitivity_score, specificity_score, total_cost
from ..files import check_new, check_paths
from ..models.model import Model
from ..models.parsing import parse_costs, stream_costs, update_rule
from ..models.records import RecordEncoder
from ..models.storage import load_model
from ..models.stream_state import StreamState
from ..online import CSOGD2, OnlineClassifier, OnlineCostClassifier
from ..validation.text import printable
from ..validation.values import invalid
from .dask import on_dask
from .fit import fit_parts
from .lanes import readable_parts
from .predict import as_state, predict_parts
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
    scale: str = "none"
    hash_bits: int | None = None
    reader: dict[str, Any] = field(default_factory=dict)
    overwrite: bool = False
    format: str | None = None


_PASSED_ON = ("scale", "hash_bits", "lanes", "passes", "finish", "work", "on_bad_part", "rows")  # to fit_parts as given


@contextmanager
def executor_for(cluster: str | None, n_jobs: int | None) -> Iterator[Executor | None]:
    """The cluster at an address, a pool of so many processes, or None for the default."""
    if cluster is not None:
        with on_dask(cluster) as executor:
            yield executor
    elif n_jobs is not None:
        with ProcessPoolExecutor(n_jobs, mp_context=_start_method()) as pool:
            yield pool
    else:
        yield None


def _start_method() -> BaseContext:
    """How workers start: forked from one process that has imported the package for all, where the system can."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def run_fit(source: str, options: FitOptions) -> None:
    """Fit a learner on parts and write it as a file that predict and score read."""
    if options.out is None:
        raise invalid("--out", "name the model file to write", None)
    parts = as_parts(source, options.format)
    local = {f"the part {part.name}": part.path for part in parts.files if part.filesystem is None}
    check_paths(inputs=local, outputs={"--out": options.out})
    check_new("--out", options.out, overwrite=options.overwrite)
    reading = options.reader if parts.format == "libsvm" else options.reader | {"target": options.target}
    readable = readable_parts(parts, reading)[0] if options.on_bad_part == "skip" else parts
    labels = list(readable.count_labels(**reading))
    costs = _costs(options, labels)
    by_row = costs if isinstance(costs, CostSpec) else None
    learner = _learner(options, None if by_row is not None else costs, labels)
    with executor_for(options.cluster, options.n_jobs) as executor:
        fitted = fit_parts(
            learner,
            parts,
            target=options.target,
            costs=by_row,
            classes=labels,
            executor=executor,
            progress=not options.quiet,
            **{name: getattr(options, name) for name in _PASSED_ON},
            **options.reader,
        )
    columns = tuple(name for name in readable.schema(**reading) if name != options.target)
    as_state(fitted, encoder_of(fitted, columns), labels).save(options.out)
    if not options.quiet:
        sys.stderr.write(printable(f"{fitted.n_rounds_:,} rows learned; the model is in {options.out}.") + "\n")


def _costs(options: FitOptions, labels: list[Any]) -> Any:
    """Costs over the labels, or which columns hold them; of two labels the positive one is the last, or as named."""
    spec = parse_costs(options.costs)
    in_file = spec.positive if isinstance(spec, CostSpec) else None
    positive = options.positive if options.positive is not None or in_file is None else str(in_file)
    named = next((label for label in labels if str(label) == positive), None)
    if positive is not None and (named is None or len(labels) != 2):
        raise invalid("--positive", f"be one of two labels ({', '.join(map(str, labels[:5]))})", positive)
    if isinstance(spec, CostSpec) and spec.columns:
        return replace(spec, positive=named)
    stated = stream_costs(options.costs)
    if positive is None:
        return stated
    if not isinstance(stated, Costs) or stated.matrix is None or stated.classes is not None:
        raise invalid("--positive", "come with costs such as fn=5,fp=1", positive)
    assert isinstance(spec, CostSpec)  # what else has costs and no classes
    return replace(spec, positive=named).costs(classes=labels)


def _learner(options: FitOptions, costs: Any, labels: list[Any]) -> OnlineClassifier | OnlineCostClassifier:
    update = None if options.update is None else update_rule(options.update)
    given: Any = {"costs": costs, "fit_intercept": options.fit_intercept}
    if len(labels) == 2:
        return OnlineClassifier(CSOGD2() if update is None else update, **given)
    return OnlineCostClassifier(update, **given)


def encoder_of(fitted: Any, columns: tuple[str, ...]) -> RecordEncoder:
    """What encoded the rows, or one that leaves numbers as they are."""
    if hasattr(fitted, "encoder_"):
        return fitted.encoder_  # type: ignore[no-any-return]
    encoder = RecordEncoder("none")
    if columns:
        encoder.begin(columns)
    else:
        encoder.columns = fitted.n_features_in_
    return encoder


def run_score(
    model: Path,
    source: str,
    *,
    target: str | None,
    costs: str | None,
    positive: str | None,
    format: str | None,
    reader: dict[str, Any],
    rows: int,
    work: Path | None,
    cluster: str | None,
    n_jobs: int | None,
    as_json: bool,
) -> None:
    """Print what the decisions of a model on parts cost, with intervals."""
    stated = parse_costs(costs)
    if isinstance(stated, str):
        raise invalid("--costs", "be numbers, columns or a file; measures need costs that stay", costs)
    known = load_model(model)
    named = None if positive is None else _label_of(known, positive)
    of_a_class = (f_score, sensitivity_score, specificity_score) if len(_labels_of(known)) == 2 else (g_mean_score,)
    if stated is None and (stated := _costs_of(known)) is not None:
        sys.stderr.write("Costs are those of the model; --costs states others.\n")
    elif stated is None:
        sys.stderr.write("Every mistake counts 1, since neither --costs nor the model states what it costs.\n")
    measures = [mean_cost, total_cost, *of_a_class]
    with executor_for(cluster, n_jobs) as executor:
        given: dict[str, Any] = {"target": target, "costs": stated, "executor": executor, "work": work, "rows": rows}
        given |= {"positive": named}
        found = score_parts(model, as_parts(source, format), measures, progress=not as_json, **given, **reader)
    if as_json:
        body: dict[str, Any] = {n: {"value": one.value, "low": one.low, "high": one.high} for n, one in found.items()}
        if found.curve is not None:
            body["auc"] = {"value": found.curve.auc, "error": found.curve.auc_error}
            if found.curve.cost is not None:
                body["best_threshold"] = {"value": found.curve.best_threshold, "mean_cost": found.curve.best_cost}
                body["best_threshold"]["error"] = found.curve.cost_error
        sys.stdout.write(json.dumps(body) + "\n")
        return
    for name, one in found.items():
        sys.stdout.write(f"{name:>18}  {one}\n")
    if found.curve is not None:
        sys.stdout.write(f"{'thresholds':>18}  {found.curve}\n")


def _costs_of(model: Any) -> Costs | CostSpec | None:
    """What a model was made to keep low, where it remembers that."""
    if isinstance(model, StreamState):
        return None if getattr(model.learner.costs, "matrix", None) is None else model.costs
    if not isinstance(model, Model):
        return None
    return model.costs if model.training is None or model.training.cost_spec is None else model.training.cost_spec


def _labels_of(model: Any) -> list[Any]:
    return list(model.labels if isinstance(model, StreamState) else np.asarray(model.classes_).tolist())


def _label_of(model: Any, positive: str) -> Any:
    """The label of a model that the option --positive means."""
    labels = _labels_of(model)
    found = next((label for label in labels if str(label) == positive), None)
    if found is None or len(labels) != 2:
        raise invalid("--positive", f"be one of two labels ({', '.join(map(str, labels[:5]))})", positive)
    return found


def predict_in_parts(
    model: Path,
    source: str,
    *,
    out: Path | None,
    columns: Sequence[str],
    costs: str | None,
    refused: dict[str, Any],
    rows: int,
    cluster: str | None,
    n_jobs: int | None,
    quiet: bool,
) -> None:
    """Decide parts side by side: an output part for each, below a folder."""
    for name, value in refused.items():
        if value not in (None, False):
            raise invalid(name, "be left out with --cluster and --jobs", value)
    if out is None or out.suffix:
        raise invalid("--out", "be a folder with --cluster or --jobs, for one output part a part", out)
    stated = parse_costs(costs)
    if isinstance(stated, str):
        raise invalid("--costs", "be numbers, columns or a file; new rows have no labels to balance", costs)
    with executor_for(cluster, n_jobs) as executor:
        given: dict[str, Any] = {"costs": stated, "rows": rows, "executor": executor, "progress": not quiet}
        manifest = predict_parts(model, source, out, columns=columns, **given)
    if not quiet:
        sys.stderr.write(printable(f"The parts are listed in {manifest}.") + "\n")
