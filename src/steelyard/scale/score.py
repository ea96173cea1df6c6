"""What decisions on parts cost: tables of whole numbers that add up, so any cut into parts gives the same value."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._native import poisson_tables
from .._version import __version__
from ..costs.rules import CostsLike
from ..data import Parts
from ..data.parts import as_parts
from ..evaluate.intervals import Interval
from ..files import Fields, Node, read_container, reading, write_container
from ..models.storage import load_model
from ..models.stream_state import StreamState
from ..validation.values import check_choice, check_count, check_number, invalid
from .job import WorkFolder, part_entry, read_note, restore_part, write_note
from .lanes import ahead, chunk_labels
from .predict import decide_chunk, model_file, reader_options
from .tasks import executor_or_pool, run_tasks

Tables = NDArray[np.int64]
Measures = Mapping[str, Callable[..., float]] | Sequence[Callable[..., float]]


def score_parts(
    model: Any,
    parts: Parts | str | os.PathLike[str] | Sequence[Any],
    measures: Measures,
    *,
    target: str | int | None = None,
    costs: CostsLike | None = None,
    interval: str | None = "poisson",
    replicates: int = 400,
    confidence: float = 0.95,
    seed: int = 0,
    executor: Executor | None = None,
    work: str | os.PathLike[str] | None = None,
    rows: int = 10_000,
    **options: Any,
) -> dict[str, Interval]:
    """Measures of a model on many files, with intervals by the Poisson bootstrap.

    Each part gives how often each truth got each answer, and the same in every replicate, where a row counts 0, 1, 2,
    .. times by a draw of (seed, part, row, replicate). Whole numbers add up exactly: the values are those of the
    measures on all rows.

    Parameters
    ----------
    model : path, Model or classifier that can be saved
        What decides; it must not abstain.
    parts : Parts, folder, pattern, URL or list of files
        Rows with labels.
    measures : sequence or mapping of name to measure
        Measures of this package, of labels and answers.
    target : str, int or None
        The column of labels.
    costs : Costs, mapping, array-like or None
        By class, ``C[true, predicted]``.
    interval : {"poisson", None}
        None for the values alone.
    replicates : int
        Of the bootstrap.
    confidence : float
        Of the intervals.
    seed : int
        Of the bootstrap.
    executor : Executor or None
        A pool of processes if None; see :func:`on_dask`.
    work : path or None
        A folder that all workers share; needed on a cluster.
    rows : int
        Rows read at a time.
    **options : Any
        Of the reader.

    Returns
    -------
    dict of Interval
        By the name of the measure.
    """
    if interval is not None:
        check_choice("interval", interval, ("poisson",))
    check_number("confidence", confidence, above=0, below=1)
    count = 0 if interval is None else check_count("replicates", replicates, at_least=20)
    named = dict(measures) if isinstance(measures, Mapping) else {one.__name__: one for one in measures}
    with tempfile.TemporaryDirectory(prefix="steelyard-") as made:
        folder = WorkFolder(Path(made if work is None else work).absolute())
        with folder.held():
            path = model_file(model, folder)
            loaded = load_model(path)
            listed = as_parts(parts)
            stated = options if listed.format == "libsvm" else {**options, "target": target}
            stated = stated | reader_options(loaded, listed)
            known = loaded.labels if isinstance(loaded, StreamState) else loaded.classes_
            labels = [label.item() if isinstance(label, np.generic) else label for label in known]
            about = {
                "path": os.fspath(path),
                "reading": listed.reading(stated),
                "options": stated,
                "source": listed.format,
                "classes": labels,
                "rows": check_count("rows", rows),
                "replicates": count,
                "seed": check_count("seed", seed, at_least=0),
                "files": [part_entry(part) for part in listed.files],
            }
            write_note(folder.path / "_score.json", about)
            given = [(os.fspath(folder), i) for i in range(len(listed))]
            names = [part.name for part in listed.files]
            with executor_or_pool(executor, len(given)) as used:
                run_tasks(
                    used,
                    score_part,
                    given,
                    names=names,
                    kind="parts",
                    work=os.fspath(folder),
                    on_done=lambda done, result: None,
                )
            tables = sum_tables(folder, len(listed))
    classes = np.asarray(labels)
    return {name: _interval(measure, tables, classes, costs, confidence) for name, measure in named.items()}


def score_part(folder: str, position: int) -> dict[str, Any]:
    """The tables of one part, left in the folder; the task of a worker."""
    work = WorkFolder(folder)
    about = read_note(work.path / "_score.json")
    part, model = restore_part(about["files"][position]), load_model(Path(about["path"]))
    parts = Parts.of_files([part], about["source"])
    classes = about["classes"]
    tables: Tables = np.zeros((1 + about["replicates"], len(classes) ** 2), dtype=np.int64)
    first = 0
    for chunk in ahead(parts.part_chunks(part, about["rows"], about["reading"], about["options"])):
        cells = cells_of(chunk_labels(chunk, classes).tolist(), decide_chunk(model, chunk, ())["decision"], classes)
        tables[0] += np.bincount(cells, minlength=len(classes) ** 2)
        poisson_tables(cells, about["seed"], position, first, tables[1:])
        first += len(cells)
    node = Node("ScoreTables/1", {"part": position}, {"tables": tables.ravel()})
    write_container(work.path / f"_tables-{position:06}.steelyard", node, version=__version__)
    return {"rows": first}


def cells_of(truth: Sequence[Any], answers: Sequence[Any], classes: Sequence[Any]) -> Tables:
    """The position of each row in the table of truths and answers, row by row."""
    at = {label: k for k, label in enumerate(classes)} | {str(label): k for k, label in enumerate(classes)}
    found = np.empty(len(truth), dtype=np.int64)
    for i, (label, answer) in enumerate(zip(truth, answers, strict=True)):
        if label not in at:
            raise invalid("y", f"hold the classes {list(classes)}", label, f"See row {i}.")
        if answer not in at:
            raise invalid("model", "decide for a class", answer, "Scoring by parts knows no abstention.")
        found[i] = at[label] * len(classes) + at[answer]
    return found


def sum_tables(folder: WorkFolder, parts: int) -> Tables:
    """The tables of all parts together, one row for the data and one for each replicate."""
    about = read_note(folder.path / "_score.json")
    shape = (1 + about["replicates"], len(about["classes"]) ** 2)
    total = np.zeros(shape, dtype=np.int64)
    for position in range(parts):
        place = folder.path / f"_tables-{position:06}.steelyard"
        with reading(place):
            total += (
                Fields(read_container(place))
                .integers("tables", shape[0] * shape[1], low=0, high=1 << 62)
                .reshape(shape)
            )
    return total


def _interval(measure: Callable[..., float], tables: Tables, classes: Any, costs: Any, confidence: float) -> Interval:
    truth, answer = np.repeat(classes, len(classes)), np.tile(classes, len(classes))
    given = {} if costs is None else {"costs": costs}

    def value(table: Tables) -> float:
        return float(measure(truth, answer, sample_weight=table.astype(float), classes=classes, **given))

    found = value(tables[0])
    if len(tables) == 1:
        return Interval(found, np.nan, np.nan, confidence, np.nan, "no interval")
    drawn = np.array([value(table) for table in tables[1:] if table.sum()])
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(found, float(low), float(high), confidence, float(drawn.std(ddof=1)), "Poisson bootstrap")
