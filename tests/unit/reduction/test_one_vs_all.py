import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from steelyard import OneVsAllClassifier


def test_it_is_one_vs_rest_and_blind_to_costs() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = rng.integers(0, 3, 90)
    ours = OneVsAllClassifier(LogisticRegression(), costs=[[0, 1, 9], [1, 0, 99], [5, 1, 0]]).fit(X, y)
    theirs = OneVsRestClassifier(LogisticRegression()).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X))
    assert (ours.predict(X) == theirs.predict(X)).all()
