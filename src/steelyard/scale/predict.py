"""Decisions for parts: one output part for each input part, whole or not there, and a manifest when all are."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..costs import CostRule, Costs, as_costs
from ..costs.rules import CostsLike
from ..costs.spec import CostSpec
from ..data import Dataset, Parts
from ..data.columns import UnknownColumnError
from ..data.parts import as_parts
from ..errors import SteelyardError
from ..executors import workers_of
from ..files import write_atomically
from ..models.model import Model
from ..models.outputs import DECISION, EXPECTED, check_carried, kept_as_text, row_writer
from ..models.records import RecordEncoder
from ..models.storage import load_model
from ..models.stream_state import StreamState
from ..models.tables import named_rows
from ..validation.values import check_choice, check_count, invalid
from .job import WorkFolder, part_entry, read_note, restore_part, write_note
from .lanes import ahead, named_error
from .progress import Progress
from .rows import about_its_positive, cost_columns, numbers_of, read_spec, spec_entry, without
from .tasks import executor_or_pool, run_tasks

FORMATS = ("parquet", "csv", "jsonl")


def predict_parts(
    model: Any,
    parts: Parts | str | os.PathLike[str] | Sequence[Any],
    out: str | os.PathLike[str],
    *,
    columns: Sequence[str] = (),
    format: str = "parquet",
    costs: CostsLike | CostSpec | str | None = None,
    executor: Executor | None = None,
    rows: int = 10_000,
    progress: bool = False,
    **options: Any,
) -> Path:
    """Decide the rows of many files: an output part for every input part, then ``out/_manifest.json``.

    A second call does only what is missing or has changed. Memory is set by ``rows``, not by the parts.

    Parameters
    ----------
    model : path, Model, StreamState or classifier that can be saved
        What decides.
    parts : Parts, folder, pattern, URL or list of files
        Rows.
    out : path
        A folder; made if it is not there.
    columns : sequence of str
        Columns of the input that go along with the decisions; those that the model does not read as numbers are
        written as they were read.
    format : {"parquet", "csv", "jsonl"}
        Of the output; Parquet is written with checksums.
    costs : Costs, mapping, array-like, str or None
        Other prices than the model was fitted with, for a Model; text such as ``"fn=amount,fp=2"`` names columns with a
        cost a row, and speaks of the model's own positive class. A model that was fitted with cost columns reads them
        by itself.
    executor : Executor or None
        A pool of processes if None; see :func:`on_dask`.
    rows : int
        Rows read at a time.
    progress : bool
        Show a line on a terminal.
    **options : Any
        Of the reader; ``target`` and ``drop`` leave columns out for a classifier without named columns.

    Returns
    -------
    Path
        The manifest.
    """
    check_choice("format", format, FORMATS)
    check_carried("columns", columns, (DECISION, EXPECTED, "score"))
    listed, folder = as_parts(parts), WorkFolder(Path(out).absolute())
    _check_ours(folder, listed, format)
    with folder.held():
        path = model_file(model, folder)
        loaded = load_model(path)
        spec = about_its_positive(read_spec(costs), loaded)
        prices = _prices(costs, spec, loaded)
        carried = carried_as_text(loaded, columns, cost_columns(spec), format)
        reading_options = options | reader_options(loaded, listed, carried)
        about = {
            "path": os.fspath(path),
            "model": hashlib.sha256(path.read_bytes()).hexdigest(),
            "reading": _reading(listed, reading_options, columns),
            "options": reading_options,
            "columns": list(columns),
            "format": format,
            "costs": spec_entry(spec) if spec is not None and spec.columns else None,
            "prices": None if prices is None else prices.to_dict(),
            "source": listed.format,
            "rows": check_count("rows", rows),
            "files": [part_entry(part) for part in listed.files],
        }
        write_note(folder.path / "_job.json", about)
        shown = Progress(progress)
        shown.begin("deciding", len(listed))
        with executor_or_pool(executor, len(listed)) as used, shown:
            shown.workers = workers_of(used)
            done = run_tasks(
                used,
                predict_part,
                [(os.fspath(folder), i) for i in range(len(listed))],
                names=[part.name for part in listed.files],
                kind="parts",
                work=folder.kept,
                on_done=shown.step,
            )
        manifest = folder.path / "_manifest.json"
        with write_atomically(manifest) as file:
            file.write(json.dumps({"model": about["model"], "parts": done}, indent=1).encode())
    return manifest


def _prices(costs: Any, spec: CostSpec | None, model: Any) -> Costs | None:
    """Costs that are the same for all rows, or None."""
    if costs is None:
        return None
    if not isinstance(model, Model):
        raise invalid("costs", "be left out for a learner that knows scores only", costs)
    if isinstance(costs, CostRule):
        raise invalid("costs", "not depend on labels, which new rows have not", costs, "Use costs.costs_for(y).")
    if spec is not None:
        return None if spec.columns else spec.costs(classes=model.classes_)
    made = as_costs(costs, None, model.classes_)
    if made.matrix is None:
        raise invalid("costs", "be the same for all rows, or name columns", costs, 'Such as "fn=amount,fp=2".')
    return made


def _reading(parts: Parts, options: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """How every part is read; a column to carry along that is not there is said in the words of the caller."""
    try:
        return parts.reading(options)
    except UnknownColumnError as error:
        if error.column not in columns:
            raise
        raise invalid("columns", f"name columns of the parts ({error.known})", error.column) from None


def _check_ours(folder: WorkFolder, parts: Parts, format: str) -> None:
    """Raise where a file stands in the way that no earlier call has written, or that is read."""
    status = [os.stat(part.path) for part in parts.files if part.filesystem is None]
    read = {(one.st_dev, one.st_ino) for one in status}
    before = read_note(folder.path / "_job.json")  # which found none of its outputs there, or those of one before
    known = set() if before is None else {_output_name(entry["name"], before["format"]) for entry in before["files"]}
    known |= set() if before is None else {"_manifest.json"}
    made: dict[str, str] = {}
    for part in parts.files:
        other = made.setdefault(_output_name(part.name, format), part.path)
        if other != part.path:
            got = f"{_output_name(part.name, format)} for both {other} and {part.path}"
            raise invalid("out", "get a file for each part", got, "Nothing was written. Decide them in two calls.")
    for name in [*made, "_manifest.json"]:
        path = folder.path / name
        if path.exists() and (name not in known or (path.stat().st_dev, path.stat().st_ino) in read):
            hint = "Nothing was written. Give another folder, or move that file away."
            raise invalid("out", "be a folder without files of the names to write", os.fspath(path), hint)


def model_file(model: Any, folder: WorkFolder) -> Path:
    """Where workers find the model: its own file, or one that is written for them."""
    if isinstance(model, (str, os.PathLike)):
        return Path(model).absolute()
    if not hasattr(model, "save"):
        raise invalid("model", "be a path or have save()", model)
    folder.path.mkdir(parents=True, exist_ok=True)
    path = folder.path / "_model.steelyard"
    encoder = getattr(model, "encoder_", None)
    (model if encoder is None else as_state(model, encoder, model.classes_.tolist())).save(path)
    return path


def as_state(fitted: Any, encoder: RecordEncoder, labels: list[Any]) -> StreamState:
    """The learner as `steelyard predict` reads it: over the classes 0, 1, .., with columns and labels beside it."""
    state = fitted.state()
    state["arrays"] |= {"classes": np.arange(len(labels))}
    state["labels"] = "i"
    costs = fitted.costs
    if isinstance(costs, Costs) and costs.classes is not None:
        matrix = np.asarray(costs.aligned(labels).matrix).tolist()
        state["params"]["costs"] = {"use": "Costs", "C": matrix, "classes": None, "positive": None}
    return StreamState(type(fitted).from_state(state), encoder, tuple(labels), np.zeros((len(labels),) * 2, dtype=int))


def carried_as_text(model: Any, columns: Sequence[str], costs: Sequence[str], output: str) -> list[str]:
    """The columns to carry along that are read as texts: a code 007 is not the number 7."""
    if not isinstance(model, (Model, StreamState)) or model.columns.sparse:
        return []
    if isinstance(model, StreamState):  # which takes no texts for numbers
        return [name for name in columns if name not in {*model.columns.numeric, *costs}]
    prices = {*costs, *model.cost_columns.values()}
    return kept_as_text([name for name in columns if name not in prices], model.columns.numeric, output)


def reader_options(model: Any, parts: Parts, carried: Sequence[str] = ()) -> dict[str, Any]:
    """What the reader must know for a model with columns of its own, and for others that are carried along."""
    if not isinstance(model, (Model, StreamState)):
        return {}
    if model.columns.sparse is not (parts.format == "libsvm"):
        raise invalid("parts", "be LIBSVM, or not, like the data the model was fitted on", parts)
    if model.columns.sparse:
        return {"n_features": len(model.columns.numeric)}
    texts = model.encoder.nominal if isinstance(model, StreamState) else model.columns.as_written
    return {"nominal": list(dict.fromkeys(name for name in (*texts, *carried) if isinstance(name, str)))}


def predict_part(folder: str, position: int) -> dict[str, Any]:
    """Decide one part, unless it has been; the task of a worker."""
    work = WorkFolder(folder)
    about = work.task("_job.json")
    entry = about["files"][position]
    out = work.path / _output_name(entry["name"], about["format"])
    note = work.path / "_done" / f"{position:06}.json"
    identity = {key: about[key] for key in ("model", "reading", "columns", "format", "costs", "prices")} | {
        "part": entry
    }
    known = read_note(note)
    if known is not None and known["identity"] == identity and out.exists() and out.stat().st_size == known["bytes"]:
        return {"part": entry["name"], "out": os.fspath(out.relative_to(work.path)), "rows": known["rows"]}
    model, spec = load_model(Path(about["path"])), None if about["costs"] is None else CostSpec(**about["costs"])
    costs = spec if about["prices"] is None else Costs.from_dict(about["prices"])
    part = restore_part(entry)
    parts = Parts.of_files([part], about["source"])
    out.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with write_atomically(out) as file:
        writer = row_writer(about["format"], file, safe=True)
        for chunk in ahead(parts.part_chunks(part, about["rows"], about["reading"], about["options"])):
            try:
                found = decide_rows(model, chunk, costs=costs, drop=cost_columns(spec))
                shown = _output(found, chunk, about["columns"], raw=not isinstance(model, (Model, StreamState)))
            except SteelyardError as error:
                raise named_error(error, part, count) from error
            writer.write(shown)
            count += len(found.decisions)
        if not count:  # a file all the same, with the columns of the others
            writer.write(_no_rows(model, about["columns"], about["reading"].get("nominal", ())))
        writer.close()
    note.parent.mkdir(exist_ok=True)
    write_note(note, {"identity": identity, "rows": count, "bytes": out.stat().st_size})
    return {"part": entry["name"], "out": os.fspath(out.relative_to(work.path)), "rows": count}


def _output_name(name: str, format: str) -> str:
    stem = name
    while Path(stem).suffix in (".gz", ".bz2", ".xz", ".zst", ".csv", ".tsv", ".jsonl", ".parquet", ".svm", ".libsvm"):
        stem = os.fspath(Path(stem).with_suffix(""))
    return f"{stem}.{format}"


class Decided(NamedTuple):
    """The answers to some rows, and what the model knows of them; None where it does not."""

    decisions: list[Any]
    expected_cost: list[float] | None = None
    scores: NDArray[np.float64] | None = None  # of the second of two classes: larger for those more likely


def decide_rows(
    model: Any, chunk: Dataset, *, costs: CostSpec | Costs | None = None, drop: Sequence[str] = ()
) -> Decided:
    """The answers of a model to the rows of a chunk; columns to ``drop`` are no features."""
    if not isinstance(model, (Model, StreamState)):
        rows = numbers_of(without(chunk, drop))
        found = model.decision_function(rows)
        return Decided(model.predict(rows).tolist(), None, found if found.ndim == 1 else None)
    table: Any = named_rows(chunk) if chunk.features else chunk.X
    if isinstance(model, StreamState):
        return Decided(model.predict(table).tolist(), None, model.scores(table))
    stated = costs.costs(table, classes=model.classes_) if isinstance(costs, CostSpec) else costs
    if not model.has_probabilities:
        return Decided(model.predict(table, costs=stated).tolist())
    weighed = model.weigh(table, costs=stated)
    scores = np.ascontiguousarray(weighed.proba[:, 1]) if len(model.classes_) == 2 else None
    return Decided(weighed.decisions.tolist(), weighed.expected_cost.tolist(), scores)


def _no_rows(model: Any, columns: Sequence[str], texts: Sequence[str]) -> dict[str, Any]:
    """The columns of an output part for an input part without rows."""
    labels = model.labels if isinstance(model, StreamState) else model.classes_
    kinds = {name: np.dtype(str) if name in texts else np.dtype(np.float64) for name in columns}
    kinds[DECISION] = np.asarray(labels).dtype
    if isinstance(model, Model) and model.has_probabilities:
        kinds[EXPECTED] = np.dtype(np.float64)
    if not isinstance(model, (Model, StreamState)) and len(labels) == 2:
        kinds["score"] = np.dtype(np.float64)
    return {name: np.empty(0, dtype=str if kind.kind == "O" else kind) for name, kind in kinds.items()}


def _output(found: Decided, chunk: Dataset, columns: Sequence[str], *, raw: bool) -> dict[str, Any]:
    """The columns of an output part; scores of learners that know no probabilities."""
    shown: dict[str, Any] = {}
    table: Any = named_rows(chunk) if columns else None
    for name in columns:
        if name not in chunk.features:
            raise invalid("columns", f"name columns of the parts ({', '.join(chunk.features[:20])})", name)
        shown[name] = list(table[name])
    shown[DECISION] = found.decisions
    if found.expected_cost is not None:
        shown[EXPECTED] = found.expected_cost
    if raw and found.scores is not None:
        shown["score"] = found.scores.tolist()
    return shown
