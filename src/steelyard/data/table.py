"""One door for whole files of every format."""

from __future__ import annotations

from typing import Any

from .dataset import Dataset
from .files import Source
from .formats import FORMATS, check_options, format_name
from .part_files import is_several
from .parts import Parts, as_parts


def read_table(source: Source | Parts, *, format: str | None = None, **options: Any) -> Dataset:
    """Read a file with the reader its suffix asks for (``.gz``, ``.bz2``, ``.xz`` and ``.zst`` may follow it).

    Parameters
    ----------
    source : path, binary stream or Parts
        A folder, pattern, URL or list of paths is read as :class:`Parts`.
        .csv .data .tsv .tab .txt (blanks): :func:`read_csv`. .jsonl .ndjson: :func:`read_jsonl`. .libsvm .svm
        .svmlight: :func:`read_libsvm`. .arff .dat: :func:`read_arff`. .parquet .pq .arrow .feather .ipc:
        :func:`read_parquet`.
    format : {"csv", "tsv", "whitespace", "jsonl", "libsvm", "arff", "parquet", "arrow"}, optional
        For streams and other suffixes.
    **options
        Those of the reader, such as ``target``.

    Returns
    -------
    Dataset
        Rows, labels and names.

    Examples
    --------
    >>> import io
    >>> read_table(io.BytesIO(b"a b\\n1 2\\n"), format="whitespace", target="b").X.tolist()
    [[1.0]]
    """
    if isinstance(source, Parts) or is_several(source):
        return as_parts(source, format).read(**options)
    name = format_name(source, format)
    check_options(name, FORMATS[name].read, options)
    return FORMATS[name].read(source, **options)
