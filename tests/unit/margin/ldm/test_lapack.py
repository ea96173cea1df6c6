import threading

import numpy as np
import pytest
from scipy import linalg

from steelyard._native import DeadlineReached, set_deadline
from steelyard.margin.ldm import lapack


@pytest.fixture
def soon_over():
    set_deadline(0.1)
    yield
    set_deadline(float("inf"))


@pytest.mark.parametrize("n", [1, 2, 60, 301])
def test_the_numbers_are_those_of_scipy_to_the_bit(n):
    rows = np.random.default_rng(n).normal(size=(n, n + 3))
    matrix = rows @ rows.T
    values, vectors = lapack.eigh(matrix)
    expected = linalg.eigh(matrix, check_finite=False)
    np.testing.assert_array_equal(values, expected[0])
    np.testing.assert_array_equal(vectors, expected[1])
    factor = lapack.cholesky_lower(matrix)
    np.testing.assert_array_equal(factor, linalg.cho_factor(matrix, lower=True)[0])
    np.testing.assert_array_equal(lapack.product(matrix, matrix), matrix @ matrix)


@pytest.mark.parametrize("n", [3, 310])
def test_a_matrix_that_is_not_positive_definite_has_no_factor(n):
    with pytest.raises(np.linalg.LinAlgError, match="minor of order 1 "):
        lapack.cholesky_lower(-np.eye(n))


def test_what_is_given_stays_as_it_was():
    matrix = np.eye(5) + 0.1
    before = matrix.copy()
    lapack.eigh(matrix)
    lapack.cholesky_lower(matrix)
    np.testing.assert_array_equal(matrix, before)


@pytest.mark.usefixtures("soon_over")
def test_work_without_an_end_is_left_alone_at_the_deadline():
    end, started = threading.Event(), threading.Event()

    def endless():
        started.set()
        end.wait(30)  # hang protection

    with pytest.raises(DeadlineReached):
        lapack.abandonable(endless, lapack.SMALL + 1)
    assert started.is_set()
    end.set()


def test_settings_and_errors_cross_to_the_thread_and_back():
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        lapack.abandonable(lambda: np.float64(1e308) * 10, lapack.SMALL + 1)
    assert lapack.abandonable(lambda: 7, lapack.SMALL + 1) == 7
