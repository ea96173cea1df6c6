"""Parquet and Arrow files: kinds of columns, nulls and damaged files."""

from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from steelyard import DataFileError, InvalidInputError, MissingDependencyError, read_parquet, read_table

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def saved(tmp_path: Path, **columns: object) -> Path:
    parquet.write_table(pa.table(columns), tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


def test_numeric_columns_become_an_array(tmp_path: Path) -> None:
    path = saved(tmp_path, a=[1, 2], b=pa.array([0.5, 1.5], pa.float32()), c=[True, False], y=[3, 4])
    rows = read_table(path, target="y")
    assert rows.X.tolist() == [[1, 0.5, 1], [2, 1.5, 0]]
    assert rows.y.tolist() == [3, 4]


def test_nominal_columns_and_nulls_survive(tmp_path: Path) -> None:
    path = saved(
        tmp_path,
        n=[1.5, None, 2.0],
        t=["b", None, "a"],
        d=pa.array(["u", "v", None]).dictionary_encode(),
        k=[1, 2, None],
        y=["p", "q", "p"],
    )
    rows = read_parquet(path, target="y", nominal=["k"])
    assert rows.nominal == {"t": ("a", "b"), "d": ("u", "v"), "k": ("1", "2")}
    assert [rows.X[c].isna().tolist().index(True) for c in ("n", "t", "d", "k")] == [1, 1, 2, 2]
    assert rows.X["t"].tolist()[0] == "b"


def test_feather(tmp_path: Path) -> None:
    feather = pytest.importorskip("pyarrow.feather")
    feather.write_feather(
        pa.table({"a": [1.0, 2.0], "y": [0, 1]}), str(tmp_path / "rows.feather"), compression="uncompressed"
    )
    rows = read_table(tmp_path / "rows.feather", target="y")
    assert (rows.X.tolist(), rows.y.tolist()) == ([[1], [2]], [0, 1])


def test_columns_that_are_neither_numbers_nor_text(tmp_path: Path) -> None:
    path = saved(tmp_path, both=pa.array([[1, 2]]), a=[1])
    with pytest.raises(DataFileError, match="expected numbers or text in column both; got list"):
        read_parquet(path)
    assert read_parquet(path, drop=["both"]).X.tolist() == [[1]]


def test_dates_are_text_and_decimals_numbers_as_in_a_csv_file(tmp_path: Path) -> None:
    path = saved(
        tmp_path,
        day=pa.array([0, None], pa.date32()),
        at=pa.array([0, 60_000], pa.timestamp("ms")),
        price=pa.array([Decimal("1.50"), None]),
    )
    rows = read_parquet(path)
    assert rows.nominal == {"day": ("1970-01-01",), "at": ("1970-01-01 00:00:00.000", "1970-01-01 00:01:00.000")}
    assert rows.X["day"].isna().tolist() == rows.X["price"].isna().tolist() == [False, True]
    assert rows.X["price"][0] == 1.5


def test_a_name_given_twice(tmp_path: Path) -> None:
    parquet.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "rows.parquet")
    with pytest.raises(DataFileError, match="expected different column names; got 'a' twice"):
        read_table(tmp_path / "rows.parquet")


def test_damaged_files(tmp_path: Path) -> None:
    path = saved(tmp_path, a=np.arange(1000.0))
    whole = path.read_bytes()
    for content in (whole[:-20], whole[:10], b"PAR1"):
        path.write_bytes(content)
        with pytest.raises(DataFileError, match="expected a whole Parquet or Arrow file"):
            read_parquet(path)
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(DataFileError, match="expected a Parquet or Arrow file; got a file that begins with"):
        read_parquet(path)


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, a=[1])
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"needs pyarrow.*steelyard\[files\]"):
        read_parquet(path)


def test_wrong_arguments(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="target must be a column name"):
        read_parquet(saved(tmp_path, a=[1]), target="z")
