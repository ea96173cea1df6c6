"""ARFF and KEEL: declared types hold, quotes and sparse rows are understood, faults have their line."""

import io
from typing import Any

import numpy as np
import pytest

from steelyard import DataFileError, Dataset, InvalidInputError, iter_chunks, read_arff
from steelyard.data import arff

WEKA = b"""% comment
@RELATION 'odd name'

@attribute 'the size' REAL
@attribute colour {red, 'dark red', "it\\'s"}
@attribute note string
@attribute Class {yes,no}
@DATA
1.5, 'dark red', hello, yes
?, "it's", ?, no
% between
2, red, 'a, b', yes
"""
KEEL = b"""@relation k
@attribute at1 integer [0, 9]
@attribute out{a, b}
@attribute at3 real[0.0, 1.5]
@inputs at1, at3
@outputs out
@data
1, a, 0.5
2,b,<null>
"""


def read(text: bytes, **options: Any) -> Dataset:
    return read_arff(io.BytesIO(text), **options)


def test_weka() -> None:
    rows = read(WEKA)
    assert rows.name == "odd name"
    assert rows.features == ("the size", "colour", "note")
    assert rows.nominal == {"colour": ("red", "dark red", "it's"), "note": ("a, b", "hello")}
    assert rows.X["colour"].tolist() == ["dark red", "it's", "red"]
    assert rows.X["the size"].isna().tolist() == [False, True, False]
    assert rows.X["note"].isna().tolist() == [False, True, False]
    assert rows.y.tolist() == ["yes", "no", "yes"]


def test_keel_names_its_output() -> None:
    rows = read(KEEL.replace(b"\n", b"\r\n"))
    assert rows.features == ("at1", "at3")
    assert rows.y.tolist() == ["a", "b"]
    assert rows.X["at3"].isna().tolist() == [False, True]


def test_options() -> None:
    rows = read(KEEL, nominal=["at1"], drop=["at3"])
    assert rows.nominal == {"at1": ("1", "2")}
    assert read(KEEL, drop_missing=True).X.tolist() == [[1.0, 0.5]]
    assert read(KEEL, target="at1").y.tolist() == [1, 2]
    assert read(KEEL, target=None).y is None
    assert read(WEKA, drop=["note", "colour", "the size"]).X.shape == (3, 0)


def test_declared_values_keep_their_order_even_if_unused() -> None:
    rows = read(b"@relation r\n@attribute a {z, y, x}\n@attribute class {1, 0}\n@data\nx,0\nz,1\n")
    assert rows.X["a"].cat.categories.tolist() == ["z", "y", "x"]
    assert rows.y.tolist() == [0, 1]


def test_sparse_rows() -> None:
    head = b"@relation r\n@attribute a real\n@attribute b {u, v}\n@attribute c real\n@attribute class {n, p}\n@data\n"
    rows = read(head + b"{0 1.5, 3 p}\n{}\n{ 1 'v' , 2 ? }\n")
    assert rows.X["a"].tolist() == [1.5, 0, 0]
    assert rows.X["b"].tolist() == ["u", "u", "v"]
    assert np.isnan(rows.X["c"].tolist()[2])
    assert rows.y.tolist() == ["p", "n", "n"]
    with pytest.raises(DataFileError, match="line 7: expected position below 4 and value"):
        read(head + b"{9 1}\n")
    with pytest.raises(DataFileError, match="line 7: expected a closing brace"):
        read(head + b"{0 1\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (WEKA + b"1,red,x\n", "line 13: expected 4 cells; got 3"),
        (WEKA + b"1,green,x,yes\n", "line 13: expected one of red, dark red, it's for colour; got 'green'"),
        (WEKA + b"big,red,x,yes\n", "line 13: expected a finite number for the size; got 'big'"),
        (WEKA + b"inf,red,x,yes\n", "expected a finite number"),
        (WEKA + b"1,'red,x,yes\n", "line 13: expected cells with closed quotes"),
        (WEKA + b"1,red,x,?\n", "expected a label on every row; row 4 has none"),
        (WEKA + b"1,red,\xff,yes\n", "line 13: expected UTF-8 text"),
        (b"@relation r\n@attribute a date\n", "line 2: expected @attribute NAME numeric"),
        (b"@relation r\n@attribute a real\n@attribute a real\n", "line 3: expected different attribute names"),
        (b"@relation r\n@data\n", "line 2: expected @attribute lines before @data"),
        (b"@relation r\n@attribute a real\n", "expected a line @data; got the end of the file"),
        (b"1,2,3\n", "line 1: expected @relation, @attribute"),
        (b"", "expected a line @data"),
    ],
)
def test_faults_have_their_line(text: bytes, words: str) -> None:
    with pytest.raises(DataFileError, match="the stream") as caught:
        read(text)
    assert words in str(caught.value)


def test_wrong_arguments() -> None:
    with pytest.raises(InvalidInputError, match="target must be a column name"):
        read(KEEL, target="nothing")
    with pytest.raises(InvalidInputError, match="drop must name columns that exist"):
        read(KEEL, drop=["nothing"])


def test_chunks_add_up() -> None:
    head = b"@relation r\n@attribute a {x, y}\n@attribute n real\n@attribute class {0, 1}\n@data\n"
    text = head + b"".join(b"%s, %d, %d\n" % (b"xy"[i % 2 : i % 2 + 1], i, i % 2) for i in range(25))
    parts = list(iter_chunks(io.BytesIO(text), rows=10, format="arff"))
    assert [len(part.X) for part in parts] == [10, 10, 5]
    assert [n for part in parts for n in part.X["n"].tolist()] == list(range(25))
    assert [label for part in parts for label in part.y.tolist()] == [i % 2 for i in range(25)]
    assert [value for part in parts for value in part.X["a"].tolist()] == ["x", "y"] * 12 + ["x"]


def test_declared_values_are_looked_up_not_searched() -> None:
    class Counting(str):
        __slots__ = ()
        compared = 0

        def __eq__(self, other: object) -> bool:
            Counting.compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    attribute = arff.Attribute("a", tuple(Counting(f"v{i}") for i in range(5000)))
    for i in range(5000):
        arff._value("file", 1, attribute, f"v{i}")
    assert Counting.compared <= 3 * 5000
