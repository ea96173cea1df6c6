"""Figures 2 and 3 of paper 003: weights by class, right and wrong, before and after a round."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_iris

from steelyard import AdaBoostM1Classifier, AdaC2M1Classifier, C45Classifier, InvalidInputError, ResamplingDisplay
from steelyard.boosting.resampling import STAGES

X, Y = load_iris(return_X_y=True)
NOISY = np.where(np.arange(150) % 7 == 0, (Y + 1) % 3, Y)
COSTS = {0: 3.0, 1: 1.0, 2: 2.0}
BASE = C45Classifier(min_obj=15)


def test_adaboost_moves_all_classes_alike_and_half_becomes_wrong() -> None:
    model = AdaBoostM1Classifier(BASE, 3).fit(X, NOISY)
    shares = ResamplingDisplay.of_estimator(model, X, NOISY).shares
    np.testing.assert_allclose(shares.sum(axis=(1, 2)), 1.0)
    np.testing.assert_allclose(shares[0], shares[1])  # no costs
    np.testing.assert_allclose(shares[2].sum(axis=0), [0.5, 0.5])  # eq. (33)
    right = model.estimators_[0].predict(X) == NOISY
    counts = [[(right & (k == NOISY)).sum(), (~right & (k == NOISY)).sum()] for k in range(3)]
    np.testing.assert_allclose(shares[0], np.array(counts) / 150)
    np.testing.assert_allclose(shares[2] / shares[0], np.tile(0.5 / shares[0].sum(axis=0), (3, 1)))


@pytest.mark.parametrize("number", [1, 2])
def test_costs_move_weight_between_classes_first(number: int) -> None:
    model = AdaC2M1Classifier(BASE, 3, costs=COSTS).fit(X, NOISY)
    before, priced, after = ResamplingDisplay.of_estimator(model, X, NOISY, round_number=number).shares
    carried = before * np.array([3.0, 1.0, 2.0])[:, None]
    np.testing.assert_allclose(priced, carried / carried.sum())
    np.testing.assert_allclose(after.sum(axis=0), [0.5, 0.5])  # eq. (34)


def test_rounds_follow_on_each_other() -> None:
    model = AdaC2M1Classifier(BASE, 3, costs=COSTS).fit(X, NOISY)
    one, two = (ResamplingDisplay.of_estimator(model, X, NOISY, round_number=n).shares for n in (1, 2))
    np.testing.assert_allclose(two[0].sum(axis=1), one[2].sum(axis=1))


def test_it_is_drawn() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    model = AdaC2M1Classifier(BASE, 2, costs=COSTS).fit(X, NOISY)
    shown = ResamplingDisplay.from_estimator(model, X, NOISY)
    shown.figure_.canvas.draw()
    written = [shown.ax_.get_xticklabels(minor=minor) for minor in (False, True)]
    assert [[text.get_text().strip() for text in line] for line in written] == [["right", "wrong"] * 3, list(STAGES)]
    for line in written:
        places = [text.get_window_extent() for text in line]
        assert not any(a.overlaps(b) for a, b in pairwise(places))
    assert len(shown.bars_) == 3
    assert sum(bar.get_height() for bars in shown.bars_ for bar in bars) == pytest.approx(3.0)


def test_what_cannot_be_replayed_is_refused() -> None:
    model = AdaBoostM1Classifier(BASE, 2).fit(X, NOISY)
    with pytest.raises(InvalidInputError, match="round_number must be at most"):
        ResamplingDisplay.of_estimator(model, X, NOISY, round_number=9)
    with pytest.raises(InvalidInputError, match="y must hold the classes"):
        ResamplingDisplay.of_estimator(model, X, NOISY + 5)
    with pytest.raises(InvalidInputError, match="model must be"):
        ResamplingDisplay.of_estimator(BASE, X, NOISY)
