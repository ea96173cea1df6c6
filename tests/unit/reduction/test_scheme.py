import numpy as np
import pytest

from steelyard.reduction.scheme import CostExamples, SubProblem, vote


def test_rows_of_no_weight_are_dropped() -> None:
    problem = SubProblem.of(np.array([1.0, -1.0, 1.0]), np.array([2.0, 0.0, 1.0]), np.array([5.0, 6.0, 7.0]))
    assert problem.rows.tolist() == [0, 2]
    assert problem.target is not None
    assert problem.target.tolist() == [5.0, 7.0]
    assert problem.weight.tolist() == [2.0, 1.0]


def test_preferring_says_which_cost_is_smaller_and_by_how_much() -> None:
    problem = SubProblem.comparing(np.array([1.0, 5.0, 2.0]), np.array([4.0, 3.0, 2.0]), np.array([1.0, 10.0, 1.0]))
    assert problem.rows.tolist() == [0, 1]
    assert problem.sign.tolist() == [1.0, -1.0]
    assert problem.weight.tolist() == [3.0, 20.0]


@pytest.mark.parametrize(
    ("sign", "target", "score"),
    [
        ([], None, 0.0),
        ([1.0, 1.0], None, 1.0),
        ([-1.0], None, -1.0),
        ([1.0, 1.0], [0.2, 0.6], -0.2),  # r = 0.2 is nowhere above its labels
        ([-1.0, -1.0], [0.2, 0.6], -0.6),  # r = 0.6 is nowhere below them
        ([1.0, -1.0], None, None),
    ],
)
def test_a_question_with_one_side_has_a_constant_answer_without_loss(
    sign: list[float], target: list[float] | None, score: float | None
) -> None:
    column = None if target is None else np.array(target)
    assert SubProblem.of(np.array(sign), np.ones(len(sign)), column).constant() == score


def test_cases_are_cut_and_calibrated_together() -> None:
    cases = CostExamples(np.array([[1.0, 4.0], [3.0, 2.0]]), np.array([0, 1]), np.array([1.0, 2.0]))
    assert cases.regret().tolist() == [[0.0, 3.0], [1.0, 0.0]]
    cut = cases.take(np.array([1]))
    assert (len(cut), cut.codes.tolist(), cut.weight.tolist()) == (1, [1], [2.0])


def test_a_score_of_zero_counts_half() -> None:
    assert vote(np.array([-2.0, 0.0, 0.1])).tolist() == [0.0, 0.5, 1.0]
