from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from steelyard import Costs, FMeasureClassifier, InvalidInputError, f_score

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
