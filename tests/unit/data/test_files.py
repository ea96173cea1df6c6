"""Opening files: streams stay open, damage is named."""

import gzip
import io
import os
from pathlib import Path

import pytest

from steelyard import DataFileError, InvalidInputError, read_csv
from steelyard.data.files import blocks, opened, suffix_of


def test_the_suffix_before_the_compression_counts() -> None:
    assert suffix_of("a/Rows.CSV.gz") == ".csv"
    assert suffix_of("rows.tar.xz") == ".tar"
    assert suffix_of(io.BytesIO()) == ""


def test_a_given_stream_stays_open() -> None:
    stream = io.BytesIO(b"a\n1\n")
    read_csv(stream)
    assert not stream.closed
    packed = io.BytesIO(gzip.compress(b"a\n1\n"))
    read_csv(packed)
    assert not packed.closed


@pytest.mark.parametrize("cut", [5, 12, -4])
def test_a_cut_compressed_file(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n")[:cut])
    with pytest.raises(DataFileError, match="expected a whole compressed file"):
        read_csv(path)


def test_a_folder_and_text_streams_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="expected a readable file"):
        read_csv(tmp_path)
    with pytest.raises(InvalidInputError, match="source must be a path or a binary stream"):
        read_csv(io.StringIO("a\n1\n"))  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="source must be"):
        read_csv(None)  # type: ignore[arg-type]


def test_a_live_stream_is_not_held_back() -> None:
    receiving, sending = os.pipe()
    os.write(sending, b"first line\n")
    with open(receiving, "rb") as live, opened(live) as content:
        arriving = blocks(content)
        assert next(arriving) == b"first line\n"
        os.close(sending)
        assert list(arriving) == []
