"""Estimators that a user brings to a comparison."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import steelyard
from steelyard import Costs, InvalidInputError
from steelyard.comparison.given import given_candidates

RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.normal(size=120), "kind": RNG.choice(["u", "v"], 120)})
X.loc[3, "a"] = np.nan
Y = np.where(X["a"].fillna(0) + RNG.normal(size=120) > 0.5, "bad", "good")
COSTS = Costs.binary(fn=5, fp=1, classes=["bad", "good"], positive="bad")


class Careful(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Answers only, takes costs, and remembers what it was given."""

    def fit(self, X: Any, y: Any, *, costs: Any) -> "Careful":
        assert costs.shape == (len(y), 2)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        assert np.isfinite(np.asarray(X)).all()
        return np.zeros(len(X), dtype=int)


def test_estimators_of_the_user_are_candidates_like_the_others() -> None:
    mine = {"mine": LogisticRegression(C=0.1), "bayes": GaussianNB(), "ridge": RidgeClassifier(), "careful": Careful()}
    result = steelyard.compare(X, Y, costs=COSTS, candidates=["logistic regression, C=1"], estimators=mine, cv=3)
    lines = {line.name: line for line in result.lines}
    assert set(mine) <= set(lines)
    assert lines["careful"].mean_cost.value == lines["always bad"].mean_cost.value
    assert result.winner not in ("bayes", "careful")  # they cannot be kept in a file
    again = steelyard.compare(X, Y, costs=COSTS, candidates=["logistic regression, C=1"], estimators=mine, cv=3)
    assert again.to_json() == result.to_json()


def test_one_that_can_be_saved_can_win(tmp_path: Any) -> None:
    result = steelyard.compare(
        X, Y, costs=COSTS, candidates=["RBF SVM, C=1"], estimators={"mine": LogisticRegression()}, cv=3, blend=False
    )
    assert {"mine", "RBF SVM, C=1"} <= {line.name for line in result.lines}
    if result.winner == "mine":
        result.save(tmp_path / "m.steelyard")
        assert steelyard.load_model(tmp_path / "m.steelyard").predict(X).shape == (120,)


@pytest.mark.parametrize(
    ("estimators", "words"),
    [
        ({"taken": GaussianNB()}, "have names of their own"),
        ({"": GaussianNB()}, "have names of their own"),
        ({"mine": GaussianNB}, "be a classifier with fit and predict"),
        ({"mine": 3}, "be a classifier with fit and predict"),
    ],
)
def test_what_is_no_estimator_is_said(estimators: Any, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        given_candidates(estimators, ["taken"])


def test_what_only_this_process_knows_is_an_error_before_others_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Notebooks define classes in __main__; a worker would end, and the advice say that nothing could be learned."""
    monkeypatch.setattr(Careful, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "Careful", Careful, raising=False)
    unknown = FunctionTransformer(lambda rows: rows)
    for estimator in (Careful(), make_pipeline(unknown, LogisticRegression())):
        for settings in ({"n_jobs": 2}, {"isolate": True}):
            with pytest.raises(InvalidInputError, match="estimator 'mine' must go to other processes"):
                steelyard.compare(X, Y, estimators={"mine": estimator}, out=tmp_path / "out", **settings)
    assert not (tmp_path / "out").exists()
