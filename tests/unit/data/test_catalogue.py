"""The catalogue without its files: consistent, complete, and german on board."""

import numpy as np
import pytest

from steelyard import (
    Costs,
    DataNotFoundError,
    InvalidInputError,
    fetch_dataset,
    list_datasets,
    load_costs,
    load_dataset,
    load_orders,
)
from steelyard.data import fetch
from steelyard.data.catalogue import DatasetTask


@pytest.fixture(autouse=True)
def nothing_on_this_machine(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.delenv("STEELYARD_DATA", raising=False)
    monkeypatch.setenv("STEELYARD_MIRROR", "http://127.0.0.1:1")
    monkeypatch.setattr(fetch, "cache_folder", lambda: tmp_path / "cache")


def test_german_comes_with_the_library() -> None:
    rows = load_dataset("german")
    assert isinstance(rows.X, np.ndarray)
    assert rows.X.shape == (1000, 24)
    assert rows.counts == {-1: 700, 1: 300}
    assert rows.X[0, :4].tolist() == [1, 6, 4, 12]
    assert rows.features[:2] == ("x1", "x2")
    assert rows.name == "german"
    assert "Statlog German Credit" in rows.about
    assert load_dataset("german", dtype=np.float32).X.dtype == np.float32
    assert fetch_dataset("german")[0].endswith("german.numer.gz")


def test_others_say_which_file_to_put_where(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DataNotFoundError) as caught:
        load_dataset("w8a")
    words = str(caught.value)
    assert "w8a.bz2 (313497 bytes, sha256 d7fe0ec5" in words
    assert "http://127.0.0.1:1/w8a.bz2 failed" in words
    assert f"Put it into {tmp_path / 'cache'}" in words
    with pytest.raises(DataNotFoundError, match="not to be downloaded"):
        load_dataset("w8a", download=False)
    with pytest.raises(DataNotFoundError, match=r"german\.orders"):
        load_orders("german")


def test_unknown_names() -> None:
    with pytest.raises(InvalidInputError, match=r"name must be one of covtype, .*; got 'nothing'"):
        load_dataset("nothing")
    with pytest.raises(InvalidInputError, match="task of covtype must be one of 'binary', 'cov1', 'cov2', 'cov3'"):
        load_dataset("covtype", task="cov9")
    with pytest.raises(InvalidInputError, match="name must be one of 'german', 'w8a'"):
        load_orders("iris")
    with pytest.raises(InvalidInputError, match="name must be one of 'kdd99'"):
        load_costs("iris")


def test_entries_are_consistent() -> None:
    entries = list_datasets()
    assert len({info.name for info in entries}) == len(entries)
    for info in entries:
        assert sum(info.classes.values()) == info.rows == sum(file.rows for file in info.files), info.name
        assert all(len(file.sha256) == 64 for file in info.files)
        assert all(file.address.startswith("https://") for file in info.files if file.address)
        assert all(file.address for file in info.files) != bool(info.no_address), info.name
        for task in info.tasks:
            assert set(task.files) <= {file.path for file in info.files}
            assert sum(task.classes.values()) in (0, task.rows), (info.name, task.name)


def test_labels_of_tasks() -> None:
    y = np.array([1, 2, 3, 2])
    assert DatasetTask("t", "", 4, positive=(2,)).labels(y).tolist() == [-1, 1, -1, 1]
    text = np.array(["a", "b", "c"])
    assert DatasetTask("t", "", 3, merge={"bc": ["b", "c"]}).labels(text).tolist() == ["a", "bc", "bc"]
    assert DatasetTask("t", "", 4).labels(y) is y


def test_the_contest_costs() -> None:
    costs = load_costs("kdd99")
    assert isinstance(costs, Costs)
    assert costs.classes.tolist() == ["normal", "probe", "dos", "u2r", "r2l"]
    assert costs.per_example(["r2l", "normal"]).tolist() == [[4, 2, 2, 2, 0], [0, 1, 2, 2, 2]]
