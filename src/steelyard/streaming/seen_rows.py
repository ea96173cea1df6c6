"""Which rows a stream has seen: a digest that grows row by row, whatever the size of the chunks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import Any

import narwhals as nw
import numpy as np

from ..data import Dataset
from ..errors import InvalidInputError
from ..validation.arrays import is_sparse
from ..validation.values import invalid
from .columns import slice_rows

__all__ = ["FIRST", "skip_seen", "with_rows"]

FIRST = hashlib.sha256().hexdigest()  # before the first row


def with_rows(digest: str, chunk: Dataset) -> str:
    """The digest after these rows, too; labels are no part of it, since they may come later.

    Parameters
    ----------
    digest : str
        Of the rows before.
    chunk : Dataset
        The next rows, as they were read.
    """
    last = bytes.fromhex(digest)
    for cells in _cells(chunk):
        last = hashlib.sha256(last + cells).digest()
    return last.hex()


def _cells(chunk: Dataset) -> Iterator[bytes]:
    """Every row as bytes: its numbers, then its texts."""
    X = chunk.X
    if is_sparse(X):
        ends, columns, values = X.indptr.tolist(), X.indices.astype(np.int64), X.data.astype(np.float64)
        for a, b in pairwise(ends):
            yield columns[a:b].tobytes() + values[a:b].tobytes()
        return
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        yield from _numbers(np.asarray(X, dtype=np.float64))
        return
    numeric = [name for name in frame.columns if name not in chunk.nominal]
    numbers = [frame[name].to_numpy().astype(np.float64) for name in numeric]
    texts = [frame[name].to_list() for name in frame.columns if name in chunk.nominal]
    table = np.column_stack(numbers) if numbers else np.empty((len(frame), 0))
    for number, *words in zip(_numbers(table), *texts, strict=True):
        yield number + json.dumps([None if word is None or word != word else str(word) for word in words]).encode()


def _numbers(table: Any) -> Iterator[bytes]:
    width = 8 * table.shape[1]
    raw = np.ascontiguousarray(table).tobytes()
    return (raw[i * width : (i + 1) * width] for i in range(len(table)))


def skip_seen(chunks: Iterator[Dataset], count: int, digest: str | None) -> Iterator[Dataset]:
    """The rows behind the first ``count``, which must be those that were seen.

    Parameters
    ----------
    chunks : iterator of Dataset
        An input from its beginning.
    count : int
        Rows seen so far.
    digest : str or None
        Of those rows; None where nobody knows.

    Returns
    -------
    iterator of Dataset
        What is left of the input.

    Raises
    ------
    InvalidInputError
        If the input is another one, before anything is decided.
    """
    found, left = FIRST, count
    rest: list[Dataset] = []
    while left:
        chunk = next(chunks, None)
        if chunk is None:
            raise _other(count, f"one of {count - left:,} rows")
        n = chunk.X.shape[0]
        found = with_rows(found, slice_rows(chunk, 0, min(left, n)))
        if n > left:
            rest = [slice_rows(chunk, left, n)]
        left -= min(left, n)
    if digest is not None and found != digest:
        raise _other(count, "other rows")
    return chain(rest, chunks)


def _other(count: int, got: str) -> InvalidInputError:
    advice = "It is not the input that the state began with; leave --skip-seen out if its rows are new."
    return invalid("--skip-seen", f"find an input that begins with the {count:,} rows already seen", got, advice)
