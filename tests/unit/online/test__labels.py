from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from steelyard import InvalidInputError
from steelyard.online._labels import two_classes

pytestmark = pytest.mark.kernel

INTEGERS = ("int64", "int32", "int8", "uint8", "uint32", "uint64", ">i8", ">u2")


@given(
    pair=st.lists(st.integers(0, 100), min_size=2, max_size=2, unique=True),
    which=st.lists(st.integers(0, 1), min_size=2, max_size=80).filter(lambda drawn: len(set(drawn)) == 2),
    dtype=st.sampled_from(INTEGERS),
    class_step=st.integers(1, 2),
)
def test_two_kinds_of_whole_numbers(pair: list[int], which: list[int], dtype: str, class_step: int) -> None:
    y = np.repeat(np.array(pair, dtype)[which], class_step)[::class_step]
    classes, positive = two_classes(y)
    assert classes.tolist() == sorted(pair)
    assert classes.dtype == y.dtype.newbyteorder("=")
    np.testing.assert_array_equal(positive, y == max(pair))


@pytest.mark.parametrize(
    "extremes",
    [
        np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max]),
        np.array([-1, 0]),
        np.array([2**63 - 1, 2**64 - 1], np.uint64),
        np.array([False, True]),
    ],
)
def test_numbers_of_either_sign(extremes: NDArray[Any]) -> None:
    classes, positive = two_classes(np.tile(extremes, 2)[::-1])
    assert classes.tolist() == extremes.tolist()
    assert classes.dtype == extremes.dtype
    assert positive.tolist() == [True, False, True, False]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(
    ("labels", "words"),
    [([], "two classes"), ([3], r"two classes; got \[3\]"), ([3, 3], "two"), ([1, 2, 1, 3], "got 3")],
)
def test_other_than_two_are_told(labels: list[int], words: str, dtype: str) -> None:
    with pytest.raises(InvalidInputError, match=words if labels else "y must"):
        two_classes(np.array(labels, dtype))
