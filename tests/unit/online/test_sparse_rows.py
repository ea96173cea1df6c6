"""Sparse rows as the kernels read them: the order of summation, the ends of the arrays, columns out of range."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from steelyard import CSOGD2, InvalidInputError, OnlineClassifier

pytestmark = pytest.mark.kernel
FEW, MANY = 60, 21_000  # weights that stay in the cache, and weights that are asked for ahead


def stream(d: int, *, value: Any = np.float64, index: Any = np.int32) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Rows of every length from 0 to 40 in a mixed order, the first one empty."""
    rng = np.random.default_rng(d)
    lengths = np.concatenate([[0], rng.permutation(np.repeat(np.arange(41), 30))])
    columns = [np.sort(rng.choice(d, n, replace=False)) for n in lengths]
    X = sparse.csr_matrix((len(lengths), d), dtype=value)
    X.data = rng.normal(size=lengths.sum()).astype(value)
    X.indices = np.concatenate(columns).astype(index)
    X.indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(index)
    return X, (np.arange(len(lengths)) % 3 == 0).astype(np.int64)


def four_sums(x: np.ndarray, w: np.ndarray) -> float:
    sums = [0.0] * 4
    for k, product in enumerate((x.astype(np.float64) * w).tolist()):
        sums[k % 4] += product
    return (sums[0] + sums[1]) + (sums[2] + sums[3])


@pytest.mark.parametrize("d", [FEW, MANY])
@pytest.mark.parametrize("value", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_scores_are_four_sums_in_the_order_of_the_row(d, value, index):
    X, y = stream(d, value=value, index=index)
    model = OnlineClassifier(CSOGD2(0.3)).fit(X, y)
    w = model.coef_[0]
    cuts = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    expected = [four_sums(X.data[a:b], w[X.indices[a:b]]) for a, b in cuts]
    assert model.decision_function(X).tolist() == expected
    # Row by row every row is the last one of its arrays.
    assert [float(model.decision_function(X[i])[0]) for i in range(X.shape[0])] == expected


@pytest.mark.parametrize("d", [FEW, MANY])
def test_entries_past_the_last_row_are_not_looked_at(d):
    X, y = stream(d)
    expected = OnlineClassifier(CSOGD2(0.3)).run(X, y).score
    longer = X.copy()
    longer.data = np.concatenate([X.data, np.full(20, np.nan)])
    longer.indices = np.concatenate([X.indices, np.full(20, 2**31 - 1, dtype=np.int32)])
    assert OnlineClassifier(CSOGD2(0.3)).run(longer, y).score.tolist() == expected.tolist()


@pytest.mark.parametrize("d", [FEW, MANY])
@pytest.mark.parametrize("wrong", [-1, -(2**31), "d", 2**31 - 1])
@pytest.mark.parametrize("at", [0, 5, 300, 1000, -9, -1])
def test_a_column_out_of_range_is_found_before_it_is_used(d, wrong, at):
    X, y = stream(d)
    model = OnlineClassifier(CSOGD2(0.3)).fit(X, y)
    before = model.coef_.tobytes(), model.n_rounds_
    broken = X.copy()
    broken.has_canonical_format = True
    broken.indices[at] = d if wrong == "d" else wrong
    for use in (lambda: model.partial_fit(broken, y), lambda: model.decision_function(broken)):
        with pytest.raises(InvalidInputError, match="columns within"):
            use()
    assert (model.coef_.tobytes(), model.n_rounds_) == before


@pytest.mark.parametrize("d", [FEW, MANY])
def test_starts_that_make_no_sense_are_found(d):
    X, y = stream(d)
    for at, start in ((0, -3), (40, 10**6), (40, -1), (41, 0), (-1, 10**6), (-1, -1)):
        broken = X.copy()
        broken.has_canonical_format = True
        broken.indptr[at] = start
        with pytest.raises(InvalidInputError):
            OnlineClassifier(CSOGD2(0.3)).run(broken, y)


@pytest.mark.parametrize("d", [FEW, MANY])
def test_a_new_stream_that_fails_can_begin_again(d):
    X, y = stream(d)
    model = OnlineClassifier(CSOGD2(0.3)).start(d, [0, 1])
    broken = X.copy()
    broken.data[-1] = np.inf
    with pytest.raises(InvalidInputError, match="inf"):
        model.partial_fit(broken, y)
    assert model.coef_.tobytes() == bytes(8 * d)
    assert model.run(X, y).score.tolist() == OnlineClassifier(CSOGD2(0.3)).run(X, y).score.tolist()
