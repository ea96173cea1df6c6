"""What a live stream would score if all its labels were known, from those that were asked for.

Asked labels stand near the boundary, so a measure on them alone is biased. Each is weighted by 1 / chance, the chance
with which it was asked. Rounds that could not be asked (chance 0) leave no trace in the sample: nothing corrects that.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammainc, gammaincinv, logit, ndtri, stdtrit

from ..costs import CostRule, ExampleCosts
from ..costs.rules import CostsLike, stated_costs
from ..errors import CoverageWarning, NotEstimableError
from ..trace import Trace
from ..validation.arrays import check_same_length
from ..validation.docstrings import documented
from ..validation.types import Label, LabelsLike
from ..validation.values import check_choice, check_count, check_number, invalid
from ._measure_forms import Measure, constant_costs, cost_sums, form_of, ratio
from ._predictions import Floats, Predictions
from .intervals import Interval
from .streams import trace_answers

_HALVINGS = 60  # of the bisection for the quantile of a mixture
_STEP = 1e-6  # relative step of the numerical gradient behind the standard error


@dataclass(frozen=True)
class Estimate:
    """A measure estimated from the asked labels of a stream.

    Parameters
    ----------
    value : float
        The estimate.
    standard_error : float
        The linearised one of independent draws.
    effective_sample_size : float
        (sum w)^2 / sum w^2: how many equally weighted labels are worth as much.
    queried : int
        Labels it is made from.
    rounds : int
        Rounds it speaks about.
    method : str
        "hajek" or "horvitz_thompson".
    """

    value: float
    standard_error: float
    effective_sample_size: float
    queried: int
    rounds: int
    method: str

    def interval(self, level: float = 0.95, *, costliest: float | None = None, log_odds: bool = False) -> Interval:
        """The interval of Student's distribution with ``effective_sample_size - 1`` degrees of freedom.

        It is nominal: where mistakes are rare and costly it covers less than it says. For a mean cost give what the
        costliest mistake costs: the interval is then the one of gamma distributions described below. For a measure
        between 0 and 1, as F1, ``log_odds`` holds better: the interval is Student's for log(v / (1 - v)), with the
        standard error s / (v (1 - v)), so it leans towards the middle and stays between 0 and 1.

        Parameters
        ----------
        level : float
            Confidence, between 0 and 1.
        costliest : float or None
            For :func:`mean_cost`: the cost of the costliest mistake.
        log_odds : bool
            For measures between 0 and 1.

        Returns
        -------
        Interval
            The value with both ends.

        Notes
        -----
        The cost of n rounds is a sum over mistakes, each labelled with its own small chance: nearly a sum of weighted
        Poisson counts, never negative and skewed to the right. Its law is matched by a gamma distribution of the same
        mean v and variance s^2, as for standardised rates (Fay and Feuer, 1997); s is the standard error, widened as
        Student's distribution is against the normal one. The lower end is its quantile. For the upper end the mistake
        that was just not labelled is counted: one more of the costliest kind, at the mean weight of a round,
        n / effective size. It adds d = costliest / effective size to the mean and d^2 (1 - effective size / n) to the
        variance. The exact bound of a Poisson count uses that distribution alone, which is too wide; its mid-p form
        (Fay and Kim, 2017) is the equal mixture of both, whose quantile the upper end is. ``bench/cost_intervals.py``
        tells how often it holds.
        """
        check_number("level", level, above=0, below=1)
        freedom = self.effective_sample_size - 1
        if not freedom > 0:
            hint = "Ask for more labels first."
            raise NotEstimableError(f"an interval must rest on more than one label; got {self.queried}. {hint}")
        if costliest is not None:
            worst = check_number("costliest", costliest, at_least=0)
            if self.value < 0:
                hint = "That interval is for costs, which are never negative."
                raise invalid("costliest", f"be None for an estimate below 0, {self.value:.4g}", costliest, hint)
            return self._gamma_interval(level, worst)
        reach = float(stdtrit(freedom, (1 + level) / 2)) * self.standard_error
        if log_odds and 0 < self.value < 1:
            scale = self.value * (1 - self.value)
            low, high = (float(expit(logit(self.value) + end / scale)) for end in (-reach, reach))
            return Interval(self.value, low, high, level, self.standard_error, "Student of log odds")
        return Interval(self.value, self.value - reach, self.value + reach, level, self.standard_error, "Student")

    def _gamma_interval(self, level: float, costliest: float) -> Interval:
        """See the notes of :meth:`interval`."""
        high, size = (1 + level) / 2, self.effective_sample_size
        wider = float(stdtrit(size - 1, high) / ndtri(high))
        variance, more = (wider * self.standard_error) ** 2, costliest / size
        with_one = (self.value + more, variance + more**2 * max(0.0, 1 - size / self.rounds))
        seen = (self.value, variance)
        low, top = _gamma_quantile(1 - high, *seen), _gamma_quantile(high, *with_one)
        bottom = min(_gamma_quantile(high, *seen), top)
        for _ in range(_HALVINGS):
            middle = (bottom + top) / 2
            if (_gamma_share(middle, *seen) + _gamma_share(middle, *with_one)) / 2 < high:
                bottom = middle
            else:
                top = middle
        return Interval(self.value, low, top, level, self.standard_error, "gamma")

    def __str__(self) -> str:
        return (
            f"{self.value:.4g} ± {self.standard_error:.2g} "
            f"({self.queried} labels of {self.rounds} rounds, worth {self.effective_sample_size:.1f})"
        )

    def _repr_html_(self) -> str:
        return f"<p><b>{self.value:.4g}</b> {str(self).partition(' ')[2]}</p>"


def _gamma_quantile(share: float, mean: float, variance: float) -> float:
    """Of the gamma distribution of this mean and variance; of the mean itself where there is no variance."""
    if mean <= 0 or variance <= 0:
        return max(mean, 0.0)
    return float(gammaincinv(mean**2 / variance, share) * variance / mean)


def _gamma_share(value: float, mean: float, variance: float) -> float:
    """The share of that distribution up to a value."""
    if mean <= 0 or variance <= 0:
        return float(value >= mean)
    return float(gammainc(mean**2 / variance, value * mean / variance))


@documented()
def estimate(
    measure: Measure,
    trace: Trace,
    *,
    method: str = "hajek",
    shown: str = "push",
    costs: CostsLike | None = None,
    positive: Label | None = None,
    classes: LabelsLike | None = None,
    rounds: int | None = None,
    answered: float = 1.0,
    **params: Any,
) -> Estimate:
    """Estimate a measure of the whole stream from the rounds whose label was asked, weighted by 1 / chance.

    Raises :class:`NotEstimableError` when no unasked round could have been asked (a deterministic rule), and warns with
    :class:`CoverageWarning` when some could not: the estimate is then about the others alone.

    Parameters
    ----------
    measure : callable
        A measure of this package.
    trace : Trace
        The record of a stream; ``y`` is read only where ``queried``, elsewhere it may hold anything.
    method : {"hajek", "horvitz_thompson"}
        "hajek" scales the weights to sum to the number of rounds (self-normalised: stabler); "horvitz_thompson"
        takes them as they are (unbiased for total and mean cost).
    shown : {"push", "push_and_query"}
        As for :func:`prequential_curve`.
    rounds : int or None
        How many rounds the estimate speaks about, where ``trace`` holds the queried ones alone.
    answered : float
        With ``rounds``: the share of the queried labels that came. Those that did not are taken for missing at random:
        a label is known with ``answered`` times its chance, else rounds that are always queried would seem certain.
    **params : Any
        Further parameters of the measure.

    Returns
    -------
    Estimate
        Value, standard error and what it rests on.

    Examples
    --------
    >>> from steelyard import mean_cost
    >>> draw = np.random.default_rng(0)
    >>> y, predicted = draw.integers(0, 2, 1000), draw.integers(0, 2, 1000)
    >>> p = np.where(predicted, 0.5, 0.1)
    >>> queried = draw.random(1000) < p
    >>> print(estimate(mean_cost, Trace(p, predicted, queried, p, np.where(queried, y, -9))))
    0.562 ± 0.036 (331 labels of 1000 rounds, worth 191.7)
    """
    form = form_of(measure)
    check_choice("method", method, ("hajek", "horvitz_thompson"))
    check_number("answered", answered, above=0, at_most=1)
    if answered < 1 and rounds is None:
        raise invalid("answered", "be 1 unless rounds is given", answered, "Leave the others out, and give rounds.")
    queried, query_probability = _asking(trace, rounds, answered)
    rounds = int((query_probability > 0).sum()) if rounds is None else rounds
    read = {"costs": costs, "positive": positive, "classes": classes}
    seen = _asked_answers(trace, queried, shown, **read)
    stand_ins = _asked_answers(
        trace, queried, "push", **read
    )  # an asked round shows what the unasked ones like it show
    pi = query_probability[queried]
    extra = 1.0 / pi - 1.0  # how many unasked rounds an asked one stands for
    if method == "hajek":
        extra *= ratio(rounds - len(pi), extra.sum())
    rows, own = form.statistics(stand_ins), form.statistics(seen)
    sums = own.sum(axis=0) + extra @ rows
    amounts = np.abs(own).sum(axis=0) + extra @ np.abs(rows)  # a sum of costs and gains may be below 0, or 0
    if method == "horvitz_thompson" and form.statistics in (cost_sums, constant_costs):
        sums[1] = rounds  # known, so not estimated

    def value_at(at: Floats) -> Floats:
        return form.finalize(at, seen.positive, **params)

    residuals = rows @ _gradient(value_at, sums, amounts)
    if method == "hajek":
        residuals -= ratio(extra @ residuals, extra.sum())
    weight = 1.0 + extra
    return Estimate(
        float(value_at(sums)),
        # var = sum (1 - pi) / pi r^2 over all rounds, itself estimated from the asked ones
        float(np.sqrt(((1 - pi) / pi**2 * residuals**2).sum())),
        float(weight.sum() ** 2 / (weight**2).sum()),
        len(pi),
        rounds,
        method,
    )


def _asking(trace: Trace, rounds: int | None, answered: float) -> tuple[NDArray[np.bool_], Floats]:
    """What was asked, and the chance that its label is known; checked against each other."""
    check_same_length(
        predicted=trace.prediction, queried=trace.queried, query_probability=trace.query_probability, y=trace.y
    )
    queried, query_probability = (
        np.asarray(trace.queried, dtype=bool),
        np.asarray(trace.query_probability, dtype=np.float64),
    )
    if not ((query_probability >= 0) & (query_probability <= 1)).all():
        worst = query_probability[~((query_probability >= 0) & (query_probability <= 1))][0]
        raise invalid("trace.query_probability", "lie between 0 and 1", float(worst))
    if (queried & (query_probability == 0)).any():
        at = int(np.flatnonzero(queried & (query_probability == 0))[0])
        raise invalid(
            "trace.query_probability", "be positive where a label was asked", 0.0, f"It stands at round {at}."
        )
    if not queried.any():
        raise NotEstimableError("trace.asked must hold a label to estimate from; got none. Ask for some labels first.")
    if rounds is not None:
        query_probability = query_probability * answered
        _check_queried_alone(queried, query_probability, rounds)
        return queried, query_probability
    unreachable = int((query_probability == 0).sum())
    if unreachable and unreachable == (~queried).sum():
        raise NotEstimableError(
            f"trace.query_probability must be positive for rounds that were not asked; "
            f"got 0 for all {unreachable} of them. "
            "A deterministic rule, or a spent budget, cannot be corrected: query with a rule that has an audit floor."
        )
    if unreachable:
        warnings.warn(
            f"{unreachable} of {len(query_probability)} rounds could not have been asked (chance 0); "
            "the estimate speaks about the others alone.",
            CoverageWarning,
            stacklevel=3,
        )
    return queried, query_probability


def _check_queried_alone(queried: NDArray[np.bool_], query_probability: Floats, rounds: int) -> None:
    """Where only queried rounds are given, the others are known by their number."""
    if not queried.all():
        raise invalid("trace", "hold queried rounds alone where rounds is given", f"{int((~queried).sum())} others")
    n = len(queried)
    check_count("rounds", rounds, at_least=n, hint=f"The trace holds {n} queried rounds.")
    if rounds > n and (query_probability == 1).all():
        raise NotEstimableError(
            f"trace.query_probability must be below 1 somewhere if rounds were not queried; got 1 for all {n} queried "
            f"of {rounds}. A deterministic rule cannot be corrected: query with a rule that has an audit floor."
        )


def _asked_answers(trace: Trace, queried: NDArray[np.bool_], shown: str, *, costs: Any, **given: Any) -> Predictions:
    """The answers of the asked rounds, without a look at any other label."""
    if isinstance(costs, CostRule):
        raise invalid("costs", "be stated outright for an estimate", costs, "A rule needs the labels of all rounds.")
    known = Trace(*(np.asarray(column)[queried] for column in trace))
    stated = None if costs is None else stated_costs(costs, known.y)
    if given["classes"] is None and (stated is None or stated.classes is None):
        given["classes"] = np.union1d(known.y, np.asarray(trace.prediction))
    return trace_answers(known, shown, costs=stated[queried] if isinstance(stated, ExampleCosts) else stated, **given)


def _gradient(value_at: Callable[[Floats], Floats], sums: Floats, amounts: Floats) -> Floats:
    """Central differences, by a share of each sum or of what it is made of; where that is 0 nothing can move it."""
    steps = _STEP * np.where(sums > 0, sums, amounts)
    moves = np.diag(steps)
    return ratio(value_at(sums + moves) - value_at(sums - moves), 2 * steps)
