"""Each fast library gives exactly what the plain reader gives, or leaves the text to it."""

import csv
import io

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from steelyard.data import engines
from steelyard.data.columns import Column
from steelyard.data.layout import MISSING, Layout
from steelyard.data.plain_csv import plain_columns
from steelyard.errors import DataFileError

numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.sampled_from(["", "?", "NA", "N/A", "NULL", "nan", "+1", " 2", "2 ", ".5", "5.", "1e5", "-0"]),
)
odd_numbers = st.one_of(
    numbers, st.sampled_from(["inf", "-Infinity", "NAN", "0x10", "1_0", "1e999", "a", "true", "1,5", "-2,25", ",5"])
)
texts = st.one_of(
    st.sampled_from(["red", "green", " red", "?", "", "NA", "a b", "1"]), st.text("ab,\"'\n é", max_size=4)
)
MARKS = st.sampled_from([MISSING, ("?",), ("", "-")])


def comparable(columns: list[Column]) -> list[tuple[object, ...]]:
    return [(c.name, c.categories, c.values.dtype.kind, [repr(v) for v in c.values.tolist()]) for c in columns]


def written(rows: list[list[str]], quoting: int, delimiter: str) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, quoting=quoting, lineterminator="\n", delimiter=delimiter).writerows(rows)
    return out.getvalue().encode()


@pytest.mark.parametrize("library", list(engines.ENGINES))
@settings(max_examples=60)
@given(
    st.lists(st.tuples(numbers, texts, odd_numbers).map(list), min_size=1, max_size=6),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    MARKS,
    st.sampled_from([b"", b"1,2\n", b"1,2,3,4\n", b"\n", b"1,a,2"]),
    st.sampled_from([",.", ";,"]),
)
@example([["0.0", "red", "true"]], csv.QUOTE_MINIMAL, ("?",), b"", ",.")
@example([["0.0", "red", "FALSE"], ["1", "", "?"]], csv.QUOTE_MINIMAL, ("?",), b"", ",.")
@example([["1,5", "red", "1.5"]], csv.QUOTE_MINIMAL, ("?",), b"", ";,")
@example([["1,5", "red", "1,5"]], csv.QUOTE_MINIMAL, ("?",), b"", ";,")
def test_engine_and_plain_reader_agree(library, rows, quoting, missing, tail, marks) -> None:  # type: ignore[no-untyped-def]
    pytest.importorskip(library)
    layout = Layout(("n", "t", "m"), (True, False, True), marks[0], missing, marks[1])
    text = written(rows, quoting, marks[0]) + tail.replace(b",", marks[0].encode())
    try:
        fast = engines.ENGINES[library](text, layout)
    except engines.EngineUnsupported:
        return
    if any(c.categories is None and np.isinf(c.values).any() for c in fast):
        return  # read_fast refuses these
    try:
        plain = plain_columns("text", text, 1, layout)
    except DataFileError as error:
        raise AssertionError(f"{library} read what the plain reader refuses: {error}") from error
    assert comparable(fast) == comparable(plain)


@pytest.mark.parametrize("library", list(engines.ENGINES))
def test_the_engine_does_read_ordinary_text(library: str) -> None:
    pytest.importorskip(library)
    layout = Layout(("n", "t"), (True, False))
    text = b"1.5,b\n?,a\n-2e3,?\n0.1,b\n"
    fast = engines.ENGINES[library](text, layout)
    assert comparable(fast) == comparable(plain_columns("text", text, 1, layout))
    assert fast[1].categories == ("a", "b")
    assert fast[1].values.tolist() == [1, 0, -1, 1]


def test_the_first_engine_reads_decimal_commas() -> None:
    fast = engines.ENGINES["pyarrow"](b"1,5;b\n-2;a\n", Layout(("n", "t"), (True, False), ";", decimal=","))
    assert fast[0].values.tolist() == [1.5, -2.0]


def test_small_text_and_missing_libraries_are_left_to_the_plain_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    layout = Layout(("n",), (True,))
    with pytest.raises(engines.EngineUnsupported):
        engines.read_fast(b"1\n", layout)
    large = b"1\n" * engines.SMALL
    assert len(engines.read_fast(large, layout)[0].values) == engines.SMALL
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    with pytest.raises(engines.EngineUnsupported):
        engines.read_fast(large, layout)
