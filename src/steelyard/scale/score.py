"""What decisions on parts cost: tables of whole numbers that add up, so any cut into parts gives the same value."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._native import poisson_costs, poisson_tables
from .._version import __version__
from ..costs import Costs, ExampleCosts, as_costs
from ..costs.rules import CostsLike
from ..costs.spec import CostSpec
from ..data import Parts
from ..data.columns import same_label
from ..data.parts import as_parts
from ..errors import CostsError, SteelyardError
from ..evaluate import mean_cost, savings_score, total_cost
from ..evaluate.intervals import Interval
from ..executors import workers_of
from ..files import Fields, Node, read_container, reading, write_container
from ..models.storage import load_model
from ..models.stream_state import StreamState
from ..validation.types import Label
from ..validation.values import check_choice, check_count, check_number, invalid
from .curve import Histogram, ScoreCurve, score_curve
from .job import WorkFolder, part_entry, restore_part, write_note
from .lanes import ahead, complete_labels, named_error
from .predict import decide_rows, model_file, reader_options
from .progress import Progress
from .rows import RowReader, cost_columns, positive_of, read_spec, spec_entry
from .tasks import executor_or_pool, run_tasks

Tables = NDArray[np.int64]
Floats = NDArray[np.float64]
Measures = Mapping[str, Callable[..., float]] | Sequence[Callable[..., float]]
BY_ROW = (mean_cost, total_cost)  # measures that sums of row costs are enough for


class PartScores(dict[str, Interval]):
    """Measures by name, and what thresholds on the score would do.

    Parameters
    ----------
    found : dict of Interval
        By the name of the measure.
    curve : ScoreCurve or None
        None for more than two classes and for models without scores.
    """

    def __init__(self, found: Mapping[str, Interval], curve: ScoreCurve | None) -> None:
        super().__init__(found)
        self.curve = curve


def score_parts(
    model: Any,
    parts: Parts | str | os.PathLike[str] | Sequence[Any],
    measures: Measures,
    *,
    target: str | int | None = None,
    costs: CostsLike | CostSpec | str | None = None,
    positive: Label | None = None,
    interval: str | None = "poisson",
    replicates: int = 400,
    confidence: float = 0.95,
    seed: int = 0,
    executor: Executor | None = None,
    work: str | os.PathLike[str] | None = None,
    rows: int = 10_000,
    progress: bool = False,
    **options: Any,
) -> PartScores:
    """Measures of a model on many files, with intervals by the Poisson bootstrap.

    Each part gives how often each truth got each answer, and the same in every replicate, where a row counts 0, 1, 2,
    .. times by a draw of (seed, part, row, replicate). Whole numbers add up exactly: the values are those of the
    measures on all rows. Costs of single rows are added up by compensated sums.

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
    costs : Costs, mapping, array-like, str or None
        By class, ``C[true, predicted]``, or text such as ``"fn=amount,fp=2"`` that names columns with a cost a row;
        every mistake costs 1 if None.
    positive : label or None
        What ``fn``, sensitivity and F speak of, of two classes: if None that of the costs, else that of a model of
        ``compare``, else the last.
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
    progress : bool
        Show a line on a terminal.
    **options : Any
        Of the reader.

    Returns
    -------
    PartScores
        A dict of intervals by the name of the measure; its ``curve`` tells AUC and thresholds, with error bounds.
    """
    if interval is not None:
        check_choice("interval", interval, ("poisson",))
    check_number("confidence", confidence, above=0, below=1)
    count = 0 if interval is None else check_count("replicates", replicates, at_least=20)
    named = dict(measures) if isinstance(measures, Mapping) else {one.__name__: one for one in measures}
    spec = read_spec(costs)
    if isinstance(costs, ExampleCosts):
        hint = 'Name the columns that hold them, such as "fn=amount,fp=2".'
        raise invalid("costs", "be the same for all rows, or in columns of the parts", costs, hint, CostsError)
    if spec is not None and spec.columns and savings_score in named.values():
        hint = "It needs what every constant answer would have cost, which parts do not add up; use total_cost."
        raise invalid("measures", "hold no savings_score where columns hold the costs", "savings_score", hint)
    with tempfile.TemporaryDirectory(prefix="steelyard-", ignore_cleanup_errors=True) as made:  # as in fit_parts
        folder = WorkFolder(Path(made if work is None else work).absolute())
        with folder.held():
            path = model_file(model, folder)
            loaded = load_model(path)
            listed = as_parts(parts)
            stated = options if listed.format == "libsvm" else {**options, "target": target}
            stated = stated | reader_options(loaded, listed)
            known = loaded.labels if isinstance(loaded, StreamState) else loaded.classes_
            labels = [label.item() if isinstance(label, np.generic) else label for label in known]
            if positive is not None and (len(labels) != 2 or positive not in labels):
                raise invalid("positive", f"be one of two classes ({', '.join(map(repr, labels[:5]))})", positive)
            if positive is None and not (isinstance(costs, Costs) and costs.classes is not None):
                positive = positive_of(loaded) if spec is None or spec.positive is None else spec.positive
            if spec is not None:
                spec = replace(spec, positive=positive)
                costs, spec = (costs, spec) if spec.columns else (spec.costs(classes=labels), None)
            about = {
                "path": os.fspath(path),
                "reading": listed.reading(stated),
                "options": stated,
                "source": listed.format,
                "classes": labels,
                "rows": check_count("rows", rows),
                "replicates": count,
                "seed": check_count("seed", seed, at_least=0),
                "costs": spec_entry(spec),
                "files": [part_entry(part) for part in listed.files],
            }
            write_note(folder.path / "_score.json", about)
            shown = Progress(progress)
            shown.begin("scoring", len(listed))
            with executor_or_pool(executor, len(listed)) as used, shown:
                shown.workers = workers_of(used)
                run_tasks(
                    used,
                    score_part,
                    [(os.fspath(folder), i) for i in range(len(listed))],
                    names=[part.name for part in listed.files],
                    kind="parts",
                    work="",
                    on_done=shown.step,
                )
            sums = join_parts(folder, len(listed))
    classes = np.asarray(labels)
    given: dict[str, Any] = {} if positive is None else {"positive": positive}
    given |= {} if costs is None or spec is not None else {"costs": costs}
    found = {name: _interval(measure, sums, classes, given, spec, confidence) for name, measure in named.items()}
    return PartScores(found, score_curve(sums.scores, _class_costs(costs, spec, classes)) if len(labels) == 2 else None)


class Sums:
    """What parts add up to: tables of counts, sums of row costs, and the histogram of scores."""

    def __init__(self, replicates: int, classes: int) -> None:
        shape = (1 + replicates, classes**2)
        self.tables: Tables = np.zeros(shape, dtype=np.int64)
        self.costs: Floats = np.zeros(shape)
        self.lost: Floats = np.zeros(shape)
        self.scores = Histogram.empty()

    def add(self, other: Sums) -> None:
        """Add the sums of the next part."""
        self.tables += other.tables
        for term in (other.costs, other.lost):
            add_compensated(self.costs, self.lost, term)
        self.scores = self.scores + other.scores

    def write(self, place: Path) -> None:
        """As a file."""
        arrays = {"tables": self.tables.ravel(), "costs": self.costs.ravel(), "lost": self.lost.ravel()}
        arrays |= {"bins": self.scores.bins, "positive": self.scores.positive, "negative": self.scores.negative}
        write_container(place, Node("ScoreTables/2", {}, arrays), version=__version__)

    def load(self, place: Path) -> Sums:
        """From a file of sums with the same shape."""
        with reading(place):
            fields, shape = Fields(read_container(place)), self.tables.shape
            size = self.tables.size
            self.tables = fields.integers("tables", size, low=0, high=1 << 62).reshape(shape)
            self.costs = fields.floats("costs", size, low=-math.inf, high=math.inf).reshape(shape)
            self.lost = fields.floats("lost", size, low=-math.inf, high=math.inf).reshape(shape)
            bins = fields.integers("bins", None, low=-(1 << 62), high=1 << 62)
            counts = [fields.integers(name, len(bins), low=0, high=1 << 62) for name in ("positive", "negative")]
            self.scores = Histogram(bins, *counts)
        return self


def score_part(folder: str, position: int) -> dict[str, Any]:
    """The sums of one part, left in the folder; the task of a worker."""
    work = WorkFolder(folder)
    about = work.task("_score.json")
    part, model = restore_part(about["files"][position]), load_model(Path(about["path"]))
    parts = Parts.of_files([part], about["source"])
    classes, seed = about["classes"], about["seed"]
    spec = None if about["costs"] is None else CostSpec(**about["costs"])
    reader = RowReader(None, spec, classes)
    sums, first = Sums(about["replicates"], len(classes)), 0
    for chunk in ahead(parts.part_chunks(part, about["rows"], about["reading"], about["options"])):
        try:
            found = decide_rows(model, chunk, costs=spec, drop=cost_columns(spec))
            cells = cells_of(complete_labels(chunk).tolist(), found.decisions, classes)
            row_costs = reader.costs(chunk)
        except SteelyardError as error:
            raise named_error(error, part, first) from error
        sums.tables[0] += np.bincount(cells, minlength=len(classes) ** 2)
        poisson_tables(cells, seed, position, first, sums.tables[1:])
        if row_costs is not None:
            paid = _paid(row_costs, cells, classes)
            add_compensated(sums.costs[0], sums.lost[0], exact_sums(cells, paid, len(classes) ** 2))
            poisson_costs(cells, paid, seed, position, first, sums.costs[1:], sums.lost[1:])
        if found.scores is not None:
            sums.scores = sums.scores + Histogram.of(found.scores, cells >= len(classes))
        first += len(cells)
    sums.write(work.path / f"_tables-{position:06}.steelyard")
    return {"rows": first}


def _paid(costs: Costs, cells: Tables, classes: Sequence[Any]) -> Floats:
    """What the answer to each row cost."""
    truth, answer = np.divmod(cells, len(classes))
    table = costs.aligned(np.asarray(classes)).per_example(np.asarray(classes)[truth])
    return np.ascontiguousarray(table[np.arange(len(cells)), answer])


def add_compensated(sums: Floats, lost: Floats, term: Floats) -> None:
    """Add to sums in place, and what rounding loses to ``lost`` (Neumaier)."""
    total = sums + term
    lost += np.where(np.abs(sums) >= np.abs(term), (sums - total) + term, (term - total) + sums)
    sums[...] = total


def exact_sums(cells: Tables, paid: Floats, n_cells: int) -> Floats:
    """The correctly rounded sum of what was paid in each cell."""
    return np.array([math.fsum(paid[cells == cell].tolist()) for cell in range(n_cells)])


def cells_of(truth: Sequence[Any], answers: Sequence[Any], classes: Sequence[Any]) -> Tables:
    """The position of each row in the table of truths and answers, row by row.

    Classes may be named as a command line has it: a label 1 is the class "+1".
    """
    at = {label: k for k, label in enumerate(classes)}
    known: dict[Any, int] = {}
    found = np.empty(len(truth), dtype=np.int64)
    for i, (label, answer) in enumerate(zip(truth, answers, strict=True)):
        if label not in known:
            same = next((k for k, wanted in enumerate(classes) if same_label(label, wanted)), None)
            if same is None:
                raise invalid("y", f"hold the classes {list(classes)}", label, f"See row {i}.")
            known[label] = same
        if answer not in at:
            raise invalid("model", "decide for a class", answer, "Scoring by parts knows no abstention.")
        found[i] = known[label] * len(classes) + at[answer]
    return found


def join_parts(folder: WorkFolder, parts: int) -> Sums:
    """The sums of all parts together, in their order."""
    about = folder.task("_score.json")
    total = Sums(about["replicates"], len(about["classes"]))
    for position in range(parts):
        one = Sums(about["replicates"], len(about["classes"]))
        total.add(one.load(folder.path / f"_tables-{position:06}.steelyard"))
    return total


def _class_costs(costs: Any, spec: CostSpec | None, classes: NDArray[Any]) -> Floats | None:
    """C[true, predicted] where costs are the same for all rows."""
    if costs is None or spec is not None:
        return None
    matrix = as_costs(costs, None, classes).matrix
    return None if matrix is None else np.asarray(matrix, dtype=np.float64)


def _interval(
    measure: Callable[..., float],
    sums: Sums,
    classes: Any,
    given: dict[str, Any],
    spec: CostSpec | None,
    confidence: float,
) -> Interval:
    truth, answer = np.repeat(classes, len(classes)), np.tile(classes, len(classes))

    def value(r: int) -> float:
        by_row = {"costs": _mean_costs(sums, r, classes)} if spec is not None and measure in BY_ROW else {}
        weight = sums.tables[r].astype(float)
        return float(measure(truth, answer, sample_weight=weight, classes=classes, **given, **by_row))

    found = value(0)
    if len(sums.tables) == 1:
        return Interval(found, np.nan, np.nan, confidence, np.nan, "no interval")
    drawn = np.array([value(r) for r in range(1, len(sums.tables)) if sums.tables[r].sum()])
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(found, float(low), float(high), confidence, float(drawn.std(ddof=1)), "Poisson bootstrap")


def _mean_costs(sums: Sums, r: int, classes: Any) -> Costs:
    """The mean cost of the rows in each cell: with it the measures of costs are sums over the rows themselves."""
    counts = sums.tables[r]
    means = np.divide(sums.costs[r] + sums.lost[r], counts, out=np.zeros(len(counts)), where=counts > 0)
    matrix = means.reshape(len(classes), len(classes))
    return replace(Costs.zero_one(classes), matrix=matrix)
