"""LIBSVM text through the native block parser, whole or in chunks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from .._native import LibsvmParser32, LibsvmParser64
from ..validation.values import check_count, check_flag, invalid
from .dataset import Dataset
from .files import LineLimit, Source, blocks, can_be_read_again, file_error, name_of, open_source

NO_LIMIT = int(np.iinfo(np.int64).max)
MAX_WIDTH = 2**31 - 1  # without n_features: a mistyped index must not claim all memory
EXPECTED = {  # the parser's words -> what was expected, what to do
    "label": ("a number as label", ""),
    "finite label": ("a finite label", "NaN and infinity are no labels."),
    "label in range": ("a label within the range of float64", ""),
    "index:value": ("index:value", ""),
    "no qid": ("index:value", "qid: groups rankings, not classes; remove it from the file."),
    "index in range": ("an index of at most 18 digits", ""),
    "index within 2^31-1": (
        "an index of at most 2,147,483,647",
        "Pass n_features= (to steelyard stream --n-features) if there really are so many columns.",
    ),
    "index from 1": (
        "indices from 1",
        "Pass zero_based=True (to steelyard stream --zero-based) if this file counts from 0.",
    ),
    "index within n_features": ("an index within n_features", "Raise n_features or leave it out."),
    "value": ("a number after the colon", ""),
    "finite value": ("a finite value", "Leave missing values out of the row, or impute them first."),
    "value in range": ("a value within the range of the dtype", ""),
    "distinct indices": ("each index at most once in a row", ""),
}


def read_libsvm(
    source: Source,
    *,
    n_features: int | None = None,
    zero_based: bool = False,
    dtype: DTypeLike = np.float64,
    max_bytes: int | None = None,
) -> Dataset:
    """Read LIBSVM (svmlight) text, ``label index:value index:value ... # comment`` a line, into a CSR matrix.

    Indices are sorted; an index given twice, NaN, infinity and ``qid:`` are errors with file and line. Whole-number
    labels become integers.

    Parameters
    ----------
    source : path or binary stream
        May be compressed (gz, bz2, xz, zst).
    n_features : int, optional
        The number of columns; by default the highest index present, which must be at most 2^31-1.
    zero_based : bool
        The lowest index is 0 instead of 1.
    dtype : float64 or float32
        Of the values.
    max_bytes : int, optional
        Most uncompressed bytes to read.

    Returns
    -------
    Dataset
        With a CSR matrix and no names of columns.

    Examples
    --------
    >>> import io
    >>> rows = read_libsvm(io.BytesIO(b"+1 1:0.5 3:2\\n-1 # no features\\n"))
    >>> rows.X.toarray().tolist(), rows.y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 0.0, 0.0]], [1, -1])
    """
    parser = _parser(n_features, zero_based, dtype)
    with open_source(source, max_bytes) as content:
        for _ in _pieces(parser, content, name_of(source), NO_LIMIT, n_features is not None):
            pass
    return _dataset(parser, n_features)


def libsvm_chunks(
    source: Source,
    rows: int,
    *,
    n_features: int | None = None,
    zero_based: bool = False,
    dtype: DTypeLike = np.float64,
    max_bytes: int | None = None,
) -> Iterator[Dataset]:
    """The same file as data sets of ``rows`` rows each, all of one width; a stream needs ``n_features``."""
    if n_features is None:
        n_features = libsvm_width(source, zero_based=zero_based, max_bytes=max_bytes)
    parser = _parser(n_features, zero_based, dtype)
    with open_source(source, max_bytes) as content:
        for _ in _pieces(parser, content, name_of(source), rows, True):
            yield _dataset(parser, n_features)
    if parser.rows:
        yield _dataset(parser, n_features)


def libsvm_width(source: Source, *, zero_based: bool = False, max_bytes: int | None = None) -> int:
    """The number of columns of a file, by one pass over it."""
    if not can_be_read_again(source):
        raise invalid("n_features", "be given for a LIBSVM stream", None, "A stream can be read only once.")
    parser = _parser(None, zero_based, np.float32)
    with open_source(source, max_bytes) as content:
        for _ in _pieces(parser, content, name_of(source), 100_000, False):
            parser.take()  # only the width is of interest
    return int(parser.widest)


def _parser(n_features: int | None, zero_based: bool, dtype: DTypeLike) -> Any:
    width = MAX_WIDTH if n_features is None else check_count("n_features", n_features, at_least=0, at_most=NO_LIMIT)
    base = 0 if check_flag("zero_based", zero_based) else 1
    if np.dtype(dtype) == np.float64:
        return LibsvmParser64(base, width)
    if np.dtype(dtype) == np.float32:
        return LibsvmParser32(base, width)
    raise invalid("dtype", "be float64 or float32", dtype)


def _pieces(parser: Any, content: Any, where: str, row_limit: int, limited: bool) -> Iterator[None]:
    """Feed everything to the parser; pause whenever it holds ``row_limit`` rows, for the caller to take them.

    ``limited``: the caller gave n_features.
    """
    limit = LineLimit(where)
    for block in blocks(content):
        text = np.frombuffer(block, np.uint8)
        while len(text):
            text = text[parser.feed(text, row_limit) :]
            _raise_error(parser, where, limited)
            if parser.rows >= row_limit:
                yield
        limit.add(block)
    parser.finish()
    _raise_error(parser, where, limited)


def _raise_error(parser: Any, where: str, limited: bool) -> None:
    found = parser.error()
    if found is None:
        return
    word, line, column, token = found
    expected, hint = EXPECTED["index within 2^31-1" if word == "index within n_features" and not limited else word]
    shown = token.decode("utf-8", "backslashreplace")
    raise file_error(where, line, expected, f"{shown!r} at byte {column}", hint)


def _dataset(parser: Any, n_features: int | None) -> Dataset:
    width = int(parser.widest) if n_features is None else n_features
    ends, indices, values, labels = parser.take()
    starts = np.zeros(len(ends) + 1, dtype=np.int64 if len(values) > np.iinfo(np.int32).max else indices.dtype)
    starts[1:] = ends
    X = sparse.csr_matrix((values, indices, starts), shape=(len(labels), width), copy=False)
    X.has_sorted_indices = X.has_canonical_format = True  # the parser saw to it
    return Dataset(X, whole_labels(labels))


def whole_labels(labels: NDArray[np.float64]) -> NDArray[Any]:
    """Labels as integers if all of them are whole numbers."""
    whole = labels.astype(np.int64) if (np.abs(labels) < 2**53).all() else None
    return whole if whole is not None and (whole == labels).all() else labels
