import numpy as np
import pytest
from scipy.integrate import quad

from steelyard import AllPairsClassifier, InvalidInputError
from steelyard.reduction.all_pairs import AllPairs, integral_weights
from steelyard.reduction.scheme import CostExamples


def test_integral_weights_are_the_integral() -> None:
    rng = np.random.default_rng(0)
    costs = rng.uniform(0, 5, (6, 4))
    costs[np.arange(6), rng.integers(0, 4, 6)] = 0.0
    costs[0] = [3.0, 3.0, 0.0, 1.0]  # equal costs must get equal values
    values = integral_weights(costs)
    for row, value in zip(costs, values, strict=True):
        for c, v in zip(row, value, strict=True):
            expected, _ = quad(lambda t, row=row: 1.0 / (row <= t).sum(), 0.0, c, points=np.unique(row[row < c]))
            assert v == pytest.approx(expected, rel=1e-6)


def test_votes_are_counted_and_ties_go_to_the_first_class() -> None:
    plan = AllPairs(3)
    assert plan.pairs == [(0, 1), (0, 2), (1, 2)]
    scores = np.array([[-1.0, 2.0, 3.0], [1.0, -1.0, 1.0], [0.0, 1.0, 1.0]])
    assert plan.preference(scores).tolist() == [[1, 2, 0], [1, 1, 1], [1.5, 1.5, 0]]
    assert plan.answer(scores).tolist() == [1, 0, 0]


def test_difference_weighting_weighs_by_the_cost_difference() -> None:
    cases = CostExamples(np.array([[2.0, 5.0, 9.0]]), np.array([0]), np.array([1.0]))
    weights = [p.weight.tolist() for p in AllPairs(3, "difference").problems(0, cases, np.empty((1, 0)))]
    assert weights == [[3.0], [7.0], [4.0]]


def test_unknown_weighting_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="weighting must be one of 'integral', 'difference'; got 'none'"):
        AllPairsClassifier(weighting="none").fit([[0.0], [1.0]], [0, 1])
