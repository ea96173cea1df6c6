"""One sparse row as it crosses into the kernels: two vectors and a width, without a matrix around them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray
from numpy.typing import NDArray
from scipy import sparse

from ..validation.values import invalid

__all__ = ["SparseRow"]


class SparseRow(NamedTuple):
    """A row of ``n_features`` numbers of which only those that are not 0 are kept.

    Parameters
    ----------
    values : ndarray of shape (k,)
        The numbers.
    columns : ndarray of shape (k,)
        Where they stand, rising.
    n_features : int
        Width of the row.

    Examples
    --------
    >>> SparseRow(np.array([0.5]), np.array([2]), 4).to_csr().toarray()
    array([[0. , 0. , 0.5, 0. ]])
    """

    values: NDArray[np.floating[Any]]
    columns: NDArray[np.integer[Any]]
    n_features: int

    def check(self) -> SparseRow:
        """The row itself, unless it cannot be one.

        Returns
        -------
        SparseRow
            The row.
        """
        values, columns = np.asarray(self.values), np.asarray(self.columns)
        if values.ndim != 1 or values.shape != columns.shape or columns.dtype.kind not in "iu":
            raise invalid("X", "have as many columns as values, whole numbers", f"{columns!r} for {values!r}")
        if len(columns) and not 0 <= columns.min() <= columns.max() < self.n_features:
            raise invalid("X", f"have columns within 0..{self.n_features - 1}", columns.tolist())
        return self

    def to_csr(self) -> sparse.csr_matrix:
        """The row as a matrix of scipy.

        Returns
        -------
        csr_matrix of shape (1, n_features)
            The row.
        """
        starts = np.array([0, len(self.values)])
        return sparse.csr_matrix((self.values, self.columns, starts), shape=(1, self.n_features))


_CSR = frozenset((sparse.csr_matrix, sparse.csr_array))


def plain_row(x: Any) -> Any:
    """The only row of a matrix, dense or CSR, as a vector or a :class:`SparseRow`; all else as it is."""
    kind = type(x)
    if kind is ndarray:  # first, and by its own name: every look-up counts beside the decision about one row
        return x[0] if x.ndim == 2 and x.shape[0] == 1 else x
    if kind in _CSR and x.shape[0] == 1 and len(x.shape) == 2 and len(x.data) == x.indptr[1]:
        return SparseRow(x.data, x.indices, x.shape[1])
    return x
