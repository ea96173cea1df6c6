"""Rows of a stream: columns without names are counted, and weights have to fit into memory."""

import numpy as np
import pytest
from scipy import sparse

from steelyard import Dataset, InvalidInputError
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
