"""Inverse-probability estimates against every possible sample, and against simulated streams."""

import itertools

import numpy as np
import pytest

import steelyard as sy

Y = np.array([1, 0, 1, 1, 0, 0, 1, 0])
PREDICTED = np.array([1, 1, 0, 1, 0, 0, 0, 0])
CHANCE = np.array([1.0, 0.5, 0.2, 0.9, 0.3, 0.7, 0.4, 1.0])
COSTS = sy.Costs.binary(fn=np.arange(2.0, 10.0), fp=3.0, classes=[0, 1])


def every_sample():  # type: ignore[no-untyped-def]
    """All subsets that the draws can ask, with their probabilities; unasked labels are spoiled."""
    for queried in itertools.product([False, True], repeat=len(Y)):
        queried = np.array(queried)
        probability = np.where(queried, CHANCE, 1 - CHANCE).prod()
        if probability:
            yield probability, sy.Trace(CHANCE, PREDICTED, queried, CHANCE, np.where(queried, Y, -99))


@pytest.mark.parametrize("measure", [sy.total_cost, sy.mean_cost])
@pytest.mark.parametrize("shown", ["push", "push_and_query"])
def test_horvitz_thompson_is_right_on_average_over_every_sample(measure, shown) -> None:  # type: ignore[no-untyped-def]
    expected = truth = 0.0
    for probability, trace in every_sample():
        found = sy.estimate(measure, trace, method="horvitz_thompson", shown=shown, costs=COSTS)
        expected += probability * found.value
        truth += probability * sy.prequential_score(measure, trace._replace(y=Y), shown=shown, costs=COSTS)
    assert expected == pytest.approx(truth)


def test_the_variance_of_horvitz_thompson_is_right_on_average() -> None:
    first = second = estimated = 0.0
    for probability, trace in every_sample():
        found = sy.estimate(sy.total_cost, trace, method="horvitz_thompson", costs=COSTS)
        first += probability * found.value
        second += probability * found.value**2
        estimated += probability * found.standard_error**2
    assert estimated == pytest.approx(second - first**2)


def test_labels_that_did_not_come_are_counted() -> None:
    """Two of eight rounds are always asked, and one label of five never comes: mean and variance over every outcome."""
    answered, first, second, estimated = 0.8, 0.0, 0.0, 0.0
    costs = sy.Costs.binary(fn=4.0, fp=3.0, classes=[0, 1])
    for came in itertools.product([False, True], repeat=len(Y)):
        at = np.flatnonzero(came)
        known = CHANCE * answered
        probability = np.where(came, known, 1 - known).prod()
        if len(at):
            trace = sy.Trace(CHANCE[at], PREDICTED[at], np.ones(len(at), bool), CHANCE[at], Y[at])
            told = {"rounds": len(Y), "answered": answered, "costs": costs, "classes": [0, 1]}
            found = sy.estimate(sy.total_cost, trace, method="horvitz_thompson", **told)  # type: ignore[arg-type]
            first += probability * found.value
            second += probability * found.value**2
            estimated += probability * found.standard_error**2
    assert first == pytest.approx(sy.total_cost(Y, PREDICTED, costs=costs))
    assert estimated == pytest.approx(second - first**2)
    with pytest.raises(sy.InvalidInputError, match="answered must be 1 unless rounds is given"):
        sy.estimate(sy.mean_cost, sy.Trace(CHANCE, PREDICTED, np.ones(8, bool), CHANCE, Y), answered=0.9)
    with pytest.raises(sy.InvalidInputError, match="answered must be a finite number > 0"):
        sy.estimate(sy.mean_cost, sy.Trace(CHANCE, PREDICTED, np.ones(8, bool), CHANCE, Y), rounds=8, answered=0)


@pytest.mark.parametrize("method", ["hajek", "horvitz_thompson"])
def test_when_all_was_asked_the_estimate_is_the_measure(method) -> None:  # type: ignore[no-untyped-def]
    trace = sy.Trace(CHANCE, PREDICTED, np.ones(8, dtype=bool), np.ones(8), Y)
    for measure in (sy.f_score, sy.total_cost, sy.mean_cost, sy.sensitivity_score, sy.savings_score, sy.g_mean_score):
        found = sy.estimate(measure, trace, method=method, costs=COSTS)
        assert found.value == pytest.approx(measure(Y, PREDICTED, costs=COSTS))
        assert found.standard_error == 0
        assert found.effective_sample_size == 8


