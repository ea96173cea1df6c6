"""Parts decoded ahead on an executor for one pass in their order, with the same rows and the same errors."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from typing import Any

import narwhals as nw

from ..data import Dataset, Parts
from ..errors import SteelyardError
from ..executors import naming_loss, workers_of
from ..validation.arrays import is_sparse
from ..validation.values import check_count
from .job import part_entry, restore_part

LARGEST = 16 << 20  # bytes of a part that is sent as a whole; a larger one is read here, a chunk at a time
MOST_DECODED = 64 << 20  # bytes of its rows: a compressed part of a few megabytes may hold gigabytes

Decoded = tuple[list[Dataset] | None, SteelyardError | None]  # chunks (None: too many), and what was wrong after them


def chunks_ahead(parts: Parts, executor: Executor, *, rows: int, **options: Any) -> Iterator[Dataset]:
    """The chunks of :meth:`Parts.iter_chunks`, whose parts are decoded on an executor, as many ahead as it has workers.

    Parameters
    ----------
    parts : Parts
        Rows, which the workers find under the same names.
    executor : Executor
        Where they are decoded.
    rows : int
        Rows of a chunk.
    **options : Any
        Those of the reader.

    Returns
    -------
    iterator of Dataset
        The same chunks in the same order. A part that is damaged gives the rows before the damage first.
    """
    check_count("rows", rows)
    common = parts.reading(options)
    return _in_order(parts, executor, (rows, common, options), workers_of(executor))


def _in_order(parts: Parts, executor: Executor, how: tuple[Any, ...], depth: int) -> Iterator[Dataset]:
    waiting: deque[Future[Decoded] | None] = deque()
    submitted, largest = 0, LARGEST
    try:
        for part in parts.files:
            while submitted < len(parts) and len(waiting) <= depth:
                other = parts.files[submitted]
                task = (decode_part, part_entry(other), parts.format, *how)
                waiting.append(executor.submit(*task) if other.size <= largest else None)
                submitted += 1
            future = waiting.popleft()
            if future is None:
                yield from parts.part_chunks(part, *how)
                continue
            with naming_loss(executor, f"the decoding of {part.name}", "Run the same command again."):
                chunks, error = future.result()
            if chunks is None:  # nor are others of its size tried again
                largest = min(largest, part.size - 1)
                yield from parts.part_chunks(part, *how)
                continue
            yield from chunks
            if error is not None:
                raise error
    finally:
        for left in waiting:
            if left is not None:
                left.cancel()


def decode_part(
    entry: dict[str, Any], format: str, rows: int, common: dict[str, Any], options: dict[str, Any]
) -> Decoded:
    """All chunks of one part, up to the first that cannot be read, unless they are too many to be held at once.

    The task of a worker.
    """
    chunks: list[Dataset] = []
    size = 0
    try:
        part = restore_part(entry)
        for chunk in Parts.of_files([part], format).part_chunks(part, rows, common, options):
            size += _bytes_of(chunk)
            if size > MOST_DECODED:
                return None, None
            chunks.append(chunk)
    except SteelyardError as error:
        return chunks, error
    return chunks, None


def _bytes_of(chunk: Dataset) -> int:
    """What the rows of a chunk take in memory."""
    X = chunk.X
    if is_sparse(X):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return int(frame.estimated_size()) if isinstance(frame, nw.DataFrame) else int(X.nbytes)
