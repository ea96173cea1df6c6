"""Out-of-core reading: chunks add up to the whole, keep one form and do not wait for more than they need."""

import gzip
import io
import json
import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard import (
    DataFileError,
    Dataset,
    InvalidInputError,
    iter_chunks,
    read_csv,
    read_jsonl,
    read_parquet,
    read_table,
)


def chunks(text: bytes, **options: Any) -> list[Dataset]:
    return list(iter_chunks(io.BytesIO(text), **options))


def test_csv_chunks_add_up(tmp_path: Path) -> None:
    text = b"a,b,y\n" + b"".join(b"%d,%d.5,%d\n" % (i, i, i % 2) for i in range(25))
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(text))
    parts = list(iter_chunks(path, rows=10, target="y"))
    whole = read_csv(path, target="y")
    assert [len(part.X) for part in parts] == [10, 10, 5]
    assert (np.vstack([part.X for part in parts]) == whole.X).all()
    assert (np.concatenate([part.y for part in parts]) == whole.y).all()


def test_csv_quotes_may_span_lines() -> None:
    parts = chunks(b'a,y\n"x\ny",0\n1,1\n"p,q",0\n', rows=2, format="csv", target="y", nominal=["a"])
    assert [part.X["a"].tolist() for part in parts] == [["x\ny", "1"], ["p,q"]]


def test_the_form_is_the_same_in_every_chunk() -> None:
    parts = chunks(b"a,b\n1,x\n2,?\n,y\n", rows=1, format="csv")
    assert [type(part.X).__name__ for part in parts] == ["DataFrame"] * 3
    assert [part.nominal for part in parts] == [{"b": ()}] * 3
    assert parts[1].X["b"].isna().all()
    assert np.isnan(parts[2].X["a"][0])
    numeric = chunks(b"a,b\n1,2\n,3\n", rows=1, format="csv")
    assert all(isinstance(part.X, np.ndarray) for part in numeric)
    assert np.isnan(numeric[1].X[0, 0])


def test_a_fault_in_a_late_csv_chunk_has_its_line() -> None:
    with pytest.raises(DataFileError, match="line 5: expected a finite number in column a; got 'x'"):
        chunks(b"a\n1\n2\n3\nx\n", rows=2, format="csv")
    with pytest.raises(DataFileError, match="line 4: expected 2 cells; got 1"):
        chunks(b"a,b\n1,2\n3,4\n5\n", rows=2, format="csv")


def test_json_lines_mix_numbers_and_text() -> None:
    text = b"\xef\xbb\xbf" + b"\n".join(
        json.dumps(record).encode()
        for record in [
            {"n": 1, "t": "a", "y": True},
            {"t": "b", "y": False},
            {"n": 2.5, "t": None, "y": None},
            {"n": True, "t": 7, "id": 3},
        ]
    )
    first, second = chunks(text, rows=2, format="jsonl", target="y", drop=["id"])
    assert first.X["t"].tolist() == ["a", "b"]
    assert first.y.tolist() == [True, False]
    assert np.isnan(first.X["n"][1])
    assert second.X["n"].tolist() == [2.5, 1.0]
    assert second.X["t"].tolist()[1] == "7"
    assert second.y.tolist() == [None, None]
    assert second.classes.tolist() == []


def test_json_fields_can_be_given() -> None:
    parts = chunks(b'{"a": 1}\n{"b": 2, "a": 3}\n', rows=1, format="jsonl", features=["b", "a"])
    assert [part.features for part in parts] == [("b", "a")] * 2
    assert parts[1].X.tolist() == [[2, 3]]
    assert np.isnan(parts[0].X[0, 0])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"{", "expected a JSON object"),
        (b"[1]", "expected a JSON object; got an array"),
        (b'{"a": NaN}', "NaN, which is no JSON number"),
        (b'{"a": "x"}', "expected a finite number in field a; got 'x'"),
        (b'{"a": [1]}', "expected a finite number in field a; got [1]"),
        (b'{"a": 1e999}', "expected a finite number in field a"),
        (b'{"a": 1, "z": 2}', "expected the fields a; got 'z'. Give all fields with features="),
        (b'{"a": 1, "y": [2]}', "expected text or a finite number as label in field y; got [2]"),
        (b'{"a": 1, "y": 1e400}', "expected text or a finite number as label in field y; got inf"),
        (b'{"a": 1, "y": 9223372036854775808}', "expected text or a finite number as label in field y"),
        (b'{"a": 1, "y": "\\ud800"}', "expected a JSON object; got 'utf-8' codec can't encode"),
        (b"\xff", "expected UTF-8 text"),
        (b"[" * 100_000, "expected a JSON object"),
    ],
)
def test_faults_of_json_lines(line: bytes, words: str) -> None:
    with pytest.raises(DataFileError) as caught:
        chunks(b'{"a": 1, "y": 0}\n\n' + line, rows=1, format="jsonl", target="y")
    assert "line 3" in str(caught.value)
    assert words in str(caught.value)