def test_weights_are_one_over_chance_and_give_the_effective_sample_size() -> None:
    queried = np.array([1, 1, 0, 0, 1, 0, 0, 1], dtype=bool)
    trace = sy.Trace(CHANCE, PREDICTED, queried, CHANCE, Y)
    weight = 1 / CHANCE[queried]
    found = sy.estimate(sy.f_score, trace, method="horvitz_thompson")
    assert found.value == pytest.approx(sy.f_score(Y[queried], PREDICTED[queried], sample_weight=weight))
    assert found.effective_sample_size == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    assert (found.queried, found.rounds) == (4, 8)
    hajek = sy.estimate(sy.total_cost, trace, costs=1 - np.eye(2))
    extra = (weight - 1) * 4 / (weight - 1).sum()
    assert hajek.value == pytest.approx(((1 + extra) * (Y != PREDICTED)[queried]).sum())


def stream(draw, n=2000):  # type: ignore[no-untyped-def]
    """A margin-based query rule on a rare class: asked labels are the hard ones."""
    score = draw.normal(size=n)
    y = (draw.random(n) < 1 / (1 + np.exp(4 - 3 * score))).astype(int)
    return score, (score > 1).astype(int), 0.1 / (0.1 + np.abs(score - 1)), y


@pytest.mark.parametrize("measure", [sy.f_score, sy.mean_cost, sy.weighted_sum_score])
@pytest.mark.parametrize("shown", ["push", "push_and_query"])
def test_simulated_streams(measure, shown) -> None:  # type: ignore[no-untyped-def]
    draw = np.random.default_rng(0)
    score, predicted, query_probability, y = stream(draw)
    found, naive, wrong = [], [], []
    for _ in range(80):
        queried = draw.random(len(y)) < query_probability
        trace = sy.Trace(score, predicted, queried, query_probability, y)
        truth = sy.prequential_score(measure, trace, shown=shown)
        one = sy.estimate(measure, trace._replace(y=np.where(queried, y, 7)), shown=shown, classes=[0, 1])
        found.append([one.value - truth, one.standard_error])
        naive.append(measure(y[queried], predicted[queried]) - truth)
        wrong.append(abs(one.value - truth) > 1.96 * one.standard_error)
    error, stated = np.array(found).T
    assert abs(error.mean()) < 3 * error.std() / np.sqrt(len(error)) + 0.1 * error.std()
    assert stated.mean() == pytest.approx(error.std(), rel=0.2)
    assert np.mean(wrong) < 0.12
    if shown == "push":
        assert abs(np.mean(naive)) > 3 * abs(error.mean())  # the asked labels alone mislead


def test_deterministic_rules_cannot_be_corrected() -> None:
    queried = np.arange(8) < 3  # the first three, then the budget is spent
    trace = sy.Trace(CHANCE, PREDICTED, queried, queried.astype(float), Y)
    with pytest.raises(sy.NotEstimableError, match="got 0 for all 5 of them"):
        sy.estimate(sy.f_score, trace)


def test_rounds_out_of_reach_are_left_out_with_a_warning() -> None:
    query_probability = np.where(np.arange(8) < 6, 0.5, 0.0)
    queried = np.array([1, 0, 1, 1, 0, 1, 0, 0], dtype=bool)
    trace = sy.Trace(query_probability, PREDICTED, queried, query_probability, Y)
    with pytest.warns(sy.CoverageWarning, match="2 of 8 rounds could not have been asked"):
        found = sy.estimate(sy.total_cost, trace)
    assert found.rounds == 6
    first = sy.Trace(*(column[:6] for column in trace))
    assert found == sy.estimate(sy.total_cost, first)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (
            {"query_probability": np.full(8, 1.5)},
            sy.InvalidInputError,
            "trace.query_probability must lie between 0 and 1; got 1.5",
        ),
        (
            {"query_probability": np.full(8, np.nan)},
            sy.InvalidInputError,
            "trace.query_probability must lie between 0 and 1; got nan",
        ),
        ({"query_probability": np.zeros(8)}, sy.InvalidInputError, "be positive where a label was asked.*round 0"),
        ({"queried": np.zeros(8, dtype=bool)}, sy.NotEstimableError, "must hold a label to estimate from"),
        ({"query_probability": np.ones(3)}, sy.InvalidInputError, "query_probability must have 8 rows"),
    ],
)
def test_traces_that_contradict_themselves(change, error, words) -> None:  # type: ignore[no-untyped-def]
    trace = sy.Trace(CHANCE, PREDICTED, np.arange(8) < 4, CHANCE, Y)._replace(**change)
    with pytest.raises(error, match=words):
        sy.estimate(sy.f_score, trace)


