"""Examples that occur more than once: to a support vector machine m equal ones are one of m times the weight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..margin.kernels import csr_arrays, narrowed
from ..validation.arrays import is_sparse
from .scheme import CostExamples, Floats


@dataclass(frozen=True)
class Deduplication:
    """``first``: where every distinct case appears first, in that order; ``of``: the distinct case of every example."""

    first: NDArray[np.intp]
    of: NDArray[np.intp]

    @staticmethod
    def none(n: int) -> Deduplication:
        """Each of n examples is a case of its own."""
        return Deduplication(np.arange(n), np.arange(n))

    @staticmethod
    def found(rows: Any, cases: CostExamples) -> Deduplication:
        """Examples are the same case if all features, all costs and the class are equal."""
        labelled = np.column_stack([cases.table, cases.codes]) + 0.0  # -0.0 becomes 0.0
        seen: dict[bytes, int] = {}
        keys = (row + case.tobytes() for row, case in zip(_bytes_of(rows), labelled, strict=True))
        of = np.fromiter((seen.setdefault(key, len(seen)) for key in keys), np.intp, len(cases))
        return Deduplication(np.unique(of, return_index=True)[1], of)

    def merged(self, cases: CostExamples, among: NDArray[np.intp] | None = None) -> CostExamples:
        """The distinct cases, each with the weight of its examples ``among`` these (all by default)."""
        counted = slice(None) if among is None else among
        weight: Floats = np.asarray(np.bincount(self.of[counted], cases.weight[counted], len(self.first)), float)
        return CostExamples(cases.table[self.first], cases.codes[self.first], weight)


def _bytes_of(rows: Any) -> Iterator[bytes]:
    """Every row as bytes that are equal where the rows are."""
    if not is_sparse(rows):
        return ((row + 0.0).tobytes() for row in rows)
    (rows,) = narrowed(rows)
    values, indices, starts = csr_arrays(rows, rows.dtype)
    return ((values[i:j] + 0.0).tobytes() + indices[i:j].tobytes() for i, j in pairwise(starts))
