"""The native LIBSVM parser does what a plain reading of the format does, on any bytes, however they are cut."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse

from steelyard._native import LibsvmParser32, LibsvmParser64

pytestmark = pytest.mark.kernel

NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
MANY = 10**9


class WrongError(Exception):
    """What was expected, and the line."""


def number(token: bytes, expected: str, dtype: type) -> float:
    if not NUMBER.fullmatch(token):
        raise WrongError(f"finite {expected}" if re.match(rb"[+-]?[nNiI]", token) else expected)
    with np.errstate(over="ignore"):
        value = dtype(float(token))
    if not np.isfinite(value):
        raise WrongError(f"{expected} in range")
    return value


def pair(token: bytes, base: int, width: int, dtype: type) -> tuple[int, float]:
    digits = re.match(rb"\d*", token)[0]
    if len(digits) > 18:
        raise WrongError("index in range")
    if not digits or token[len(digits) :][:1] != b":":
        raise WrongError("no qid" if token.startswith(b"qid:") else "index:value")
    index = int(digits) - base
    if index < 0:
        raise WrongError("index from 1")
    if 0 <= width <= index:
        raise WrongError("index within n_features")
    return index, number(token[len(digits) + 1 :], "value", dtype)


def row(line: bytes, base: int, width: int, dtype: type) -> tuple[float, list[tuple[int, float]]] | None:
    tokens = [token for token in re.split(rb"[ \t\r]+", line.split(b"#")[0]) if token]
    if not tokens:
        return None
    label = number(tokens[0], "label", np.float64)
    pairs = [pair(token, base, width, dtype) for token in tokens[1:]]
    if len({index for index, _ in pairs}) < len(pairs):
        raise WrongError("distinct indices")
    return label, sorted(pairs)


def twin(text: bytes, base: int = 1, width: int = -1, dtype: type = np.float64):  # type: ignore[no-untyped-def]
    """The rows, or (expected, line)."""
    rows = []
    for i, line in enumerate(text.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        try:
            rows.append(row(line, base, width, dtype))
        except WrongError as wrong:
            return str(wrong), i
    return [r for r in rows if r is not None]


def unpacked(parser) -> list[tuple[float, list[tuple[int, float]]]]:  # type: ignore[no-untyped-def]
    ends, indices, values, labels = (array.tolist() for array in parser.take())
    starts = [0, *ends][: len(ends)]
    pairs = list(zip(indices, values, strict=True))
    return [(label, pairs[a:b]) for label, a, b in zip(labels, starts, ends, strict=True)]


def parsed(text: bytes, base: int = 1, width: int = -1, dtype: type = np.float64, cuts=(), limit: int = MANY):  # type: ignore[no-untyped-def]
    parser = (LibsvmParser64 if dtype is np.float64 else LibsvmParser32)(base, width)
    edges = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    rows = []
    for start, stop in itertools.pairwise(edges):
        block = np.frombuffer(text[start:stop], np.uint8)
        while len(block) and not parser.error():
            block = block[parser.feed(block, limit) :]
            assert parser.rows <= limit
            if parser.rows == limit:
                rows += unpacked(parser)
    if not parser.error():
        parser.finish()
    if parser.error():
        return parser.error()[:2]
    return rows + unpacked(parser)


numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.from_regex(r"[+-]?[0-9]{0,25}\.?[0-9]{0,25}(e[+-]?[0-9]{1,4})?", fullmatch=True),
    st.sampled_from(["+1", "-1", "0", ".5", "5.", "1e5", "1E-5", "1e", "1e+", ".", "-", "+.e1", "1_0", "0x1p3", ""]),
    st.sampled_from(["nan", "-inf", "Infinity", "1e999", "-1e999", "1e-999", "3.5e38", "0e9999999999", "-0"]),
)
indices = st.one_of(st.integers(0, 12), st.integers(0, 10**20)).map(str)
pairs = st.one_of(
    st.tuples(indices, numbers).map(":".join), st.sampled_from(["qid:3", "3:", ":3", "3", "1:2:3", "#1:1", "1:1#"])
)
blanks = st.sampled_from([" ", "  ", "\t", " \r", ""])
lines = st.tuples(numbers, st.lists(st.tuples(blanks, pairs), max_size=5), blanks).map(
    lambda t: t[0] + "".join(" " + blank + token for blank, token in t[1]) + t[2]
)
sane_lines = st.tuples(
    st.sampled_from(["1", "-1", "+1", "2.5", "10"]),
    st.dictionaries(st.integers(1, 40), st.floats(-9, 9, width=32), max_size=6),
    st.randoms(use_true_random=False),
).map(lambda t: t[0] + "".join(f" {i}:{v!r}" for i, v in t[2].sample(sorted(t[1].items()), len(t[1]))))
texts = st.lists(st.one_of(lines, sane_lines, st.just("# only a comment")), max_size=6).map("\n".join).map(str.encode)
sane_texts = st.lists(sane_lines, max_size=12).map("\n".join).map(str.encode)


@given(texts, st.sampled_from([0, 1]), st.sampled_from([-1, 5, 40]), st.sampled_from([np.float64, np.float32]))
@example(b"\xef\xbb\xbf1 1:2\r\n-1 3:4", 1, -1, np.float64)
@example(b"1 3000000000:1 2:5\n1 1:1", 1, -1, np.float64)
@example(b"1 1:3.4028235677973362e38\n1 1:3.4028235677973367e38", 1, -1, np.float32)
def test_native_and_twin_agree(text: bytes, base: int, width: int, dtype: type) -> None:
    assert parsed(text, base, width, dtype) == twin(text, base, width, dtype)


@given(st.binary(max_size=60), st.lists(st.integers(0, 100), max_size=4))
def test_any_bytes_are_read_or_refused_like_the_twin_does(text: bytes, cuts: list[int]) -> None:
    assert parsed(text, cuts=cuts) == twin(text)


@given(texts, st.binary(max_size=3), st.integers(0, 200))
def test_damaged_text_is_read_or_refused_like_the_twin_does(text: bytes, noise: bytes, at: int) -> None:
    damaged = text[: at % (len(text) + 1)] + noise + text[at % (len(text) + 1) :]
    assert parsed(damaged) == twin(damaged)


@given(sane_texts, st.lists(st.integers(0, 1000), max_size=6), st.integers(1, 5))
def test_cuts_and_row_limits_change_nothing(text: bytes, cuts: list[int], limit: int) -> None:
    whole = parsed(text)
    assert isinstance(whole, list)
    assert parsed(text, cuts=cuts, limit=limit) == whole


@given(
    st.one_of(
        st.floats(allow_nan=False, allow_infinity=False).map(repr),
        st.decimals(allow_nan=False, allow_infinity=False, places=12).map(str),
    )
)
@example("9007199254740993")
@example("1.00000000000000011102230246251565404236316680908203125")
@example("2.2250738585072011e-308")
@example("4.9406564584124654e-324")
@example("0.000000000000000000000000000001e30")
@example("123456789012345678901234567890e-30")
def test_every_number_is_the_nearest_double(text: str) -> None:
    ((_, ((_, value),)),) = parsed(f"1 1:{text}".encode())
    assert value == float(text)
    assert np.signbit(value) == np.signbit(float(text))


def test_an_index_beyond_32_bits_widens_all_of_them() -> None:
    parser = LibsvmParser64(1, -1)
    parser.feed(np.frombuffer(b"1 1:1\n2 5000000000:2\n3 7:3\n", np.uint8), MANY)
    ends, wide, values, _ = parser.take()
    assert wide.dtype == np.int64
    assert wide.tolist() == [0, 4999999999, 6]
    assert (ends.tolist(), values.tolist(), parser.widest) == ([1, 2, 3], [1, 2, 3], 5000000000)


def test_arrays_outlive_the_parser() -> None:
    parser = LibsvmParser32(1, -1)
    parser.feed(np.frombuffer(b"1 1:1 2:2\n" * 5000, np.uint8), MANY)
    ends, narrow, values, labels = parser.take()
    assert parser.rows == 0
    del parser
    X = sparse.csr_matrix((values, narrow, [0, *ends]))
    assert (X.shape, X.sum(), labels.sum(), values.dtype, narrow.dtype) == (
        (5000, 2),
        15000,
        5000,
        np.float32,
        np.int32,
    )


def test_a_read_only_or_empty_block_is_fine() -> None:
    parser = LibsvmParser64(0, 3)
    assert parser.feed(np.empty(0, np.uint8), MANY) == 0
    parser.finish()
    assert [len(column) for column in parser.take()] == [0, 0, 0, 0]
