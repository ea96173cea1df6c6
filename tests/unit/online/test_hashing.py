"""RecordHasher: the places scikit-learn's FeatureHasher gives, the same from dicts and frames."""

import math
import re
import unicodedata
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction import FeatureHasher
from sklearn.utils import murmurhash3_32

from steelyard import AROW, InvalidInputError, OnlineClassifier, RecordHasher
from steelyard._native import murmur3

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


# -- the twin: what native/record_hash.hpp does, as it reads --------------------------------------------------------


def place(token: str, width: int) -> tuple[int, float]:
    h = int(murmurhash3_32(token.encode("utf-8", "surrogatepass"), seed=0))
    return abs(h) % width, 1.0 if h >= 0 else -1.0


def text_tokens(words: list[str]) -> list[str]:
    tokens = []
    for i, word in enumerate(words):
        tokens += [word, *([f"{word} {words[i + 1]}"] if i + 1 < len(words) else [])]
        tokens += [word[at : at + n] for n in (3, 4, 5) for at in range(len(word) - n + 1)]
    return tokens


def twin(record: dict[str, Any], width: int, text: tuple[str, ...] = (), url: tuple[str, ...] = ()) -> dict[int, float]:
    row: dict[int, float] = {}
    for name, value in record.items():
        part: dict[int, float] = {}
        if value is None or value != value:
            tokens = [(f"{name}=", 1.0)]
        elif name in text or name in url:
            plain = unicodedata.normalize("NFKC", value).lower()
            words = re.findall(r"\w+", plain) if name in text else [p for p in re.split(r"[/.?=&-]", plain) if p]
            tokens = [(f"{name}~{token}", 1.0) for token in text_tokens(words)]
        elif isinstance(value, str):
            tokens = [(f"{name}={value}", 1.0)]
        else:
            tokens = [(name, float(value))]
        for token, amount in tokens:
            at, sign = place(token, width)
            part[at] = part.get(at, 0.0) + sign * amount
        read = name in text + url and value is not None and value == value
        length = math.sqrt(sum(v * v for v in part.values())) if read else 1.0
        for at, amount in part.items():
            row[at] = row.get(at, 0.0) + (amount / length if length > 0 else 0.0)
    return row


CELLS = st.one_of(
    st.none(),
    st.floats(allow_infinity=False, width=32),
    st.integers(-(2**40), 2**40),
    st.booleans(),
    st.text(max_size=12),
)
TEXTS = st.none() | st.text(st.sampled_from("abcdeÄéß文字 ./?-=_9\u2003ﬁ"), max_size=25)


@given(
    st.dictionaries(st.text(max_size=5), CELLS, max_size=30), TEXTS, TEXTS, st.sampled_from([1, 7, 2**10, 2**31 - 1])
)
def test_one_is_transform_is_the_twin(record: dict[str, Any], note: str | None, link: str | None, width: int) -> None:
    record = record | {"note": note, "link": link}
    hasher = RecordHasher(width, text=("note",), url=["link"])
    row, table = hasher.one(record), hasher.transform([{"a": 1}, record])[1]
    np.testing.assert_array_equal(row.columns, table.indices)
    assert row.values.tobytes() == table.data.tobytes()
    assert row.columns.tolist() == sorted(set(row.columns.tolist()))
    expected = twin(record, width, ("note",), ("link",))
    assert set(row.columns.tolist()) == set(expected)
    for column, value in zip(row.columns.tolist(), row.values.tolist(), strict=True):
        assert value == pytest.approx(expected[column], rel=1e-12, abs=1e-9 * max(map(abs, expected.values())))


@given(st.binary(max_size=40))
def test_the_hash_is_scikit_learns(token: bytes) -> None:
    assert murmur3(token) == int(murmurhash3_32(token, seed=0))


