from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from steelyard import Costs, ExpectedCostClassifier, FMeasureClassifier, InvalidInputError, f_score

RNG = np.random.default_rng(0)
P = RNG.random(4000) ** 3  # P(positive | x) = x, mean 1/4
Y = (RNG.random(4000) < P).astype(int)


class Known(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The posterior is the row itself; the cheapest answer follows from the costs."""

    def __init__(self, costs: Costs | None = None) -> None:
        self.costs = costs

    def fit(self, X: Any, y: Any) -> "Known":
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        assert self.costs is not None
        return self.costs.decide(np.column_stack([1 - X[:, 0], X[:, 0]]))


def test_where_the_posterior_is_known_the_best_f_is_found() -> None:
    """The best threshold on the posterior is half the best F; the grid comes near it."""
    model = FMeasureClassifier(Known(), grid=20, cv=3).fit(P[:, None], Y)
    best = max(f_score(Y, (t <= P).astype(int)) for t in np.linspace(0.01, 0.99, 99))
    found = f_score(Y, model.predict(P[:, None]))
    assert best - found <= 0.01
    share = Y.mean()
    assert model.guarantee_ == pytest.approx(2 * (2 / 20) * np.hypot(share, 1 - share) / share)  # Proposition 2
    assert found > f_score(Y, (P >= 0.5).astype(int)) + 0.02
    assert abs(model.theta_ - best) < 0.15
    assert model.f_curve_.shape == (20, 2)
    assert model.f_curve_[:, 1].max() == f_score(Y, model.predict(P[:, None]))


def test_a_learner_without_costs_gets_them_as_weights_of_the_rows() -> None:
    model = FMeasureClassifier(LogisticRegression(), grid=10, cv=3).fit(P[:, None], Y)
    weights = np.where(Y == 1, 1 - model.theta_ / 2, model.theta_ / 2)
    alone = LogisticRegression().fit(P[:, None], Y, sample_weight=weights)
    assert (model.predict(P[:, None]) == alone.predict(P[:, None])).all()
    plain = LogisticRegression().fit(P[:, None], Y)
    assert f_score(Y, model.predict(P[:, None])) > f_score(Y, plain.predict(P[:, None])) + 0.02


def test_the_positive_class_may_be_the_first() -> None:
    swapped = FMeasureClassifier(Known(), positive=0, cv=3).fit(P[:, None], Y)
    assert f_score(Y, swapped.predict(P[:, None]), positive=0) == pytest.approx(swapped.f_curve_[:, 1].max())


@pytest.mark.parametrize(
    ("model", "y", "words"),
    [
        (FMeasureClassifier(Known()), [0, 1, 2] * 4, "y must hold two classes"),
        (FMeasureClassifier(Known(), grid=0), [0, 1] * 6, "grid must be a whole number >= 1"),
        (FMeasureClassifier(Known(), cv=1), [0, 1] * 6, "cv must be a whole number >= 2"),
        (FMeasureClassifier(KNeighborsClassifier()), [0, 1] * 6, "a parameter costs or a fit that takes sample_weight"),
    ],
)
def test_bad_input_is_refused(model: FMeasureClassifier, y: list[int], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        model.fit(np.zeros((12, 1)), y)
    assert not hasattr(model, "theta_")


def test_it_has_scores_that_agree_with_its_answers() -> None:
    """So that it can be calibrated, and stand for one class of many."""
    rows = P[:400, None]
    model = FMeasureClassifier(LogisticRegression(), grid=4, cv=3).fit(rows, Y[:400])
    assert (model.decision_function(rows) == model.estimator_.decision_function(rows)).all()
    plain = FMeasureClassifier(grid=4, cv=3)
    first = FMeasureClassifier(grid=4, cv=3, positive=0)
    for each in (plain, first, FMeasureClassifier(GaussianNB(), grid=4, cv=3)):
        score = each.fit(rows, Y[:400]).decision_function(rows)
        assert ((score > 0) == (each.predict(rows) == 1)).all()
        assert 0 < (score > 0).mean() < 1
    assert not hasattr(FMeasureClassifier(Known()), "decision_function")
    assert CalibratedClassifierCV(plain, cv=3).fit(rows, Y[:400]).predict_proba(rows).shape == (400, 2)
    many = np.digitize(P[:400], [0.1, 0.5])
    assert set(OneVsRestClassifier(plain).fit(rows, many).predict(rows)) >= {0, 2}


def test_a_learner_that_takes_neither_costs_nor_weights_is_told_what_helps() -> None:
    with pytest.raises(InvalidInputError, match=r"got 'KNeighborsClassifier'. Or give ExpectedCostClassifier"):
        FMeasureClassifier(KNeighborsClassifier()).fit(P[:50, None], Y[:50])
    inner = ExpectedCostClassifier(make_pipeline(StandardScaler(), KNeighborsClassifier()))
    assert FMeasureClassifier(inner, grid=3, cv=2).fit(P[:50, None], Y[:50]).theta_ > 0
