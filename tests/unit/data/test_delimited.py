"""Delimited text: kinds of columns, missing cells, and what is said about malformed lines."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from steelyard import DataFileError, Dataset, InvalidInputError, iter_chunks, read_csv, read_table

MIXED = b'size,colour,flag,kind\n1.5,"red, dark",1,a\n ,blue,0,b\n2,?,1,a\n'


def read(text: bytes, **options: Any) -> Dataset:
    return read_csv(io.BytesIO(text), **options)


def test_numeric_columns_become_an_array() -> None:
    rows = read(b"a,b,y\n1,2.5,0\n-3e2,.5,1\n", target="y")
    assert isinstance(rows.X, np.ndarray)
    assert rows.X.tolist() == [[1, 2.5], [-300, 0.5]]
    assert rows.X.flags.c_contiguous
    assert (rows.features, rows.y.tolist(), rows.y.dtype) == (("a", "b"), [0, 1], np.int64)
    assert read(b"a\n1\n", dtype=np.float32).X.dtype == np.float32


@pytest.mark.parametrize(("frame", "library"), [("auto", pd), ("pandas", pd), ("polars", pl)])
def test_nominal_columns_and_missing_cells_survive(frame: str, library: Any) -> None:
    rows = read(MIXED, target="kind", nominal=["flag"], frame=frame)
    assert isinstance(rows.X, library.DataFrame)
    assert rows.nominal == {"colour": ("blue", "red, dark"), "flag": ("0", "1")}
    assert rows.y.tolist() == ["a", "b", "a"]
    assert [None if v is None or v != v else v for v in rows.X["colour"]] == ["red, dark", "blue", None]
    assert [None if v is None or v != v else v for v in rows.X["size"]] == [1.5, None, 2.0]
    assert list(rows.X["flag"]) == ["1", "0", "1"]
    if frame == "polars":
        assert rows.X["colour"].dtype == pl.Enum(["blue", "red, dark"])
    else:
        assert rows.X["colour"].cat.categories.tolist() == ["blue", "red, dark"]


def test_without_a_frame_library_an_object_array(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.data.columns.find_spec", lambda name: None)
    rows = read(MIXED, target="kind")
    assert rows.X.dtype == object
    assert rows.X[:, 1].tolist() == ["red, dark", "blue", None]
    assert np.isnan(rows.X[1, 0])
    assert rows.nominal == {"colour": ("blue", "red, dark")}


def test_missing_numbers_make_a_frame() -> None:
    rows = read(b"a,y\n1,0\nNA,1\n", target="y")
    assert rows.X["a"].isna().tolist() == [False, True]


def test_without_header_and_with_names() -> None:
    rows = read(b"1,2\n3,4\n", header=False, target=-1)
    assert (rows.features, rows.X.tolist(), rows.y.tolist()) == (("x1",), [[1], [3]], [2, 4])
    rows = read(b"7,1,2\n8,3,4\n", header=False, names=["id", "a", "b"], target="b", drop=["id"])
    assert (rows.features, rows.X.tolist(), rows.y.tolist()) == (("a",), [[1], [3]], [2, 4])


def test_blanks_tabs_byte_order_mark_and_skipped_lines() -> None:
    assert read(b"  1   2 x \n\n3\t4 y", header=False, delimiter=" ", target=-1).X.tolist() == [[1, 2], [3, 4]]
    assert read(b"\xef\xbb\xbfa,b\r\n1,2\r\n").features == ("a", "b")
    assert read(b"\xef\xbb\xbf1,2\n", header=False).X.tolist() == [[1, 2]]
    assert read(b"569,30,malignant\na,b\n1,2", skip_lines=1).X.tolist() == [[1, 2]]
    assert read_table(io.BytesIO(b"a\tb\n1\t2\n"), format="tsv").X.tolist() == [[1, 2]]


def test_rows_with_missing_cells_can_be_dropped() -> None:
    rows = read(MIXED, target="kind", drop_missing=True)
    assert rows.y.tolist() == ["a"]


def test_labels_keep_their_kind() -> None:
    assert read(b"a,y\n1,+1\n2,-1\n", target="y").y.tolist() == [1, -1]
    assert read(b"a,y\n1,1.5\n2,2\n", target="y").y.tolist() == [1.5, 2.0]
    assert read(b"a,y\n1,yes\n2,no\n", target="y").classes.tolist() == ["no", "yes"]
    assert read(b"a,y\n1,2\n").y is None


@pytest.mark.parametrize("padding", [b"", b"1,2,3\n" * 20_000], ids=["plain", "engine"])
@pytest.mark.parametrize(
    ("tail", "words"),
    [
        (b"1,2\n", "expected 3 cells; got 2"),
        (b"1,2,3,4\n", "expected 3 cells; got 4"),
        (b"1,12abc,3\n", "expected a finite number in column b; got '12abc'. If b holds text, name it in nominal="),
        (b"1,inf,3\n", "expected a finite number in column b; got 'inf'"),
        (b"1,1e999,3\n", "expected a finite number in column b; got '1e999'"),
        (b"1,1_000,3\n", "expected a finite number in column b; got '1_000'"),
        (b"1,0x1F,3\n", "expected a finite number in column b; got '0x1F'"),
        (b"1,\xff,3\n", r"expected UTF-8 text; got b'\xff'"),
        (b'1,2,"open\n', "expected a closing quote within 1,000 lines and 1 MB; got none for the quote in this line"),
    ],
)
def test_malformed_lines_say_file_line_and_what_was_expected(
    padding: bytes, tail: bytes, words: str, tmp_path: Path
) -> None:
    head = b"a,b,c\n" + b"1,2,3\n" * 1000 + padding  # the kinds of the columns are settled
    (tmp_path / "bad.csv").write_bytes(head + tail + b"4,5,6\n" * (not tail.endswith(b"open\n")))
    with pytest.raises(DataFileError) as caught:
        read_csv(tmp_path / "bad.csv")
    line = head.count(b"\n") + 1
    assert f"bad.csv, line {line}: {words}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (b"", {}, "expected at least one row; got an empty file"),
        (b"\n\n", {}, "expected at least one row"),
        (b"5.1,3.5\n4.9,3\n", {}, "line 1: expected column names; got '5.1'. Pass header=False"),
        (b"a,b,a\n", {}, "line 1: expected different column names; got 'a' twice"),
        (b"1,2\n", {"header": False, "names": ["a"]}, "line 1: expected 1 cells, one for each of names=; got 2"),
        (b"a,y\n1,0\n2,\n", {"target": "y"}, "expected a label on every row; row 2 has none"),
    ],
)
def test_other_faults_of_a_file(text: bytes, options: dict[str, Any], words: str) -> None:
    with pytest.raises(DataFileError, match="the stream") as caught:
        read(text, **options)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": "z"}, "target must be a column name or position; the columns are a, b; got 'z'"),
        ({"target": 2}, "target must be a column name or position"),
        ({"nominal": ["z"]}, "nominal must name columns that exist"),
        ({"drop": ["z"]}, "drop must name columns that exist"),
        ({"delimiter": ";;"}, "delimiter must be one character"),
        ({"header": 1}, "header must be True or False"),
        ({"frame": "spark"}, "frame must be one of"),
    ],
)
def test_wrong_arguments(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read(b"a,b\n1,2\n", **options)
    assert words in str(caught.value)


def test_a_column_of_late_text_is_read_when_named() -> None:
    text = b"a,b\n" + b"1,2\n" * 1500 + b"x,2\n"
    with pytest.raises(DataFileError, match="line 1502"):
        read(text)
    assert read(text, nominal=["a"]).nominal == {"a": ("1", "x")}


def test_a_header_alone_is_an_empty_table() -> None:
    assert read(b"a,b\n").X.shape == (0, 2)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found_out(separator: str) -> None:
    text = "age;'a b';y\n1;2;0\n3;4;1\n".replace(";", separator).encode()
    assert read_csv(io.BytesIO(text), target="y").X.tolist() == [[1, 2], [3, 4]]
    (chunk,) = iter_chunks(io.BytesIO(text), format="csv", target="y")
    assert chunk.features == ("age", "'a b'")


def test_another_separator_is_asked_about() -> None:
    with pytest.raises(DataFileError, match=r"expected a column 'y'; got one column 'a:y'. Is the separator ':'\?"):
        read_csv(io.BytesIO(b"a:y\n1:0\n"), target="y")
    with pytest.raises(DataFileError, match=r"Is the separator ';'\?"):
        read_csv(io.BytesIO(b"a;y\n1;0\n"), target="y", delimiter=",")


def test_two_stray_quotes_do_not_hide_half_a_file() -> None:
    text = b"a,b\n" + b"1,x\n" * 10 + b'1,"x\n' + b"1,x\n" * 20_000 + b'1,x"\n' + b"1,x\n" * 10
    with pytest.raises(DataFileError, match="line 12: expected a closing quote within 1,000 lines"):
        read_csv(io.BytesIO(text))
    with pytest.raises(DataFileError, match="line 12: expected a closing quote within 1,000 lines"):
        list(iter_chunks(io.BytesIO(text), rows=100, format="csv"))


def test_lines_may_end_in_a_carriage_return_alone() -> None:
    """As spreadsheets of old save them: with names in the first line none of the others is lost."""
    text = b'"a\rb",y\r1,"x\ry"\r2,z\r'
    whole = read_csv(io.BytesIO(text), target="y")
    assert (whole.features, whole.X.tolist(), whole.y.tolist()) == (("a\rb",), [[1.0], [2.0]], ["x\ry", "z"])
    assert [len(chunk.X) for chunk in iter_chunks(io.BytesIO(text), format="csv", target="y")] == [2]
    with pytest.raises(DataFileError, match="line 3: expected 2 cells; got 1"):
        read_csv(io.BytesIO(b"a,y\r1,0\r2\r"))


@pytest.mark.parametrize("first", [b"sep=;\r\n", b"\xef\xbb\xbfSEP=;\n", b'"sep=;"\r\n', b"\nsep=;\n"])
def test_a_first_line_may_name_the_separator(first: bytes) -> None:
    """As Excel writes it."""
    text = first + b"a,b;c;y\r\n1;2;0\r\n3;4;1\r\n"
    rows = read(text, target="y")
    assert (rows.features, rows.X.tolist(), rows.y.tolist()) == (("a,b", "c"), [[1, 2], [3, 4]], [0, 1])
    (chunk,) = iter_chunks(io.BytesIO(text), format="csv", target="y")
    assert chunk.X.tolist() == rows.X.tolist()
    assert read(text, target="y", delimiter=";").X.tolist() == rows.X.tolist()
    with pytest.raises(DataFileError, match=f"line {first.count(10) + 4}: expected 3 cells; got 2"):
        read(text + b"5;6\r\n", target="y")


@pytest.mark.parametrize("separator", [";", "\t", "|"])
@pytest.mark.parametrize("more", [0, 40_000], ids=["plain", "engine"])
def test_numbers_may_have_decimal_commas_where_no_comma_separates(separator: str, more: int) -> None:
    text = "a;b;c;y\n1,5;7;0,125;x\n-2;NA;1,234;z\n,5;8;-1E-05;x\n".replace(";", separator)
    text += "3,5;7;1,25;x\n".replace(";", separator) * more
    rows = read(text.encode(), target="y", frame="array")
    assert rows.nominal == {}
    assert rows.X[:3].tolist() == [[1.5, 7, 0.125], [-2, pytest.approx(np.nan, nan_ok=True), 1.234], [0.5, 8, -1e-05]]
    assert (rows.X[3:] == [3.5, 7, 1.25]).all()
    first = next(iter_chunks(io.BytesIO(text.encode()), rows=2, format="csv", target="y"))
    assert first.nominal == {}
    assert read(text.encode(), nominal=["a"], target="y").nominal["a"][:2] == (",5", "-2")


@pytest.mark.parametrize(
    "text",
    [
        b"a;b\n1,5;2.5\n2,5;3.5\n",  # both marks
        b"a;b\n1,234;2\n12,345;3\n",  # thousands, or not
        b"a;b\n1.234,5;2\n1,5;3\n",
        b"a;b\n1,2,3;2\n1,2;3\n",
        b'a,b\n"1,5",2\n"2,5",3\n',
    ],
)
def test_commas_that_may_mean_something_else_stay_text(text: bytes) -> None:
    assert set(read(text).nominal) == {"a"}


def test_decimal_commas_do_not_begin_or_end_within_a_file() -> None:
    points, commas = b"a;b\n" + b"1;2.5\n" * 1000, b"a;b\n" + b"1;2,5\n" * 1000
    with pytest.raises(DataFileError, match=r"line 1002: .* got '3,5'\. The first rows have decimal points"):
        read(points + b"3,5;1\n")
    with pytest.raises(DataFileError, match=r"line 1002: .* got '3\.5'\. The first rows have decimal commas"):
        read(commas + b"3.5;1\n")
    with pytest.raises(DataFileError, match=r"line 1002: .* got '1e999'\. If a holds text"):
        read(points + b"1e999;1\n")
