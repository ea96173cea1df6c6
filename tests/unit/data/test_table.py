"""The right reader for each suffix."""

import io
from pathlib import Path

import pytest

from steelyard import InvalidInputError, read_table

CONTENT = {
    "svm": b"1 1:5\n",
    "libsvm": b"1 1:5\n",
    "csv": b"a,y\n5,1\n",
    "data": b"a,y\n5,1\n",
    "tsv": b"a\ty\n5\t1\n",
    "txt": b"a  y\n5 1\n",
    "arff": b"@relation r\n@attribute a real\n@attribute y {1}\n@data\n5,1\n",
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


def test_an_unknown_suffix_asks_for_the_format() -> None:
    with pytest.raises(InvalidInputError, match=r"format must be one of libsvm, csv, .*; got '.xlsx'"):
        read_table("rows.xlsx")
    with pytest.raises(InvalidInputError, match="got 'excel'"):
        read_table(io.BytesIO(), format="excel")
