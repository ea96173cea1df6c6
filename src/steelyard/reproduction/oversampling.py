"""SMOTE whose neighbours are the same on every machine.

Of sparse rows scikit-learn finds the nearest by NumPy's partition, which puts equal distances into an order that
depends on the vector width of the processor. Rows of zeros and ones have many, so that the rows SMOTE makes of them,
and every digit after, would be those of one kind of machine.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from imblearn import over_sampling
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_chunked
from sklearn.neighbors import NearestNeighbors

from ..validation.types import MatrixLike


class OrderedNeighbors(NearestNeighbors):  # type: ignore[misc]
    """Nearest neighbours, those at equal distance in the order of their rows."""

    def fit(self, X: MatrixLike, y: object = None) -> Self:
        """Keep the rows among which neighbours are looked for."""
        super().fit(X, y)
        self.rows_ = X
        return self

    def kneighbors(self, X: MatrixLike, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Find the neighbours of each row of ``X``, the nearest first."""
        count = self.n_neighbors if n_neighbors is None else n_neighbors
        found = list(pairwise_distances_chunked(X, self.rows_, reduce_func=lambda far, _: _nearest(far, count)))
        near = np.concatenate([rows for rows, _ in found])
        return (np.concatenate([far for _, far in found]), near) if return_distance else near


def _nearest(distances: NDArray[np.float64], count: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    farthest = np.partition(distances, count - 1, axis=1)[:, count - 1]  # a value: no order of ties in it
    rows, columns = np.nonzero(distances <= farthest[:, None])
    order = np.lexsort((columns, distances[rows, columns], rows))
    first = np.searchsorted(rows, np.arange(len(distances)))  # of each row's candidates, more than wanted with ties
    near = columns[order][first[:, None] + np.arange(count)]
    return near, np.take_along_axis(distances, near, axis=1)


FIVE_NEAREST = OrderedNeighbors(n_neighbors=6)  # the first is the row itself


class SMOTE(over_sampling.SMOTE):  # type: ignore[misc]
    """imbalanced-learn's SMOTE with ordered neighbours."""

    def __init__(
        self, *, sampling_strategy: Any = "auto", random_state: Any = None, k_neighbors: Any = FIVE_NEAREST
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state, k_neighbors=k_neighbors)
