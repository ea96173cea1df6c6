"""A sample of the rows that does not depend on who reads them: a row is taken by a draw of (seed, part, row)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from .._native import draw
from ..data import Dataset, Parts
from ..validation.arrays import is_sparse
from ..validation.values import invalid
from .job import UNREADABLE
from .lanes import chunk_labels
from .rows import numbers_of


def fit_sample(
    model: Any, parts: Parts, options: dict[str, Any], *, count: int, seed: int, rows: int, skip: bool
) -> tuple[Any, list[str]]:
    """The model fitted on about ``count`` rows, and with ``skip`` the parts that could not be read to their end."""
    skipped: list[str] | None = [] if skip else None
    taken, truths = draw_rows(parts, options, numbers_of, count=count, seed=seed, rows=rows, skipped=skipped)
    X = sparse.vstack(taken, format="csr") if is_sparse(taken[0]) else np.vstack(taken)
    return model.fit(X, truths), skipped or []


def sample_table(
    parts: Parts, options: dict[str, Any], *, count: int, seed: int, rows: int = 10_000
) -> tuple[Any, NDArray[Any]]:
    """About ``count`` rows as a frame, sparse where the parts are, and their labels."""
    taken, truths = draw_rows(parts, options, _frame, count=count, seed=seed, rows=rows)
    if is_sparse(taken[0]):
        return sparse.vstack(taken, format="csr"), truths
    return pd.concat(taken, ignore_index=True), truths


def _frame(chunk: Dataset) -> Any:
    if is_sparse(chunk.X):
        return chunk.X
    return pd.DataFrame(chunk.X, columns=list(chunk.features)) if isinstance(chunk.X, np.ndarray) else chunk.X


def draw_rows(
    parts: Parts,
    options: dict[str, Any],
    form: Callable[[Dataset], Any],
    *,
    count: int,
    seed: int,
    rows: int,
    skipped: list[str] | None = None,
) -> tuple[list[Any], NDArray[Any]]:
    """The rows drawn from each chunk, in the form wanted, and all their labels.

    Parts that cannot be read to their end give no row and are named in ``skipped``; None: they are errors.
    """
    labels = parts.count_labels(**options)
    share = min(1.0, count / max(1, sum(labels.values())))
    reading = parts.reading(options)
    taken: list[Any] = []
    truths: list[Any] = []
    for i, part in enumerate(parts.files):
        start, before = 0, len(taken)
        try:
            for chunk in parts.part_chunks(part, rows, reading, options):
                n = chunk.X.shape[0]
                kept = np.array([draw(seed, (i << 40) + start + j) < share for j in range(n)])
                start += n
                if kept.any():
                    taken.append(form(chunk)[kept])
                    truths.append(chunk_labels(chunk, list(labels))[kept])
        except UNREADABLE:
            if skipped is None:
                raise
            del taken[before:], truths[before:]
            skipped.append(part.path)
    if not taken:
        raise invalid("sample", "take at least one row", count)
    return taken, np.concatenate(truths)
