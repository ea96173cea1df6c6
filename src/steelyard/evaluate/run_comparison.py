"""Two learners over the same runs: would more runs change the sign, and would other samples?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from ..validation.values import check_flag, check_number, invalid
from ._predictions import numbers


@dataclass(frozen=True)
class RunTest:
    """One t-test of a mean difference: interval, and one-sided p-values for A being better and for being worse."""

    low: float
    high: float
    p_better: float
    p_worse: float


@dataclass(frozen=True)
class RunComparison:
    """Learner A against learner B over ``n`` common runs.

    Parameters
    ----------
    n : int
        Runs of both.
    mean_a, mean_b : float
        Mean values of A and of B.
    difference : float
        mean(A - B).
    effect : float
        The difference over the spread of the pairs.
    percent : float
        The difference over the mean of B.
    paired : RunTest
        Whether more runs of the same protocol would change the sign.
    corrected : RunTest or None
        Where shares of training and test rows were given, whether other samples of this size would.
    """

    n: int
    mean_a: float
    mean_b: float
    difference: float
    effect: float
    percent: float
    paired: RunTest
    corrected: RunTest | None

    def runs_needed(self, *, power: float = 0.8, level: float = 0.05) -> int | None:
        """Count the runs at which a one-sided paired test would find the difference seen here.

        Parameters
        ----------
        power : float
            Wanted probability of finding it, between 0 and 1.
        level : float
            Level of the test, between 0 and 1.

        Returns
        -------
        runs : int or None
            None if there is no difference worth a run.
        """
        check_number("power", power, above=0, below=1)
        check_number("level", level, above=0, below=1)
        effect = abs(self.effect)
        if effect < 1e-4:  # a hundred million runs and more
            return None
        if math.isinf(effect):
            return 2
        runs = max(2, math.ceil(((stats.norm.isf(level) + stats.norm.ppf(power)) / effect) ** 2))
        while stats.nct.sf(stats.t.isf(level, runs - 1), runs - 1, effect * math.sqrt(runs)) < power:
            runs += max(1, runs // 50)
        return int(runs)

    def __str__(self) -> str:
        text = (
            f"A - B = {self.difference:.4g} [{self.paired.low:.4g}, {self.paired.high:.4g}] over {self.n} runs; "
            f"A better: p = {self.paired.p_better:.3g}"
        )
        return text if self.corrected is None else f"{text}, on other samples {self.corrected.p_better:.3g}"


def compare_runs(
    a: ArrayLike,
    b: ArrayLike,
    *,
    train: float | None = None,
    test: float | None = None,
    lower_is_better: bool = True,
    confidence: float = 0.95,
) -> RunComparison:
    """Compare two learners by their values in the same runs.

    Parameters
    ----------
    a, b : array-like of shape (n,)
        One value a run, n >= 2; run i of both saw the same rows.
    train, test : float, optional
        Rows, or shares of rows, a run trains and tests on. Runs whose training parts overlap are not independent:
        with both given the variance is that of Nadeau and Bengio (2003), (1/n + test/train) s^2.
    lower_is_better : bool
        True for costs, False for scores.
    confidence : float
        Of the intervals.

    Returns
    -------
    RunComparison
        The difference, its interval and the tests.

    Examples
    --------
    >>> result = compare_runs([1.0, 2.0, 2.0, 1.0, 0.5], [2.0, 2.5, 3.0, 2.0, 1.0], train=0.75, test=0.25)
    >>> print(result)
    A - B = -0.8 [-1.14, -0.46] over 5 runs; A better: p = 0.00142, on other samples 0.00807
    """
    left, right = numbers("a", a, ndim=1), numbers("b", b, ndim=1)
    if len(left) != len(right) or len(left) < 2:
        raise invalid("a and b", "be of one length, at least 2", (len(left), len(right)))
    if (train is None) != (test is None):
        raise invalid("train and test", "be given both or neither", (train, test))
    level = check_number("confidence", confidence, above=0, below=1)
    sign = -1.0 if check_flag("lower_is_better", lower_is_better) else 1.0
    gap = left - right
    mean, spread = float(gap.mean()), float(gap.std(ddof=1))
    if np.ptp(gap) <= 1e-12 * np.abs(gap).max():
        spread = 0.0
    share = None
    if train is not None:
        share = check_number("test", test, above=0) / check_number("train", train, above=0)
    other = float(right.mean())
    return RunComparison(
        len(gap),
        float(left.mean()),
        other,
        mean,
        mean / spread if spread else math.copysign(math.inf, mean) if mean else 0.0,
        100 * mean / abs(other) if other else math.nan,
        _t_test(mean, spread, 1 / len(gap), len(gap) - 1, sign, level),
        None if share is None else _t_test(mean, spread, 1 / len(gap) + share, len(gap) - 1, sign, level),
    )


def _t_test(mean: float, spread: float, factor: float, degrees: int, sign: float, level: float) -> RunTest:
    """Test a mean whose variance is ``factor`` times that of one value; a constant difference leaves no doubt."""
    error = spread * math.sqrt(factor)
    if error == 0:
        better = 0.0 if sign * mean > 0 else 1.0 if sign * mean < 0 else 0.5
        return RunTest(mean, mean, better, 1.0 - better)
    reach = float(stats.t.ppf((1 + level) / 2, degrees)) * error
    t = sign * mean / error
    return RunTest(mean - reach, mean + reach, float(stats.t.sf(t, degrees)), float(stats.t.cdf(t, degrees)))
