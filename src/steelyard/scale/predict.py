"""Decisions for parts: one output part for each input part, whole or not there, and a manifest when all are."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from ..data import Dataset, Parts
from ..data.parts import as_parts
from ..files import write_atomically
from ..models.model import Model
from ..models.outputs import row_writer
from ..models.storage import load_model
from ..models.stream_state import StreamState
from ..models.tables import named_rows
from ..validation.values import check_choice, check_count, invalid
from .job import WorkFolder, part_entry, read_note, restore_part, write_note
from .lanes import ahead, rows_of
from .tasks import executor_or_pool, run_tasks

FORMATS = ("parquet", "csv", "jsonl")


def predict_parts(
    model: Any,
    parts: Parts | str | os.PathLike[str] | Sequence[Any],
    out: str | os.PathLike[str],
    *,
    columns: Sequence[str] = (),
    format: str = "parquet",
    executor: Executor | None = None,
    rows: int = 10_000,
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
        Columns of the input that go along with the decisions.
    format : {"parquet", "csv", "jsonl"}
        Of the output; Parquet is written with checksums.
    executor : Executor or None
        A pool of processes if None; see :func:`on_dask`.
    rows : int
        Rows read at a time.
    **options : Any
        Of the reader; ``target`` and ``drop`` leave columns out for a classifier without named columns.

    Returns
    -------
    Path
        The manifest.
    """
    check_choice("format", format, FORMATS)
    listed, folder = as_parts(parts), WorkFolder(Path(out).absolute())
    with folder.held():
        path = model_file(model, folder)
        reading_options = options | reader_options(load_model(path), listed)
        about = {
            "path": os.fspath(path),
            "model": hashlib.sha256(path.read_bytes()).hexdigest(),
            "reading": listed.reading(reading_options),
            "options": reading_options,
            "columns": list(columns),
            "format": format,
            "source": listed.format,
            "rows": check_count("rows", rows),
            "files": [part_entry(part) for part in listed.files],
        }
        write_note(folder.path / "_job.json", about)
        given = [(os.fspath(folder), i) for i in range(len(listed))]
        names = [part.name for part in listed.files]
        with executor_or_pool(executor, len(given)) as used:
            done = run_tasks(
                used,
                predict_part,
                given,
                names=names,
                kind="parts",
                work=os.fspath(folder),
                on_done=lambda count, result: None,
            )
        manifest = folder.path / "_manifest.json"
        with write_atomically(manifest) as file:
            file.write(json.dumps({"model": about["model"], "parts": done}, indent=1).encode())
    return manifest


def model_file(model: Any, folder: WorkFolder) -> Path:
    """Where workers find the model: its own file, or one that is written for them."""
    if isinstance(model, (str, os.PathLike)):
        return Path(model).absolute()
    if not hasattr(model, "save"):
        raise invalid("model", "be a path or have save()", model)
    folder.path.mkdir(parents=True, exist_ok=True)
    path = folder.path / "_model.steelyard"
    model.save(path)
    return path


def reader_options(model: Any, parts: Parts) -> dict[str, Any]:
    """What the reader must know for a model with columns of its own."""
    if not isinstance(model, Model):
        return {}
    if model.columns.sparse is not (parts.format == "libsvm"):
        raise invalid("parts", "be LIBSVM, or not, like the data the model was fitted on", parts)
    if model.columns.sparse:
        return {"n_features": len(model.columns.numeric)}
    return {"nominal": [name for name in model.columns.nominal if isinstance(name, str)]}


def predict_part(folder: str, position: int) -> dict[str, Any]:
    """Decide one part, unless it has been; the task of a worker."""
    work = WorkFolder(folder)
    about = read_note(work.path / "_job.json")
    entry = about["files"][position]
    out = work.path / _output_name(entry["name"], about["format"])
    note = work.path / "_done" / f"{position:06}.json"
    identity = {key: about[key] for key in ("model", "reading", "columns", "format")} | {"part": entry}
    known = read_note(note)
    if known is not None and known["identity"] == identity and out.exists() and out.stat().st_size == known["bytes"]:
        return {"part": entry["name"], "out": os.fspath(out.relative_to(work.path)), "rows": known["rows"]}
    model = load_model(Path(about["path"]))
    part = restore_part(entry)
    parts = Parts.of_files([part], about["source"])
    out.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with write_atomically(out) as file:
        writer = row_writer(about["format"], file, safe=True)
        for chunk in ahead(parts.part_chunks(part, about["rows"], about["reading"], about["options"])):
            found = decide_chunk(model, chunk, about["columns"])
            writer.write(found)
            count += len(found["decision"])
        writer.close()
    note.parent.mkdir(exist_ok=True)
    write_note(note, {"identity": identity, "rows": count, "bytes": out.stat().st_size})
    return {"part": entry["name"], "out": os.fspath(out.relative_to(work.path)), "rows": count}


def _output_name(name: str, format: str) -> str:
    stem = name
    while Path(stem).suffix in (".gz", ".bz2", ".xz", ".zst", ".csv", ".tsv", ".jsonl", ".parquet", ".svm", ".libsvm"):
        stem = os.fspath(Path(stem).with_suffix(""))
    return f"{stem}.{format}"


def decide_chunk(model: Any, chunk: Dataset, columns: Sequence[str]) -> dict[str, Any]:
    """Columns of the input, the decision, and what the model knows of it."""
    sparse = isinstance(model, Model) and model.columns.sparse
    table: Any = chunk.X if sparse else named_rows(chunk) if chunk.features else chunk.X
    found: dict[str, Any] = {}
    for name in columns:
        if name not in chunk.features:
            raise invalid("columns", f"name columns of the parts ({', '.join(chunk.features[:20])})", name)
        found[name] = list(table[name])
    if isinstance(model, Model) and model.has_probabilities:
        weighed = model.weigh(table)
        return found | {"decision": weighed.decisions.tolist(), "expected_cost": weighed.expected_cost.tolist()}
    if isinstance(model, (Model, StreamState)):
        return found | {"decision": model.predict(table).tolist()}
    rows = rows_of(chunk)
    found["decision"] = model.predict(rows).tolist()
    scores = model.decision_function(rows)
    return found | ({"score": scores.tolist()} if scores.ndim == 1 else {})
