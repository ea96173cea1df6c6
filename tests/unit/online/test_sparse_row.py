"""One row at a time: every form of a row decides and learns as `run` does, bit for bit."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from steelyard import (
    AROW,
    CSOGD2,
    PA1,
    AskAsymmetric,
    DivergedError,
    InvalidInputError,
    OnlineClassifier,
    OnlineCostClassifier,
    SparseRow,
)

RNG = np.random.default_rng(5)
X = sparse.random(80, 50, 0.2, format="csr", random_state=3)
Y = np.where(X @ RNG.normal(size=50) > 0, 1, 0)
KINDS = np.where(Y == 1, 2, RNG.integers(0, 2, 80))


def forms(i: int) -> list[Any]:
    row = X[i]
    wide = sparse.csr_matrix((row.data, row.indices.astype(np.int64), row.indptr.astype(np.int64)), row.shape)
    return [
        row,
        sparse.csr_array(row),
        wide,
        SparseRow(row.data, row.indices, 50),
        SparseRow(row.data, wide.indices, 50),
    ]


def learners() -> list[tuple[Any, Any]]:
    asking: Any = {"query": AskAsymmetric(0.5, 0.5), "budget": 30, "seed": 4}
    return [
        (OnlineClassifier(AROW(), **asking), Y),
        (OnlineClassifier(CSOGD2(0.2), fit_intercept=True, after_budget="average", **asking), Y),
        (OnlineCostClassifier(PA1(), **asking), KINDS),
    ]


@pytest.mark.parametrize("form", range(5))
@pytest.mark.parametrize("kind", range(3))
def test_row_by_row_is_run(kind: int, form: int) -> None:
    model, y = learners()[kind]
    trace = learners()[kind][0].run(X, y)
    model.start(50, np.unique(y))
    for i in range(80):
        decision = model.decide(forms(i)[form])
        assert (decision.score, decision.prediction) == (trace.score[i], trace.prediction[i])
        assert (decision.query_probability, decision.query) == (trace.query_probability[i], trace.queried[i])
        if decision.query:
            model.learn(forms(i)[form], y[i])
    np.testing.assert_array_equal(model.coef_, learners()[kind][0].fit(X, y).coef_)


def test_columns_out_of_order_are_put_in_order() -> None:
    model = OnlineClassifier(AROW()).fit(X, Y)
    row = X[3]
    mixed = SparseRow(row.data[::-1].copy(), row.indices[::-1].copy(), 50)
    assert model.decide(mixed).score == pytest.approx(model.decide(row).score, rel=1e-12)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (SparseRow(np.array([1.0]), np.array([50]), 50), "columns within 0..49"),
        (SparseRow(np.array([1.0]), np.array([-1]), 50), "X must"),
        (SparseRow(np.array([1.0]), np.array([3]), 51), "50 columns"),
        (SparseRow(np.array([np.nan]), np.array([3]), 50), "finite"),
        (SparseRow(np.array([1.0, 2.0]), np.array([3]), 50), "X must"),
    ],
)
def test_a_row_that_cannot_be_used_changes_nothing(row: SparseRow, words: str) -> None:
    model = OnlineClassifier(AROW()).fit(X, Y)
    before = model.coef_, model.n_rounds_
    for call in (model.decide, lambda x: model.learn(x, 1)):
        with pytest.raises(InvalidInputError, match=words):
            call(row)
    np.testing.assert_array_equal(model.coef_, before[0])
    assert model.n_rounds_ == before[1]


def test_an_overflow_is_said() -> None:
    model = OnlineClassifier(CSOGD2(1e300)).start(50, [0, 1])
    with pytest.raises(DivergedError, match="stay finite"):
        model.learn(SparseRow(np.array([1e300]), np.array([0]), 50), 1)
    assert not model.coef_.any()