def test_labels_of_two_types_are_refused() -> None:
    for first in (b'{"a": 1}\n', b'{"a": "x"}\n'):  # a column of numbers, or of texts
        for nested in (b'{"a": {"b": 1}}\n', b'{"a": [1]}\n'):
            with pytest.raises(
                DataFileError, match=r"line 2: .*Records are flat: .* leave it out with drop= \(--drop\)"
            ):
                chunks(first + nested, format="jsonl")
    with pytest.raises(DataFileError, match="labels of one type"):
        chunks(b'{"y": 1}\n{"y": "a"}\n', format="jsonl", target="y")
    assert chunks(b'{"y": 1}\n{"y": 2.5}\n', format="jsonl", target="y")[0].y.tolist() == [1, 2.5]
    large = b'{"y": 1}\n{"y": 1e300}\n'
    assert chunks(large, format="jsonl", target="y")[0].y.tolist() == [1, 1e300]
    assert read_jsonl(io.BytesIO(large), target="y").y.tolist() == [1, 1e300]


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_parquet_and_arrow_chunks_add_up(kind: str, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": list(range(25)), "t": ["x", None, "y", "x", "z"] * 5, "y": ["p", "q", "p", "q", "q"] * 5})
    path = tmp_path / f"rows.{kind}"
    if kind == "parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, path, row_group_size=7)
    else:
        with pa.ipc.new_file(str(path), table.schema) as out:
            out.write_table(table, 7)
    parts = list(iter_chunks(path, rows=4, target="y"))
    whole = read_parquet(path, target="y")
    assert max(len(part.X) for part in parts) == 4
    assert np.concatenate([part.X["a"] for part in parts]).tolist() == whole.X["a"].tolist()
    assert np.concatenate([part.y for part in parts]).tolist() == whole.y.tolist()
    assert {str(v) for part in parts for v in part.X["t"].dropna()} == {"x", "y", "z"}


@pytest.mark.parametrize(
    ("format", "first", "second"),
    [
        ("csv", b"a,y\n1,0\n", b"2,1\n"),
        ("jsonl", b'{"a":1,"y":0}\n', b'{"a":2,"y":1}\n'),
        ("libsvm", b"0 1:1\n", b"1 1:2\n"),
    ],
)
def test_a_live_stream_gives_each_row_when_it_comes(format: str, first: bytes, second: bytes) -> None:
    receiving, sending = os.pipe()
    options: dict[str, Any] = {"n_features": 1} if format == "libsvm" else {"target": "y"}
    with open(receiving, "rb") as live:
        arriving = iter_chunks(live, rows=1, format=format, **options)
        os.write(sending, first)
        assert next(arriving).y.tolist() == [0]
        os.write(sending, second)
        assert next(arriving).y.tolist() == [1]
        os.close(sending)
        assert list(arriving) == []


class Endless(io.RawIOBase):
    """``lines`` lines, made as they are read."""

    def __init__(self, head: bytes, line: bytes, lines: int) -> None:
        self._left: Iterator[bytes] = iter([head, *([line * 1000] * (lines // 1000))])
        self._held = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._held = self._held or next(self._left, b"")
        size = min(len(buffer), len(self._held))
        buffer[:size], self._held = self._held[:size], self._held[size:]
        return size


@pytest.mark.parametrize(
    ("format", "head", "line", "options"),
    [
        ("csv", b"a,b,y\n", b"1.5,2.25,1\n", {"target": "y"}),
        ("jsonl", b"", b'{"a": 1.5, "b": 2.25, "y": 1}\n', {"target": "y"}),
        ("libsvm", b"", b"1 1:1.5 2:2.25\n", {"n_features": 2}),
    ],
)
def test_memory_does_not_grow_with_the_stream(format: str, head: bytes, line: bytes, options: dict[str, Any]) -> None:
    def peak(lines: int) -> int:
        stream = io.BufferedReader(Endless(head, line, lines))
        tracemalloc.start()
        rows = sum(part.X.shape[0] for part in iter_chunks(stream, rows=500, format=format, **options))
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert rows == lines
        return top

    peak(1000)  # imports and caches
    assert peak(20_000) < 1.5 * peak(4_000) + 100_000


def test_wrong_arguments() -> None:
    with pytest.raises(InvalidInputError, match=r"the file must end in one of .csv .* got 'rows.xlsx'"):
        iter_chunks("rows.xlsx")
    with pytest.raises(InvalidInputError, match="rows must be a whole number >= 1"):
        iter_chunks("rows.csv", rows=0)
    with pytest.raises(InvalidInputError, match="frame must be one of"):
        iter_chunks("rows.csv", frame="x")


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("csv", b"a,y\n1,0\n2,1\n"),
        ("jsonl", b'{"a": 1, "y": 0}\n{"a": 2, "y": 1}\n'),
        ("arff", b"@relation r\n@attribute a real\n@attribute y {0, 1}\n@data\n1,0\n2,1\n"),
        ("parquet", b""),
    ],
)
def test_the_column_of_labels_cannot_be_dropped(format: str, text: bytes) -> None:
    if format == "parquet":
        arrow = pytest.importorskip("pyarrow")
        made = io.BytesIO()
        pytest.importorskip("pyarrow.parquet").write_table(arrow.table({"a": [1.0, 2.0], "y": [0, 1]}), made)
        text = made.getvalue()
    for read in (read_table, chunks_of):
        with pytest.raises(InvalidInputError, match="drop must leave the column of labels in; got 'y'"):
            read(io.BytesIO(text), format=format, target="y", drop=["y"])


def chunks_of(source: io.BytesIO, **options: Any) -> list[Dataset]:
    return list(iter_chunks(source, **options))
