"""Parquet and Arrow (Feather) files through pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ..validation.values import require
from .columns import (
    Column,
    Table,
    check_complete_labels,
    check_frame,
    check_names,
    encoded,
    number_column,
    target_name,
    text_column,
)
from .dataset import Dataset
from .files import Source, fault, name_of, opened


def read_parquet(
    source: Source,
    *,
    target: str | int | None = None,
    nominal: Sequence[str] = (),
    drop: Sequence[str] = (),
    frame: str = "auto",
    dtype: DTypeLike = np.float64,
) -> Dataset:
    """Read a Parquet or Arrow (Feather) file; text, dates and dictionaries are nominal, nulls stay missing.

    Needs pyarrow (extra ``files``). The parameters are those of :func:`read_csv`.

    >>> import io, pyarrow, pyarrow.parquet
    >>> file = io.BytesIO()
    >>> pyarrow.parquet.write_table(pyarrow.table({"size": [1.0, 2.0], "kind": ["a", "b"]}), file)
    >>> _ = file.seek(0)
    >>> read_parquet(file, target="kind").y.tolist()
    ['a', 'b']
    """
    check_frame(frame)
    where = name_of(source)
    with opened(source) as content, _damage_reported(where):
        arrow = _file(where, content).read_all()
    table = _table(where, arrow, target, nominal, drop)
    return check_complete_labels(table, where).dataset(frame, dtype)


def parquet_chunks(
    source: Source,
    rows: int,
    *,
    target: str | int | None = None,
    nominal: Sequence[str] = (),
    drop: Sequence[str] = (),
    frame: str = "auto",
    dtype: DTypeLike = np.float64,
) -> Iterator[Dataset]:
    """The same file as data sets of ``rows`` rows each."""
    where = name_of(source)
    with opened(source) as content, _damage_reported(where):
        for batch in _file(where, content).chunks(rows):
            yield _table(where, batch, target, nominal, drop).chunk(frame, dtype)


class _Parquet:
    def __init__(self, content: Any) -> None:
        self._file = require("pyarrow.parquet", extra="files", why="A Parquet file").ParquetFile(content)

    def read_all(self) -> Any:
        return self._file.read()

    def chunks(self, rows: int) -> Iterator[Any]:
        pa = require("pyarrow", extra="files", why="A Parquet file")
        return (pa.Table.from_batches([batch]) for batch in self._file.iter_batches(rows))


class _Arrow:
    def __init__(self, content: Any) -> None:
        self._pa = require("pyarrow", extra="files", why="An Arrow file")
        self._file = require("pyarrow.ipc", extra="files", why="An Arrow file").open_file(content)

    def read_all(self) -> Any:
        return self._file.read_all()

    def chunks(self, rows: int) -> Iterator[Any]:
        for i in range(self._file.num_record_batches):
            batch = self._pa.Table.from_batches([self._file.get_batch(i)])
            yield from (batch.slice(at, rows) for at in range(0, batch.num_rows, rows))


@contextmanager
def _damage_reported(where: str) -> Iterator[None]:
    pa = require("pyarrow", extra="files", why="A Parquet or Arrow file")
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise fault(where, None, "a whole Parquet or Arrow file", str(error)) from error


def _file(where: str, content: Any) -> _Parquet | _Arrow:
    start = content.read(6)
    content.seek(0)
    if start == b"ARROW1":
        return _Arrow(content)
    if start[:4] == b"PAR1":
        return _Parquet(content)
    raise fault(where, None, "a Parquet or Arrow file", f"a file that begins with {start!r}")


def _table(where: str, arrow: Any, target: str | int | None, nominal: Sequence[str], drop: Sequence[str]) -> Table:
    names = list(arrow.column_names)
    if twice := [name for i, name in enumerate(names) if name in names[:i]]:
        raise fault(where, None, "different column names", f"{twice[0]!r} twice")
    check_names("nominal", nominal, names)
    check_names("drop", drop, names)
    kept = [n for n in names if n not in drop]
    columns = [_column(where, n, arrow.column(n).combine_chunks(), n in nominal) for n in kept]
    return Table.of(columns, target_name(target, names))


def _column(where: str, name: str, cells: Any, as_nominal: bool) -> Column:
    types = require("pyarrow", extra="files", why="A Parquet or Arrow file").types
    if types.is_date(cells.type) or types.is_time(cells.type) or types.is_timestamp(cells.type):
        cells = cells.cast("string")  # as a CSV file has them
    kind = cells.type
    if as_nominal and _is_numeric(types, kind):
        return encoded(name, [None if v is None else str(v) for v in cells.to_pylist()])
    if _is_numeric(types, kind) or types.is_null(kind):
        return number_column(name, cells.cast("float64").to_numpy(zero_copy_only=False))
    if types.is_dictionary(kind) and types.is_string(kind.value_type):
        keys = cells
    elif types.is_string(kind) or types.is_large_string(kind):
        keys = cells.dictionary_encode()
    else:
        advice = "Convert it, or leave it out with drop=."
        raise fault(where, None, f"numbers or text in column {name}", str(kind), advice)
    found = keys.dictionary.to_pylist()
    return text_column(name, keys.indices.cast("int32").fill_null(-1).to_numpy(zero_copy_only=False), found)


def _is_numeric(types: Any, kind: Any) -> bool:
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind))
