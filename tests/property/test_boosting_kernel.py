"""The native rounds have the bits of the Python template, whatever the variant, the data and the weights."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import steelyard
from steelyard import AdaC2M1Classifier, C45Classifier
from steelyard.boosting.population import Population

pytestmark = pytest.mark.kernel
VARIANTS = [getattr(steelyard, name) for name in steelyard.boosting.__all__]


class PlainC45(C45Classifier):
    """The same tree, but a subclass: boosting takes the general path."""


def data(seed: int, classes: int, missing: bool) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    n = int(random.integers(8, 120))
    X = np.column_stack([random.normal(size=(n, 2)), random.integers(4, size=(n, 2))])
    y = (X[:, 0] + X[:, 2] + random.normal(size=n) > np.array([[1.0], [2.5]])[: classes - 1]).sum(axis=0)
    y[:classes] = np.arange(classes)
    if missing:
        X[random.random(X.shape) < 0.1] = np.nan
    return X, y


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v.__name__)
@settings(max_examples=12)
@given(
    st.integers(0, 2**31 - 1),
    st.lists(st.floats(0.05, 20), min_size=3, max_size=3),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_native_rounds_equal_the_template_bit_for_bit(variant, seed, costs, missing, unpruned, weighted):
    classes = 2 if variant._binary_only else 3
    X, y = data(seed, classes, missing)
    weight = np.random.default_rng(seed).integers(0, 4, len(y)) + 0.25 if weighted else None
    settings_of_tree = {"unpruned": unpruned, "nominal": [2, 3]}
    native, general = variant(C45Classifier(**settings_of_tree), 12), variant(PlainC45(**settings_of_tree), 12)
    if "costs" in native.get_params():
        native.costs = general.costs = dict(enumerate(costs[:classes]))
    native.fit(X, y, weight)
    general.fit(X, y, weight)
    assert native.stop_reason_ == general.stop_reason_
    np.testing.assert_array_equal(native.estimator_weights_, general.estimator_weights_)
    np.testing.assert_array_equal(native.normalisers_, general.normalisers_)
    assert native.error_bound_ == general.error_bound_
    for ours, theirs in zip(native.estimators_, general.estimators_, strict=True):
        for field in fields(ours.tree_):
            np.testing.assert_array_equal(getattr(ours.tree_, field.name), getattr(theirs.tree_, field.name))
    np.testing.assert_array_equal(native.decision_function(X), general.decision_function(X))


@settings(max_examples=12)
@given(st.integers(0, 2**31 - 1), hnp.arrays(np.float64, (120, 3), elements=st.floats(0, 5)))
def test_costs_per_example_take_the_same_path(seed, rows):
    X, y = data(seed, 3, missing=False)
    rows = rows[: len(y)] + 0.01
    native, general = (steelyard.AdaC2M1Classifier(tree(), 8) for tree in (C45Classifier, PlainC45))
    native.fit(X, y, costs=rows)
    general.fit(X, y, costs=rows)
    np.testing.assert_array_equal(native.estimator_weights_, general.estimator_weights_)
    np.testing.assert_array_equal(native.normalisers_, general.normalisers_)
    assert native.error_bound_ == general.error_bound_


def test_four_hundred_rounds_with_weights_that_underflow():
    X, y = data(4, 2, missing=False)
    for variant in VARIANTS:
        model = variant(C45Classifier(max_depth=1, unpruned=True, collapse=False), 400)
        if "costs" in model.get_params():
            model.costs = {0: 0.02, 1: 1.0}
        model.fit(X, y)
        assert np.isfinite(model.estimator_weights_).all()
        assert np.isfinite(model.predict_proba(X)).all()


@settings(max_examples=25)
@given(st.integers(0, 2**31 - 1), st.lists(st.floats(0.05, 1), min_size=3, max_size=3), st.booleans(), st.booleans())
def test_a_population_answers_like_the_estimator_fitted_to_the_training_rows(seed, costs, missing, unpruned):
    X, y = data(seed, 3, missing)
    order = np.random.default_rng(seed).permutation(np.arange(3, len(y)))
    train, held = np.sort(np.r_[0:3, order[5:]]), order[:5]
    model = AdaC2M1Classifier(C45Classifier(nominal=[2, 3], unpruned=unpruned), 6)
    assert Population.takes(model, y, [train])
    answers = Population(model, X, y, [(train, held)]).answers(np.array(costs), 0)
    model.costs = dict(enumerate(costs))
    np.testing.assert_array_equal(answers, model.fit(X[train], y[train]).predict(X[held]))


def test_a_population_needs_all_classes_and_the_very_tree():
    y = np.array([0, 1, 2, 0, 1, 2])
    everything, no_second = np.arange(6), np.array([0, 2, 3, 5])
    assert Population.takes(AdaC2M1Classifier(), y, [everything])
    assert not Population.takes(AdaC2M1Classifier(), y, [everything, no_second])
    assert not Population.takes(AdaC2M1Classifier(PlainC45()), y, [everything])
