"""From a file, folder or pattern to rows, labels and cost columns."""

from pathlib import Path

import numpy as np
import pytest

from steelyard import InvalidInputError
from steelyard.models import memory
from steelyard.models.schema import read_columns
from steelyard.models.tables import read_costs, read_data


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "part-10.csv").write_text("a,t,fee,y\n3,u,1,0\n4,w,2,1\n")
    (tmp_path / "part-2.csv").write_text("a,t,fee,y\n1,u,5,0\n2,v,6,1\n")
    return tmp_path


@pytest.mark.parametrize("pattern", ["", "part-*.csv"])
def test_a_folder_or_pattern_is_one_table(folder: Path, pattern: str) -> None:
    X, y, taken = read_data(folder / pattern, "y", ["fee"])
    assert list(X.columns) == ["a", "t"]
    assert (X["a"].tolist(), y.tolist(), taken["fee"].tolist()) == ([1, 2, 3, 4], [0, 1, 0, 1], [5, 6, 1, 2])
    assert X["t"].tolist() == ["u", "v", "u", "w"]


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1, "t": "u", "y": "no"}\n{"a": null, "t": "v", "y": "yes"}\n')
    X, y, _ = read_data(path, "y")
    assert (X["a"].isna().tolist(), y.tolist()) == ([False, True], ["no", "yes"])


def test_columns_of_sparse_rows_are_counted_and_have_to_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n-1 2147483647:1\n")
    monkeypatch.setattr(memory, "free_memory", lambda: 10**9)
    with pytest.raises(InvalidInputError, match=r"the highest index must .*\(137.4 GB needed.*got 2147483647"):
        read_data(path, None)
    monkeypatch.setattr(memory, "free_memory", lambda: 10**15)
    X, _, _ = read_data(path, None)
    assert read_columns(X).used == range(2147483647)


@pytest.mark.parametrize(
    ("text", "roles", "got"),
    [("8:1", {}, "'8:1'"), (None, {"fn": "fee", "fp": "loss"}, "\"fn from 'fee', fp from 'loss'\"")],
)
def test_costs_of_a_pair_are_refused_for_three_classes(text: str | None, roles: dict[str, str], got: str) -> None:
    with pytest.raises(InvalidInputError) as said:
        read_costs(text, np.array(["low", "mid", "top"]), None, {"fee": np.ones(3), "loss": np.ones(3)}, roles)
    assert str(said.value) == f"--costs must be a matrix file for more than two classes; got {got}."
