"""The bounds of paper 003 on the training error, and the normalisers behind them."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from steelyard import (
    AdaBoostM1Classifier,
    AdaC1Classifier,
    AdaC2Classifier,
    AdaC2M1Classifier,
    AdaC3Classifier,
    AdaCostClassifier,
    C45Classifier,
    CSB1Classifier,
    InvalidInputError,
    error_bound,
)

X, Y = load_iris(return_X_y=True)
NOISY = np.where(np.arange(150) % 11 == 0, (Y + 1) % 3, Y)
COSTS = {0: 1.0, 1: 2.0, 2: 0.5}


class PlainTree(C45Classifier):
    """The same tree on the path of foreign base learners."""


@pytest.mark.parametrize("base", [C45Classifier(min_obj=20), PlainTree(min_obj=20)], ids=["native", "python"])
def test_eq_16_is_the_product_of_the_normalisers(base: C45Classifier) -> None:
    model = AdaBoostM1Classifier(base, n_estimators=6).fit(X, NOISY)
    assert model.error_bound_ == pytest.approx(np.prod(model.normalisers_))
    assert (model.predict(X) != NOISY).mean() <= model.error_bound_
    assert len(model.normalisers_) == len(model.estimators_)


@pytest.mark.parametrize("base", [C45Classifier(min_obj=20), PlainTree(min_obj=20)], ids=["native", "python"])
def test_eq_30_replayed(base: C45Classifier) -> None:
    model = AdaC2M1Classifier(base, n_estimators=5, costs=COSTS).fit(X, NOISY)
    c = np.array([COSTS[label] for label in NOISY]) / 2.0
    D, margins = np.full(len(X), 1 / len(X)), np.zeros(len(X))
    for tree, alpha, Z in zip(model.estimators_, model.estimator_weights_, model.normalisers_, strict=True):
        sign = np.where(tree.predict(X) == NOISY, 1.0, -1.0)
        D = c * D * np.exp(-alpha * sign)
        assert D.sum() == pytest.approx(Z)
        D, margins = D / D.sum(), margins + alpha * sign
    T = len(model.estimators_)
    assert model.error_bound_ == pytest.approx(np.prod(model.normalisers_) * (D / c**T).sum())
    assert model.error_bound_ == pytest.approx(np.exp(-margins).mean())
    found = error_bound(model, X, NOISY)
    assert found.value == pytest.approx(model.error_bound_)
    assert found.printed == pytest.approx(np.prod(model.normalisers_) / c.min() ** T)
    assert found.measured == (model.predict(X) != NOISY).mean()
    assert (found.measures <= found.values).all()
    assert found.value <= found.printed


def test_native_and_python_rounds_have_the_same_bits() -> None:
    one = AdaC2M1Classifier(C45Classifier(), n_estimators=8, costs=COSTS).fit(X, NOISY)
    two = AdaC2M1Classifier(PlainTree(), n_estimators=8, costs=COSTS).fit(X, NOISY)
    assert one.normalisers_.tolist() == two.normalisers_.tolist()
    assert one.error_bound_ == two.error_bound_


def test_one_perfect_round_and_a_weak_first_one_have_their_normaliser() -> None:
    perfect = AdaBoostM1Classifier(DecisionTreeClassifier(), n_estimators=4).fit(X, Y)
    assert perfect.stop_reason_ == "perfect"
    assert perfect.normalisers_.tolist() == pytest.approx([np.exp(-1.0)])
    weak = AdaBoostM1Classifier(DecisionTreeClassifier(max_depth=1)).fit([[0], [0], [0], [0]], [0, 0, 1, 1])
    assert weak.stop_reason_ == "weak"
    assert weak.error_bound_ == pytest.approx(np.cosh(1.0))


def test_relatives_for_two_classes_keep_it_too() -> None:
    y = (NOISY == 2).astype(int)
    found = error_bound(CSB1Classifier(DecisionTreeClassifier(max_depth=1), costs={0: 1, 1: 3}).fit(X, y), X, y)
    assert found.measured <= found.value


@pytest.mark.parametrize("learner", [AdaBoostM1Classifier, AdaC2M1Classifier])
def test_rows_count_as_they_did_in_the_fit(learner) -> None:  # type: ignore[no-untyped-def]
    weight = np.random.default_rng(3).integers(0, 4, 150).astype(float)
    model = learner(C45Classifier(min_obj=20), n_estimators=5).fit(X, NOISY, sample_weight=weight)
    found, plain = error_bound(model, X, NOISY, sample_weight=weight), error_bound(model, X, NOISY)
    assert found.value == pytest.approx(model.error_bound_)
    assert found.measured == pytest.approx(np.average(model.predict(X) != NOISY, weights=weight))
    copies = np.repeat(np.arange(150), weight.astype(int))
    alike = error_bound(model, X[copies], NOISY[copies])
    assert (alike.value, alike.measured) == pytest.approx((found.value, found.measured))
    assert plain.value != pytest.approx(found.value)


@pytest.mark.parametrize("learner", [AdaC1Classifier, AdaC3Classifier, AdaCostClassifier, CSB1Classifier])
def test_eq_30_is_no_theorem_about_relatives(learner) -> None:  # type: ignore[no-untyped-def]
    y = (NOISY == 2).astype(int)
    model = learner(DecisionTreeClassifier(max_depth=1), costs={0: 1, 1: 3}).fit(X, y)
    assert error_bound(model, X, y).printed is None
    assert error_bound(model, X, y).holds
    own = AdaC2Classifier(DecisionTreeClassifier(max_depth=1), costs={0: 1, 1: 3}).fit(X, y)
    assert error_bound(own, X, y).printed_holds


def test_other_models_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="model must be a boosted classifier"):
        error_bound(DecisionTreeClassifier().fit(X, Y), X, Y)
