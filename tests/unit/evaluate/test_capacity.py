"""At most n rows are acted on."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steelyard as sy


@settings(max_examples=60)
@given(st.lists(st.tuples(*[st.integers(-9, 9)] * 3), min_size=1, max_size=6), st.integers(0, 7), st.integers(0, 2))
def test_no_choice_of_so_many_rows_costs_less(rows, n, action) -> None:  # type: ignore[no-untyped-def]
    expected = np.array(rows, dtype=float)
    limited = sy.at_most(expected, n, action=action)
    every = np.arange(len(expected))
    paid = expected[every, limited.decisions].sum()
    assert (limited.decisions == action).sum() <= n

    def least(places: int) -> float:
        options = itertools.product(range(3), repeat=len(expected))
        return min(sum(expected[every, o]) for o in map(list, options) if o.count(action) <= places)

    assert paid == least(n)
    assert limited.next_place == least(n) - least(n + 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([[1.0]], 1), "expected must have a column for each of two or more answers"),
        (([1.0, 2.0], 1), "expected must be a table of numbers"),
        (([[1.0, float("nan")]], 1), "expected must hold finite numbers"),
        (([[1.0, 2.0]], -1), "n must be a whole number >= 0"),
        (([[1.0, 2.0]], 1.5), "n must be a whole number >= 0"),
    ],
)
def test_what_cannot_be_limited(arguments, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(sy.InvalidInputError, match=words):
        sy.at_most(*arguments)
