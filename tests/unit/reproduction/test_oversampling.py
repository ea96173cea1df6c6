"""Neighbours at equal distance come in the order of their rows, whatever the processor."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

pytest.importorskip("imblearn")

from steelyard.reproduction.names import named
from steelyard.reproduction.oversampling import SMOTE, OrderedNeighbors


def binary_rows(n: int, seed: int = 0) -> sparse.csr_matrix:
    return sparse.csr_matrix((np.random.default_rng(seed).random((n, 12)) < 0.3).astype(float))


def test_equal_distances_come_in_the_order_of_the_rows() -> None:
    X = binary_rows(300)
    far, near = OrderedNeighbors(n_neighbors=6).fit(X).kneighbors(X[:50])
    exact = np.sqrt(((X[:50].toarray()[:, None] - X.toarray()[None]) ** 2).sum(axis=2))
    expected = [sorted(range(300), key=lambda j, i=i: (exact[i, j], j))[:6] for i in range(50)]
    assert near.tolist() == expected
    assert far == pytest.approx(np.take_along_axis(exact, near, axis=1))
    assert any(len(set(row)) < 6 for row in far.tolist())  # there are ties to break


def test_without_ties_they_are_those_of_scikit_learn() -> None:
    X = np.random.default_rng(1).normal(size=(200, 5))
    ours = OrderedNeighbors().fit(X).kneighbors(X, 4, return_distance=False)
    assert np.array_equal(ours, NearestNeighbors().fit(X).kneighbors(X, 4, return_distance=False))


def test_rows_are_made_between_neighbours_and_copies_make_the_same() -> None:
    X, y = binary_rows(240), np.repeat([0, 1], [200, 40])
    kind = named("steelyard.reproduction.oversampling.SMOTE")
    assert kind is SMOTE
    model = kind(random_state=0)
    rows, labels = model.fit_resample(X, y)
    assert (labels == 1).sum() == 200
    again, _ = clone(model).fit_resample(X, y)
    assert (rows != again).nnz == 0
    # A new row lies between one of the 40 and one of its five nearest.
    few = X[200:].toarray()
    ends = OrderedNeighbors(n_neighbors=6).fit(few).kneighbors(few, return_distance=False)[:, 1:]
    for made in rows[240:250].toarray():
        sides = [(few[i], few[j] - few[i]) for i in range(40) for j in ends[i]]
        assert any(_on_line(made - start, way) for start, way in sides)


def _on_line(moved: np.ndarray, way: np.ndarray) -> bool:
    size = way @ way
    share = moved @ way / size if size else 0.0
    return bool(-1e-9 <= share <= 1 + 1e-9 and np.allclose(moved, share * way))
