"""RecordHasher: the places scikit-learn's FeatureHasher gives, the same from dicts and frames."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.feature_extraction import FeatureHasher

from steelyard import AROW, InvalidInputError, OnlineClassifier, RecordHasher

RECORDS: list[dict[str, Any]] = [
    {"age": 31.5, "city": "Oslo", "rich": True},
    {"age": None, "city": "Rome", "rich": False},
    {"age": -2.0, "city": None, "rich": True},
    {"age": float("nan"), "city": "København", "rich": False},
]


@pytest.mark.parametrize("width", [2**20, 13])
def test_places_and_signs_are_those_of_scikit_learn(width: int) -> None:
    known = [{k: v for k, v in r.items() if v is not None and v == v} for r in RECORDS]
    theirs = FeatureHasher(width).transform([{k: float(v) if k == "rich" else v for k, v in r.items()} for r in known])
    ours = RecordHasher(width).transform(known)
    np.testing.assert_array_equal(ours.toarray(), theirs.toarray())


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("width", [2**16, 7])
def test_a_frame_says_the_same_as_dicts(frame: Any, width: int) -> None:
    hasher = RecordHasher(width)
    np.testing.assert_allclose(
        hasher.transform(frame(RECORDS)).toarray(), hasher.transform(RECORDS).toarray(), rtol=1e-15
    )


def test_missing_cells_have_a_place_of_their_own() -> None:
    rows = RecordHasher(2**20).transform([{"age": None}, {"age": float("nan")}, {"age": 0.0}, {}])
    assert [row.nnz for row in rows] == [1, 1, 1, 0]
    assert rows[0].indices == rows[1].indices != rows[2].indices


def test_golden_places() -> None:
    rows = RecordHasher(2**18).transform([{"age": 2.0, "city": "Oslo"}])
    again = RecordHasher.from_state(RecordHasher(2**18).state()).transform([{"city": "Oslo", "age": 2.0}])
    np.testing.assert_array_equal(rows.toarray(), again.toarray())
    assert dict(zip(rows.indices.tolist(), rows.data.tolist(), strict=True)) == {165201: 2.0, 223137: 1.0}


def test_a_raw_stream_can_be_learned() -> None:
    rng = np.random.default_rng(0)
    cities = rng.choice(list("abc"), 300)
    records = [{"n": float(n), "city": str(c)} for n, c in zip(rng.normal(size=300), cities, strict=True)]
    y = [r["city"] == "a" or r["n"] > 1 for r in records]
    trace = OnlineClassifier(AROW()).run(RecordHasher(2**10).transform(records), y)
    assert (trace.prediction[100:] == trace.y[100:]).mean() > 0.85


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ({"a": 1}, "list of dicts"),
        ([1, 2], "one dict a row"),
        ([{"a": [1]}], "numbers, texts or missing cells"),
        ([{"a": float("inf")}], "finite"),
        (pd.DataFrame({"a": [1.0, np.inf]}), "finite"),
    ],
)
def test_what_cannot_be_hashed_is_said(X: Any, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        RecordHasher().transform(X)
    with pytest.raises(InvalidInputError, match="n_features must be"):
        RecordHasher(0).fit(X)
