"""Records of delimited text: where they end, and how much work finding that out takes."""

import csv
import io
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import DataFileError
from steelyard.data import csv_records
from steelyard.data.csv_records import split_records


def split(text: bytes, separator: str = ",") -> list[bytes]:
    return list(split_records("file", io.BytesIO(text), separator, 1))


def rows(text: bytes, separator: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(text.decode(), newline=""), delimiter=separator, strict=True))


@given(st.text(alphabet='ab,;"\n', max_size=40), st.sampled_from([",", ";"]))
def test_records_are_those_of_the_csv_module(text: str, separator: str) -> None:
    content = text.encode()
    assert b"".join(split(content, separator)) == content
    try:
        whole = rows(content, separator)
    except csv.Error:
        return
    assert [row for record in split(content, separator) for row in rows(record, separator)] == whole
    assert all(len(rows(record, separator)) == 1 for record in split(content, separator))


def test_a_quote_within_a_cell_is_a_character() -> None:
    assert split(b'5" pipe,1\n6,2\n') == [b'5" pipe,1\n', b"6,2\n"]


@pytest.mark.parametrize("lines", [40_000, 400_000])
def test_a_stray_quote_is_an_error_after_a_bounded_number_of_lines(lines: int) -> None:
    read = 0

    def text() -> Iterator[bytes]:
        nonlocal read
        for i in range(lines):
            read += 1
            yield b'1,"x\n' if i == 6 else b"1,x\n"

    with pytest.raises(DataFileError, match="file, line 7: expected a closing quote within 1,000 lines and 1 MB"):
        list(split_records("file", text(), ",", 1))
    assert read <= 7 + csv_records.MAX_RECORD_LINES


def test_a_long_record_is_an_error_by_its_bytes_too() -> None:
    with pytest.raises(DataFileError, match="line 1: expected a closing quote"):
        split(b'"' + b"x" * (1 << 19) + b"\n" + b"x" * (1 << 20) + b'\n"\n')


def test_every_byte_is_looked_at_a_bounded_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0
    original = csv_records._open_quote

    def counting(line: bytes, opening: object, *, is_open: bool) -> int | None:
        nonlocal looked
        looked += len(line)
        return original(line, opening, is_open=is_open)  # type: ignore[arg-type]

    monkeypatch.setattr(csv_records, "_open_quote", counting)
    text = b'1,"a\nb"\n' * 20_000
    assert len(split(text)) == 20_000
    assert looked <= len(text)
