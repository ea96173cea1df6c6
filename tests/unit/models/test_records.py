"""Rows of a stream: columns without names are counted, and weights have to fit into memory."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from steelyard import Dataset, InvalidInputError, SparseRow
from steelyard.models import memory
from steelyard.models.records import RecordEncoder


def wide(columns: int) -> Dataset:
    return Dataset(sparse.csr_matrix(([1.0], ([0], [3])), shape=(1, columns)), np.array([1]))


def test_columns_without_names_are_only_counted() -> None:
    encoder = RecordEncoder()
    encoder.rows(wide(2**20 - 1))
    assert encoder.columns == 2**20 - 1
    with pytest.raises(InvalidInputError, match="columns must stay the 1048575 of the state; got 7"):
        encoder.rows(wide(7))


def test_weights_have_to_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 1_000_000_000)
    with pytest.raises(InvalidInputError, match=r"--n-features must .*\(17.2 GB needed, 1.0 GB free\); got 2147483647"):
        RecordEncoder().rows(wide(2**31 - 1))
    with pytest.raises(InvalidInputError, match=r"--hash-bits must .*\(8.6 GB needed, 1.0 GB free\); got 30"):
        RecordEncoder(hash_bits=30).rows(Dataset(np.ones((1, 2)), np.array([1]), ("a", "b")))


def test_free_memory_is_known_without_the_system_saying_more(monkeypatch: pytest.MonkeyPatch) -> None:
    assert memory.free_memory() > 0
    monkeypatch.setattr(memory, "_MEMINFO", memory._MEMINFO / "none")
    assert memory.free_memory() > 0


def mixed(n: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"amount": rng.normal(size=n), "city": rng.choice(["Oslo", "Rome"], n), "hour": rng.random(n)})
    frame["note"] = [f"pay {word} now" for word in rng.choice(["fee", "rent", "größer"], n)]
    frame.loc[3, "amount"] = np.nan
    frame.loc[5, ["city", "note"]] = None
    return frame


@pytest.mark.parametrize("scale", ["auto", "none", "standard"])
def test_one_record_is_a_row_of_the_chunk(scale: str) -> None:
    frame, texts = mixed(), ("city", "note")
    rows = RecordEncoder(scale, 12, text=["note"]).rows(
        Dataset(frame, np.zeros(40), tuple(frame.columns), dict.fromkeys(texts, ()))
    )
    encoder = RecordEncoder(scale, 12, text=["note"]).begin(list(frame.columns), texts)
    for i, record in enumerate(frame.to_dict("records")):
        record = {name: None if cell != cell else cell for name, cell in record.items()}
        row = encoder.one({"unknown": [1], **dict(reversed(record.items()))})
        assert isinstance(row, SparseRow)
        assert row.columns.tolist() == rows[i].indices.tolist()
        assert row.values.tobytes() == rows[i].data.tobytes()


@pytest.mark.parametrize("scale", ["auto", "none", "standard"])
def test_one_record_of_numbers_is_a_row_of_the_chunk(scale: str) -> None:
    X = np.random.default_rng(0).normal(size=(30, 3))
    rows = RecordEncoder(scale).rows(Dataset(X, np.zeros(30), ("a", "b", "c")))
    encoder = RecordEncoder(scale).begin(["a", "b", "c"])
    assert encoder.width == 3
    for i, (a, b, c) in enumerate(X.tolist()):
        row = encoder.one({"b": b, "a": a, "c": c})
        assert np.asarray(row).tobytes() == rows[i].tobytes()


def test_a_record_that_cannot_be_read_changes_nothing() -> None:
    encoder = RecordEncoder().begin(["a", "b", "t"], ["t"])
    for a in (1.0, 2.0, 4.0):
        encoder.one({"a": a, "b": a, "t": "x"})
    before = encoder.state()
    for record, words in [
        ({"a": "12", "t": "x"}, "column 'a' must hold a number or nothing; got '12'"),
        ({"a": 10**400, "t": "x"}, "column 'a' must hold a number"),
        ({"a": math.inf, "t": "x"}, "finite|inf"),
        ({"a": 1.0, "t": [1]}, "numbers, texts or missing"),
    ]:
        with pytest.raises(InvalidInputError, match=words):
            encoder.one(record)
    assert encoder.state() == before
    with pytest.raises(InvalidInputError, match="Call begin"):
        RecordEncoder().one({"a": 1})
    with pytest.raises(InvalidInputError, match="columns must come once each"):
        RecordEncoder(text=["z"]).begin(["a"])


def test_the_first_record_that_fails_leaves_no_scaler() -> None:
    encoder = RecordEncoder().begin(["a", "t"], ["t"])
    with pytest.raises(InvalidInputError):
        encoder.one({"a": 1.0, "t": [1]})
    assert encoder.scaler is None


def test_an_encoder_goes_on_from_its_state() -> None:
    encoder = RecordEncoder(text=["t"]).begin(["a", "t"])
    encoder.one({"a": 1.0, "t": "x y"})
    again = RecordEncoder.from_state(encoder.state())
    one, two = (e.one({"a": 2.0, "t": "y z"}) for e in (encoder, again))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_text_has_to_name_columns_of_texts() -> None:
    frame = mixed()
    chunk = Dataset(frame, np.zeros(40), tuple(frame.columns), {"city": (), "note": ()})
    with pytest.raises(InvalidInputError, match="--text must name a column of texts; got 'amount'"):
        RecordEncoder(text=["amount"]).rows(chunk)
    with pytest.raises(InvalidInputError, match="--url must name a column of texts; got 'gone'"):
        RecordEncoder(url=["gone"]).rows(chunk)


@pytest.mark.parametrize("scale", ["auto", "none", "standard"])
def test_numbers_without_a_frame_are_hashed_by_the_names_of_their_columns(scale: str) -> None:
    rng = np.random.default_rng(2)
    numbers = rng.normal(size=(30, 3))
    numbers[4, 1] = np.nan
    names = ("a", "b", "c")
    encoder, alone = RecordEncoder(scale, 8), RecordEncoder(scale, 8).begin(names)
    rows = encoder.rows(Dataset(numbers, np.zeros(30), names))
    assert rows.shape == (30, 256)
    for i, cells in enumerate(numbers.tolist()):
        row = alone.one({name: None if cell != cell else cell for name, cell in zip(names, cells, strict=True)})
        assert isinstance(row, SparseRow)
        dense = np.zeros(256)
        np.add.at(dense, row.columns, row.values)
        np.testing.assert_array_equal(rows[[i]].toarray()[0], dense)
    frame = pd.DataFrame(numbers, columns=list(names))
    np.testing.assert_array_equal(encoder.transform(numbers).toarray(), encoder.transform(frame).toarray())
    with pytest.raises(InvalidInputError, match="data must have the 3 columns of the stream"):
        encoder.transform(numbers[:, :2])
