"""Validation, stopping, voting and the answers of the boosting loop."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from steelyard import AdaBoostM1Classifier, AdaC1Classifier, AdaC2M1Classifier, Costs, InverseFrequency
from steelyard.boosting._template import default_class_costs
from steelyard.errors import CostsError, InvalidInputError

STUMP = DecisionTreeClassifier(max_depth=1)
SMALL = DecisionTreeClassifier(max_depth=3)


@pytest.fixture(scope="module")
def rings():
    random = np.random.default_rng(3)
    X = random.normal(size=(240, 4))
    radius = (X[:, :2] ** 2).sum(axis=1)
    return X, np.array(["core", "middle", "rim"])[(radius > 0.7).astype(int) + (radius > 3.5)]


class Coin(DecisionTreeClassifier):
    """Knows nothing: answers the first class for every row."""

    def predict(self, X, check_input=True):
        return np.repeat(self.classes_[:1], len(X))


def test_all_rounds_are_used_on_hard_data(rings):
    model = AdaC2M1Classifier(SMALL, n_estimators=7, random_state=0).fit(*rings)
    assert model.stop_reason_ == "n_estimators"
    assert len(model.estimators_) == len(model.estimator_weights_) == 7
    assert (model.estimator_weights_ > 0).all()


def test_a_perfect_hypothesis_votes_with_one_and_ends_it():
    model = AdaC2M1Classifier(STUMP).fit([[0.0], [1.0]], [0, 1])
    assert model.stop_reason_ == "perfect"
    assert model.estimator_weights_.tolist() == [1.0]


def test_a_weak_first_hypothesis_is_kept_alone():
    model = AdaBoostM1Classifier(Coin()).fit([[0.0], [1.0], [2.0]], ["b", "b", "a"])
    assert model.stop_reason_ == "weak"
    assert model.estimator_weights_.tolist() == [1.0]
    assert model.predict([[5.0]]).tolist() == ["a"]


def test_a_weak_later_hypothesis_is_dropped():
    # xor: after the first stump the halves are even, no stump is better than chance
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1], [1, 1]], [0, 1, 1, 0, 0]
    model = AdaBoostM1Classifier(Coin()).fit(X, y)
    assert model.stop_reason_ == "weak"
    assert len(model.estimators_) == 1


def test_the_tree_gets_weights_that_sum_to_the_number_of_rows(rings):
    seen = []

    class Spy(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append(sample_weight.copy())
            return super().fit(X, y, sample_weight=sample_weight)

    AdaC2M1Classifier(Spy(max_depth=3), n_estimators=4).fit(*rings)
    np.testing.assert_array_equal(seen[0], np.ones(240))
    assert [w.sum() for w in seen] == pytest.approx([240] * 4)


def test_votes_are_what_predict_proba_and_decision_function_show(rings):
    X, y = rings
    model = AdaC2M1Classifier(SMALL, n_estimators=6, random_state=0).fit(X, y)
    votes = np.zeros((240, 3))
    for tree, alpha in zip(model.estimators_, model.estimator_weights_, strict=True):
        votes += alpha * (np.asarray(tree.predict(X))[:, None] == model.classes_)
    np.testing.assert_allclose(model.decision_function(X), votes)
    np.testing.assert_allclose(model.predict_proba(X), votes / votes.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(model.predict(X), model.classes_[votes.argmax(axis=1)])
    two = AdaC2M1Classifier(SMALL, random_state=0).fit(X, y == "rim")
    np.testing.assert_array_equal(two.predict(X), two.decision_function(X) > 0)


def test_no_share_of_the_vote_is_above_one(rings):
    X, y = rings
    model = AdaBoostM1Classifier().fit(X, y)
    tree, rng = model.estimators_[0], np.random.default_rng(0)
    shares = []
    for _ in range(50):  # all agree, and their votes are added up in two orders
        model.estimators_, model.estimator_weights_ = [tree] * 9, rng.random(9)
        shares.append(model.predict_proba(X[:5]).max())
    assert max(shares) == 1.0


def test_stages_end_where_predict_is(rings):
    X, y = rings
    model = AdaC2M1Classifier(SMALL, n_estimators=5, random_state=0).fit(X, y)
    stages = list(model.staged_predict(X))
    assert len(stages) == 5
    np.testing.assert_array_equal(stages[0], model.estimators_[0].predict(X))
    np.testing.assert_array_equal(stages[-1], model.predict(X))
    assert list(model.staged_score(X, y)) == pytest.approx([np.mean(s == y) for s in stages])


def test_importances_are_those_of_the_voters(rings):
    model = AdaC2M1Classifier(SMALL, random_state=0).fit(*rings)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.feature_importances_[:2].sum() > 0.8


def test_default_costs_are_the_square_root_rule(rings):
    X, y = rings
    named = InverseFrequency(0.5, relative_to="rarest").costs_for(y).class_costs()
    codes = np.unique(y, return_inverse=True)[1]
    np.testing.assert_allclose(default_class_costs(codes, np.ones(len(y))) * 2, named, rtol=1e-14)
    ours = AdaC2M1Classifier(SMALL, random_state=0).fit(X, y)
    same = AdaC2M1Classifier(SMALL, costs=InverseFrequency(0.5, relative_to="rarest"), random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.estimator_weights_, same.estimator_weights_, rtol=1e-9)


def test_matrix_dict_and_rows_mean_the_same_class_costs(rings):
    X, y = rings
    C = [[0, 1, 2], [1, 0, 1], [4, 2, 0]]  # sums 3, 2, 6
    codes = np.unique(y, return_inverse=True)[1]
    models = [
        AdaC2M1Classifier(SMALL, costs=C, random_state=0).fit(X, y),
        AdaC2M1Classifier(SMALL, costs={"core": 3.0, "middle": 2.0, "rim": 6.0}, random_state=0).fit(X, y),
        AdaC2M1Classifier(SMALL, random_state=0).fit(X, y, costs=np.array(C, float)[codes]),
    ]
    for other in models[1:]:
        np.testing.assert_allclose(other.estimator_weights_, models[0].estimator_weights_, rtol=1e-12)
        np.testing.assert_array_equal(other.predict(X), models[0].predict(X))


def test_per_example_costs_move_the_answers():
    X = np.array([[0.0], [0.0], [0.0], [1.0], [1.0]])
    y = np.array([0, 0, 1, 1, 1])
    cost = np.ones((5, 2)) * (np.arange(2) != y[:, None])

    def answer(cost):
        return AdaC2M1Classifier(STUMP, n_estimators=3, random_state=0).fit(X, y, costs=cost).predict([[0.0]])[0]

    assert answer(cost) == 0
    cost[2] = [1.9, 0]  # costly, yet not as costly as the two others together: the first hypothesis still gets a vote
    assert answer(cost) == 1


def test_a_costly_class_is_recalled_more(rings):
    X, y = rings

    def recall(cost):
        costs = {"core": 1, "middle": 1, "rim": cost}
        model = AdaC2M1Classifier(STUMP, n_estimators=3, costs=costs, random_state=0).fit(X, y)
        return np.mean(model.predict(X)[y == "rim"] == "rim")

    assert recall(20) > recall(0.05)


@pytest.mark.parametrize(
    ("model", "error", "match"),
    [
        (AdaC2M1Classifier(STUMP, n_estimators=0), InvalidInputError, "n_estimators must be a whole number >= 1"),
        (AdaC2M1Classifier(KNeighborsClassifier()), InvalidInputError, "take sample_weight in fit"),
        (AdaC2M1Classifier(STUMP, costs={"core": 1, "rim": 2}), CostsError, "know every class of y"),
        (AdaC2M1Classifier(STUMP, costs=[[0, 1], [1, 0]]), CostsError, "as many classes as y"),
        (AdaC1Classifier(STUMP), InvalidInputError, "Only binary classification is supported"),
    ],
)
def test_what_cannot_be_used_is_named(rings, model, error, match):
    with pytest.raises(error, match=match):
        model.fit(*rings)


def test_bad_weights_and_labels_are_named(rings):
    X, y = rings
    model = AdaC2M1Classifier(STUMP)
    for weight, match in [
        (np.zeros(240), "positive somewhere"),
        (-np.ones(240), ">= 0"),
        (np.full(240, 1e308), "have a finite sum"),
        (np.full(240, 1e305), "sum to less than"),
        (np.full(240, np.nan), "finite"),
        (np.ones(3), r"shape \(240,\)"),
    ]:
        with pytest.raises(InvalidInputError, match=match):
            model.fit(X, y, weight)
    with pytest.raises(InvalidInputError, match="two or more classes; got '1 class'"):
        model.fit(X, ["same"] * 240)
    with pytest.raises(InvalidInputError, match="240 rows"):
        model.fit(X, y[:-1])


def test_a_failed_fit_leaves_the_model_as_it_was(rings):
    X, y = rings
    model = AdaC2M1Classifier(STUMP, random_state=0).fit(X, y)
    before = model.predict(X)
    with pytest.raises(CostsError):
        model.set_params(costs={"nobody": 1.0, "core": 1.0}).fit(X[:, :2], y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_it_must_be_fitted_first():
    for method in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(AdaC2M1Classifier(STUMP), method)([[0.0]])


@pytest.mark.parametrize("huge", [1e-300, 1.0, 1e290])
def test_weights_of_any_size(rings, huge):
    X, y = rings
    weight = np.where(np.arange(240) % 5 == 0, 0.0, huge)
    model = AdaC2M1Classifier(SMALL, random_state=0).fit(X, y, weight)
    assert np.isfinite(model.estimator_weights_).all()
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_class_of_one_row_and_constant_columns():
    X, y = np.zeros((7, 2)), ["a"] * 6 + ["b"]
    model = AdaC2M1Classifier(STUMP).fit(X, y)
    assert model.stop_reason_ in ("weak", "n_estimators")
    assert np.isfinite(model.predict_proba(X)).all()


def test_zero_cost_classes_lose_all_weight(rings):
    X, y = rings
    model = AdaC2M1Classifier(SMALL, costs={"core": 0.0, "middle": 1.0, "rim": 1.0}, random_state=0).fit(X, y)
    assert np.isfinite(model.estimator_weights_).all()


def test_layouts_of_rows_do_not_matter_and_are_never_written_to(rings):
    X, y = rings
    expected = AdaC2M1Classifier(SMALL, random_state=0).fit(X, y).decision_function(X)
    frozen = X.copy()
    frozen.setflags(write=False)
    for rows in (frozen, np.asfortranarray(X), X.astype(">f8"), sparse.csr_matrix(X), np.repeat(X, 2, axis=1)[:, ::2]):
        model = AdaC2M1Classifier(SMALL, random_state=0).fit(rows, y)
        np.testing.assert_allclose(model.decision_function(rows), expected)


def test_parameters_survive_cloning():
    costs = Costs.from_classes({"a": 1.0, "b": 2.0})
    copy = clone(AdaC2M1Classifier(STUMP, 3, costs=costs, random_state=4))
    assert (copy.n_estimators, copy.random_state) == (3, 4)
    assert copy.costs.class_costs().tolist() == [1.0, 2.0]
    assert "costs" not in AdaBoostM1Classifier().get_params()
