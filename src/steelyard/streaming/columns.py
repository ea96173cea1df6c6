"""Columns of a stream that are not learned from: what a row is called, and what mistakes on it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ..costs.spec import ROLES, CostSpec
from ..data import Dataset
from ..errors import CostsError, InvalidInputError, StateError
from ..validation.arrays import is_missing, is_sparse
from ..validation.values import invalid

__all__ = ["CostUnit", "SideColumns", "slice_rows", "split_columns"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SideColumns:
    """Their names.

    Parameters
    ----------
    id : str or None
        The column that names the rows.
    costs : CostSpec or None
        Costs that name columns; None where they are the same for all rows.
    keep : bool
        Whether columns of costs are learned from, too.
    """

    id: str | None = None
    costs: CostSpec | None = None
    keep: bool = False

    @property
    def cost_columns(self) -> tuple[str, ...]:
        """Names of the columns that hold costs."""
        return () if self.costs is None else tuple(dict.fromkeys(self.costs.columns.values()))

    @property
    def beside(self) -> frozenset[str]:
        """Names of the columns that are not learned from."""
        return frozenset([*([] if self.id is None else [self.id]), *(() if self.keep else self.cost_columns)])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for the state; nothing where there is nothing to say."""
        found: dict[str, Any] = {} if self.id is None else {"id": self.id}
        if self.costs is not None:
            found |= {f"cost_{role}": getattr(self.costs, role) for role in ROLES}
            found["keep_cost_columns"] = self.keep
        return found

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> SideColumns:
        """What :meth:`to_dict` returned; raises StateError if it cannot have."""
        id = values.get("id")
        stated = {role: values[f"cost_{role}"] for role in ROLES if f"cost_{role}" in values}
        sound = all(type(value) in (int, float, str) for value in stated.values()) and len(stated) in (0, len(ROLES))
        if not sound or (id is not None and not isinstance(id, str)):
            raise StateError("a state must name the columns of its costs and ids as texts; it does not.")
        spec = CostSpec(**stated) if stated else None
        return cls(id, spec, bool(values.get("keep_cost_columns", False)))


class SideCells(NamedTuple):
    """The cells of a chunk in those columns: names of the rows, and ``C[true, predicted]`` of each, (n, 2, 2)."""

    ids: list[str | None]
    matrices: Floats | None


def split_columns(chunk: Dataset, side: SideColumns, first: int) -> tuple[Dataset, SideCells]:
    """What is learned from, and the other cells; ``first`` is the round of the first row.

    Parameters
    ----------
    chunk : Dataset
        Rows as they were read.
    side : SideColumns
        The columns to take out.
    first : int
        Rows decided before.
    """
    n = chunk.X.shape[0]
    names = dict.fromkeys([*(() if side.id is None else (side.id,)), *side.cost_columns])
    if not names:
        return chunk, SideCells([None] * n, None)
    frame = _framed(chunk)
    for name in names:
        if frame is None or name not in frame.columns:
            known = ", ".join(chunk.features[:20]) or "none: the rows have no names"
            option = "--id" if name == side.id else "cost columns"
            raise invalid(option, f"be among the columns ({known})", name)
    assert frame is not None
    ids: list[str | None] = [None] * n
    if side.id is not None:
        ids = [_text(cell) for cell in frame[side.id].to_list()]
    matrices = None if side.costs is None else _matrices(frame, side.costs, n, first)
    gone = {side.id} if side.keep else set(names)
    return _without(chunk, frame, gone), SideCells(ids, matrices)


