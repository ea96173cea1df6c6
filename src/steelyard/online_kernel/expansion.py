"""f(x) = sum_i a_i k(x_i, x) + b while its support grows: scores a block of rows at a time, steps row by row.

Tested in ``tests/unit/online_kernel/test_classifier.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..margin.kernels import KernelSpec, gram_of
from ..validation.arrays import Rows, is_sparse

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Expansion:
    """Support rows with their coefficients; ``offset`` is added to the kernel: 1 for a constant feature."""

    spec: KernelSpec
    offset: float
    support: Any = None  # rows; None while there are none
    coef: Floats = field(default_factory=lambda: np.zeros(0))
    bias: float = 0.0
    w2: float = 0.0  # |w|^2 in the space of the kernel

    def kernel(self, rows: Rows, others: Rows) -> Floats:
        """k of every pair."""
        values: Floats = np.asarray(gram_of(self.spec, rows, others, dtype="float64"), dtype=np.float64)
        return values + self.offset

    def scores(self, rows: Rows) -> Floats:
        """f of every row."""
        if self.support is None:
            return np.full(rows.shape[0], self.bias)
        return self.kernel(rows, self.support) @ self.coef + self.bias

    def squares(self, rows: Rows) -> Floats:
        """k(x, x) of every row."""
        if not self.spec.is_native:
            return np.array([self.kernel(rows[i : i + 1], rows[i : i + 1])[0, 0] for i in range(rows.shape[0])])
        if self.spec.kernel == "rbf":
            return np.full(rows.shape[0], 1.0 + self.offset)
        dots = rows.multiply(rows).sum(axis=1) if is_sparse(rows) else np.einsum("ij,ij->i", rows, rows)
        dots = np.asarray(dots, dtype=np.float64).ravel()
        if self.spec.kernel == "poly":
            dots = (self.spec.gamma * dots + self.spec.coef0) ** self.spec.degree
        return np.asarray(dots + self.offset)


class Block:
    """Some rows in turn, with the scores of those still to come kept up to date."""

    def __init__(self, start: Expansion, rows: Rows, most: float) -> None:
        self.now, self.rows, self.most = start, rows, most
        self.score = start.scores(rows)
        self.x2 = start.squares(rows)

    def step(self, i: int, keep: float, add: float, shift: float) -> bool:
        """w <- keep w + add x_i, b <- keep b + shift; False where numbers overflow."""
        now, later = self.now, slice(i + 1, None)
        # The bias is no part of w: rules with one take |w|^2 and w.x without it.
        along = float(self.score[i]) - now.bias
        w2 = keep * keep * now.w2 + 2.0 * keep * add * along + add * add * float(self.x2[i])
        coef, support, bias = keep * now.coef, now.support, keep * now.bias + shift
        self.score[later] = keep * self.score[later] + shift
        row = self.rows[i : i + 1]
        if add != 0.0:
            coef = np.append(coef, add)
            support = row if support is None else _stacked(support, row)
            self.score[later] += add * now.kernel(self.rows[later], row)[:, 0] if i + 1 < len(self.score) else 0.0
        self.now = replace(now, support=support, coef=coef, bias=bias, w2=max(0.0, w2))
        while len(self.now.coef) > self.most:
            self._drop(later)
        return bool(np.isfinite(self.now.w2) and np.isfinite(self.now.coef).all())

    def _drop(self, later: slice) -> None:
        """Leave out the support row whose share of f is the shortest vector; the newest one stays."""
        now = self.now
        lengths = now.coef[:-1] ** 2 * now.squares(now.support[:-1])
        at = int(lengths.argmin())
        row, share = now.support[at : at + 1], float(now.coef[at])
        along = float(now.scores(row)[0]) - now.bias
        w2 = now.w2 - 2.0 * share * along + float(lengths[at])
        others = np.arange(len(now.coef)) != at
        if self.rows[later].shape[0]:
            self.score[later] -= share * now.kernel(self.rows[later], row)[:, 0]
        self.now = replace(now, support=now.support[others], coef=now.coef[others], w2=max(0.0, w2))


def _stacked(rows: Rows, row: Rows) -> Rows:
    if is_sparse(rows):
        return sparse.csr_array(sparse.vstack([rows, row]))
    return np.concatenate([rows, row])
