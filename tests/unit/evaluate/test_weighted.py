"""Means of rows that count differently."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.evaluate.weighted import effective_rows, weighted_mean


def test_equal_weights_give_the_plain_mean_and_its_error() -> None:
    values = np.random.default_rng(0).exponential(size=50)
    plain = (values.mean(), values.std(ddof=1) / np.sqrt(50))
    assert weighted_mean(values) == pytest.approx(plain)
    assert weighted_mean(values, np.full(50, 9.0)) == pytest.approx(plain)
    assert effective_rows(np.full(50, 9.0)) == pytest.approx(50)


def test_the_error_is_that_of_drawing_rows_with_their_weights() -> None:
    rng = np.random.default_rng(1)
    weights = np.where(rng.random(400) < 0.1, 20.0, 1.0)
    drawn = [weighted_mean(rng.exponential(size=400), weights) for _ in range(600)]
    means, errors = np.array(drawn).T
    assert means.std() == pytest.approx(errors.mean(), rel=0.1)
    assert errors.mean() == pytest.approx(1 / np.sqrt(effective_rows(weights)), rel=0.1)
    assert effective_rows(weights) < 150


def test_one_row_has_no_error() -> None:
    assert weighted_mean(np.array([3.0]), np.array([2.0])) == (3.0, 0.0)
