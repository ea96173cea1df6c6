"""Nested evaluation: nothing of a test row is ever seen inside."""

import numpy as np
import pytest
from scipy import stats

from steelyard import AdaC2M1Classifier, CostSearchCV, nested_evaluate
from steelyard.errors import InvalidInputError
from steelyard.search.nested import NestedEvaluation


def noise(n=120):
    random = np.random.default_rng(0)
    return random.normal(size=(n, 3)), np.repeat(["a", "b", "c"], [n // 2, n // 4, n - n // 2 - n // 4])


def test_on_noise_the_search_believes_more_than_it_gets():
    model = AdaC2M1Classifier(n_estimators=3)
    found = nested_evaluate(
        CostSearchCV(model, cv=2, n_trials=40), *noise(), cv=6, baselines={"default": model}, random_state=1
    )
    assert found.validation_fitness.mean() > found.scores["search"].mean() + 0.03
    assert len(found.costs) == 6
    assert "validation fitness inside the search" in str(found)


def test_same_seed_same_values():
    search = CostSearchCV(AdaC2M1Classifier(n_estimators=2), sampler="power_grid", cv=2)
    one, two = (nested_evaluate(search, *noise(), cv=3, random_state=4) for _ in range(2))
    np.testing.assert_array_equal(one.scores["search"], two.scores["search"])


def test_intervals_allow_for_shared_rows():
    values = {"search": np.array([0.9, 0.8, 0.85]), "plain": np.array([0.7, 0.7, 0.8])}
    found = NestedEvaluation(values, np.array([0.95] * 3), [], 0.25)
    interval = found.interval()
    assert interval.value == pytest.approx(0.85)
    assert interval.standard_error == pytest.approx(0.05 * np.sqrt(1 / 3 + 0.25))
    assert interval.high - interval.low == pytest.approx(2 * stats.t.ppf(0.975, 2) * interval.standard_error)
    assert found.difference("plain").value == pytest.approx(0.85 - 2.2 / 3)


def test_names_that_are_not_there_are_named():
    found = NestedEvaluation({"search": np.ones(3), "plain": np.ones(3)}, np.ones(3), [], 0.25)
    with pytest.raises(InvalidInputError, match="name must be one of search, plain; got 'default'"):
        found.interval("default")
    with pytest.raises(InvalidInputError, match="baseline must be one of search, plain; got 'default'"):
        found.difference("default")


def test_what_is_searched_and_what_it_is_compared_with_have_names_of_their_own():
    model = AdaC2M1Classifier(n_estimators=2)
    with pytest.raises(InvalidInputError, match="baselines must have other names than the search itself; got 'search'"):
        nested_evaluate(CostSearchCV(model), *noise(), baselines={"search": model})
    with pytest.raises(InvalidInputError, match="search must be a CostSearchCV; got AdaC2M1"):
        nested_evaluate(model, *noise())


def test_a_class_that_cannot_be_cut_is_named():
    X, y = noise()
    y = y.copy()
    y[0] = "x"
    with pytest.raises(InvalidInputError, match="two or more rows of every class"):
        nested_evaluate(CostSearchCV(), X, y)
