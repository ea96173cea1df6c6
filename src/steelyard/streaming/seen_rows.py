"""The rows that a stream has seen, skipped in an input that begins with them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from ..data import Dataset
from ..data.digest import NO_ROWS, rows_digest
from ..errors import InvalidInputError
from ..validation.values import invalid
from .columns import slice_rows

__all__ = ["skip_seen"]


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
    found, left = NO_ROWS, count
    rest: list[Dataset] = []
    while left:
        chunk = next(chunks, None)
        if chunk is None:
            raise _other(count, f"one of {count - left:,} rows")
        n = chunk.X.shape[0]
        found = rows_digest(found, slice_rows(chunk, 0, min(left, n)))
        if n > left:
            rest = [slice_rows(chunk, left, n)]
        left -= min(left, n)
    if digest is not None and found != digest:
        raise _other(count, "other rows")
    return chain(rest, chunks)


def _other(count: int, got: str) -> InvalidInputError:
    hint = "It is not the input that the state began with; leave --skip-seen out if its rows are new."
    return invalid("--skip-seen", f"find an input that begins with the {count:,} rows already seen", got, hint)
