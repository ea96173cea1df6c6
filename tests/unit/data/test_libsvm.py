"""Reading LIBSVM text: shapes, labels, compression and what is said about malformed lines."""

import bz2
import gzip
import io
import lzma
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from steelyard import DataFileError, DataNotFoundError, InvalidInputError, iter_chunks, read_libsvm

TEXT = b"+1 1:0.5 3:2 # comment\n\n# a comment alone\n-1\n+1 2:-1e-3\r\n-1 3:4 1:1"
DENSE = [[0.5, 0, 2], [0, 0, 0], [0, -0.001, 0], [1, 0, 4]]


@pytest.mark.parametrize("packed", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_compression_is_recognised_by_content(packed, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "rows.svm"
    path.write_bytes(packed(TEXT))
    for source in (path, str(path), io.BytesIO(path.read_bytes())):
        rows = read_libsvm(source)
        assert rows.X.toarray().tolist() == DENSE
        assert rows.y.tolist() == [1, -1, 1, -1]
        assert rows.y.dtype == np.int64


def test_the_same_as_scikit_learn(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 30)) * (rng.random((200, 30)) < 0.3)
    y = rng.integers(0, 12, 200)
    dump_svmlight_file(X, y, str(tmp_path / "rows.svm"), zero_based=False)
    theirs, labels = load_svmlight_file(str(tmp_path / "rows.svm"), n_features=30)
    ours = read_libsvm(tmp_path / "rows.svm", n_features=30)
    for part in ("data", "indices", "indptr"):
        assert (getattr(ours.X, part) == getattr(theirs, part)).all()
    assert ours.X.has_sorted_indices
    assert (ours.y == labels).all()
    single = read_libsvm(tmp_path / "rows.svm", dtype=np.float32)
    assert single.X.dtype == np.float32
    assert (single.X.data == ours.X.data.astype(np.float32)).all()


def test_options() -> None:
    assert read_libsvm(io.BytesIO(b"1 0:5 2:6"), zero_based=True).X.toarray().tolist() == [[5, 0, 6]]
    assert read_libsvm(io.BytesIO(b"1 1:5"), n_features=4).X.shape == (1, 4)
    assert read_libsvm(io.BytesIO(b"0.5\n1")).y.tolist() == [0.5, 1.0]
    assert read_libsvm(io.BytesIO(b"")).X.shape == (0, 0)


def test_a_mistyped_index_does_not_make_the_table_wide() -> None:
    for index in (b"2147483648", b"4000000000", b"999999999999999999"):
        with pytest.raises(DataFileError, match=r"line 1: expected an index of at most 2,147,483,647.*--n-features"):
            read_libsvm(io.BytesIO(b"1 %s:5" % index))
    assert read_libsvm(io.BytesIO(b"1 2147483647:5")).X.shape == (1, 2147483647)


def test_a_huge_index_costs_no_memory() -> None:
    rows = read_libsvm(io.BytesIO(b"1 100000000000000000:5"), n_features=10**17)
    assert rows.X.shape == (1, 10**17)
    assert rows.X.indices.dtype == np.int64
    assert "100000000000000000 features" in repr(rows)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"1 1:1\nspam 1:1", "line 2: expected a number as label; got 'spam' at byte 1"),
        (b"nan 1:1", "line 1: expected a finite label; got 'nan'"),
        (b"1 1:1\n1 1:1 x", "line 2: expected index:value; got 'x' at byte 7"),
        (b"1,2 1:1", "expected a number as label"),
        (b"1 0:1", "expected indices from 1; got '0:1' at byte 3. Pass zero_based=True"),
        (b"1 7:1", "expected an index within n_features; got '7:1'"),
        (b"1 1:NaN", "expected a finite value; got '1:NaN' at byte 3. Leave missing values out"),
        (b"1 1:-inf", "expected a finite value"),
        (b"1 1:1e999", "expected a value within the range"),
        (b"1 1:abc", "expected a number after the colon"),
        (b"1 2:1 2:3", "expected each index at most once in a row"),
        (b"3 qid:1 1:1", "qid: groups rankings, not classes"),
        (b"1 12345678901234567890:1", "at most 18 digits"),
        (b"1 \xff\x00:1", r"got '\\xff\x00:1'"),
    ],
)
def test_malformed_lines_say_file_line_and_what_was_expected(text: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.svm"
    path.write_bytes(text)
    with pytest.raises(DataFileError) as caught:
        read_libsvm(path, n_features=5)
    assert str(path) in str(caught.value)
    assert words in str(caught.value).encode("unicode_escape").decode() or words in str(caught.value)


def test_wrong_arguments() -> None:
    with pytest.raises(InvalidInputError, match="dtype must be float64 or float32"):
        read_libsvm(io.BytesIO(b""), dtype=np.int32)
    with pytest.raises(InvalidInputError, match="n_features must be a whole number"):
        read_libsvm(io.BytesIO(b""), n_features=-1)
    with pytest.raises(InvalidInputError, match="zero_based must be True or False"):
        read_libsvm(io.BytesIO(b""), zero_based="auto")  # type: ignore[arg-type]
    with pytest.raises(DataNotFoundError, match="does not exist"):
        read_libsvm("nowhere.svm")


def test_chunks_have_one_width_and_add_up_to_the_whole(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm.gz"
    path.write_bytes(gzip.compress(TEXT))
    parts = list(iter_chunks(path, rows=3))
    assert [part.X.shape for part in parts] == [(3, 3), (1, 3)]
    assert np.vstack([part.X.toarray() for part in parts]).tolist() == DENSE
    assert np.concatenate([part.y for part in parts]).tolist() == [1, -1, 1, -1]
    streamed = list(iter_chunks(io.BytesIO(TEXT), rows=2, format="libsvm", n_features=3))
    assert np.vstack([part.X.toarray() for part in streamed]).tolist() == DENSE


def test_a_stream_needs_its_width() -> None:
    with pytest.raises(InvalidInputError, match="n_features must be given for a LIBSVM stream"):
        list(iter_chunks(io.BytesIO(TEXT), format="libsvm"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes of POSIX")
def test_a_named_pipe_is_a_stream_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rows.svm")
    holder = os.open(tmp_path / "rows.svm", os.O_RDWR)  # so that opening it for reading would not wait
    os.write(holder, b"broken\n")
    with pytest.raises(InvalidInputError, match="n_features must be given for a LIBSVM stream"):
        list(iter_chunks(tmp_path / "rows.svm"))
    os.close(holder)


def test_a_fault_in_a_late_chunk_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_bytes(b"1 1:1\n" * 10 + b"oops\n")
    with pytest.raises(DataFileError, match="line 11"):
        list(iter_chunks(path, rows=3))
