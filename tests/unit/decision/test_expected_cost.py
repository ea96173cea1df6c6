from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from steelyard import (
    Costs,
    CostsError,
    ExpectedCostClassifier,
    FMeasureClassifier,
    InvalidInputError,
    InverseFrequency,
)

rng = np.random.default_rng(0)
Y = rng.integers(0, 3, 120)
X = rng.normal(size=(120, 2)) + Y[:, None]
C = np.array([[0.0, 1.0, 20.0], [2.0, 0.0, 3.0], [4.0, 1.0, 0.0]])


def test_the_answer_is_the_bayes_decision() -> None:
    model = ExpectedCostClassifier(GaussianNB(), costs=C).fit(X, Y)
    proba = GaussianNB().fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(model.expected_costs(X), proba @ C)
    assert (model.predict(X) == (proba @ C).argmin(axis=1)).all()
    np.testing.assert_allclose(model.predict_proba(X), proba)


def test_costs_may_change_at_prediction() -> None:
    model = ExpectedCostClassifier(GaussianNB()).fit(X, Y)
    assert (model.predict(X) == GaussianNB().fit(X, Y).predict(X)).all()
    assert (model.predict(X, costs=C) == model.predict(X, costs=Costs.from_matrix(C))).all()
    each = rng.uniform(0, 5, (len(X), 3, 3))
    expected = np.einsum("ni,nij->nj", model.predict_proba(X), each)
    np.testing.assert_allclose(model.expected_costs(X, costs=each), expected)
    assert (model.predict(X, costs=each) == expected.argmin(axis=1)).all()
    assert (model.predict(X) == model.predict(X, costs=1 - np.eye(3))).all()  # the fitted costs are as they were


def test_pairs_per_example_at_prediction() -> None:
    labels = np.where(Y == 0, "ok", "bad")
    model = ExpectedCostClassifier().fit(X, labels)
    costs = Costs.binary(fn=np.full(len(X), 1000.0), fp=1.0, classes=["ok", "bad"], positive="bad")
    assert (model.predict(X, costs=costs) == "bad").mean() > (model.predict(X) == "bad").mean()


def test_costs_of_training_examples_are_averaged_by_class() -> None:
    rows = rng.uniform(0, 4, (len(X), 3))
    weight = rng.uniform(0.5, 2, len(X))
    model = ExpectedCostClassifier(GaussianNB()).fit(X, Y, costs=rows, sample_weight=weight)
    mean = [np.average(rows[k == Y], axis=0, weights=weight[k == Y]) for k in range(3)]
    np.testing.assert_allclose(model.costs_.matrix, mean)


@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic", "temperature"])
def test_calibration_makes_probabilities_of_scores(calibration: str) -> None:
    model = ExpectedCostClassifier(LinearSVC(), calibration=calibration, cv=3, costs=C).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert set(model.predict(X)) <= {0, 1, 2}


def test_what_cannot_be_used_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"have predict_proba.*calibration=.sigmoid"):
        ExpectedCostClassifier(LinearSVC()).fit(X, Y)
    with pytest.raises(InvalidInputError, match="calibration must be one of None, 'sigmoid'"):
        ExpectedCostClassifier(calibration="platt").fit(X, Y)
    with pytest.raises(InvalidInputError, match="accept sample_weight"):
        ExpectedCostClassifier(KNeighborsClassifier()).fit(X, Y, sample_weight=np.ones(len(X)))
    with pytest.raises(InvalidInputError, match="two or more classes"):
        ExpectedCostClassifier().fit(X, np.zeros(len(X), dtype=int))
    model = ExpectedCostClassifier(LogisticRegression()).fit(X, Y)
    with pytest.raises(CostsError, match="rows like costs"):
        model.predict(X[:2], costs=np.ones((3, 3, 3)))
    with pytest.raises(CostsError, match="K x K"):
        model.predict(X[:2], costs=np.ones((2, 3)))
    with pytest.raises(InvalidInputError, match="not depend on y"):
        model.predict(X[:2], costs=InverseFrequency())


def test_frames_reach_the_estimator_unchanged() -> None:
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = ExpectedCostClassifier().fit(frame, Y)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert (model.predict(frame) == ExpectedCostClassifier().fit(X, Y).predict(X)).all()


def test_a_fitted_classifier_decides_as_if_fitted_here() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.where(rng.random(60) > 0.5, "b", "a")
    costs = Costs.binary(fn=5, fp=1, classes=["a", "b"])
    base = LogisticRegression().fit(X, y)
    fitted = ExpectedCostClassifier(base, costs=costs).with_fitted(base, X, costs)
    assert fitted.n_features_in_ == 2
    assert np.array_equal(
        fitted.predict(X), ExpectedCostClassifier(LogisticRegression(), costs=costs).fit(X, y).predict(X)
    )


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([[np.nan], [1.0], [2.0], [3.0]], "X must hold finite numbers"),
        ([["a"], ["b"], ["c"], ["d"]], "X must be numbers in rows"),
    ],
)
def test_rows_that_its_own_learner_cannot_read_are_refused_in_one_sentence(rows: Any, words: str) -> None:
    model = ExpectedCostClassifier()
    for each in (model, FMeasureClassifier(cv=2)):
        with pytest.raises(InvalidInputError, match=words):
            each.fit(rows, [0, 1, 0, 1])
    assert not hasattr(model, "classes_")
    model.fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    with pytest.raises(InvalidInputError, match=words):
        model.predict(rows)
    trees = ExpectedCostClassifier(HistGradientBoostingClassifier(max_iter=2))  # which takes missing cells
    assert trees.fit([[np.nan], [1.0], [2.0], [3.0]], [0, 1, 0, 1]).predict([[np.nan]]).shape == (1,)
