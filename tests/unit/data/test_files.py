"""Opening files: streams stay open, damage is named."""

import gzip
import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard import DataFileError, InvalidInputError, iter_chunks, read_csv
from steelyard.data import files
from steelyard.data.files import blocks, open_source, suffix_of


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
    with open(receiving, "rb") as live, open_source(live) as content:
        arriving = blocks(content)
        assert next(arriving) == b"first line\n"
        os.close(sending)
        assert list(arriving) == []


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_max_bytes_counts_what_comes_out(packed: Callable[[bytes], bytes]) -> None:
    text = b"a\n" + b"1\n" * 5000
    assert len(read_csv(io.BytesIO(packed(text)), max_bytes=len(text)).X) == 5000
    with pytest.raises(DataFileError, match="expected at most 10,001 bytes of uncompressed content; got more"):
        read_csv(io.BytesIO(packed(text)), max_bytes=len(text) - 1)
    with pytest.raises(InvalidInputError, match="max_bytes must be a whole number >= 1"):
        read_csv(io.BytesIO(text), max_bytes=0)


def test_a_compressed_file_may_not_unpack_to_very_much_more(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(b"a\n" + b"1\n" * 2_000_000)
    assert len(read_csv(io.BytesIO(packed)).X) == 2_000_000  # below the size that is always allowed
    monkeypatch.setattr(files, "SMALL_TEXT", 1 << 20)
    with pytest.raises(DataFileError, match=r"bytes of uncompressed content; got more. Pass max_bytes="):
        read_csv(io.BytesIO(packed))
    assert len(read_csv(io.BytesIO(packed), max_bytes=10**7).X) == 2_000_000


@pytest.mark.parametrize("format", ["csv", "jsonl", "libsvm", "arff", "whitespace"])
def test_a_line_without_an_end_is_an_error(format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LINE", 1 << 16)
    options = {"n_features": 1} if format == "libsvm" else {}
    with pytest.raises(DataFileError, match="line 1: expected lines of at most"):
        list(iter_chunks(io.BytesIO(b"1" * (1 << 17)), format=format, **options))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,y\n1,0\n".encode("utf-16"), "expected UTF-8 text; got UTF-16. .*iconv -f UTF-16 -t UTF-8 OLD > NEW"),
        (b"PK\x03\x04\x14\0\x06\0[Content_Types].xml", "got a workbook. Save the sheet as CSV"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", "got a workbook. Save the sheet as CSV"),
        (b"PAR1\x15\x04\x15\xc0\n", "got a Parquet or Arrow file. Pass format='parquet'"),
        (b"PK\x03\x04\x14\0\0\0rows.csv", "got a zip archive. Unpack it"),
        (
            "a,name\n1,Jos\xe9\n".encode("cp1252"),
            r"line 2: expected UTF-8 text; got b'\\xe9'. It looks like Windows-1252",
        ),
        ("a,name\n2,Zoë\n1,".encode() + b"Jos\xe9\n", r"line 3: expected UTF-8 text; got b'\\xe9'\.$"),
    ],
)
def test_what_is_no_text_in_utf_8_is_said_with_what_to_do(content: bytes, words: str) -> None:
    with pytest.raises(DataFileError, match=words):
        read_csv(io.BytesIO(content))
    with pytest.raises(DataFileError, match=words):
        list(iter_chunks(io.BytesIO(content), format="csv"))
