"""Out-of-core reading: a file or stream of any length as data sets of a fixed number of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..validation.values import check_count
from .dataset import Dataset
from .files import Source
from .formats import FORMATS, check_options, format_name
from .part_files import is_several
from .parts import Parts, as_parts

MAX_ROWS = 2**31 - 1


def iter_chunks(
    source: Source | Parts, *, rows: int = 10_000, format: str | None = None, **options: Any
) -> Iterator[Dataset]:
    """Read a file or binary stream as data sets of ``rows`` rows each (the last may be shorter), in constant memory.

    Every chunk has the same columns in the same form: the head of the file decides which are nominal (as plain text)
    and which are numeric (missing cells are NaN). Labels may be missing (None). Chunks of a live stream are given
    out as soon as they are complete. An Arrow file is held a record batch at a time, as large as its writer made them.

    Parameters
    ----------
    source : path, binary stream or Parts
        A stream such as ``sys.stdin.buffer``; a folder, pattern, URL or list of paths is read as :class:`Parts`.
    rows : int
        Rows of a chunk.
    format : str, optional
        As for :func:`read_table`; by default from the suffix.
    **options
        Those of the reader of that format (``target``, ``nominal``, ``drop``, ``n_features``, ``frame``, ``dtype``,
        ``max_bytes``, ...); JSON lines take ``features`` to fix the fields.

    Returns
    -------
    iterator of Dataset
        Chunks of ``rows`` rows; the last may be shorter.

    Examples
    --------
    >>> import io
    >>> stream = io.BytesIO(b'{"n": 1, "y": "a"}\\n{"n": 2.5, "y": null}\\n{"n": 4, "y": "b"}\\n')
    >>> [(c.X.tolist(), c.y.tolist()) for c in iter_chunks(stream, rows=2, format="jsonl", target="y")]
    [([[1.0], [2.5]], ['a', None]), ([[4.0]], ['b'])]
    """
    check_count("rows", rows, at_most=MAX_ROWS)
    if isinstance(source, Parts) or is_several(source):
        return as_parts(source, format).iter_chunks(rows=rows, **options)
    name = format_name(source, format)
    check_options(name, FORMATS[name].chunks, options)
    return FORMATS[name].chunks(source, rows, **options)
