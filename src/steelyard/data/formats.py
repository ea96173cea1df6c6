"""The table of file formats: a format read anywhere is read everywhere.

A new reader is one file with a whole and a chunked function, one line in ``FORMATS``, and one test.

Tested in ``tests/unit/data/test_table.py``.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..errors import DataNotFoundError
from ..validation.values import invalid
from .arff import arff_chunks, read_arff
from .columns import check_frame
from .dataset import Dataset
from .delimited import csv_chunks, read_csv
from .files import ARCHIVE, COMPRESSED_SUFFIXES, WORKBOOK, Source, name_of, suffix_of
from .jsonl import jsonl_chunks, read_jsonl
from .libsvm import libsvm_chunks, read_libsvm
from .parquet import parquet_chunks, read_parquet


@dataclass(frozen=True)
class Format:
    """The suffixes of a format, its whole reader ``(source, ...)`` and its chunked one ``(source, rows, ...)``."""

    suffixes: tuple[str, ...]
    read: Callable[..., Dataset]
    chunks: Callable[..., Iterator[Dataset]]


FORMATS: dict[str, Format] = {
    "csv": Format((".csv", ".data"), read_csv, csv_chunks),
    "tsv": Format((".tsv", ".tab"), partial(read_csv, delimiter="\t"), partial(csv_chunks, delimiter="\t")),
    "whitespace": Format((".txt",), partial(read_csv, delimiter=" "), partial(csv_chunks, delimiter=" ")),
    "jsonl": Format((".jsonl", ".ndjson"), read_jsonl, jsonl_chunks),
    "libsvm": Format((".libsvm", ".svm", ".svmlight"), read_libsvm, libsvm_chunks),
    "arff": Format((".arff", ".dat"), read_arff, arff_chunks),
    "parquet": Format((".parquet", ".pq"), read_parquet, parquet_chunks),
    "arrow": Format((".arrow", ".feather", ".ipc"), read_parquet, parquet_chunks),
}


_OTHER_KINDS = dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"), WORKBOOK) | {
    ".zip": ARCHIVE,
    ".json": "With one object a line, name the format jsonl; an array becomes such lines by: jq -c '.[]' OLD > NEW",
}


def format_name(source: Source, format: str | None = None) -> str:
    """The key of ``FORMATS`` for a source: as named, or by its suffix."""
    if format is not None:
        if format not in FORMATS:
            raise invalid("format", f"be one of {', '.join(FORMATS)}", format)
        return format
    suffix = suffix_of(source)
    found = next((name for name, kind in FORMATS.items() if suffix in kind.suffixes), None)
    if found is None and not suffix and isinstance(source, (str, os.PathLike)) and not os.path.exists(source):
        raise DataNotFoundError(f"{name_of(source)} does not exist. Check the path.")
    if found is None:
        endings = " ".join(suffix for kind in FORMATS.values() for suffix in kind.suffixes)
        rule = f"end in one of {endings} ({', '.join(COMPRESSED_SUFFIXES)} may follow)"
        hint = _OTHER_KINDS.get(suffix, f"Or name its format: {', '.join(FORMATS)}.")
        raise invalid("the file", rule, name_of(source), hint)
    return found


def check_options(format: str, reader: Callable[..., Any], options: dict[str, Any]) -> None:
    """Raise unless the reader of a format takes every option."""
    if "frame" in options:
        check_frame(options["frame"])
    takes = inspect.signature(reader).parameters
    for name, value in options.items():
        if name not in takes:
            known = ", ".join(key for key in takes if key not in ("source", "rows"))
            raise invalid(name, f"be left out for {format}", value, f"Its options are {known}.")
