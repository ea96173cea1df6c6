"""Row groups of Parquet files whose dictionaries are too large to be held together are read column after column.

A reader needs the dictionary of a column until the row group ends, and holds it twice: decompressed and decoded. Rows
need all columns, so all dictionaries are held at once, 2 MB a column as pyarrow writes them. Columns that are decoded
one after the other into a temporary file need one at a time, and rows are then taken from that file.

Tested in ``tests/unit/data/test_parquet.py``.
"""

from __future__ import annotations

import errno
import itertools
import mmap
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..validation.values import require

LARGEST = 4 << 20  # bytes of dictionaries, as they stand in the file, that are held at once
LONG = (
    1 << 17
)  # rows of a row group below which its dictionaries are small, and columns cost more to begin than to read
MOST = 1 << 30  # bytes of the temporary file; a row group that is larger is read as any other
BATCH = 1 << 16  # rows of a column decoded at a time
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOENT, errno.EACCES, errno.EROFS)  # for a temporary file


def has_large_dictionaries(group: Any, names: Sequence[str]) -> bool:
    """Whether the dictionaries of these columns are above the limit, by the footer's words about a row group."""
    if group.num_rows < LONG or group.total_byte_size <= LARGEST:
        return False
    wanted, total = set(names), 0
    for i in range(group.num_columns):
        column = group.column(i)
        if column.has_dictionary_page and column.path_in_schema in wanted:
            total += column.data_page_offset - column.dictionary_page_offset
    return total > LARGEST


def column_by_column(file: Any, group: int, rows: int, names: Sequence[str]) -> Iterator[Any]:
    """Record batches of one row group of a ParquetFile; where no file can be written, all columns at once after all."""
    done = 0
    if group == 0:  # whoever looks at the columns of a file takes its first rows alone
        yield (first := _first_rows(file, rows, names))
        done = first.num_rows
    try:
        found = _written(file, group, rows, names)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        found = None
    if found is not None:
        yield from found.slice(done).to_reader(max_chunksize=rows)
        return
    for batch in file.iter_batches(rows, row_groups=[group], columns=list(names), use_threads=False):
        if done == 0:
            yield batch
        done = max(0, done - batch.num_rows)


def _first_rows(file: Any, rows: int, names: Sequence[str]) -> Any:
    pa = require("pyarrow", extra="files", why="A Parquet file")
    return pa.RecordBatch.from_arrays([next(_of_column(file, 0, rows, name)).column(0) for name in names], list(names))


def _of_column(file: Any, group: int, rows: int, name: str) -> Iterator[Any]:
    for batch in file.iter_batches(rows, row_groups=[group], columns=[name], use_threads=False):
        yield batch.select([name])


def _written(file: Any, group: int, rows: int, names: Sequence[str]) -> Any:
    """A table over a temporary file into which the columns were written; it has no name, so a kill leaves nothing."""
    pa = require("pyarrow", extra="files", why="A Parquet file")
    ends = [0]
    with tempfile.TemporaryFile() as kept:
        for name in names:
            batches = _of_column(file, group, rows * max(1, BATCH // rows), name)
            first = next(batches)
            with pa.ipc.new_stream(kept, first.schema) as writer:
                for batch in itertools.chain([first], batches):
                    writer.write_batch(batch)
                    if kept.tell() > MOST:
                        raise OSError(errno.EFBIG, "a row group that is too large for a temporary file")
            ends.append(kept.tell())
        kept.flush()
        mapped = pa.py_buffer(mmap.mmap(kept.fileno(), 0, access=mmap.ACCESS_READ))
    columns = [pa.ipc.open_stream(mapped[start:end]).read_all().column(0) for start, end in itertools.pairwise(ends)]
    return pa.table(columns, names=list(names))


def of_equal_length(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """The same rows as batches of so many each; the last may be shorter."""
    waiting: list[Any] = []
    missing = rows
    for batch in batches:
        rest = batch
        while rest.num_rows >= missing:
            yield _joined([*waiting, rest.slice(0, missing)])
            rest, waiting, missing = rest.slice(missing), [], rows
        if rest.num_rows > 0:
            waiting.append(rest)
            missing -= rest.num_rows
    if waiting:
        yield _joined(waiting)


def _joined(batches: list[Any]) -> Any:
    if len(batches) == 1:
        return batches[0]
    pa = require("pyarrow", extra="files", why="A Parquet file")
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
