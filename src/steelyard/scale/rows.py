"""The rows of parts as a learner reads them: cost columns taken out, text hashed, numbers scaled by one pass before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._version import __version__
from ..costs import Costs
from ..costs.spec import CostSpec
from ..data import Dataset, Parts
from ..files import Fields, Node, read_container, reading, write_container
from ..models.model import Model
from ..models.records import RecordEncoder
from ..models.tables import named_rows
from ..online import StreamScaler
from ..validation.arrays import is_sparse
from ..validation.values import check_choice, invalid
from .job import UNREADABLE, Job, WorkFolder, read_note, write_note

SCALES = ("none", "standard")
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RowReader:
    """From the chunks of a part to rows and, where columns hold them, the costs of each row.

    Parameters
    ----------
    encoder : RecordEncoder or None
        What hashes and scales; None for columns of numbers as they are.
    spec : CostSpec or None
        Which columns hold costs.
    classes : list
        All labels.
    """

    encoder: RecordEncoder | None
    spec: CostSpec | None
    classes: list[Any]

    def rows(self, chunk: Dataset) -> Any:
        """The rows a learner takes."""
        chunk = without(chunk, cost_columns(self.spec))
        if self.encoder is None:
            return numbers_of(chunk)
        return self.encoder.transform(named_rows(chunk) if chunk.features else chunk.X)

    def costs(self, chunk: Dataset) -> Costs | None:
        """What each answer to each row costs; None where costs are those of the learner."""
        return None if self.spec is None else self.spec.costs(named_rows(chunk), classes=self.classes)


def read_spec(costs: Any) -> CostSpec | None:
    """Costs that name columns, from text or as they are; None for any others."""
    spec = CostSpec.parse(costs) if isinstance(costs, str) else costs
    if not isinstance(spec, CostSpec):
        return None
    if spec.abstain is not None:
        raise invalid("costs", "know no abstaining where there are parts", costs)
    return spec


def about_its_positive(spec: CostSpec | None, model: Any) -> CostSpec | None:
    """Costs that name no positive class, of a model: a miss is about the class it was about when that was compared."""
    if spec is None or spec.positive is not None or not isinstance(model, Model):
        return spec
    return replace(spec, positive=positive_of(model))


def positive_of(model: Any) -> Any:
    """The positive one of two classes, where the model knows one; else None."""
    if not isinstance(model, Model) or len(model.classes_) != 2:
        return None
    return model.classes_.tolist()[model.costs.positive_index()]


def cost_columns(spec: CostSpec | None) -> list[str]:
    """The columns that hold costs, which no learner may look at."""
    return [] if spec is None else list(dict.fromkeys(spec.columns.values()))


def without(chunk: Dataset, names: Sequence[str]) -> Dataset:
    """A chunk without some of its columns."""
    if not names:
        return chunk
    missing = [name for name in names if name not in chunk.features]
    if missing:
        raise invalid("costs", f"name columns of the parts ({', '.join(chunk.features[:20])})", missing[0])
    kept = [j for j, name in enumerate(chunk.features) if name not in names]
    X: Any = chunk.X
    X = X[:, kept] if isinstance(X, np.ndarray) else X[[chunk.features[j] for j in kept]]
    nominal = {name: levels for name, levels in chunk.nominal.items() if name not in names}
    return replace(chunk, X=X, features=tuple(chunk.features[j] for j in kept), nominal=nominal)


def numbers_of(chunk: Dataset) -> Any:
    """Rows of numbers as they are."""
    if chunk.nominal:
        names = ", ".join(list(chunk.nominal)[:5])
        hint = "Leave them out with drop=, or give a model that reads text."
        raise invalid("parts", "hold columns of numbers", f"text in {names}", hint)
    return chunk.X if not hasattr(chunk.X, "to_numpy") else chunk.X.to_numpy()


def first_chunk(parts: Parts, reading_options: dict[str, Any], options: dict[str, Any]) -> Dataset:
    """The first row of all, which shows the columns."""
    for part in parts.files:
        for chunk in parts.part_chunks(part, 1, reading_options, options):
            return chunk
    raise invalid("parts", "hold at least one row", "none")


def encoder_for(chunk: Dataset, spec: CostSpec | None, scale: str, hash_bits: int | None) -> RecordEncoder | None:
    """What encodes rows with these columns; None where they are numbers to be taken as they are."""
    check_choice("scale", scale, SCALES)
    kept = without(chunk, cost_columns(spec))
    if is_sparse(chunk.X):
        if scale != "none" or hash_bits is not None:
            raise invalid("scale and hash_bits", "be left out for LIBSVM", (scale, hash_bits))
        return None
    if scale == "none" and hash_bits is None and not kept.nominal and spec is None:
        return None
    return RecordEncoder(scale, hash_bits).begin(kept.features, list(kept.nominal))


def row_reader(job: Job, scaler: dict[str, Any] | None) -> RowReader:
    """How the rows of a job are read; ``scaler`` is the state of the scaler that the scaling pass left."""
    spec = None if job.costs is None else CostSpec(**job.costs)
    encoder = None if job.encoder is None else RecordEncoder.from_state({**job.encoder, "scaler": scaler})
    return RowReader(encoder, spec, job.classes)


def reader_in(folder: WorkFolder) -> RowReader:
    """How the rows of the job in a folder are read."""
    return row_reader(folder.job(), read_note(folder.path / "scaler.json"))


def spec_entry(spec: CostSpec | None) -> dict[str, Any] | None:
    """Costs that name columns, as plain values."""
    return None if spec is None else asdict(spec)


# -- the scaling pass --------------------------------------------------------------------------------------------------


def needs_scaling(job: Job) -> bool:
    """Whether means and deviations have to be found before anything is learned."""
    return job.encoder is not None and job.encoder["scale"] == "standard" and bool(_numeric(job))


def sums_of_part(job: Job, position: int) -> StreamScaler | None:
    """Count, mean and squares of every column of numbers in one part, row after row; None where it has no rows."""
    parts, names = job.parts(), _numeric(job)
    scaler = StreamScaler()
    spec = None if job.costs is None else CostSpec(**job.costs)
    try:
        for chunk in parts.part_chunks(parts.files[position], job.rows, job.reading, job.options):
            kept = without(chunk, cost_columns(spec))
            rows = np.asarray(kept.X[names] if hasattr(kept.X, "columns") else kept.X, dtype=np.float64)
            if len(rows):
                scaler.partial_fit(rows)
    except UNREADABLE:
        if not job.skip:
            raise
        return None  # left out as a whole
    return scaler if hasattr(scaler, "counts_") else None


def scale_part(folder: str, position: int) -> dict[str, Any]:
    """Leave the sums of one part in the folder; the task of a worker."""
    work = WorkFolder(folder)
    place = _sums_place(work, position)
    if not place.exists():
        found = sums_of_part(work.job(), position)
        arrays = {} if found is None else dict(found.state()["arrays"])
        write_container(place, Node("ScaleSums/1", {"part": position}, arrays), version=__version__)
    return {}


def join_sums(folder: WorkFolder, job: Job) -> None:
    """Add the sums of all parts up, in the order of the parts, and leave the scaler in the folder."""
    found: list[list[Floats]] = []
    for position in range(len(job.files)):
        place = _sums_place(folder, position)
        with reading(place):
            node = read_container(place)
            if node.arrays:
                fields = Fields(node)
                width = len(found[0][0]) if found else "columns"
                names = ("counts", "mean", "squares")
                found.append([fields.floats(name, width, low=-math.inf, high=math.inf) for name in names])
    write_note(folder.path / "scaler.json", scaler_entry(merge_sums(found)))


def merge_sums(found: Sequence[Sequence[Floats]]) -> StreamScaler:
    """Counts, means and squares of several parts as those of all (Chan, Golub & LeVeque 1979), in their order."""
    if not found:
        raise invalid("parts", "hold at least one row", "none")
    counts, mean, squares = (np.array(one, dtype=np.float64) for one in found[0])
    for more, other_mean, other_squares in found[1:]:
        total = np.maximum(counts + more, 1.0)
        gap = other_mean - mean
        mean = mean + gap * (more / total)
        squares = squares + other_squares + gap * gap * (counts * more / total)
        counts = counts + more
    state = StreamScaler().fit(np.zeros((1, len(counts)))).state()
    return StreamScaler.from_state(state | {"arrays": {"counts": counts, "mean": mean, "squares": squares}})


def scaler_entry(scaler: StreamScaler) -> dict[str, Any]:
    """A scaler as plain values, exact to the bit."""
    state = scaler.state()
    return state | {"arrays": {name: array.tolist() for name, array in state["arrays"].items()}}


def _numeric(job: Job) -> list[str]:
    assert job.encoder is not None
    return [name for name in job.encoder["columns"] if name not in job.encoder["nominal"]]


def _sums_place(folder: WorkFolder, position: int) -> Path:
    return folder.path / f"scale-part-{position:06}.steelyard"
