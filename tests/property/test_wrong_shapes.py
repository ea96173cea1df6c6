"""Every estimator of the library says in its own words what is wrong with the shape or the kind of its input."""

import inspect
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

import steelyard
from steelyard import CostSearchCV, InvalidInputError, InvalidTypeError, OneSidedSVR, OnlineClassifier, SteelyardError

X = np.random.default_rng(0).normal(size=(24, 3))
y = np.arange(24) % 2
SHAPES: dict[str, tuple[Any, str]] = {
    "one dimension": (
        X[:, 0],
        r"X must have two dimensions, rows and columns; got 'ndarray of shape \(24,\)'. Reshape",
    ),
    "a flat list": (
        X[:, 0].tolist(),
        r"X must have two dimensions, rows and columns; got 'list of shape \(24,\)'. Resh",
    ),
    "three dimensions": (X[:, :, None], r"X must have two dimensions, .* of shape \(24, 3, 1\)"),
    "no rows": (np.empty((0, 3)), r"X must have at least one row; got 0 sample\(s\) \(shape=\(0, 3\)\)"),
    "no columns": (np.empty((24, 0)), r"X must have at least one column; got 0 feature\(s\) \(shape=\(24, 0\)\)"),
    "a sparse vector": (sparse.coo_array(X[:, 0]), r"X must have two dimensions, .* of shape \(24,\)"),
    "rows of different lengths": ([[1.0, 2.0]] * 23 + [[3.0]], r"X must be numbers in rows and columns; got 'list'"),
    "a number": (np.float64(3), "X must have (rows|two dimensions, rows and columns); got "),
    "nothing": (None, "X must have (rows|two dimensions, rows and columns); got (None|array\\(None)"),
}
NAMES = [
    name
    for name in steelyard.__all__
    if inspect.isclass(cls := getattr(steelyard, name)) and issubclass(cls, BaseEstimator) and name != "RecordHasher"
]  # any record is one for the hasher


def called(estimator: Any, method: str, rows: Any) -> None:
    n = len(rows) if isinstance(rows, list) else (getattr(rows, "shape", None) or (24,))[0]
    call = getattr(estimator, method)
    call(rows) if method in ("predict", "transform") else call(rows, y[:n])


@pytest.mark.parametrize("what", SHAPES)
@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_shape_is_told(name: str, what: str) -> None:
    rows, words = SHAPES[what]
    if name in BOOSTED and what == "no rows":
        words = "y must hold two or more classes; got '0 classes'|" + words  # there are no labels either
    with pytest.raises(InvalidInputError, match=words):
        called(getattr(steelyard, name)(), "fit", rows)
    fitted = getattr(steelyard, name)().fit(X, y)
    with pytest.raises(InvalidInputError, match=SHAPES[what][1]):
        called(fitted, "predict" if hasattr(fitted, "predict") else "transform", rows)


BOOSTED = [name for name in NAMES if hasattr(getattr(steelyard, name), "staged_predict") or name == "CostSearchCV"]


@pytest.mark.parametrize("name", NAMES)
def test_another_width_is_told(name: str) -> None:
    fitted = getattr(steelyard, name)().fit(X, y)
    words = (
        f"X must have 3 columns as in fit; got '2 columns'. X has 2 features, but {fitted_name(fitted)} is expecting 3"
    )
    with pytest.raises(InvalidInputError, match=words):
        called(fitted, "predict" if hasattr(fitted, "predict") else "transform", X[:, :2])


@pytest.mark.parametrize("name", NAMES)
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(name: str) -> None:
    named = pd.DataFrame(X, columns=list("abc"))
    fitted = getattr(steelyard, name)().fit(named, y)
    before = dict(vars(fitted))
    with pytest.raises(InvalidInputError, match=r"X must hold finite numbers|have 24 rows like|have 23 rows like"):
        fitted.fit(X[:, :2] * np.inf, y[1:])  # without names, fewer columns, and neither values nor labels will do
    assert vars(fitted).keys() == before.keys()
    assert all(vars(fitted)[key] is value for key, value in before.items())


def fitted_name(estimator: Any) -> str:
    """Of the estimator that reads the rows: a search of costs hands them on."""
    return type(estimator.best_estimator_ if isinstance(estimator, CostSearchCV) else estimator).__name__


def test_other_kinds_are_told() -> None:
    model = OnlineClassifier().fit(pd.DataFrame(X, columns=list("abc")), y)
    with pytest.raises(
        InvalidInputError, match=r"X must have the columns of fit; got 'DataFrame with 3 columns'\. The f"
    ):
        model.predict(pd.DataFrame(X, columns=list("abd")))
    with pytest.raises(
        InvalidInputError, match=r"X must be numbers in rows and columns; got 'ndarray of <U1'\. could not"
    ):
        OnlineClassifier().fit(np.array([["a", "b"]] * 24), y)
    with pytest.raises(
        InvalidTypeError, match=r"X must be numbers in rows and columns; got 'csr_matrix of float64'\. Spa"
    ):
        steelyard.C45Classifier().fit(sparse.csr_matrix(X), y)
    with pytest.raises(
        InvalidInputError, match=r"y must be one column, a value a row; got 'ndarray of int64'\. y should"
    ):
        OnlineClassifier().fit(X, np.c_[y, y])
    with pytest.raises(InvalidInputError, match="y must be one column, a value a row; got 'list'"):
        OneSidedSVR().fit(X, [[1], [2, 3]])
    with pytest.raises(InvalidInputError, match=r"y must hold labels of classes; got \[0.5, .*Unknown label type"):
        OnlineClassifier().fit(X, 0.5 + np.arange(24) / 8)
    with pytest.raises(InvalidInputError, match="Z must have two dimensions"):
        steelyard.gram(X, X[0])


@pytest.mark.parametrize("learner", [steelyard.OnlineClassifier, steelyard.OnlineCostClassifier])
def test_mistakes_of_a_stream_are_told(learner: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"sample_weight must hold numbers; got 'list'\. could not convert"):
        learner().fit(X, y, sample_weight=["a"] * 24)
    with pytest.raises(InvalidInputError, match=r"got 'CSOGD2'\. Give an object, e\.g\. update=CSOGD2\(0\.1\)"):
        learner("CSOGD2").fit(X, y)
    with pytest.raises(InvalidInputError, match=r"query must be a QueryRule; got 'AskAll'\. Give an object"):
        learner(query="AskAll").fit(X, y)
    with pytest.raises(InvalidInputError, match=r"y must hold the classes \[0, 1\]; got 7\. See row 2\."):
        learner().fit(X, y).partial_fit(X, np.r_[0, 1, 7, y[3:]])


@pytest.mark.parametrize("learner", [steelyard.OnlineClassifier, steelyard.OnlineCostClassifier])
def test_a_wrong_row_leaves_the_stream_as_it_was(learner: Any) -> None:
    model = learner().fit(X, y)
    before = model.state()["arrays"]
    for row in (X[0, :2], X[:2], np.empty((0, 3)), X[0] * 1j, [], "abc"):
        with pytest.raises(SteelyardError):
            model.decide(row)
        with pytest.raises(SteelyardError):
            model.learn(row, 1)
    for name, array in model.state()["arrays"].items():
        assert array.tobytes() == before[name].tobytes()
    assert model.n_rounds_ == 24
