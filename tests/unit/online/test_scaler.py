"""StreamScaler: the numbers, and that the future never leaks."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from steelyard import InvalidInputError, StateError, StreamScaler
from steelyard._native import shorten_rows

CELLS = st.floats(-1e6, 1e6) | st.just(math.nan)
RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 4)) * [1, 100, 1e-3, 5] + [0, 1e6, 3, -2]


def test_fit_gives_mean_and_deviation() -> None:
    scaler = StreamScaler().fit(X)
    np.testing.assert_allclose(scaler.mean_, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(scaler.scale_, X.std(axis=0), rtol=1e-9)
    np.testing.assert_allclose(scaler.transform(X), (X - X.mean(axis=0)) / X.std(axis=0), rtol=1e-7, atol=1e-9)


@pytest.mark.kernel
@settings(max_examples=30)
@given(st.integers(0, 2**32), st.floats(0, 0.5))
def test_the_kernel_is_welfords_recurrence_to_the_last_bit(seed: int, holes: float) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(30, 3)) * 10.0 ** rng.integers(-5, 6, 3) + rng.integers(-5, 6, 3)
    rows[rng.random(rows.shape) < holes] = np.nan
    scaler = StreamScaler()
    out = scaler.run(rows)
    for j in range(3):
        n, mean, squares = 0.0, 0.0, 0.0
        for i, x in enumerate(rows[:, j].tolist()):
            deviation = math.sqrt(squares / max(n, 1.0))
            assert out[i, j] == ((x - mean) / deviation if deviation > 0 and not math.isnan(x) else 0.0)
            if not math.isnan(x):
                n, before = n + 1, x - mean
                mean += before / n
                squares += before * (x - mean)
        assert (scaler.counts_[j], scaler.mean_[j], scaler.squares_[j]) == (n, mean, squares)


@pytest.mark.parametrize("unit_norm", [False, True])
def test_every_row_is_scaled_by_the_rows_before_it(unit_norm: bool) -> None:
    out = StreamScaler(unit_norm=unit_norm).run(X)
    np.testing.assert_array_equal(out[0], 0)
    for i in range(2, len(X)):
        expected = (X[i] - X[:i].mean(axis=0)) / X[:i].std(axis=0)
        expected = expected / np.linalg.norm(expected) if unit_norm else expected
        np.testing.assert_allclose(out[i], expected, rtol=1e-6, atol=1e-9)


@settings(max_examples=30)
@given(st.integers(0, 60), st.integers(0, 60), st.booleans())
def test_the_future_does_not_leak_and_no_cut_shows(cut: int, other: int, by_state: bool) -> None:
    whole = StreamScaler(unit_norm=True).run(X)
    changed = X.copy()
    changed[other:] = RNG.normal(size=changed[other:].shape)
    np.testing.assert_array_equal(StreamScaler(unit_norm=True).run(changed)[:other], whole[:other])
    scaler = StreamScaler(unit_norm=True)
    parts = [scaler.run(X[:cut])] if cut else []
    if cut and by_state:
        scaler = StreamScaler.from_state(scaler.state())
    if cut < len(X):
        parts.append(scaler.run(X[cut:]))
    np.testing.assert_array_equal(np.vstack(parts), whole)
    learned = StreamScaler().partial_fit(X[: max(cut, 1)]).partial_fit(X[max(cut, 1) :] if cut < 60 else X[:1])
    assert learned.counts_[0] == (60 if cut < 60 else 61)


def test_missing_cells_are_left_out_and_become_the_mean() -> None:
    holed = X.copy()
    holed[5:9, 1] = np.nan
    scaler = StreamScaler()
    out = scaler.run(holed)
    np.testing.assert_array_equal(out[5:9, 1], 0)
    np.testing.assert_allclose(scaler.mean_[1], np.nanmean(holed[:, 1]), rtol=1e-12)
    np.testing.assert_array_equal(out[:, 0], StreamScaler().run(X)[:, 0])


def test_constants_become_zero() -> None:
    np.testing.assert_array_equal(StreamScaler().run(np.full((4, 2), 7.0)), 0)


def test_a_failed_call_changes_nothing() -> None:
    scaler = StreamScaler().fit(X)
    before = scaler.state()["arrays"]
    bad = X.copy()
    bad[3, 2] = np.inf
    for call in (scaler.run, scaler.partial_fit):
        with pytest.raises(InvalidInputError, match="inf at row 3, column 2"):
            call(bad)
    for name, array in scaler.state()["arrays"].items():
        np.testing.assert_array_equal(array, before[name])
    with pytest.raises(InvalidInputError, match="unit_norm must be True or False"):
        StreamScaler(unit_norm="yes").fit(X)  # type: ignore[arg-type]


@pytest.mark.parametrize("state", [None, {}, {"format": "steelyard.StreamScaler", "version": 1}])
def test_states_that_are_none(state: Any) -> None:
    with pytest.raises(StateError):
        StreamScaler.from_state(state)


@given(
    arrays(np.float64, st.tuples(st.integers(1, 6), st.sampled_from([1, 3, 7, 8, 9, 24, 130, 300])), elements=CELLS),
    st.booleans(),
)
def test_one_is_run_row_by_row(X: Any, unit_norm: bool) -> None:
    whole, single = StreamScaler(unit_norm=unit_norm), StreamScaler(unit_norm=unit_norm)
    expected = whole.run(X)
    assert np.array([single.one(row) for row in X]).tobytes() == expected.tobytes()
    for name in ("counts_", "mean_", "squares_"):
        np.testing.assert_array_equal(getattr(single, name), getattr(whole, name))


@pytest.mark.parametrize("n", [1, 5, 8, 23, 128, 129, 777])
def test_lengths_are_those_of_numpy(n: int) -> None:
    rows = np.random.default_rng(n).normal(size=(4, n))
    expected = rows / np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    shorten_rows(rows)
    np.testing.assert_array_equal(rows, expected)


@pytest.mark.parametrize("row", [[1.0, np.inf], [1.0], [[1.0, 2.0]], ["a", "b"], np.inf])
def test_one_row_that_cannot_be_used_changes_nothing(row: Any) -> None:
    scaler = StreamScaler().fit([[0.0, 1.0], [2.0, 5.0]])
    before = scaler.mean_
    with pytest.raises(InvalidInputError):
        scaler.one(row)
    assert scaler.mean_ is before


def test_one_reads_every_kind_of_vector_and_leaves_earlier_sums_alone() -> None:
    scaler = StreamScaler().fit([[0.0, 1.0], [2.0, 5.0]])
    other = StreamScaler.from_state(scaler.state())
    before = scaler.mean_
    a, b = scaler.one([1.0, 2.0]), other.one(np.array([1.0, 2.0], dtype=np.float32))
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(before, [1.0, 3.0])


@pytest.mark.parametrize("method", ["partial_fit", "run"])
def test_a_first_part_that_fails_leaves_nothing_behind(method: str) -> None:
    for scaler, rows in ((StreamScaler(), [[math.inf]]), (StreamScaler(unit_norm=1), [[1.0]])):  # type: ignore[arg-type]
        before = dict(vars(scaler))
        with pytest.raises(InvalidInputError):
            getattr(scaler, method)(rows)
        assert vars(scaler) == before
