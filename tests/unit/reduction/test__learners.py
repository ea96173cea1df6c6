import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from steelyard import (
    AllPairsClassifier,
    FilterTreeClassifier,
    InvalidInputError,
    OneSidedClassifier,
    OneVsAllClassifier,
    SECOCClassifier,
)
from steelyard.reduction._learners import ClassifierSolution, Constant, RegressorSolution
from steelyard.validation.arrays import take_rows

rng = np.random.default_rng(0)
Y = np.repeat(["a", "b", "c"], 20)
X = rng.normal(size=(60, 2)) + np.repeat([[0.0], [1.5], [3.0]], 20, axis=0)
COSTS = [[0, 1, 9], [2, 0, 1], [1, 4, 0]]
WEIGHTED = [FilterTreeClassifier, AllPairsClassifier, SECOCClassifier]


@pytest.mark.parametrize("cls", WEIGHTED)
def test_a_learner_blind_to_weights_is_refused(cls: type) -> None:
    with pytest.raises(InvalidInputError, match="estimator must accept sample_weight"):
        cls(KNeighborsClassifier(), costs=COSTS).fit(X, Y)
    with pytest.raises(InvalidInputError, match="estimator must accept sample_weight"):
        cls(make_pipeline(StandardScaler(), LogisticRegression()), costs=COSTS).fit(X, Y)


def test_unweighted_reductions_take_any_learner_until_weights_are_given() -> None:
    for model in (OneVsAllClassifier(KNeighborsClassifier()), OneSidedClassifier(KNeighborsRegressor())):
        assert model.fit(X, Y).score(X, Y) > 0.7
        with pytest.raises(InvalidInputError, match="estimator must accept sample_weight"):
            model.fit(X, Y, sample_weight=np.arange(60.0))
        assert model.predict(X[:1]).shape == (1,)


@pytest.mark.parametrize("cls", [OneVsAllClassifier, *WEIGHTED])
@pytest.mark.parametrize("base", [DecisionTreeClassifier(max_depth=3), LogisticRegression(), Perceptron()])
def test_any_classifier_serves(cls: type, base: object) -> None:
    model = cls(base, costs=COSTS, **({"random_state": 0} if cls is FilterTreeClassifier else {}))
    assert set(model.fit(X, Y).predict(X)) <= {"a", "b", "c"}
    assert model.decision_function(X).shape == (60, 3)


def test_scores_of_solutions() -> None:
    signs = np.where(Y == "a", 1, -1)
    logistic, tree = LogisticRegression().fit(X, signs), DecisionTreeClassifier(max_depth=1).fit(X, signs)
    np.testing.assert_allclose(ClassifierSolution(logistic).scores(X), logistic.decision_function(X))
    np.testing.assert_allclose(ClassifierSolution(tree).scores(X), tree.predict_proba(X)[:, 1] - 0.5)
    line = LinearRegression().fit(X, X[:, 0])
    np.testing.assert_allclose(RegressorSolution(line).scores(X), -X[:, 0])
    assert Constant(2.0).scores(X).tolist() == [2.0] * 60


@pytest.mark.parametrize("wrap", [pd.DataFrame, lambda a: pl.DataFrame(a, schema=["u", "v"]), sparse.csr_array])
def test_rows_are_taken_from_frames_and_matrices(wrap) -> None:  # type: ignore[no-untyped-def]
    taken = take_rows(wrap(X), np.array([3, 1]))
    assert type(taken) is type(wrap(X))
    dense = taken.toarray() if sparse.issparse(taken) else np.asarray(taken)
    np.testing.assert_allclose(dense, X[[3, 1]])
    everything = wrap(X)
    assert take_rows(everything, np.arange(60)) is everything


def test_frames_reach_the_base_learner() -> None:
    frame = pd.DataFrame(X, columns=["u", "v"])
    model = FilterTreeClassifier(LogisticRegression(), costs=COSTS, tournament="balanced").fit(frame, Y)
    assert model.feature_names_in_.tolist() == ["u", "v"]
    assert (
        model.predict(frame)
        == FilterTreeClassifier(LogisticRegression(), costs=COSTS, tournament="balanced").fit(X, Y).predict(X)
    ).all()
    weight = (np.arange(60) % 3 > 0).astype(float)
    dropped = FilterTreeClassifier(LogisticRegression(), costs=COSTS, tournament="balanced")
    few = frame[weight > 0], Y[weight > 0]
    np.testing.assert_allclose(
        dropped.fit(frame, Y, sample_weight=weight).decision_function(frame), dropped.fit(*few).decision_function(frame)
    )


@pytest.mark.parametrize("layout", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
@pytest.mark.parametrize("cls", [OneVsAllClassifier, *WEIGHTED])
def test_sparse_rows_of_any_layout(cls: type, layout: str) -> None:
    rows = sparse.csr_array(X).asformat(layout)
    weight = np.ones(60)
    weight[::7] = 0.0  # some rows must be left out
    options = {"random_state": 0} if cls is FilterTreeClassifier else {}
    model = cls(LogisticRegression(), **options).fit(rows, Y, sample_weight=weight)
    plain = cls(LogisticRegression(), **options).fit(X, Y, sample_weight=weight)
    np.testing.assert_array_equal(model.predict(rows), plain.predict(X))
