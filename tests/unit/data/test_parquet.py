"""Parquet and Arrow files: kinds of columns, nulls and damaged files."""

import errno
import os
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard import DataFileError, InvalidInputError, MissingDependencyError, iter_chunks, read_parquet, read_table
from steelyard.data import files, large_dictionaries
from steelyard.data import parquet as parquet_module

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


def test_integers_that_no_float_can_hold_are_an_error(tmp_path: Path) -> None:
    path = saved(tmp_path, id=[2**53 + 1, 1], a=[1, 2])
    for read in (read_parquet, lambda path: list(iter_chunks(path))):
        with pytest.raises(DataFileError, match=r"expected numbers within 2\^53 in column id; got .*drop=\['id'\]"):
            read(path)
    assert read_parquet(path, drop=["id"]).X.tolist() == [[1], [2]]
    assert read_parquet(path, nominal=["id"]).nominal == {"id": ("1", "9007199254740993")}


def test_a_flipped_bit_is_found_where_the_file_has_checksums(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    values = np.random.default_rng(0).normal(size=5000)
    parquet.write_table(
        pa.table({"a": values}), path, write_page_checksum=True, use_dictionary=False, compression="none"
    )
    whole = path.read_bytes()
    for at in range(1000, 39_000, 2000):
        damaged = bytearray(whole)
        damaged[at] ^= 1
        path.write_bytes(bytes(damaged))
        for read in (read_parquet, lambda path: list(iter_chunks(path))):
            with pytest.raises(DataFileError, match="expected a whole Parquet or Arrow file"):
                read(path)


def test_a_flipped_bit_that_is_let_in_changes_no_value(tmp_path: Path) -> None:
    """Headers of pages and the footer have no checksum of their own, but hold no value; names stand in the footer."""
    path, rng = tmp_path / "rows.parquet", np.random.default_rng(1)
    columns = {"a": rng.normal(size=300), "b": rng.integers(0, 9, 300), "y": rng.integers(0, 2, 300)}
    parquet.write_table(pa.table(columns), path, write_page_checksum=True, compression="none", row_group_size=100)
    whole, table = path.read_bytes(), read_parquet(path, target="y")
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    outcomes = []
    for _ in range(300):
        at, bit = int(rng.integers(len(whole))), int(rng.integers(8))
        damaged = bytearray(whole)
        damaged[at] ^= 1 << bit
        path.write_bytes(bytes(damaged))
        try:
            found = read_parquet(path, target="y")
        except DataFileError:
            outcomes.append("refused")
            continue
        outcomes.append("the same")
        assert np.array_equal(found.X, table.X), (at, bit)
        assert np.array_equal(found.y, table.y), (at, bit)
        assert found.features == table.features or at >= footer, (at, bit)
    assert set(outcomes) == {"refused", "the same"}


def test_a_row_group_is_not_held_whole(tmp_path: Path) -> None:
    def most(rows: int) -> int:
        path = tmp_path / f"{rows}.parquet"
        columns = {f"c{j}": np.random.default_rng(j).normal(size=rows) for j in range(4)}
        pages = {"use_dictionary": False, "data_page_size": 1 << 16, "row_group_size": rows}
        parquet.write_table(pa.table(columns), path, **pages)
        start = pa.total_allocated_bytes()
        return max(pa.total_allocated_bytes() - start for _ in iter_chunks(path, rows=1000))

    assert most(400_000) < 1.5 * most(50_000)


def encoded(path: Path, rows: int, group: int, columns: int = 4) -> Path:
    """A file of distinct numbers, of which pyarrow makes a dictionary for every row group, and of text with gaps."""
    numbers = {f"c{j}": np.random.default_rng(j).normal(size=rows) for j in range(columns)}
    texts = [None if i % 7 == 0 else f"level {i % 300}" for i in range(rows)]
    parquet.write_table(pa.table(numbers | {"text": texts}), path, row_group_size=group, write_page_checksum=True)
    return path


def cells(path: Path, rows: int) -> list[Any]:
    return [[[None if x != x else x for x in row] for row in chunk.X] for chunk in iter_chunks(path, rows=rows)]


@pytest.mark.parametrize("rows", [1, 64, 700])
def test_large_dictionaries_change_neither_rows_nor_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    path = encoded(tmp_path / "rows.parquet", 2100, 500)  # the last row group is small
    assert not large_dictionaries.has_large_dictionaries(parquet.read_metadata(path).row_group(0), ["c0"])
    expected = cells(path, rows)
    monkeypatch.setattr(large_dictionaries, "LARGEST", 10_000)
    monkeypatch.setattr(large_dictionaries, "LONG", 101)
    large = [
        large_dictionaries.has_large_dictionaries(parquet.read_metadata(path).row_group(i), ["c0", "c1", "c2", "c3"])
        for i in range(5)
    ]
    assert large == [True, True, True, True, False]
    assert cells(path, rows) == expected


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.ENOENT])
def test_large_dictionaries_without_room_for_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    path = encoded(tmp_path / "rows.parquet", 1000, 500)
    expected = cells(path, 64)
    monkeypatch.setattr(large_dictionaries, "LARGEST", 1000)
    monkeypatch.setattr(large_dictionaries, "LONG", 100)
    with monkeypatch.context() as patched:
        patched.setattr(large_dictionaries, "MOST", 10_000)
        assert cells(path, 64) == expected

    def full() -> Any:
        raise OSError(number, "no file")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    assert cells(path, 64) == expected


