"""Calibration and blending: curves mean what they say, weights lower the log loss."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, softmax

from steelyard.decision.blending import BlendClassifier, greedy_blend
from steelyard.decision.calibration import FEWEST_FOR_SIGMOID, Calibration, fit_calibration


def test_a_distorted_probability_is_put_right_by_the_sigmoid() -> None:
    rng = np.random.default_rng(0)
    true = rng.normal(size=4_000)
    codes = (rng.random(4_000) < expit(true)).astype(np.intp)
    told = expit(3.0 * true + 1.0)
    fitted = fit_calibration(np.column_stack([1 - told, told]), codes)
    assert fitted.offsets is not None
    assert fitted.slopes[0] == pytest.approx(1 / 3, abs=0.05)
    assert fitted.offsets[0] == pytest.approx(-1 / 3, abs=0.1)
    assert np.abs(fitted.apply(np.column_stack([1 - told, told]))[:, 1] - expit(true)).max() < 0.05


def test_small_classes_get_one_temperature() -> None:
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [200, 200, FEWEST_FOR_SIGMOID - 1]).astype(np.intp)
    scores = rng.normal(size=(len(codes), 3)) + 1.5 * np.eye(3)[codes]
    fitted = fit_calibration(softmax(4.0 * scores, axis=1), codes)
    assert fitted.is_temperature
    assert 0.2 < fitted.slopes[0] < 0.7
    assert np.allclose(fitted.apply(softmax(scores, axis=1)).sum(axis=1), 1.0)


@pytest.mark.parametrize("seed", range(6))
def test_a_temperature_has_the_least_log_loss_that_another_solver_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_classes, n = 4 + seed, 120
    scores = rng.normal(size=(n, n_classes))
    codes = np.array(
        [rng.choice(n_classes, p=row) for row in softmax(1.4 * scores + rng.uniform(size=n_classes), axis=1)]
    )
    weight = rng.integers(1, 4, n).astype(np.float64) if seed % 2 else np.ones(n)
    proba = softmax(scores, axis=1)

    def loss(at: np.ndarray) -> float:
        found = softmax(at[0] * np.log(proba) + at[1:], axis=1)
        return float(-np.average(np.log(found[np.arange(n), codes]), weights=weight))

    assert len(np.unique(codes)) == n_classes
    fitted = fit_calibration(proba, codes, weight)
    other = minimize(loss, np.r_[1.0, np.zeros(n_classes)], method="BFGS", options={"gtol": 1e-8})
    assert fitted.is_temperature
    assert loss(np.r_[fitted.slopes, fitted.offsets]) == pytest.approx(other.fun, abs=1e-9)
    assert np.average(fitted.apply(proba), axis=0, weights=weight) == pytest.approx(
        np.bincount(codes, weights=weight) / weight.sum(), abs=1e-6
    )


def test_a_temperature_stays_in_its_range_where_the_classes_part() -> None:
    codes = np.repeat([0, 1, 2], 10).astype(np.intp)
    sure = fit_calibration(0.1 + 0.7 * np.eye(3)[codes], codes)
    wrong = fit_calibration(0.1 + 0.7 * np.eye(3)[(codes + 1) % 3], codes)
    assert sure.slopes[0] == 5.0
    assert wrong.slopes[0] == 0.2


def test_a_class_without_rows_is_unlikely_and_not_impossible() -> None:
    codes = np.repeat([0, 1], 15).astype(np.intp)
    proba = softmax(np.random.default_rng(0).normal(size=(30, 3)), axis=1)
    found = fit_calibration(proba, codes).apply(proba).mean(axis=0)
    assert found[2] == pytest.approx(0.5 / 30.5, abs=1e-6)


@pytest.mark.parametrize("positives", [15, FEWEST_FOR_SIGMOID - 1, 300])
def test_a_candidate_of_resampled_rows_comes_back_to_the_real_shares(positives: int) -> None:
    """Fitted on balanced rows it believes in as many positives as negatives, however few there are."""
    rng = np.random.default_rng(4)
    codes = np.repeat([0, 1], [900, positives])
    log_odds = rng.normal(size=len(codes)) * 1.2 + 1.4 * (codes - 0.5)  # those of classes of equal size
    told = np.column_stack([1 - expit(log_odds), expit(log_odds)])
    assert told[:, 1].mean() > 3 * codes.mean() or positives == 300
    found = fit_calibration(told, codes).apply(told)
    assert found[:, 1].mean() == pytest.approx(codes.mean(), rel=0.02)
    assert np.allclose(found.sum(axis=1), 1.0)


def test_answers_are_calibrated_by_how_often_they_are_right() -> None:
    answers = np.repeat([0, 0, 1, 1], [80, 20, 30, 70])
    codes = np.repeat([0, 1, 0, 1], [80, 20, 30, 70])
    proba = np.eye(2)[answers]
    found = fit_calibration(proba, codes).apply(proba)
    assert found[0, 1] == pytest.approx((20 + 2 * 0.45) / 102, abs=1e-4)
    assert found[-1, 1] == pytest.approx((70 + 2 * 0.45) / 102, abs=1e-4)


def test_a_few_lucky_answers_are_not_certain() -> None:
    """Ten rows answered negative, all rightly: to follow that answer at fn = 20 costs more than nothing."""
    answers = np.repeat([0, 1], [10, 190])
    codes = np.where(np.arange(200) < 130, 0, 1)
    proba = np.eye(2)[answers]
    assert 20 * fit_calibration(proba, codes).apply(proba)[0, 1] > 0.5
    useless = np.eye(2)[1 - codes]  # an answer that is wrong more often than right says nothing
    assert np.ptp(fit_calibration(useless, codes).apply(useless)[:, 1]) == 0.0


@pytest.mark.parametrize("bare", [True, False])
def test_what_says_nothing_tells_the_share_of_the_class(bare: bool) -> None:
    """A score that falls where the class is likelier has no curve; what is left is the share, not a half."""
    codes = np.repeat([0, 1], [140, 60])
    score = np.where(codes == 1, -1.0, 1.0) + np.random.default_rng(2).normal(size=200)
    proba = np.eye(2)[np.ones(200, dtype=int)] if bare else np.column_stack([1 - expit(score), expit(score)])
    found = fit_calibration(proba, codes).apply(proba)
    assert found[:, 1] == pytest.approx(np.full(200, 0.3), abs=1e-3)


def test_extreme_probabilities_stay_finite() -> None:
    proba = np.array([[0.0, 1.0], [1.0, 0.0]] * 60)
    codes = np.array([1, 0] * 60)
    assert np.isfinite(fit_calibration(proba, codes).apply(proba)).all()
    assert np.isfinite(Calibration(np.array([5.0]), None).apply(proba)).all()


def test_blend_is_no_worse_than_its_best_member_and_leaves_out_the_useless() -> None:
    rng = np.random.default_rng(0)
    true = rng.uniform(0.5, 0.9, 500)
    told = np.column_stack([np.clip(true + 0.2 * rng.normal(size=500), 0.01, 0.99) for _ in range(3)])
    told = np.column_stack([told, np.full(500, 0.01)])
    weights = greedy_blend(told)
    assert weights.sum() == pytest.approx(1.0)
    assert weights[3] == 0
    assert (weights[:3] > 0).all()
    assert -np.log(told @ weights).mean() < (-np.log(told[:, :3])).mean(axis=0).min()


def test_rows_that_count_twice_stand_twice() -> None:
    rng = np.random.default_rng(1)
    told = rng.uniform(0.05, 0.95, (60, 4))
    count = rng.integers(0, 3, 60)
    assert np.array_equal(greedy_blend(told, count.astype(float)), greedy_blend(np.repeat(told, count, axis=0)))


class Fixed:
    def __init__(self, proba: list[float], classes: list[int]) -> None:
        self.proba, self.classes_ = proba, np.array(classes)

    def predict_proba(self, X: object) -> np.ndarray:
        return np.tile(self.proba, (2, 1))


def test_members_may_lack_a_class() -> None:
    members = [("a", Fixed([0.5, 0.3, 0.2], [0, 1, 2])), ("b", Fixed([0.9, 0.1], [0, 2]))]
    blend = BlendClassifier(members, [0.5, 0.5], np.array(["x", "y", "z"]))
    assert np.allclose(blend.predict_proba([[0], [0]]), [[0.7, 0.15, 0.15]] * 2)
    assert blend.predict([[0], [0]]).tolist() == ["x", "x"]
