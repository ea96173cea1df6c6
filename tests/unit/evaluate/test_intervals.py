"""Bootstrap intervals: against scipy, against the slow way, and their coverage."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn import metrics
from sklearn.metrics import accuracy_score, balanced_accuracy_score

import steelyard as sy
from steelyard.evaluate import _resampling
from steelyard.evaluate._measure_forms import MEASURES

OURS = list(MEASURES.values())
FORMS = [*OURS, accuracy_score, balanced_accuracy_score]

DRAW = np.random.default_rng(3)
Y = (DRAW.random(120) < 0.3).astype(int)
P = np.where(DRAW.random(120) < 0.75, Y, 1 - Y)
PRICES = sy.Costs.binary(fn=DRAW.gamma(1.0, 5.0, 120), fp=1.0, classes=[0, 1])


@pytest.mark.parametrize(
    ("measure", "given"),
    [(m, {}) for m in FORMS] + [(sy.mean_cost, {"costs": PRICES}), (sy.savings_score, {"costs": PRICES})],
)
def test_fast_way_agrees_with_calling_the_measure(measure, given) -> None:  # type: ignore[no-untyped-def]
    fast = sy.bootstrap_interval(measure, Y, P, random_state=0, n_resamples=4000, **given)

    def anything_else(y, p, **given):  # type: ignore[no-untyped-def]
        return measure(y, p, **given)

    slow = sy.bootstrap_interval(anything_else, Y, P, random_state=1, n_resamples=300, **given)
    assert fast.value == pytest.approx(measure(Y, P, **given))
    assert slow.value == pytest.approx(fast.value)
    assert fast.low < fast.value < fast.high
    assert slow.low == pytest.approx(fast.low, abs=0.7 * fast.standard_error)
    assert slow.high == pytest.approx(fast.high, abs=0.7 * fast.standard_error)
    assert slow.standard_error == pytest.approx(fast.standard_error, rel=0.2)


@pytest.mark.parametrize("shape", [0.3, 2.0])
def test_limits_are_scipys_for_a_skewed_mean(shape) -> None:  # type: ignore[no-untyped-def]
    """scipy resamples several samples independently, which is stratification; a sum of costs suits both."""
    draw = np.random.default_rng(0)
    paid = draw.gamma(shape, 1.0, 60)
    y = np.r_[np.zeros(25, dtype=int), np.ones(35, dtype=int)]
    costs = sy.Costs.binary(fn=paid, fp=paid, classes=[0, 1])
    ours = sy.bootstrap_interval(sy.total_cost, y, 1 - y, costs=costs, n_resamples=40000, random_state=0)
    theirs = stats.bootstrap(
        (paid[:25], paid[25:]),
        lambda a, b, axis: 25 * a.mean(axis=axis) + 35 * b.mean(axis=axis),
        n_resamples=40000,
        method="BCa",
        rng=np.random.default_rng(1),
    )
    assert ours.low == pytest.approx(theirs.confidence_interval.low, rel=0.015)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, rel=0.015)
    assert ours.standard_error == pytest.approx(theirs.standard_error, rel=0.02)


def test_nominal_coverage_on_a_skewed_cost() -> None:
    draw = np.random.default_rng(1)
    truth, inside, trials = 2.0, 0, 150
    for _ in range(trials):
        costs = sy.Costs.binary(fn=draw.gamma(0.5, 4.0, 80), fp=1.0, classes=[0, 1])
        found = sy.bootstrap_interval(
            sy.mean_cost,
            np.ones(80, dtype=int),
            np.zeros(80, dtype=int),
            costs=costs,
            n_resamples=400,
            random_state=draw,
        )
        inside += found.low <= truth <= found.high
    assert 0.89 <= inside / trials <= 0.985


def test_strata_keep_their_size() -> None:
    """Without strata the number of positives varies, and with it whatever depends on it."""
    y, p = np.r_[np.ones(30), np.zeros(70)], np.zeros(100)
    fixed = sy.bootstrap_interval(sy.total_cost, y, p, random_state=0)
    free = sy.bootstrap_interval(sy.total_cost, y, p, random_state=0, stratify=False)
    assert fixed.low == fixed.high == fixed.value == 30
    assert free.standard_error == pytest.approx(np.sqrt(100 * 0.3 * 0.7), rel=0.1)


@pytest.mark.parametrize("measure", OURS, ids=lambda m: m.__name__)
def test_perfect_answers_and_single_examples(measure) -> None:  # type: ignore[no-untyped-def]
    found = sy.bootstrap_interval(measure, [0, 1, 1], [0, 1, 1], random_state=0)
    assert found.low == found.high == found.value
    sy.bootstrap_interval(measure, [0, 1], [1, 1], random_state=0)


def test_weights_are_carried_along() -> None:
    weight = np.where(Y == 1, 3.0, 1.0)
    found = sy.bootstrap_interval(sy.mean_cost, Y, P, sample_weight=weight, random_state=0)
    assert found.value == pytest.approx(sy.mean_cost(Y, P, sample_weight=weight))
    slow = sy.bootstrap_interval(metrics.zero_one_loss, Y, P, sample_weight=weight, random_state=0, n_resamples=300)
    assert slow.value == pytest.approx(found.value)
    assert slow.low == pytest.approx(found.low, abs=0.5 * found.standard_error)


def test_the_seed_decides_and_chunks_do_not_matter_much(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    first, again = (sy.bootstrap_interval(sy.f_score, Y, P, random_state=7) for _ in range(2))
    assert first == again
    whole = sy.bootstrap_interval(sy.mean_cost, Y, P, costs=PRICES, random_state=7)
    monkeypatch.setattr(_resampling, "_CELLS", 1)
    parts = sy.bootstrap_interval(sy.mean_cost, Y, P, costs=PRICES, random_state=7)
    assert parts.low == pytest.approx(whole.low, abs=0.3 * whole.standard_error)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"confidence": 1.0}, "confidence must be a finite number > 0 and < 1"),
        ({"n_resamples": 10}, "n_resamples must be a whole number >= 100"),
        ({"stratify": "yes"}, "stratify must be True or False"),
    ],
)
def test_complaints(given, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(sy.InvalidInputError, match=words):
        sy.bootstrap_interval(sy.f_score, Y, P, **given)


def test_measures_are_functions() -> None:
    with pytest.raises(sy.InvalidInputError, match="measure must be a function of truths and answers; got 'f_score'"):
        sy.bootstrap_interval("f_score", Y, P)


def test_infinite_losses_do_not_break_it() -> None:
    found = sy.bootstrap_interval(sy.savings_score, [0, 0, 0], [0, 1, 0], classes=[0, 1], random_state=0)
    assert found.value == found.low == -np.inf


def test_shown_as_text_and_html() -> None:
    found = sy.Interval(0.5, 0.4, 0.61, 0.95, 0.05)
    assert str(found) == "0.5 [0.4, 0.61]"
    assert "95% BCa" in found._repr_html_()


def test_weights_go_by_position_whatever_index_they_have() -> None:
    rng = np.random.default_rng(0)
    y, p = rng.integers(0, 2, 60), rng.integers(0, 2, 60)
    weight = rng.random(60)

    def own(y_true, y_pred, sample_weight):  # type: ignore[no-untyped-def]
        return float(np.average(y_true == y_pred, weights=sample_weight))

    expected = sy.bootstrap_interval(own, y, p, sample_weight=weight, n_resamples=100, random_state=0)
    for given in (
        pd.Series(weight, index=rng.permutation(60)),
        pd.Series(weight, index=range(100, 160)),
        weight.tolist(),
    ):
        assert sy.bootstrap_interval(own, y, p, sample_weight=given, n_resamples=100, random_state=0) == expected
        assert (
            sy.bootstrap_interval(
                own, pd.Series(y, index=range(60, 0, -1)), p, sample_weight=given, n_resamples=100, random_state=0
            )
            == expected
        )


def test_huge_costs_give_finite_intervals_or_a_sentence() -> None:
    y, p = [0, 0, 1, 1] * 10, [0, 1, 1, 0, 0] * 8
    found = sy.bootstrap_interval(sy.mean_cost, y, p, costs={0: 1e300, 1: 1.0}, n_resamples=100, random_state=0)
    assert np.isfinite([found.value, found.low, found.high]).all()
    with pytest.raises(sy.CostsError, match=r"must be at most 1e\+300; got 1e\+308. Divide all costs"):
        sy.mean_cost(y, p, costs={0: 1e308, 1: 1.0})
