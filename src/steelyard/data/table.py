"""One door for every file format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..validation.values import invalid
from .arff import read_arff
from .dataset import Dataset
from .delimited import read_csv
from .files import Source, suffix_of
from .libsvm import read_libsvm
from .parquet import read_parquet


def read_table(source: Source, *, format: str | None = None, **options: Any) -> Dataset:
    """Read a file with the reader its suffix asks for (``.gz``, ``.bz2`` and ``.xz`` may follow it).

    .libsvm .svm .svmlight: :func:`read_libsvm`. .csv .data .tsv .txt: :func:`read_csv` (tabs in .tsv, blanks in .txt).
    .arff .dat: :func:`read_arff`. .parquet .pq .arrow .feather: :func:`read_parquet`.

    format: "libsvm", "csv", "tsv", "whitespace", "arff" or "parquet" for other suffixes. options: those of the reader,
    such as ``target``.

    >>> import io
    >>> read_table(io.BytesIO(b"a b\\n1 2\\n"), format="whitespace", target="b").X.tolist()
    [[1.0]]
    """
    kind = SUFFIXES.get(suffix_of(source)) if format is None else format
    if kind not in READERS:
        got = suffix_of(source) if format is None else format
        raise invalid("format", f"be one of {', '.join(READERS)} for this suffix", got, "Name it with format=.")
    return READERS[kind](source, **options)


def _read_tsv(source: Source, **options: Any) -> Dataset:
    return read_csv(source, **{"delimiter": "\t", **options})


def _read_whitespace(source: Source, **options: Any) -> Dataset:
    return read_csv(source, **{"delimiter": " ", **options})


READERS: dict[str, Callable[..., Dataset]] = {
    "libsvm": read_libsvm,
    "csv": read_csv,
    "tsv": _read_tsv,
    "whitespace": _read_whitespace,
    "arff": read_arff,
    "parquet": read_parquet,
}
SUFFIXES = {
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".svmlight": "libsvm",
    ".csv": "csv",
    ".data": "csv",
    ".tsv": "tsv",
    ".txt": "whitespace",
    ".arff": "arff",
    ".dat": "arff",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "parquet",
    ".feather": "parquet",
}
