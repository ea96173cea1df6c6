"""Columns that are not learned from: segments to tell costs apart by, and the decisions of today's rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ..costs._reading import as_text
from ..validation.arrays import is_missing
from ..validation.values import invalid
from .data import ComparisonData


def read_segments(X: Any, segments: Mapping[str, Any] | Sequence[str] | None, n: int) -> dict[str, NDArray[Any]]:
    """One array of cells a segment; names stand for columns of the rows."""
    if segments is None:
        return {}
    if isinstance(segments, str):
        segments = [segments]
    if not isinstance(segments, Mapping):
        segments = {name: _column(X, name) for name in segments}
    found = {str(name): _cells(values) for name, values in segments.items()}
    for name, values in found.items():
        if values.shape != (n,):
            raise invalid(f"segment {name!r}", f"give {n} rows a value each", f"shape {values.shape}")
    return found


def _column(X: Any, name: str) -> Any:
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame) or name not in frame.columns:
        known = (
            ", ".join(map(str, frame.columns)) if isinstance(frame, nw.DataFrame) else "none: the rows have no names"
        )
        raise invalid("segments", f"name columns of the data ({known})", name)
    return frame[name].to_list()


def _cells(values: Any) -> NDArray[Any]:
    """Numbers as numbers, anything else as it is; a missing cell of any kind is NaN or None."""
    cells = [None if is_missing(cell) else cell for cell in values]
    if all(cell is None or isinstance(cell, (int, float, np.number)) for cell in cells):
        return np.array([np.nan if cell is None else float(cell) for cell in cells])
    found = np.empty(len(cells), dtype=object)
    found[:] = cells
    return found


def read_current(current: Any, data: ComparisonData) -> NDArray[np.intp] | None:
    """The decisions of today's rule as positions in the classes; text of the command line stands for a label."""
    if current is None:
        return None
    cells = list(current)
    if len(cells) != len(data.codes):
        raise invalid("current", f"give {len(data.codes)} rows a decision each", f"{len(cells)} decisions")
    at: dict[Any, int] = {as_text(label): k for k, label in enumerate(data.classes.tolist())}
    at |= {label: k for k, label in enumerate(data.classes.tolist())}
    for i, cell in enumerate(cells):
        if cell not in at and as_text(cell) not in at:
            known = ", ".join(map(str, data.classes.tolist()))
            raise invalid("current", f"hold the classes of the target ({known})", cell, f"See row {i + 1}.")
    return np.array([at[cell] if cell in at else at[as_text(cell)] for cell in cells], dtype=np.intp)