def _framed(chunk: Dataset) -> Any:
    frame = nw.from_native(chunk.X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame
    if is_sparse(chunk.X) or not chunk.features:
        return None
    return nw.from_dict(dict(zip(chunk.features, chunk.X.T, strict=True)), backend="pandas")


def distinct_texts(chunk: Dataset, name: str) -> list[str]:
    """The different values of a column of texts, but for missing cells.

    Parameters
    ----------
    chunk : Dataset
        Some rows.
    name : str
        The column.
    """
    return sorted({str(cell) for cell in _framed(chunk)[name].to_list() if not is_missing(cell)})


def _without(chunk: Dataset, frame: Any, gone: set[str | None]) -> Dataset:
    """The other columns, as they would have been read without these."""
    features = tuple(name for name in chunk.features if name not in gone)
    nominal = {name: values for name, values in chunk.nominal.items() if name not in gone}
    if not features:
        raise invalid("the stream", "have a column to learn from", ", ".join(chunk.features))
    rest = frame.select(list(features))
    X = rest.to_native() if nominal else rest.to_numpy().astype(np.float64)
    return replace(chunk, X=X, features=features, nominal=nominal)


def _text(cell: Any) -> str | None:
    if cell is None or cell != cell:
        return None
    return str(int(cell)) if isinstance(cell, float) and cell == int(cell) else str(cell)


def _matrices(frame: Any, spec: CostSpec, n: int, first: int) -> Floats:
    """C[true, predicted] of every row, the negative class first."""
    cells = {role: np.broadcast_to(_cost(frame, getattr(spec, role), first), n) for role in ROLES}
    found = np.stack([cells[role] for role in ("tn", "fp", "fn", "tp")], axis=1).reshape(n, 2, 2)
    for wrong, right in (("fn", "tp"), ("fp", "tn")):
        below = cells[wrong] < cells[right]
        if below.any():
            at = int(np.argmax(below))
            got = f"{wrong} {cells[wrong][at]:g} below {right} {cells[right][at]:g}"
            raise invalid("costs", "make the right answer the cheapest", got, f"See row {first + at}.", CostsError)
    return found


def _cost(frame: Any, stated: float | str, first: int) -> Any:
    if not isinstance(stated, str):
        return float(stated)
    column = frame[stated]
    if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        raise invalid(f"cost column {stated!r}", "hold numbers", column.to_list()[0], error=CostsError)
    values = column.to_numpy().astype(np.float64)
    if not np.isfinite(values).all():
        at = int(np.argmax(~np.isfinite(values)))
        hint = f"See row {first + at}."
        raise invalid(f"cost column {stated!r}", "hold finite numbers", float(values[at]), hint, CostsError)
    return values


class CostUnit(NamedTuple):
    """What costs of rows are measured in while learning: the mean cost of a false alarm so far, or of a miss.

    Steps are as long as costs are large, so amounts of money must be brought into proportion; with equal costs in all
    rows the steps are those of costs by class, bit for bit.

    Parameters
    ----------
    fn, fp : float
        Sums over the rows so far of what a miss and a false alarm cost more than the right answer.
    rows : int
        How many rows these are.
    """

    fn: float = 0.0
    fp: float = 0.0
    rows: int = 0

    def measured(self, matrices: Floats) -> tuple[Floats, CostUnit]:
        """Cost of a mistake on each row in its unit, (n, 2), if the truth is negative or positive; and the sums then.

        Parameters
        ----------
        matrices : ndarray of shape (n, 2, 2)
            C[true, predicted] of the next rows.
        """
        fp = matrices[:, 0, 1] - matrices[:, 0, 0]
        fn = matrices[:, 1, 0] - matrices[:, 1, 1]
        counts = np.arange(self.rows + 1, self.rows + len(fp) + 1)
        fp_sums = np.cumsum(np.concatenate([[self.fp], fp]))[1:]
        fn_sums = np.cumsum(np.concatenate([[self.fn], fn]))[1:]
        total = np.where(fp_sums > 0, fp_sums, fn_sums)
        unit = np.where(total > 0, total / counts, 1.0)
        if not len(fp):
            return np.empty((0, 2)), self
        after = CostUnit(float(fn_sums[-1]), float(fp_sums[-1]), self.rows + len(fp))
        return np.column_stack([fp / unit, fn / unit]), after


def slice_rows(chunk: Dataset, start: int, end: int) -> Dataset:
    """Some rows of a chunk.

    Parameters
    ----------
    chunk : Dataset
        All of them.
    start, end : int
        Positions of the first, and behind the last.
    """
    rows = chunk.X.iloc[start:end] if hasattr(chunk.X, "iloc") else chunk.X[start:end]
    return replace(chunk, X=rows, y=None if chunk.y is None else chunk.y[start:end])


def reader_options(side: SideColumns, format: str) -> dict[str, Any]:
    """What a reader must know: names of rows are texts, even where they look like numbers.

    Parameters
    ----------
    side : SideColumns
        The columns that are not learned from.
    format : str
        Of the input.
    """
    if format == "libsvm" and (side.id is not None or side.costs is not None):
        option, got = ("--id", side.id) if side.id is not None else ("cost columns", ", ".join(side.cost_columns))
        raise invalid(option, "be left out for LIBSVM, whose columns have no names", got)
    return {} if side.id is None else {"nominal": [side.id]}


def known_columns(nominal: Sequence[str], order: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a reader, and what a state knows: which columns hold texts is not decided anew by every file.

    Parameters
    ----------
    nominal : sequence of str
        Columns that hold texts.
    order : sequence of str
        All columns as they were read before; empty where nothing was, or where they have no names.
    options : mapping
        Of the reader.
    """
    found = dict(options)
    if nominal:
        found["nominal"] = list(dict.fromkeys([*options.get("nominal", ()), *nominal]))
    if order and options["format"] == "jsonl":  # a field that no record of a chunk has is missing in all of them
        found["features"] = list(order)
    return found


def id_error(error: InvalidInputError, side: SideColumns) -> InvalidInputError:
    """What a reader says of a column it does not find, in the words of the command line."""
    said = str(error)
    if side.id is not None and said.startswith("nominal must") and repr(side.id) in said:
        return InvalidInputError("--id" + said.removeprefix("nominal"))
    return error