def test_texts_that_share_words_share_features() -> None:
    hasher = RecordHasher(text=("note",))
    one, two, other = (
        hasher.one({"note": note}).to_csr() for note in ("Your parcel is held", "your PARCEL waits", "hi")
    )
    assert (one @ one.T)[0, 0] == pytest.approx(1.0)
    assert 0.2 < (one @ two.T)[0, 0] < 0.9
    assert (one @ other.T)[0, 0] == 0.0
    apart = RecordHasher().one({"note": "Your parcel is held"}), RecordHasher().one({"note": "your PARCEL waits"})
    assert len(apart[0].values) == 1
    assert apart[0].columns != apart[1].columns


def test_a_link_is_read_by_its_parts() -> None:
    hasher = RecordHasher(url=("link",))
    row = hasher.one({"link": "a.b/c?d=e&f-g"})
    assert len(row.values) == 13  # seven parts and six pairs, all too short for pieces


def test_a_text_without_words_adds_nothing_and_a_missing_one_its_place() -> None:
    hasher = RecordHasher(text=("note",))
    assert len(hasher.one({"note": "?!"}).values) == 0
    assert hasher.one({"note": None}).columns == RecordHasher().one({"note": None}).columns


def test_the_same_from_frames_with_texts() -> None:
    records = [{"note": "pay now", "n": 1.0}, {"note": None, "n": 2.0}, {"note": "ähnlich", "n": None}]
    hasher = RecordHasher(2**12, text=("note",))
    for frame in (pd.DataFrame(records), pl.DataFrame(records)):
        assert (hasher.transform(frame) != hasher.transform(records)).nnz == 0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RecordHasher(text="note").fit(), "text must be a list of column names"),
        (lambda: RecordHasher(text=[1]).fit(), "text must be a list of column names"),
        (lambda: RecordHasher(text=["a"], url=["a"]).fit(), "url must name no column that text names"),
        (lambda: RecordHasher(2**31).fit(), "n_features must be"),
        (lambda: RecordHasher(text=["a"]).one({"a": 3.0}), "texts or missing cells in columns of texts"),
        (lambda: RecordHasher().one({"a": [1]}), "See the record, a"),
        (lambda: RecordHasher().one({"a": 10**400}), "finite"),
        (lambda: RecordHasher().one([("a", 1)]), "record must be a dict"),
    ],
)
def test_what_one_cannot_read_is_said(make: Any, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        make()


def test_numpy_cells_and_other_mappings_are_read() -> None:
    plain = RecordHasher().one({"a": 2.0, "b": 1.0, "1": "x"})
    other = RecordHasher().one(MappingProxyType({"a": np.float32(2), "b": np.True_, 1: np.str_("x")}))
    np.testing.assert_array_equal(plain.columns, other.columns)
    np.testing.assert_array_equal(plain.values, other.values)


def test_half_a_surrogate_pair_is_a_token_like_others() -> None:
    row = RecordHasher(url=["u"]).one({"a": "\ud800", "\udfff": 1, "u": "\ud801/x"})
    assert len(row.values) == 5


def test_marks_of_pandas_are_missing_cells() -> None:
    nullable = pd.DataFrame(
        {"n": pd.array([1, None], "Int64"), "t": pd.array(["x", None], "string"), "w": ["a b", pd.NA]}
    )
    plain = [{"n": 1, "t": "x", "w": "a b"}, {"n": None, "t": None, "w": None}]
    hasher = RecordHasher(64, text=["w"])
    assert (hasher.transform(nullable) != hasher.transform(plain)).nnz == 0
    assert hasher.one({"n": pd.NaT}).values.tolist() == hasher.one({"n": None}).values.tolist()


@pytest.mark.parametrize("column", ["n", "w"])
def test_cells_that_are_arrays_are_told(column: str) -> None:
    with pytest.raises(InvalidInputError, match=r"X must hold .*texts or missing cells.* got array"):
        RecordHasher(64, text=["w"]).one({column: np.array([1.0, 2.0])})