def test_a_flipped_bit_below_large_dictionaries_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = encoded(tmp_path / "rows.parquet", 1000, 500)
    monkeypatch.setattr(large_dictionaries, "LARGEST", 1000)
    monkeypatch.setattr(large_dictionaries, "LONG", 100)
    whole, about = path.read_bytes(), parquet.read_metadata(path)
    for group in (0, 1):
        start = about.row_group(group).column(2).dictionary_page_offset
        damaged = bytearray(whole)
        damaged[start + 1000] ^= 1
        path.write_bytes(bytes(damaged))
        with pytest.raises(DataFileError, match=f"row group {group}.*expected a whole Parquet or Arrow file"):
            list(iter_chunks(path, rows=500))


def test_large_dictionaries_are_not_held_together(tmp_path: Path) -> None:
    def most(columns: int) -> int:
        path = encoded(tmp_path / f"{columns}.parquet", 140_000, 140_000, columns)  # 1 MB of dictionary a column
        start = pa.total_allocated_bytes()
        return max(pa.total_allocated_bytes() - start for _ in iter_chunks(path, rows=1000, drop=["text"]))

    assert most(8) < 2 * most(1)


READ_BY_A_THREAD = """
import sys, threading
from pathlib import Path
from steelyard import iter_chunks
def held():
    return next(int(line.split()[1]) for line in Path("/proc/self/status").open() if line.startswith("RssAnon"))
def read(rows):
    for _ in iter_chunks(sys.argv[1], rows=rows): pass
read(50_000)
before = held()
thread = threading.Thread(target=read, args=(1000,))
thread.start()
thread.join()
print(held() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell anonymous memory")
def test_a_thread_that_has_read_a_file_leaves_its_memory_to_the_next(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).random((30, 50_000))  # distinct, so that each column has a large dictionary
    path = saved(tmp_path, **{f"x{j}": column for j, column in enumerate(numbers)})
    command = [sys.executable, "-c", READ_BY_A_THREAD, str(path)]
    more = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert more < 4 << 10


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_bomb_is_refused_before_all_of_it_is_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Equal cells take a few bytes a million, in as many row groups or batches as there may be."""
    monkeypatch.setattr(files, "SMALL_TEXT", 1 << 20)
    table, path, written = pa.table({"a": np.zeros(1 << 18)}), tmp_path / f"bomb.{kind}", 10
    if kind == "parquet":
        with parquet.ParquetWriter(path, table.schema) as file:
            for _ in range(written):
                file.write_table(table)
    else:
        with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as file:
            for _ in range(written):
                file.write_table(table)
    size = path.stat().st_size
    monkeypatch.setattr(parquet_module, "MOST_TIMES", (12 << 20) // size)
    decoded: list[int] = []
    limited = parquet_module._limited

    def counted(where: str, batches: Any, most: int | None) -> Any:
        return limited(where, (decoded.append(batch.nbytes) or batch for batch in batches), most)

    monkeypatch.setattr(parquet_module, "_limited", counted)
    with pytest.raises(DataFileError, match=r"bytes of decoded columns; got more\. Pass max_bytes="):
        read_parquet(path)
    assert sum(decoded) <= (12 << 20) + (2 << 20)  # of 20
    assert len(read_parquet(path, max_bytes=1 << 30).X) == written << 18


def test_max_bytes_counts_decoded_columns(tmp_path: Path) -> None:
    path = saved(tmp_path, a=np.zeros(1_000_000))  # a few KB on disk
    assert path.stat().st_size < 100_000
    for read in (read_parquet, lambda path, max_bytes: list(iter_chunks(path, max_bytes=max_bytes))):
        with pytest.raises(DataFileError, match="expected at most 1,000,000 bytes of decoded columns; got more"):
            read(path, max_bytes=1_000_000)
    assert len(read_parquet(path, max_bytes=10_000_000).X) == 1_000_000


def test_dropped_columns_are_not_decoded(tmp_path: Path) -> None:
    path = saved(tmp_path, both=pa.array([[1, 2]]), a=[1])
    assert [chunk.X.tolist() for chunk in iter_chunks(path, drop=["both"])] == [[[1]]]


def test_rows_straight_from_arrow(tmp_path: Path) -> None:
    path = saved(tmp_path, a=pa.array([1.5, None], pa.float32()), b=[1, 2], c=[None, True], y=["p", None])
    (chunk,) = iter_chunks(path, target="y", dtype=np.float32)
    assert chunk.X.dtype == np.float32
    assert np.array_equal(chunk.X, np.array([[1.5, 1, np.nan], [np.nan, 2, 1]]), equal_nan=True)
    assert chunk.y.tolist() == ["p", None]


def test_a_stream_that_cannot_be_searched(tmp_path: Path) -> None:
    path = saved(tmp_path, a=[1, 2])
    receiving, sending = os.pipe()
    with open(sending, "wb") as out:
        out.write(path.read_bytes())
    with open(receiving, "rb") as live:
        assert [chunk.X.tolist() for chunk in iter_chunks(live, format="parquet")] == [[[1], [2]]]


@pytest.mark.parametrize("kind", ["int8", "int32", "int64", "uint64"])
def test_labels_of_whole_numbers_are_read_as_they_are(tmp_path: Path, kind: str) -> None:
    table = pa.table({"a": [1.5, 2.5, 3.5], "y": pa.array([0, 1, 0], type=kind)})
    parquet.write_table(table, tmp_path / "t.parquet")
    (chunk,) = iter_chunks(tmp_path / "t.parquet", target="y")
    assert chunk.y.dtype == np.int64
    assert chunk.y.tolist() == [0, 1, 0]
    parquet.write_table(
        table.set_column(1, "y", pa.array([0, None, 2**60 if "64" in kind else 1], type=kind)), tmp_path / "u.parquet"
    )
    if "64" in kind:
        with pytest.raises(DataFileError, match="within 2\\^53"):
            list(iter_chunks(tmp_path / "u.parquet", target="y"))
    else:
        (chunk,) = iter_chunks(tmp_path / "u.parquet", target="y")
        assert chunk.y.tolist() == [0, None, 1]
