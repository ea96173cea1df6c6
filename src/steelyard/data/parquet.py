"""Parquet in constant memory and with page checksums verified, Arrow (Feather) files batch by batch; by pyarrow."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ..validation.docstrings import documented
from ..validation.values import invalid, require
from . import files
from .arrow_columns import arrow_column, arrow_labels, arrow_rows, is_arrow_number
from .columns import Table, check_complete_labels, check_frame, check_names, target_name
from .dataset import READING, Dataset
from .files import Source, file_error, name_of, open_source, seekable
from .large_dictionaries import column_by_column, has_large_dictionaries, of_equal_length

BUFFER = 1 << 16  # bytes of a column read ahead: with it a row group is never held whole
BATCH = 1 << 16  # rows decoded at a time where a file is read whole
MOST_TIMES = 1000  # its size a file may decode to, if that is more than any compressed text may


@documented(READING)
def read_parquet(
    source: Source,
    *,
    target: str | int | None = None,
    nominal: Sequence[str] = (),
    drop: Sequence[str] = (),
    frame: str = "auto",
    dtype: DTypeLike = np.float64,
    max_bytes: int | None = None,
) -> Dataset:
    """Read a Parquet or Arrow (Feather) file; text, dates and dictionaries are nominal, nulls stay missing.

    Needs pyarrow (extra ``files``). Page checksums are verified; a Parquet file written without them cannot be checked
    for flipped bits.

    Parameters
    ----------
    source : path or binary stream
        A stream that cannot be searched, and a compressed file, are held in memory.
    drop : sequence of str
        Columns to leave out; they are not decoded.
    max_bytes : int or None
        Most bytes of decoded columns. By default 256 MB, and beyond that 1000 times the size of the file.

    Returns
    -------
    Dataset
        Rows, labels and names.

    Examples
    --------
    >>> import io, pyarrow, pyarrow.parquet
    >>> file = io.BytesIO()
    >>> pyarrow.parquet.write_table(pyarrow.table({"size": [1.0, 2.0], "kind": ["a", "b"]}), file)
    >>> _ = file.seek(0)
    >>> read_parquet(file, target="kind").y.tolist()
    ['a', 'b']
    """
    check_frame(frame)
    where = name_of(source)
    pa = require("pyarrow", extra="files", why="A Parquet or Arrow file")
    with open_source(source, max_bytes) as opened, damage_reported(where):
        content = seekable(opened)
        size = content.seek(0, os.SEEK_END)
        content.seek(0)
        most = max(files.SMALL_TEXT, MOST_TIMES * size) if max_bytes is None else max_bytes
        file = open_arrow(where, content)
        names = _names(where, file, target, nominal, drop)
        batches = _limited(where, file.batches(BATCH, names), most)
        arrow = pa.Table.from_batches(list(batches), file.schema(names))
        columns = [arrow_column(where, n, arrow.column(n).combine_chunks(), n in nominal) for n in names]
    table = Table.of(columns, target_name(target, file.names))
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
    max_bytes: int | None = None,
) -> Iterator[Dataset]:
    """The same file as data sets of ``rows`` rows each."""
    where = name_of(source)
    with open_source(source, max_bytes) as content, damage_reported(where):
        file = open_arrow(where, content)
        names = _names(where, file, target, nominal, drop)
        label = target_name(target, file.names)
        features = tuple(name for name in names if name != label)
        kinds = file.schema(names)
        numeric = all(is_arrow_number(kinds.field(name).type) and name not in nominal for name in features)
        for batch in _limited(where, file.batches(rows, names), max_bytes):
            if numeric:
                y = None if label is None else arrow_labels(where, label, batch.column(label), label in nominal)
                yield Dataset(arrow_rows(where, batch, features, dtype), y, features)
            else:
                columns = [arrow_column(where, name, batch.column(name), name in nominal) for name in names]
                yield Table.of(columns, label).chunk(frame, dtype)


def arrow_names(source: Source) -> list[str]:
    """The columns of a Parquet or Arrow file, whatever they hold."""
    where = name_of(source)
    with open_source(source) as content, damage_reported(where):
        return list(open_arrow(where, content).names)


class ParquetSource:
    """A Parquet file, read a little at a time and with its checksums verified."""

    def __init__(self, where: str, content: Any) -> None:
        self._where = where
        self._file = require("pyarrow.parquet", extra="files", why="A Parquet file").ParquetFile(
            content, pre_buffer=False, buffer_size=BUFFER, page_checksum_verification=True
        )
        self._schema = self._file.schema_arrow  # pyarrow makes it anew whenever it is asked
        self.names = list(self._schema.names)
        about = self._file.metadata
        self._rows = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
        self._check_rows(sum(self._rows), about.num_rows)

    def schema(self, names: Sequence[str]) -> Any:
        """The Arrow schema of some columns."""
        return _schema(self._schema, names)

    def batches(self, rows: int, names: Sequence[str]) -> Iterator[Any]:
        """Record batches of at most ``rows`` rows with these columns."""
        done = 0
        with damage_reported(self._where, lambda: self._groups(done, rows)):
            for batch in self._read(rows, list(names)):
                yield batch.select(list(names))  # in their own order, and a column of a nested one is left out
                done += batch.num_rows
        if names:
            self._check_rows(done, sum(self._rows))
        # A thread that ends leaves what Arrow has freed in a heap of its own, where the next one does not find it.
        require("pyarrow", extra="files", why="A Parquet file").default_memory_pool().release_unused()

    def _read(self, rows: int, names: list[str]) -> Iterator[Any]:
        """Batches as pyarrow makes them, or of the same length where that would hold too much of a row group."""
        groups, about = range(len(self._rows)), self._file.metadata
        large = {i for i in groups if has_large_dictionaries(about.row_group(i), names)}
        if not large:
            yield from self._file.iter_batches(rows, columns=names, use_threads=False)
            return
        found = (
            batch
            for i in groups
            for batch in (
                column_by_column(self._file, i, rows, names)
                if i in large
                else self._file.iter_batches(rows, row_groups=[i], columns=names, use_threads=False)
            )
        )
        yield from of_equal_length(found, rows)

    def _check_rows(self, found: int, wanted: int) -> None:
        """Checksums cover what pages hold, not their heads and the footer: a page may be taken for none at all."""
        if found != wanted:
            raise file_error(self._where, None, f"{wanted:,} rows, as its footer says", f"{found:,}")

    def _groups(self, start: int, rows: int) -> str:
        """The row groups that hold some rows, counted from 0."""
        ends = np.cumsum(self._rows)
        last = max(start, min(start + rows, sum(self._rows)) - 1)
        first, last = (int(np.searchsorted(ends, row, side="right")) for row in (start, last))
        return f"row group {first}" if first == last else f"row groups {first} to {last}"


class ArrowSource:
    """An Arrow (Feather) file, batch by batch."""

    def __init__(self, content: Any) -> None:
        self._file = require("pyarrow.ipc", extra="files", why="An Arrow file").open_file(content)
        self.names = list(self._file.schema.names)

    def schema(self, names: Sequence[str]) -> Any:
        """The Arrow schema of some columns."""
        return _schema(self._file.schema, names)

    def batches(self, rows: int, names: Sequence[str]) -> Iterator[Any]:
        """Record batches of at most ``rows`` rows with these columns."""
        for i in range(self._file.num_record_batches):
            batch = self._file.get_batch(i)
            batch.validate(full=True)  # offsets and indices are used without a check later on
            batch = batch.select(list(names))
            yield from (batch.slice(at, rows) for at in range(0, batch.num_rows, rows))


def _schema(schema: Any, names: Sequence[str]) -> Any:
    pa = require("pyarrow", extra="files", why="A Parquet or Arrow file")
    return pa.schema([schema.field(name) for name in names])


@contextmanager
def damage_reported(where: str, place: Callable[[], str] | None = None) -> Iterator[None]:
    """What pyarrow says about a damaged file, as a DataFileError; ``place`` tells where in the file it stands."""
    pa = require("pyarrow", extra="files", why="A Parquet or Arrow file")
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        first = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
        at = where if place is None else f"{where}, {place()}"
        raise file_error(at, None, "a whole Parquet or Arrow file", first) from error


def open_arrow(where: str, content: Any) -> ParquetSource | ArrowSource:
    """The columns of an opened file, Parquet or Arrow by its first bytes."""
    content = seekable(content)
    start = content.read(6)
    content.seek(0)
    if start == b"ARROW1":
        return ArrowSource(content)
    if start[:4] == b"PAR1":
        return ParquetSource(where, content)
    raise file_error(where, None, "a Parquet or Arrow file", f"a file that begins with {start!r}")


def _names(
    where: str, file: ParquetSource | ArrowSource, target: Any, nominal: Sequence[str], drop: Sequence[str]
) -> list[str]:
    """The columns to read; a column given twice, and options that name none, are errors."""
    seen: set[str] = set()
    for name in file.names:
        if name in seen:
            raise file_error(where, None, "different column names", f"{name[:40]!r} twice")
        seen.add(name)
    check_names("nominal", nominal, file.names)
    check_names("drop", drop, file.names)
    label = target_name(target, file.names)
    if label in drop:
        raise invalid("drop", "leave the column of labels in", label)
    return [name for name in file.names if name not in drop]


def _limited(where: str, batches: Iterable[Any], max_bytes: int | None) -> Iterator[Any]:
    total = 0
    for batch in batches:
        total += batch.nbytes
        if max_bytes is not None and total > max_bytes:
            hint = "Pass max_bytes= if the file is trusted and memory allows."
            raise file_error(where, None, f"at most {max_bytes:,} bytes of decoded columns", "more", hint)
        yield batch
