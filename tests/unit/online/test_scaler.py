"""StreamScaler: the numbers, and that the future never leaks."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard import InvalidInputError, StateError, StreamScaler

RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 4)) * [1, 100, 1e-3, 5] + [0, 1e6, 3, -2]


def test_fit_gives_mean_and_deviation() -> None:
    scaler = StreamScaler().fit(X)
    np.testing.assert_allclose(scaler.mean_, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(scaler.scale_, X.std(axis=0), rtol=1e-9)
    np.testing.assert_allclose(scaler.transform(X), (X - X.mean(axis=0)) / X.std(axis=0), rtol=1e-7, atol=1e-9)


@pytest.mark.kernel
@settings(deadline=None, max_examples=30)
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


@settings(deadline=None, max_examples=30)
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
