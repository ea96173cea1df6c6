"""Query rules: the probability of asking for the label of an example. Paper 001, sec. 3.1."""

from __future__ import annotations

from dataclasses import field
from typing import Any, NamedTuple

from .._native import query_kernel
from ..rules import Count, Interval, Rule, parameter, positive, rule
from ..validation.docstrings import documented
from ..validation.values import invalid

__all__ = [
    "AskAll",
    "AskAsymmetric",
    "AskAtLeast",
    "AskFirst",
    "AskPredictedPositive",
    "AskRandom",
    "AskSymmetric",
    "AskUncertain",
    "QueryInput",
    "QueryRule",
]


class QueryInput(NamedTuple):
    """All that a query rule may look at: the score, whether the prediction is positive, and the round from 0.

    Parameters
    ----------
    score : float
        Score of the row.
    positive : bool
        Whether the answer is positive.
    t : int
        The round, from 0.
    """

    score: float
    positive: bool
    t: int


class QueryRule(Rule):
    """The probability of asking for a label, before it is known; deterministic rules return 0 or 1.

    A subclass writes :meth:`query_probability` and works at the speed of Python. To make it fast, give it a struct in
    ``native/queries.hpp`` of the same name, with its parameters as fields.
    """

    def query_probability(self, inputs: QueryInput) -> float:
        """Probability in [0, 1] with which the label is asked for while the budget lasts.

        Parameters
        ----------
        inputs : QueryInput
            Score, answer and round.

        Returns
        -------
        float
            In [0, 1].
        """
        raise NotImplementedError

    def kernel(self) -> Any:
        """The kernel of :meth:`query_probability`, or None for a rule that exists in Python only."""
        return self._named_kernel("query_probability", query_kernel)


@rule
class AskAll(QueryRule):
    """Ask for every label: plain online learning.

    >>> AskAll().query_probability(QueryInput(0.3, True, 0))
    1.0
    """

    def query_probability(self, inputs: QueryInput) -> float:
        """Always 1."""
        return 1.0


class AskFirst(AskAll):
    """First come, first served: ask until the budget is spent (QF of paper 001).

    >>> AskFirst().query_probability(QueryInput(9.0, True, 5))
    1.0
    """


@rule
class AskRandom(QueryRule):
    """Ask with a fixed probability, whatever the example (QR of paper 001).

    >>> AskRandom(0.1).query_probability(QueryInput(0.3, True, 0))
    0.1
    """

    rate: float = parameter(0.1, Interval(at_most=1.0), "The probability of a query.")

    def query_probability(self, inputs: QueryInput) -> float:
        """The rate."""
        return self.rate


@rule
class AskUncertain(QueryRule):
    """Ask if the score is near zero: \\|p\\| <= c (QD of paper 001). May freeze if ``c`` is small for the scale of X.

    >>> AskUncertain(0.5).query_probability(QueryInput(-0.7, False, 0))
    0.0
    """

    c: float = positive(0.1, "How near, in units of the score.")

    def query_probability(self, inputs: QueryInput) -> float:
        """1 near the boundary, else 0."""
        return 1.0 if abs(inputs.score) <= self.c else 0.0


@rule
class AskSymmetric(QueryRule):
    """Ask with probability c / (\\|p\\| + c) (QS of paper 001; the query of CSOAL).

    >>> AskSymmetric(0.1).query_probability(QueryInput(-0.3, False, 0))
    0.25
    """

    c: float = positive(0.1, "The score at which every second label is asked for.")

    def query_probability(self, inputs: QueryInput) -> float:
        """Falls with the distance from the boundary."""
        return self.c / (abs(inputs.score) + self.c)


@rule
class AskAsymmetric(QueryRule):
    """Ask with probability c_pos / (\\|p\\| + c_pos) where p >= 0, with c_neg elsewhere (QA of paper 001, eq. (5)).

    >>> AskAsymmetric(0.1, 0.3).query_probability(QueryInput(-0.3, False, 0))
    0.5
    """

    c_pos: float = positive(
        0.01,
        "In units of the score; a smaller one spares labels on the many doubtful positives of imbalanced data.",
    )
    c_neg: float = positive(0.1, "The same where the score is negative.")

    def query_probability(self, inputs: QueryInput) -> float:
        """Falls with the distance from the boundary, on each side in its own way."""
        c = self.c_pos if inputs.score >= 0 else self.c_neg
        return c / (abs(inputs.score) + c)


@rule
class AskPredictedPositive(QueryRule):
    """Ask for the ``first`` rounds, then only where the prediction is positive: the warning of Figure 2 of paper 001.

    Cheap where every alarm is looked at anyway, but the labels are a biased sample and can harm the learner.

    >>> AskPredictedPositive(first=2).query_probability(QueryInput(-0.3, False, 2))
    0.0
    """

    first: int = parameter(0, Count(), "Rounds in which every label is asked for.")

    def query_probability(self, inputs: QueryInput) -> float:
        """1 at the start and for positive predictions."""
        return 1.0 if inputs.t < self.first or inputs.positive else 0.0


@documented({"rule": ("QueryRule", "The rule whose probability is raised; ``AskUncertain()`` by default.")})
@rule
class AskAtLeast(QueryRule):
    """Another rule with an audit floor: its probability, but never less than ``floor``.

    With a floor above zero every example has a known probability of being queried, so inverse-probability estimates
    of the stream's measures exist for every rule. Off in all reproductions.

    >>> AskAtLeast(0.01, AskUncertain(0.5)).query_probability(QueryInput(-0.7, False, 0))
    0.01
    """

    floor: float = parameter(0.01, Interval(at_most=1.0), "The least probability of a query while the budget lasts.")
    rule: QueryRule = field(default_factory=lambda: AskUncertain())

    def validate(self) -> None:
        """Raise unless the floor is in (0, 1] and the rule is one."""
        super().validate()
        if not isinstance(self.rule, QueryRule) or isinstance(self.rule, AskAtLeast):
            raise invalid("rule", "be a query rule without a floor of its own", self.rule)
        self.rule.validate()

    def query_probability(self, inputs: QueryInput) -> float:
        """The greater of the two."""
        return max(self.floor, self.rule.query_probability(inputs))

    def kernel(self) -> Any:
        """That of the inner rule; the loop keeps the floor."""
        return self.rule.kernel()
