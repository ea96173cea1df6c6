"""Laws of cost-sensitive boosting. Paper 003, secs. 4 and 5."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

import steelyard
from steelyard import AdaBoostM1Classifier, AdaC2Classifier, AdaC2M1Classifier
from steelyard.boosting import rules

QUICK = settings(max_examples=15)
SEED = st.integers(0, 2**31 - 1)


def cloud(seed: int, classes: int = 3, n: int = 90) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    y = np.digitize(X[:, 0] + 0.7 * random.normal(size=n), np.quantile(X[:, 0], np.arange(1, classes) / classes))
    y[:classes] = np.arange(classes)
    return X, y


def tree(depth: int = 2) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(max_depth=depth, random_state=0)


def same(left, right, X) -> None:
    np.testing.assert_array_equal(left.estimator_weights_, right.estimator_weights_)
    np.testing.assert_array_equal(left.predict(X), right.predict(X))


@QUICK
@given(SEED, st.lists(st.floats(0.01, 10), min_size=3, max_size=3), st.integers(-40, 40))
def test_only_ratios_of_costs_matter(seed, c, power):
    X, y = cloud(seed)
    models = [
        AdaC2M1Classifier(tree(), 6, costs=dict(enumerate(scale * np.array(c))), random_state=1).fit(X, y)
        for scale in (1.0, 2.0**power)
    ]
    same(*models, X)


@pytest.mark.parametrize("scale", [0.3, 7.7, 1e-6])
def test_any_scale_of_costs_is_neutral_up_to_rounding(scale):
    X, y = cloud(5)
    c = np.array([0.3281, 0.6682, 1.0])
    alphas = [
        AdaC2M1Classifier(tree(), 6, costs=dict(enumerate(s * c)), random_state=1).fit(X, y).estimator_weights_
        for s in (1.0, scale)
    ]
    np.testing.assert_allclose(*alphas, rtol=1e-9)


def test_adding_a_constant_to_the_costs_is_not_neutral():
    X, y = cloud(5)  # paper 003, sec. 7.2 says otherwise
    c = np.array([0.1, 0.6, 1.0])
    alphas = [
        AdaC2M1Classifier(tree(), 6, costs=dict(enumerate(c + a)), random_state=1).fit(X, y).estimator_weights_
        for a in (0.0, 2.0)
    ]
    assert len(alphas[0]) != len(alphas[1]) or not np.allclose(*alphas, rtol=1e-3)


@QUICK
@given(
    hnp.arrays(np.float64, 12, elements=st.floats(1e-6, 1)),
    hnp.arrays(np.float64, 12, elements=st.floats(1e-3, 1e3)),
    hnp.arrays(np.bool_, 12),
)
def test_half_of_the_new_weight_lies_on_the_wrong_examples(D, c, right):
    """Eqs. (33) and (34)."""
    right = right.copy()
    right[:2] = [True, False]
    D = D / D.sum()
    columns = rules.adac2(c)
    pro, contra, _ = rules.balance(D, columns, right)
    alpha = 0.5 * np.log(pro / contra)  # the law holds whichever side is heavier
    after, _ = rules.reweighted(D, columns, right, alpha, 1.0)
    assert after[right].sum() == pytest.approx(0.5, rel=1e-9)
    assert after.sum() == pytest.approx(1)


@QUICK
@given(SEED, st.floats(0.1, 9))
def test_equal_costs_are_adaboost_m1(seed, cost):
    X, y = cloud(seed)
    equal = AdaC2M1Classifier(tree(), 8, costs=dict.fromkeys(range(3), cost), random_state=1).fit(X, y)
    same(equal, AdaBoostM1Classifier(tree(), 8, random_state=1).fit(X, y), X)


@QUICK
@given(SEED, st.floats(0.05, 20))
def test_two_classes_are_adac2(seed, cost):
    X, y = cloud(seed, classes=2)
    many = AdaC2M1Classifier(tree(), 8, costs={0: 1.0, 1: cost}, random_state=1).fit(X, y)
    same(many, AdaC2Classifier(tree(), 8, costs={0: 1.0, 1: cost}, random_state=1).fit(X, y), X)


@QUICK
@given(SEED)
def test_unit_costs_make_the_adac_family_one(seed):
    X, y = cloud(seed, classes=2)
    plain = AdaBoostM1Classifier(tree(), 8, random_state=1).fit(X, y)
    for name in ("AdaC1Classifier", "AdaC2Classifier", "AdaC3Classifier", "CSB2Classifier"):
        same(getattr(steelyard, name)(tree(), 8, costs={0: 1, 1: 1}, random_state=1).fit(X, y), plain, X)


@QUICK
@given(SEED)
def test_agreement_with_scikit_learn_on_two_classes(seed):
    X, y = cloud(seed, classes=2)
    stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    ours = AdaBoostM1Classifier(stump, 15, random_state=1).fit(X, y)
    theirs = AdaBoostClassifier(stump, n_estimators=len(ours.estimators_), random_state=1).fit(X, y)
    # theirs leaves out the factor 1/2 of eq. (11)
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_ / 2, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("name", [n for n in steelyard.boosting.__all__ if n != "AdaBoostM1Classifier"])
def test_four_hundred_rounds_of_steep_costs_end_well(name):
    X, y = cloud(11, classes=2, n=120)
    model = getattr(steelyard, name)(tree(1), 400, costs={0: 0.02, 1: 1.0}, random_state=1).fit(X, y)
    assert np.isfinite(model.estimator_weights_).all()
    assert (model.estimator_weights_ > 0).all()
    assert np.isfinite(model.predict_proba(X)).all()


def test_weights_that_underflow_to_zero_do_no_harm():
    # no hypothesis is ever wrong about the costly class only, so its weight grows until the other's is exactly zero
    columns = rules.adac2(np.array([1e-3, 1e-3, 1.0, 1.0]))
    D, right = np.full(4, 0.25), np.array([True, True, True, False])
    for _ in range(400):
        pro, contra, _ = rules.balance(D, columns, right)
        D, _ = rules.reweighted(D, columns, right, max(rules.vote(pro, contra), 0.01), 1.0)
    assert D[:2].tolist() == [0, 0]
    assert D.sum() == pytest.approx(1)


@QUICK
@given(SEED, st.lists(st.integers(0, 3), min_size=37, max_size=37))
def test_weights_count_as_copies(seed, copies):
    X, y = cloud(seed, n=40)
    copies = np.array([1, 1, 1, *copies])
    weighted = AdaC2M1Classifier(tree(1), 1, costs={0: 1, 1: 2, 2: 3}, random_state=1).fit(X, y, copies)
    copied = AdaC2M1Classifier(tree(1), 1, costs={0: 1, 1: 2, 2: 3}, random_state=1)
    copied.fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    np.testing.assert_allclose(weighted.estimator_weights_, copied.estimator_weights_, rtol=1e-9)
