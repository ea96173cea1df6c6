"""The weight rules against the formulas as they are printed, written out example by example."""

import math

import numpy as np
import pytest

from steelyard.boosting import rules
from steelyard.errors import CostsError

COSTS = np.array([1.0, 4.0, 2.0, 2.0, 1.0])
RIGHT = np.array([True, True, False, True, False])
D = np.array([0.3, 0.25, 0.1, 0.2, 0.15])


def printed(name, c, D, right):
    """alpha and the next D of every variant, from the papers' own formulas."""
    sign = [1 if r else -1 for r in right]
    m = range(len(c))

    def part(values, which):
        return sum(v for v, s in zip(values, sign, strict=True) if s == which)

    def half_log(r):
        return 0.5 * math.log((1 + r) / (1 - r))

    if name in ("csb0", "csb1", "csb2"):
        c = [v / min(c) for v in c]
        alpha = 0.5 * math.log(part(D, 1) / part(D, -1))
        rate = {"csb0": 0, "csb1": 1, "csb2": alpha}[name]
        new = [D[i] * (c[i] if sign[i] < 0 else 1) * math.exp(-sign[i] * rate) for i in m]
    else:
        c = [v / max(c) for v in c]
        cD = [c[i] * D[i] for i in m]
        if name == "adac2":
            alpha = 0.5 * math.log(part(cD, 1) / part(cD, -1))
            new = [cD[i] * math.exp(-sign[i] * alpha) for i in m]
        elif name == "adac1":
            alpha = half_log(part(cD, 1) - part(cD, -1))
            new = [D[i] * math.exp(-sign[i] * alpha * c[i]) for i in m]
        elif name == "adac3":
            ccD = [c[i] * cD[i] for i in m]
            r = part(ccD, 1) - part(ccD, -1)
            alpha = 0.5 * math.log((sum(cD) + r) / (sum(cD) - r))
            new = [cD[i] * math.exp(-sign[i] * alpha * c[i]) for i in m]
        else:
            beta = [0.5 - 0.5 * c[i] if sign[i] > 0 else 0.5 + 0.5 * c[i] for i in m]
            alpha = half_log(sum(D[i] * sign[i] * beta[i] for i in m))
            new = [D[i] * math.exp(-sign[i] * alpha * beta[i]) for i in m]
    return alpha, np.array(new) / sum(new)


@pytest.mark.parametrize("name", ["adac1", "adac2", "adac3", "csb0", "csb1", "csb2"])
def test_alpha_and_weights_are_the_printed_ones(name):
    columns = getattr(rules, name)(COSTS)
    pro, contra, _ = rules.balance(D, columns, RIGHT)
    alpha, weights = printed(name, COSTS, D, RIGHT)
    assert rules.vote(pro, contra) == pytest.approx(alpha, rel=1e-12)
    np.testing.assert_allclose(rules.reweighted(D, columns, RIGHT, alpha, 1.0)[0], weights, rtol=1e-12)


def test_adacost_adjusts_the_exponent_and_begins_with_the_costs():
    costs, right = np.array([1.0, 2.0, 1.0, 4.0]), np.array([True, True, True, False])
    weights = np.array([0.5, 0.2, 0.25, 0.05])
    columns = rules.adacost(costs)
    np.testing.assert_array_equal(columns.first, costs / 4)
    pro, contra, _ = rules.balance(weights, columns, right)
    alpha, after = printed("adacost", costs, weights, right)
    assert alpha > 0
    assert rules.vote(pro, contra) == pytest.approx(alpha, rel=1e-12)
    np.testing.assert_allclose(rules.reweighted(weights, columns, right, alpha, 1.0)[0], after, rtol=1e-12)


def test_weight_of_what_was_missed_is_what_alpha_counts():
    assert rules.balance(D, rules.adac2(COSTS), RIGHT)[2] == pytest.approx((2 * 0.1 + 1 * 0.15) / 4)
    assert rules.balance(D, rules.adac1(COSTS), RIGHT)[2] == pytest.approx(0.25)


def test_no_vote_unless_more_speaks_for_it_than_against():
    assert rules.vote(0.5, 0.5) == 0
    assert rules.vote(0.2, 0.5) == 0
    assert rules.vote(0.5 + 1e-16, 0.5) == 0
    assert rules.vote(0.5 * (1 + 2e-15), 0.5) == 0
    assert math.isfinite(rules.vote(1.0, 5e-324))


def test_sums_run_from_first_to_last():
    values = np.random.default_rng(0).random(10_001)
    assert rules.total(values) == float(np.cumsum(values)[-1])


def test_costs_too_far_apart_for_csb_are_named():
    with pytest.raises(CostsError, match="factor of 1e150"):
        rules.csb2(np.array([1e-200, 1.0]))
