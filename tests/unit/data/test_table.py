"""The right reader for each suffix."""

import io
from pathlib import Path

import pytest

from steelyard import DataFileError, InvalidInputError, iter_chunks, read_table
from steelyard.data.formats import FORMATS

CONTENT = {
    "svm": b"1 1:5\n",
    "libsvm": b"1 1:5\n",
    "csv": b"a,y\n5,1\n",
    "data": b"a,y\n5,1\n",
    "tsv": b"a\ty\n5\t1\n",
    "txt": b"a  y\n5 1\n",
    "arff": b"@relation r\n@attribute a real\n@attribute y {1}\n@data\n5,1\n",
    "jsonl": b'{"a": 5, "y": 1}\n',
    "dat": b"@relation r\n@attribute a real\n@attribute y {1}\n@outputs y\n@data\n5,1\n",
}


@pytest.mark.parametrize("suffix", CONTENT)
def test_the_suffix_chooses_the_reader(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows.{suffix}"
    path.write_bytes(CONTENT[suffix])
    options = {} if suffix in ("svm", "libsvm", "arff", "dat") else {"target": "y"}
    rows = read_table(path, **options)
    assert rows.y.tolist() == [1]
    assert (rows.X.toarray() if hasattr(rows.X, "toarray") else rows.X).tolist() == [[5]]


@pytest.mark.parametrize("suffix", CONTENT)
def test_every_format_is_read_in_chunks_too(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows.{suffix}"
    path.write_bytes(CONTENT[suffix])
    options = {} if suffix in ("svm", "libsvm") else {"target": "y"}
    (rows,) = iter_chunks(path, **options)
    assert rows.y.tolist() == [1]
    assert (rows.X.toarray() if hasattr(rows.X, "toarray") else rows.X).tolist() == [[5]]


def test_a_suffix_belongs_to_one_format() -> None:
    suffixes = [suffix for format in FORMATS.values() for suffix in format.suffixes]
    assert len(set(suffixes)) == len(suffixes)


def test_an_option_that_a_format_does_not_have_is_named() -> None:
    with pytest.raises(InvalidInputError, match="n_features must be left out for csv; got 3"):
        read_table("rows.csv", n_features=3)
    with pytest.raises(InvalidInputError, match="header must be left out for arff"):
        iter_chunks("rows.arff", header=False)


def test_zstd(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    path = tmp_path / "rows.csv.zst"
    packed = pa.compress(b"a,y\n" + b"5,1\n" * 1000, "zstd", asbytes=True)
    path.write_bytes(packed)
    assert len(read_table(path, target="y").X) == 1000
    path.write_bytes(packed[:-9])
    with pytest.raises(DataFileError):
        read_table(path, target="y")


def test_an_unknown_suffix_asks_for_the_format() -> None:
    with pytest.raises(
        InvalidInputError, match=r"the file must end in one of .csv .*; got 'rows.dta'. Or name its format: csv,"
    ):
        read_table("rows.dta")
    with pytest.raises(InvalidInputError, match="got 'excel'"):
        read_table(io.BytesIO(), format="excel")


@pytest.mark.parametrize("name", ["rows.xlsx", "rows.XLS", "rows.ods", "rows.zip", "rows.json"])
def test_a_suffix_of_another_kind_of_file_says_what_to_do(name: str) -> None:
    words = "jq -c" if name.endswith("json") else "Unpack it" if name.endswith("zip") else "Save the sheet as CSV"
    with pytest.raises(InvalidInputError, match=words):
        read_table(name)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b'[{"a": 1}, {"a": 2}]\n', r"got an array\..*jq -c '\.\[\]' OLD > NEW"),
        (b'[\n {"a": 1}\n]\n', r"line 1: .*jq -c '\.\[\]' OLD > NEW"),
        (b'{\n "a": 1\n}\n', r"line 1: .*jq -c \. OLD > NEW"),
        (b'{"a": "\xe9"}\n', "line 1: expected UTF-8 text; .*Windows-1252"),
    ],
)
def test_json_that_is_no_json_lines_says_what_to_do(text: bytes, words: str) -> None:
    with pytest.raises(DataFileError, match=words):
        read_table(io.BytesIO(text), format="jsonl")