def test_rules_need_all_labels_and_methods_have_names() -> None:
    trace = sy.Trace(CHANCE, PREDICTED, np.arange(8) < 4, CHANCE, Y)
    with pytest.raises(sy.InvalidInputError, match="costs must be stated outright for an estimate"):
        sy.estimate(sy.mean_cost, trace, costs=sy.Balanced())
    with pytest.raises(sy.InvalidInputError, match="method must be one of"):
        sy.estimate(sy.mean_cost, trace, method="naive")


def test_shown_as_text_and_html() -> None:
    found = sy.Estimate(0.25, 0.02, 7.5, 10, 100, "hajek")
    assert str(found) == "0.25 ± 0.02 (10 labels of 100 rounds, worth 7.5)"
    assert "<b>0.25</b> ± 0.02" in found._repr_html_()


@pytest.mark.parametrize("method", ["hajek", "horvitz_thompson"])
@pytest.mark.parametrize("shown", ["push", "push_and_query"])
def test_queried_rounds_alone_say_the_same(method: str, shown: str) -> None:
    rng = np.random.default_rng(4)
    y, predicted, chance = rng.integers(0, 2, 400), rng.integers(0, 2, 400), rng.uniform(0.1, 1.0, 400)
    queried = rng.random(400) < chance
    trace = sy.Trace(chance, predicted, queried, chance, y)
    alone = sy.Trace(*(column[queried] for column in trace))
    for measure in (sy.mean_cost, sy.f_score):
        given = {"method": method, "shown": shown, "classes": [0, 1]}
        assert sy.estimate(measure, alone, rounds=400, **given) == sy.estimate(measure, trace, **given)  # type: ignore[arg-type]


def test_rounds_that_do_not_fit_are_refused() -> None:
    trace = sy.Trace(CHANCE, PREDICTED, np.ones(8, dtype=bool), np.full(8, 0.5), Y)
    with pytest.raises(sy.InvalidInputError, match="rounds must be a whole number >= 8"):
        sy.estimate(sy.mean_cost, trace, rounds=7)
    with pytest.raises(sy.InvalidInputError, match="hold queried rounds alone"):
        sy.estimate(sy.mean_cost, trace._replace(queried=np.arange(8) > 0), rounds=9)
    with pytest.raises(sy.NotEstimableError, match="deterministic rule"):
        sy.estimate(sy.mean_cost, trace._replace(query_probability=np.ones(8)), rounds=9)


def test_the_interval_is_students() -> None:
    found = sy.Estimate(0.5, 0.1, 11.0, 20, 100, "hajek").interval(0.9)
    assert (found.value, found.confidence, found.method) == (0.5, 0.9, "Student")
    assert found.high - 0.5 == pytest.approx(0.1 * 1.812461, rel=1e-6)  # the 0.95 quantile for 10 degrees, from tables
    assert 0.5 - found.low == pytest.approx(found.high - 0.5)
    assert "90% Student" in found._repr_html_()
    with pytest.raises(sy.InvalidInputError, match="level must"):
        sy.Estimate(0.5, 0.1, 11.0, 20, 100, "hajek").interval(1.0)
    with pytest.raises(sy.NotEstimableError, match="more than one label"):
        sy.Estimate(0.5, 0.1, 1.0, 1, 100, "hajek").interval()


def test_the_interval_on_log_odds_leans_to_the_middle_and_stays_between_0_and_1() -> None:
    near_one = sy.Estimate(0.9, 0.1, 11.0, 20, 100, "hajek")
    found, plain = near_one.interval(0.9, log_odds=True), near_one.interval(0.9)
    assert plain.high > 1 > found.high > 0.9 > found.low
    assert 0.9 - found.low > found.high - 0.9
    reach = [abs(np.log(end / (1 - end)) - np.log(9)) for end in (found.low, found.high)]
    assert reach == pytest.approx([1.812461 * 0.1 / 0.09] * 2, rel=1e-6)
    whole = sy.Estimate(1.0, 0.1, 11.0, 20, 100, "hajek")
    assert whole.interval(log_odds=True) == whole.interval()  # no odds


