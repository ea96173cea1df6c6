import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import Budget, InvalidInputError


@pytest.mark.parametrize(
    ("written", "limit", "rate"),
    [(None, math.inf, math.inf), (1250, 1250, math.inf), (0, 0, math.inf), (0.05, math.inf, 0.05)],
)
def test_what_a_user_writes(written: float | None, limit: float, rate: float) -> None:
    assert Budget.of(written) == Budget(limit, rate)
    assert Budget.of(Budget(limit, rate)) == Budget(limit, rate)


@pytest.mark.parametrize("wrong", [-1, 1.0, 1.5, 0.0, math.nan, True, "10", Budget(2.5), Budget(rate=0.0)])
def test_a_wrong_budget_is_named(wrong: object) -> None:
    with pytest.raises(InvalidInputError, match="budget"):
        Budget.of(wrong)


@given(st.floats(0.001, 0.999), st.integers(0, 50), st.lists(st.booleans(), max_size=300))
def test_never_exceeded_at_any_round(rate: float, limit: int, wishes: list[bool]) -> None:
    budget, spent = Budget(limit, rate), 0
    for t, wish in enumerate(wishes):
        spent += wish and budget.may_ask(spent=spent, reserved=0, t=t)
        assert spent <= min(limit, rate * (t + 1))


def test_reserved_labels_count_like_spent_ones() -> None:
    assert Budget(2).may_ask(spent=1, reserved=0, t=9)
    assert not Budget(2).may_ask(spent=1, reserved=1, t=9)
    assert not Budget(2).may_ask(spent=0, reserved=2, t=9)
