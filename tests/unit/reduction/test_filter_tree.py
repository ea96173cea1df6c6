from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from steelyard import FilterTreeClassifier, InvalidInputError
from steelyard.reduction.filter_tree import FilterTree, TournamentNode, balanced, matches, read_tournament
from steelyard.reduction.scheme import CostExamples


def test_matches_come_lower_rounds_first() -> None:
    assert matches((2, (0, (3, 1)))) == [
        TournamentNode((3,), (1,), 1),
        TournamentNode((0,), (1, 3), 2),
        TournamentNode((2,), (0, 1, 3), 3),
    ]


@pytest.mark.parametrize("n_classes", range(2, 12))
def test_balanced_trees_are_low_and_complete(n_classes: int) -> None:
    found = matches(balanced(list(range(n_classes))))
    assert len(found) == n_classes - 1
    assert found[-1].height == int(np.ceil(np.log2(n_classes)))
    assert sorted(found[-1].left + found[-1].right) == list(range(n_classes))


def test_upper_matches_are_between_the_winners_below() -> None:
    plan = FilterTree(((0, 1), (2, 3)))
    cases = CostExamples(np.array([[0.0, 1.0, 2.0, 5.0]] * 2), np.array([0, 0]), np.ones(2))
    lower = plan.problems(0, cases, np.empty((2, 0)))
    assert [p.weight.tolist() for p in lower] == [[1.0, 1.0], [3.0, 3.0]]
    scores = np.array([[1.0, 1.0], [-1.0, -1.0]])  # 0 and 2 come up for the first example, 1 and 3 for the second
    (final,) = plan.problems(1, cases, scores)
    assert final.weight.tolist() == [2.0, 4.0]
    assert final.sign.tolist() == [1.0, 1.0]


def test_the_champion_is_who_wins_all_its_matches() -> None:
    rng = np.random.default_rng(0)
    plan = FilterTree(((0, 3), ((1, 4), 2)))
    scores = rng.normal(size=(200, 4))

    def play(tree: Any, row: np.ndarray) -> int:
        if not isinstance(tree, tuple):
            return int(tree)
        left, right = matches(tree)[-1].left, matches(tree)[-1].right
        at = next(i for i, m in enumerate(plan.matches) if (m.left, m.right) == (left, right))
        return play(tree[0], row) if row[at] > 0 else play(tree[1], row)

    expected = [play(((0, 3), ((1, 4), 2)), row) for row in scores]
    assert plan.answer(scores).tolist() == expected


def test_tournaments() -> None:
    classes = np.array(["a", "b", "c"])
    assert read_tournament("balanced", classes, None) == ((0, 1), 2)
    assert read_tournament(("c", ["a", "b"]), classes, None) == (2, (0, 1))
    drawn = {read_tournament("random", classes, seed) for seed in range(20)}
    assert len(drawn) > 3
    assert read_tournament("random", classes, 7) == read_tournament("random", classes, 7)


@pytest.mark.parametrize(
    ("tournament", "message"),
    [
        ("knockout", "tournament must name the classes"),
        (("a", "b"), "tournament must name each of the classes"),
        ((("a", "b"), ("c", "a")), "tournament must name each of the classes"),
        ((("a", "b", "c"),), "tournament must pair two sides"),
        ((("a", "b"), "d"), "tournament must name the classes .* got 'd'"),
        (None, "tournament must name the classes"),
        (3, "tournament must name the classes"),
    ],
)
def test_impossible_tournaments_are_refused(tournament: Any, message: str) -> None:
    model = FilterTreeClassifier(DecisionTreeClassifier(), tournament=tournament)
    with pytest.raises(InvalidInputError, match=message):
        model.fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])


class Counting(LogisticRegression):  # type: ignore[misc]
    """A learner that counts the rows it is asked about; its scores are never drawn."""

    row_counts: ClassVar[list[int]] = []

    def decision_function(self, X: Any) -> Any:
        self.row_counts.append(len(X))
        return super().decision_function(X)


@pytest.mark.parametrize(("n_classes", "height"), [(2, 1), (5, 3), (8, 3), (32, 5)])
def test_a_row_meets_no_more_matches_than_the_tree_is_high(n_classes: int, height: int) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(20 * n_classes) % n_classes
    X = rng.normal(size=(len(y), 3)) + np.column_stack([y, y % 4, y // 4])
    model = FilterTreeClassifier(Counting(), tournament="balanced").fit(X, y)
    Counting.row_counts.clear()
    answers = model.predict(X)
    assert sum(Counting.row_counts) <= height * len(X)
    np.testing.assert_array_equal(answers, model.classes_[model.plan_.answer(model.solution_.scores(X))])


def test_walking_finds_who_wins_all_matches_also_where_some_are_drawn() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        K = int(rng.integers(2, 9))
        plan = FilterTree(read_tournament("random", np.arange(K), int(rng.integers(99))))
        scores = rng.integers(-1, 2, (30, K - 1)).astype(float)
        walked = plan._walk(lambda part, at, scores=scores: scores[at, part], 30)
        np.testing.assert_array_equal(walked, plan.answer(scores))


def test_machines_on_one_kernel_walk_to_the_same_answers() -> None:
    rng = np.random.default_rng(2)
    y = np.arange(90) % 6
    X = rng.normal(size=(90, 2)) + np.column_stack([y % 3, y // 3])
    model = FilterTreeClassifier(lam=1.0, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), model.plan_.answer(model.solution_.scores(X)))
