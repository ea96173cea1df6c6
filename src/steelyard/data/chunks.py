"""Out-of-core reading: a file or stream of any length as data sets of a fixed number of rows."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ..validation.values import check_count, invalid
from .columns import Table, check_frame, target_name
from .dataset import Dataset
from .delimited import HEAD, DelimitedReader, records_of
from .files import Source, opened, suffix_of
from .jsonl import jsonl_chunks
from .layout import MISSING
from .libsvm import libsvm_chunks
from .parquet import parquet_chunks


def iter_chunks(source: Source, *, rows: int = 10_000, format: str | None = None, **options: Any) -> Iterator[Dataset]:
    """Read a file or binary stream as data sets of ``rows`` rows each (the last may be shorter), in constant memory.

    Every chunk has the same columns in the same form: the head of the file decides which are nominal (as plain text)
    and which are numeric (missing cells are NaN). Labels may be missing (None). Chunks of a live stream are given
    out as soon as they are complete.

    source: a path, or a binary stream such as ``sys.stdin.buffer``. format: "libsvm", "csv", "jsonl" or "parquet"; by
    default from the suffix. options: as for the reader of that format (``target``, ``nominal``, ``drop``,
    ``n_features``, ``frame``, ``dtype``, ...); JSON lines take ``features`` to fix the fields.

    >>> import io
    >>> stream = io.BytesIO(b'{"n": 1, "y": "a"}\\n{"n": 2.5, "y": null}\\n{"n": 4, "y": "b"}\\n')
    >>> [(c.X.tolist(), c.y.tolist()) for c in iter_chunks(stream, rows=2, format="jsonl", target="y")]
    [([[1.0], [2.5]], ['a', None]), ([[4.0]], ['b'])]
    """
    check_count("rows", rows)
    kind = SUFFIXES.get(suffix_of(source)) if format is None else format
    if kind not in CHUNKERS:
        raise invalid("format", f"be one of {', '.join(CHUNKERS)}", format or suffix_of(source), "Name it.")
    if "frame" in options:
        check_frame(options["frame"])
    takes = inspect.signature(CHUNKERS[kind]).parameters
    for name, value in options.items():
        if name not in takes:
            raise invalid(name, f"be left out for {kind}, whose rows know no such thing", value)
    return CHUNKERS[kind](source, rows, **options)


def csv_chunks(
    source: Source,
    rows: int,
    *,
    target: str | int | None = None,
    header: bool = True,
    names: Sequence[str] | None = None,
    delimiter: str = ",",
    nominal: Sequence[str] = (),
    drop: Sequence[str] = (),
    missing: Sequence[str] = MISSING,
    skip_lines: int = 0,
    frame: str = "auto",
    dtype: DTypeLike = np.float64,
) -> Iterator[Dataset]:
    """Delimited text in chunks."""
    head = min(HEAD, rows) if hasattr(source, "read") else HEAD  # a live stream may not have more to show yet
    reader = DelimitedReader(source, header, names, delimiter, nominal, missing, skip_lines, head)
    with opened(source) as content:
        records = records_of(reader.start(content))
        chosen = target_name(target, reader.layout.names)
        line = reader.line
        while records_now := list(islice(records, rows)):
            text = b"".join(records_now)
            yield Table.of(reader.kept(reader.columns(text, line), drop), chosen).chunk(frame, dtype)
            line += text.count(b"\n")


CHUNKERS: dict[str, Callable[..., Iterator[Dataset]]] = {
    "libsvm": libsvm_chunks,
    "csv": csv_chunks,
    "jsonl": jsonl_chunks,
    "parquet": parquet_chunks,
}
SUFFIXES = {
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".svmlight": "libsvm",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "parquet",
    ".feather": "parquet",
}
