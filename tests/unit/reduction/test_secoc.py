import numpy as np
import pytest

from steelyard import InvalidInputError, SECOCClassifier
from steelyard.reduction.scheme import CostExamples
from steelyard.reduction.secoc import SECOC, hadamard_code


@pytest.mark.parametrize("n_classes", [2, 3, 4, 5, 8, 9, 16, 26])
def test_every_group_divides_the_classes_and_tells_any_two_apart(n_classes: int) -> None:
    code = hadamard_code(n_classes)
    order = len(code) + 1
    assert order < 2 * n_classes
    assert (code.any(axis=1) & ~code.all(axis=1)).all()
    for i in range(n_classes):
        for j in range(i):
            assert (code[:, i] != code[:, j]).sum() == order // 2


def test_questions_ask_for_the_share_of_the_cost() -> None:
    plan = SECOC(np.array([[True, False, True]]), np.array([0.25, 0.75]))
    cases = CostExamples(np.array([[1.0, 3.0, 0.0], [2.0, 2.0, 2.0]]), np.array([2, 0]), np.array([10.0, 1.0]))
    low, high = plan.problems(0, cases, np.empty((2, 0)))
    assert low.rows.tolist() == []  # share 1/4 is on the threshold; equal costs weigh nothing
    assert high.rows.tolist() == [0]
    assert high.sign.tolist() == [-1.0]
    assert high.weight.tolist() == [20.0]


def test_true_shares_give_the_cheapest_class() -> None:
    rng = np.random.default_rng(1)
    costs = rng.uniform(0, 1, (50, 5))
    costs[np.arange(50), rng.integers(0, 5, 50)] = 0.0
    thresholds = (np.arange(2000) + 0.5) / 2000
    plan = SECOC(hadamard_code(5), thresholds)
    shares = (costs @ plan.code.T) / costs.sum(axis=1, keepdims=True)
    scores = (shares[:, :, None] - thresholds).reshape(50, -1)
    assert (costs[np.arange(50), plan.answer(scores)] < 0.02).all()


def test_thresholds_are_midpoints_and_counted() -> None:
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 2]
    from sklearn.tree import DecisionTreeClassifier

    model = SECOCClassifier(DecisionTreeClassifier(), n_thresholds=2).fit(X, y)
    assert model.plan_.thresholds.tolist() == [0.25, 0.75]
    with pytest.raises(InvalidInputError, match="n_thresholds must be a whole number >= 1; got 0"):
        SECOCClassifier(n_thresholds=0).fit(X, y)


def test_groups_of_ones_own_are_the_ones_asked_about() -> None:
    X, y = [[0.0], [0.1], [1.0], [1.1], [2.0], [2.1]], list("aabbcc")
    own = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]  # one group a class, as in one-vs-all
    model = SECOCClassifier(code=own, lam=0.1).fit(X, y)
    assert model.plan_.code.tolist() == [[True, False, False], [False, True, False], [False, False, True]]
    assert model.predict(X).tolist() == y
    hadamard = SECOCClassifier(lam=0.1).fit(X, y)
    given = SECOCClassifier(code=hadamard_code(3), lam=0.1).fit(X, y)
    np.testing.assert_array_equal(given.decision_function(X), hadamard.decision_function(X))


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("paley", "code must be a matrix of 0 and 1; got 'paley'"),
        ([[1, 0], [0, 1]], r"code must have a column for each of the 3 classes; got \(2, 2\)"),
        ([1, 0, 1], r"code must have a column for each of the 3 classes; got \(3,\)"),
        ([[1, 0, 2], [0, 1, 1]], "code must be a matrix of 0 and 1"),
        ([[1, 0, np.nan], [0, 1, 1]], "code must be a matrix of 0 and 1"),
        ([[1, 0, 0], [0, 1, 1]], "code must tell every two classes apart by some group"),
        (np.empty((0, 3)), "code must tell every two classes apart by some group"),
        ([[1, 0], [0, 1, 1]], "code must be a matrix of 0 and 1"),
    ],
)
def test_codes_that_cannot_serve_are_refused(code: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        SECOCClassifier(code=code).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