def test_the_gamma_interval_of_equal_weights_is_that_of_a_poisson_count():
    from scipy.stats import chi2, poisson

    n, k = 10**6, 7
    found = sy.Estimate(k / n, k**0.5 / n, float(n), n, 10**12, "hajek").interval(costliest=1.0)
    assert found.method == "gamma"
    assert found.low * n == pytest.approx(chi2.ppf(0.025, 2 * k) / 2, rel=1e-4)
    rate = found.high * n  # mid-p: fewer than k, and half of k itself
    assert poisson.cdf(k - 1, rate) + poisson.pmf(k, rate) / 2 == pytest.approx(0.025, rel=2e-3)
    assert found.high * n < chi2.ppf(0.975, 2 * (k + 1)) / 2  # narrower than the exact one


def test_the_gamma_interval_where_no_mistake_was_labelled():
    found = sy.Estimate(0.0, 0.0, 50.0, 60, 1000, "hajek").interval(costliest=10.0)
    assert (found.low, found.value) == (0.0, 0.0)
    assert 0.2 < found.high < 1.0
    free = sy.Estimate(0.0, 0.0, 50.0, 60, 1000, "hajek").interval(costliest=0.0)
    assert (free.low, free.high) == (0.0, 0.0)
    with pytest.raises(sy.InvalidInputError, match="costliest"):
        sy.Estimate(0.5, 0.1, 11.0, 20, 100, "hajek").interval(costliest=-1.0)


def test_the_gamma_interval_holds_for_rare_costly_mistakes_where_students_does_not():
    draw, held = np.random.default_rng(5), []
    costs = sy.Costs.binary(fn=10, fp=1, classes=[0, 1], positive=1)
    for _ in range(150):
        n = 2000
        score = draw.normal(size=n)
        chance = np.maximum(0.04, 0.1 / (np.abs(score) + 0.1))
        y = draw.random(n) < np.where(score > 1.2, 0.5, 0.02)  # most missed positives lie far from the boundary
        predicted, asked = score > 0.8, draw.random(n) < chance
        columns = (
            score[asked],
            predicted[asked].astype(int),
            np.ones(asked.sum(), bool),
            chance[asked],
            y[asked].astype(int),
        )
        found = sy.estimate(sy.mean_cost, sy.Trace(*columns), rounds=n, costs=costs, classes=[0, 1])
        truth = np.where(y & ~predicted, 10, np.where(~y & predicted, 1, 0)).mean()
        held.append([band.low <= truth <= band.high for band in (found.interval(), found.interval(costliest=10.0))])
    student, gamma = np.mean(held, axis=0)
    assert gamma >= 0.93
    assert student < 0.93


@pytest.mark.parametrize("gain", [1.0, 2.0, 5.0])  # all costs together are above 0, exactly 0, below 0
def test_the_standard_error_is_that_of_the_costs_where_answers_gain(gain: float) -> None:
    gains = sy.Costs.binary(fn=1.0, fp=3.0, tp=-gain, classes=[0, 1])
    costs = gains.matrix + gain  # the same, so much more for every answer
    y, predicted, chance = np.array([1, 1, 0, 1, 0]), np.array([1, 1, 1, 0, 0]), np.array([0.5, 0.5, 0.5, 0.5, 0.5])
    trace = sy.Trace(chance, predicted, np.ones(5, dtype=bool), chance, y)
    with pytest.warns(sy.CostsWarning, match="right answers that cost something"):
        alike = sy.estimate(sy.mean_cost, trace, costs=costs, rounds=10)
    found = sy.estimate(sy.mean_cost, trace, costs=gains, rounds=10)
    assert found.value == pytest.approx((4 - 2 * gain) / 5)
    assert found.standard_error == pytest.approx(alike.standard_error, rel=1e-6)
    assert found.standard_error > 0.3
    total = sy.estimate(sy.total_cost, trace, costs=gains, rounds=10)
    assert total.standard_error == pytest.approx(10 * found.standard_error, rel=1e-6)


def test_the_interval_of_costs_is_none_of_gains() -> None:
    gain = sy.Estimate(-3.0, 0.5, 11.0, 20, 100, "hajek")
    assert gain.interval().low < -3 < gain.interval().high < 0
    with pytest.raises(sy.InvalidInputError, match=r"costliest must be None for an estimate below 0, -3; got 15"):
        gain.interval(costliest=15)
