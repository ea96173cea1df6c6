"""Digests of rows and labels: of all at once, or one that grows row by row, whatever the size of the chunks.

Tested in ``tests/unit/reproduction/test_runs.py`` and ``tests/unit/streaming/test_seen_rows.py``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import narwhals as nw
import numpy as np

from ..validation.arrays import is_sparse
from .dataset import Dataset

NO_ROWS = hashlib.sha256().hexdigest()  # before the first row


def data_digest(X: Any, y: Any) -> str:
    """Twelve digits that change when a cell or a label does."""
    parts = [X.data, X.indices, X.indptr] if hasattr(X, "indptr") else [X]
    hasher = hashlib.sha256()
    for part in [*parts, y]:
        cells = np.asarray(part)
        hasher.update(np.ascontiguousarray(cells.astype(str) if cells.dtype == object else cells).tobytes())
    return hasher.hexdigest()[:12]


def rows_digest(digest: str, chunk: Dataset) -> str:
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
