"""A sample of the rows that does not depend on who reads them: a row is taken by a draw of (seed, part, row)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._native import draw
from ..data import Parts
from ..validation.arrays import is_sparse
from ..validation.values import invalid
from .lanes import chunk_labels, rows_of


def fit_sample(model: Any, parts: Parts, options: dict[str, Any], *, count: int, seed: int, rows: int) -> Any:
    """The model fitted on about ``count`` rows."""
    labels = parts.count_labels(**options)
    share = min(1.0, count / max(1, sum(labels.values())))
    reading = parts.reading(options)
    taken: list[Any] = []
    truths: list[Any] = []
    for i, part in enumerate(parts.files):
        start = 0
        for chunk in parts.part_chunks(part, rows, reading, options):
            n = chunk.X.shape[0]
            kept = np.array([draw(seed, (i << 40) + start + j) < share for j in range(n)])
            start += n
            if kept.any():
                taken.append(rows_of(chunk)[kept])
                truths.append(chunk_labels(chunk, list(labels))[kept])
    if not taken:
        raise invalid("sample", "take at least one row", count)
    X = sparse.vstack(taken, format="csr") if is_sparse(taken[0]) else np.vstack(taken)
    return model.fit(X, np.concatenate(truths))
