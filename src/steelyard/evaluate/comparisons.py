"""Is one learner cheaper than another? Two on the same examples or runs, or many over many data sets."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from ..costs.rules import CostsLike
from ..validation.docstrings import documented
from ..validation.types import LabelsLike
from ..validation.values import check_choice, check_count, check_flag, check_number, invalid, require
from ._predictions import Floats, numbers
from ._resampling import ResampleStatistics, bca_limits, magnitude, spread
from .intervals import Interval
from .measures import costs_paid
from .tables import aligned_text


@dataclass(frozen=True)
class PairedComparison:
    """Costs of learner A against learner B on the same ``n`` examples or runs.

    Parameters
    ----------
    n : int
        Examples or runs.
    mean_a : float
        Mean cost of A.
    mean_b : float
        Mean cost of B.
    difference : Interval
        mean(A) - mean(B): negative when A is cheaper.
    p_bootstrap : float
        One-tailed p-value against "A is not cheaper than B", by the paired bootstrap.
    p_t : float
        The same by the paired t-test.
    p_wilcoxon : float
        The same by Wilcoxon's signed ranks.
    """

    n: int
    mean_a: float
    mean_b: float
    difference: Interval
    p_bootstrap: float
    p_t: float
    p_wilcoxon: float

    def __str__(self) -> str:
        return (
            f"A {self.mean_a:.4g}, B {self.mean_b:.4g}, A - B = {self.difference} over {self.n} pairs; "
            f"A cheaper: p = {self.p_bootstrap:.3g} (bootstrap), {self.p_t:.3g} (t), {self.p_wilcoxon:.3g} (Wilcoxon)"
        )

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(str(self))}</p>"


def compare_costs(
    a: ArrayLike,
    b: ArrayLike,
    *,
    confidence: float = 0.95,
    n_resamples: int = 5000,
    random_state: int | np.random.Generator | None = None,
) -> PairedComparison:
    """Compare two columns of costs, paired: of the same examples, folds, permutations or data sets.

    The one-tailed paired t-test over runs is that of paper 002, table 1. Folds that share training data are not
    independent; the p-values are then too small.

    Parameters
    ----------
    a : array-like of shape (n,)
        Costs of A, finite, n >= 2; lower is better.
    b : array-like of shape (n,)
        Costs of B on the same examples, folds, permutations or data sets.
    confidence : float
        Coverage of the interval, between 0 and 1.
    n_resamples : int
        Number of bootstrap resamples, at least 100.
    random_state : int, Generator or None
        Seed or source of random numbers.

    Returns
    -------
    PairedComparison
        Difference with its BCa interval, and three p-values.

    Examples
    --------
    >>> result = compare_costs([1, 2, 2, 1, 0, 1], [2, 2, 3, 2, 1, 3], random_state=0)
    >>> print(result.difference)
    -1 [-1.5, -0.5]
    >>> round(result.p_t, 4)
    0.0059
    """
    left, right = numbers("a", a, ndim=1), numbers("b", b, ndim=1)
    if len(left) != len(right) or len(left) < 2:
        raise invalid("a and b", "be of one length, at least 2", (len(left), len(right)))
    gap = left - right
    level = check_number("confidence", confidence, above=0, below=1)
    count = check_count("n_resamples", n_resamples, at_least=100)
    statistics = ResampleStatistics.of(
        gap[:, None], np.ones(len(gap)), np.zeros(len(gap), dtype=np.intp), lambda s: s[..., 0] / len(gap)
    )
    resampled = statistics.resampled(count, np.random.default_rng(random_state))
    low, high = bca_limits(float(gap.mean()), resampled, statistics.jackknife(), level)
    return PairedComparison(
        len(gap),
        float(left.mean()),
        float(right.mean()),
        Interval(float(gap.mean()), low, high, level, spread(resampled)),
        # the share of resamples, shifted to no difference, that are at least as low; the data count as one of them
        float((1 + (resampled - gap.mean() <= gap.mean()).sum()) / (1 + count)),
        _t_test(gap),
        float(stats.wilcoxon(gap, alternative="less").pvalue) if gap.any() else 1.0,
    )


def _t_test(gap: Floats) -> float:
    """One-tailed paired t-test; a constant difference leaves no doubt either way."""
    if np.ptp(gap) <= 1e-12 * np.abs(gap).max():
        return 0.0 if gap[0] < 0 else 1.0
    return float(stats.ttest_1samp(gap / magnitude(gap), 0.0, alternative="less").pvalue)  # of any unit


@documented()
def compare_learners(
    y_true: LabelsLike,
    pred_a: Any,
    pred_b: Any,
    *,
    costs: CostsLike | None = None,
    classes: LabelsLike | None = None,
    **options: Any,
) -> PairedComparison:
    """Compare two learners by what their answers to the same examples cost; options as for :func:`compare_costs`.

    Parameters
    ----------
    pred_a : array-like of shape (n,)
        Answers of learner A.
    pred_b : array-like of shape (n,)
        Answers of learner B.
    **options : Any
        As for :func:`compare_costs`.

    Returns
    -------
    PairedComparison
        Difference of the mean costs, and p-values.

    Examples
    --------
    >>> y = [0, 1] * 20
    >>> result = compare_learners(y, [0] * 4 + y[4:], [0] * 40, costs={0: 1, 1: 5}, random_state=0)
    >>> result.mean_a, result.mean_b, result.p_bootstrap < 0.01
    (0.25, 2.5, True)
    """
    a = costs_paid(y_true, pred_a, costs=costs, classes=classes)
    return compare_costs(a, costs_paid(y_true, pred_b, costs=costs, classes=classes), **options)


@dataclass(frozen=True, eq=False)
class FriedmanComparison:
    """Many learners over many data sets: Friedman's test, mean ranks (1 is best), and pairwise p-values.

    Parameters
    ----------
    names : tuple of str
        Learners.
    n_datasets : int
        Data sets.
    statistic : float
        Friedman's chi-squared.
    p_value : float
        Of no difference between the learners.
    mean_ranks : ndarray of shape (k,)
        Mean ranks, 1 is best.
    pairwise : ndarray of shape (k, k)
        p-values of every pair.
    posthoc : str
        Name of the post-hoc test.
    """

    names: tuple[str, ...]
    n_datasets: int
    statistic: float
    p_value: float
    mean_ranks: Floats
    pairwise: Floats
    posthoc: str

    def order(self) -> list[int]:
        """Positions of the learners, best rank first."""
        return [int(k) for k in np.argsort(self.mean_ranks, kind="stable")]

    def __str__(self) -> str:
        order = self.order()
        head = f"Friedman chi2 = {self.statistic:.4g}, p = {self.p_value:.3g} over {self.n_datasets} data sets"
        cells = [[f"{self.mean_ranks[k]:.2f}", *(f"{self.pairwise[k, j]:.3f}" for j in order)] for k in order]
        names = [self.names[k] for k in order]
        return f"{head}; p of pairs by {self.posthoc}\n" + aligned_text(["learner", "mean rank", *names], names, cells)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


_POSTHOC = {
    "nemenyi": "posthoc_nemenyi_friedman",
    "conover": "posthoc_conover_friedman",
    "siegel": "posthoc_siegel_friedman",
    "miller": "posthoc_miller_friedman",
}


def compare_over_datasets(
    values: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    lower_is_better: bool = True,
    posthoc: str = "nemenyi",
) -> FriedmanComparison:
    """Friedman's test over data sets (rows) and learners (columns), with a post-hoc test of every pair.

    Parameters
    ----------
    values : array-like or frame of shape (n, k)
        n >= 2 data sets, k >= 3 learners; a frame names its learners by its columns.
    names : sequence of str or None
        Names of the learners.
    lower_is_better : bool
        True for costs, False for scores.
    posthoc : {"nemenyi", "conover", "siegel", "miller"}
        Test of every pair, as in scikit-posthocs, which must be installed.

    Returns
    -------
    FriedmanComparison
        Ranks and p-values.

    Examples
    --------
    >>> costs = [[1.0, 2.0, 3.0], [0.5, 0.9, 0.8], [3.0, 4.0, 6.0], [1.0, 1.5, 2.0]]
    >>> result = compare_over_datasets(costs, names=["ours", "theirs", "chance"])
    >>> result.mean_ranks
    array([1.  , 2.25, 2.75])
    >>> round(result.p_value, 4)
    0.0388
    """
    table = numbers("values", values, ndim=2)
    if table.shape[0] < 2 or table.shape[1] < 3:
        raise invalid("values", "be an (n, k) table of n >= 2 data sets and k >= 3 learners", f"shape {table.shape}")
    check_choice("posthoc", posthoc, tuple(_POSTHOC))
    learners = tuple(map(str, names if names is not None else getattr(values, "columns", range(table.shape[1]))))
    if len(learners) != table.shape[1]:
        raise invalid("names", f"name the {table.shape[1]} learners", list(learners))
    signed = table if check_flag("lower_is_better", lower_is_better) else -table
    tests = require("scikit_posthocs", why="The post-hoc test of compare_over_datasets")
    if (np.ptp(signed, axis=1) == 0).all():  # all learners tie everywhere: nothing to rank
        statistic, p_value, pairwise = 0.0, 1.0, np.ones((len(learners),) * 2)
    else:
        found = stats.friedmanchisquare(*signed.T)
        statistic, p_value = float(found.statistic), float(found.pvalue)
        pairwise = np.array(getattr(tests, _POSTHOC[posthoc])(signed), dtype=np.float64)
    ranks = stats.rankdata(signed, axis=1).mean(axis=0)
    return FriedmanComparison(learners, len(table), statistic, p_value, ranks, pairwise, posthoc)
