"""Labels and numbers of costs: reading and checking.

Tested in ``tests/unit/costs/test_reading.py``.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ..errors import CostsError, CostsWarning
from ..validation.types import Floats
from ..validation.values import invalid

LARGEST = 1e300  # sums over 100 million examples stay finite
ORIENTATION = "Rows are true classes, columns predicted ones."
USE_MATRIX = "Use Costs.from_matrix for more classes."
USE_TABLE = "Use per_example(y)."
SEPARATORS = ",;\t|"  # of a costs file, looked for in this order


def floats(name: str, values: Any) -> Floats:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise invalid(name, "hold numbers", values, error=CostsError) from None
    return array


def check_values(name: str, array: Floats) -> None:
    if array.size == 0:
        raise invalid(name, "hold at least one cost", "an empty array", error=CostsError)
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise invalid(name, "be finite", float(array[where]), f"It stands at {where}.", CostsError)
    if np.abs(array).max() > LARGEST:
        hint = "Divide all costs by the same number: the decisions stay the same."
        raise invalid(name, f"be at most {LARGEST:g}", float(np.abs(array).max()), hint, CostsError)
    if not array.any():
        raise invalid(name, "hold a cost or a gain", "only zeros", "With no costs every answer is right.", CostsError)


def warn_about_diagonal(matrix: Floats) -> None:
    """Right answers that cost something may be a transposed matrix; one that gains something (below 0) is meant."""
    right = np.diag(matrix)
    if (right > 0).any():
        warnings.warn(
            f"C has right answers that cost something (diagonal {right.tolist()}); used as given. {ORIENTATION}",
            CostsWarning,
            stacklevel=3,
        )


def check_classes(classes: Any) -> NDArray[Any] | None:
    if classes is None:
        return None
    labels = np.asarray(classes)
    if labels.ndim != 1 or len(labels) < 1:
        raise invalid("classes", "be a flat list of labels", classes, error=CostsError)
    seen: set[Any] = set()
    for label in labels.tolist():
        if label in seen:
            raise invalid("classes", "name every class once", label, error=CostsError)
        seen.add(label)
    return labels


def in_order(labels: Mapping[Any, Any]) -> list[Any]:
    """The keys of a dict sorted, since a dict has no order that means anything; as they come if they cannot be."""
    try:
        return sorted(labels)
    except TypeError:
        return list(labels)


def as_text(label: Any) -> str:
    """Labels read from text files match numbers of the same value: "1" and "1.0" are 1 and 1.0."""
    whole, point, rest = str(label).partition(".")
    return whole if point and rest and not rest.strip("0") and whole.lstrip("-").isdigit() else str(label)


def positions(known: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.intp]:
    by_text = known.dtype.kind in "UO" and wanted.dtype.kind not in "UO"
    at = {as_text(label) if by_text else label: i for i, label in enumerate(known.tolist())}
    found = [at.get(as_text(label) if by_text else label, -1) for label in wanted.tolist()]
    missing = [label for label, i in zip(wanted.tolist(), found, strict=True) if i < 0]
    if missing:
        raise invalid(
            "costs",
            f"know every class of y; {listed(known)} are known",
            missing[0] if len(missing) == 1 else missing,
            "Add it to the costs or remove its rows.",
            CostsError,
        )
    return np.array(found, dtype=np.intp)


def positive_index(classes: NDArray[Any] | None, positive: Any) -> int:
    if positive is None:
        return 1
    if classes is None:
        raise invalid("positive", "come with classes=", positive, "Name both classes.", CostsError)
    try:
        return int(positions(classes, np.asarray([positive]))[0])
    except CostsError:
        raise invalid("positive", f"be one of the classes {listed(classes)}", positive, error=CostsError) from None


def common_shape(cells: list[Floats]) -> tuple[int, ...]:
    shapes = {a.shape for a in cells if a.ndim}
    if len(shapes) > 1 or any(len(s) != 1 for s in shapes):
        given = [a.shape for a in cells]
        raise invalid("fn, fp, tp and tn", "be numbers or arrays of one length", given, error=CostsError)
    return shapes.pop() if shapes else ()


def listed(labels: NDArray[Any]) -> str:
    shown = ", ".join(repr(v) for v in labels.tolist()[:12])
    return shown + (", ..." if len(labels) > 12 else "")


def from_nested(nested: Mapping[Any, Mapping[Any, float]], classes: list[Any]) -> Floats:
    matrix = np.zeros((len(classes), len(classes)))
    at = {label: i for i, label in enumerate(classes)}
    for truth, answers in nested.items():
        if not isinstance(answers, Mapping):
            raise invalid("C", "map each true class to {predicted: cost}", {truth: answers}, error=CostsError)
        for answer, cost in answers.items():
            if truth not in at or answer not in at:
                unknown = truth if truth not in at else answer
                raise invalid("C", f"use the classes {classes}", unknown, "Give it a row of its own.", CostsError)
            matrix[at[truth], at[answer]] = floats("C", cost)
    return matrix


def is_frame(value: Any) -> bool:
    if isinstance(value, np.ndarray | list | tuple):  # mostly; asking every frame library costs more than a short pass
        return False
    return isinstance(nw.from_native(value, pass_through=True), nw.DataFrame)


def from_frame(value: Any) -> tuple[Floats, list[Any]]:
    """Cells and labels. The truths stand in a first column of their own, in the index, or follow the columns."""
    frame = nw.from_native(value, eager_only=True)
    index = nw.maybe_get_index(frame)
    if len(frame.columns) == len(frame) + 1:
        truths, frame = frame[:, 0].to_list(), frame[:, 1:]
    else:
        truths = list(frame.columns if index is None else index)
    answers = list(frame.columns)
    columns = [as_text(label) for label in answers]
    rows = [as_text(label) for label in truths]
    if truths == list(range(len(frame))) and sorted(rows) != sorted(columns):  # pandas' numbering is no labelling
        rows = columns
    if sorted(rows) != sorted(columns) or len(rows) != len(frame):
        raise invalid("C", f"have a row for each column ({answers})", truths, ORIENTATION, CostsError)
    return floats("C", frame.to_numpy())[[rows.index(a) for a in columns]], answers


def from_csv(path: Path, text: str) -> tuple[dict[str, dict[str, float]], list[str]]:
    try:
        rows = text.splitlines()
        separator = _separator(rows)
        lines = [row for row in csv.reader(rows, delimiter=separator) if row]
    except csv.Error as error:
        raise CostsError(f"costs file {path} must be CSV; got text that is not: {error}.") from error
    if len(lines) < 3:
        raise CostsError(
            f"costs file {path} must have a header of answers and a row per true class; got {len(lines)} lines."
        )
    answers = [cell.strip() for cell in lines[0][1:]]
    nested: dict[str, dict[str, float]] = {}
    for number, row in enumerate(lines[1:], start=2):
        if len(row) != len(answers) + 1:
            raise CostsError(f"{path}, line {number}: expected {len(answers) + 1} cells, got {len(row)}.")
        if row[0].strip() in nested:
            raise CostsError(f"{path}, line {number}: a second row for {row[0].strip()!r}; give every class one row.")
        try:
            costs = [float(cell if separator == "," else cell.replace(",", ".")) for cell in row[1:]]
            nested[row[0].strip()] = dict(zip(answers, costs, strict=True))
        except ValueError:
            raise CostsError(
                f"{path}, line {number}: expected numbers after the label, got {str(row[1:])[:80]}."
            ) from None
    if sorted(nested) != sorted(answers):
        raise CostsError(
            f"{path}: the rows ({_first(nested)}) must name the same classes as the header ({_first(answers)})."
        )
    return nested, answers


def _separator(rows: list[str]) -> str:
    """A comma, or what else cuts the first line that is not blank: spreadsheets of many countries write semicolons."""
    head = next((row for row in rows if row.strip()), "")
    return next((s for s in SEPARATORS if len(next(csv.reader([head], delimiter=s), [])) > 1), ",")


def _first(names: Iterable[str], most: int = 5) -> str:
    """Some names for a message: a table of data taken for costs has thousands."""
    listed = list(names)
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "")
