"""Query rules: the chance of asking for the label of an example. Paper 001, sec. 3.1."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from .._native import query_kernel
from ..rules import Rule
from ..validation.values import check_count, check_number, invalid

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
    """All that a query rule may look at: the score, whether the answer is positive, and the round from 0."""

    score: float
    positive: bool
    t: int


class QueryRule(Rule):
    """The chance of asking for a label, before it is known; deterministic rules answer 0 or 1.

    A subclass writes :meth:`query_probability` and works at the speed of Python. To make it fast, give it a struct in
    ``native/queries.hpp`` and return that from :meth:`native`.
    """

    python_method: ClassVar[str] = "query_probability"

    def query_probability(self, glance: QueryInput) -> float:
        """Probability in [0, 1] with which the label is asked for while the budget lasts."""
        raise NotImplementedError


@dataclass(eq=False, repr=False)
class AskAll(QueryRule):
    """Ask for every label: plain online learning.

    >>> AskAll().query_probability(QueryInput(0.3, True, 0))
    1.0
    """

    def query_probability(self, glance: QueryInput) -> float:
        """Always 1."""
        return 1.0

    def native(self) -> Any:
        """The kernel's form of this rule."""
        return query_kernel("AskAll", [])


class AskFirst(AskAll):
    """First come, first served: ask until the budget is spent (QF of paper 001).

    >>> AskFirst().query_probability(QueryInput(9.0, True, 5))
    1.0
    """


@dataclass(eq=False, repr=False)
class AskRandom(QueryRule):
    """Ask with a fixed chance, whatever the example (QR of paper 001).

    Parameters: ``rate`` in (0, 1].

    >>> AskRandom(0.1).query_probability(QueryInput(0.3, True, 0))
    0.1
    """

    rate: float = 0.1

    def validate(self) -> None:
        """Complain about a rate outside (0, 1]."""
        check_number("rate", self.rate, above=0, at_most=1)

    def query_probability(self, glance: QueryInput) -> float:
        """The rate."""
        return self.rate

    def native(self) -> Any:
        """The kernel's form of this rule."""
        return query_kernel("AskRandom", [self.rate])


@dataclass(eq=False, repr=False)
class AskUncertain(QueryRule):
    """Ask if the score is near zero: \\|p\\| <= c (QD of paper 001). May freeze if ``c`` is small for the scale of X.

    Parameters: ``c`` > 0, in units of the score.

    >>> AskUncertain(0.5).query_probability(QueryInput(-0.7, False, 0))
    0.0
    """

    c: float = 0.1

    def validate(self) -> None:
        """Complain about a c that is not positive."""
        check_number("c", self.c, above=0)

    def query_probability(self, glance: QueryInput) -> float:
        """1 near the boundary, else 0."""
        return 1.0 if abs(glance.score) <= self.c else 0.0

    def native(self) -> Any:
        """The kernel's form of this rule."""
        return query_kernel("AskUncertain", [self.c])


@dataclass(eq=False, repr=False)
class AskSymmetric(QueryRule):
    """Ask with chance c / (\\|p\\| + c) (QS of paper 001; the query of CSOAL).

    Parameters: ``c`` > 0, in units of the score.

    >>> AskSymmetric(0.1).query_probability(QueryInput(-0.3, False, 0))
    0.25
    """

    c: float = 0.1

    def validate(self) -> None:
        """Complain about a c that is not positive."""
        check_number("c", self.c, above=0)

    def query_probability(self, glance: QueryInput) -> float:
        """Falls with the distance from the boundary."""
        return self.c / (abs(glance.score) + self.c)

    def native(self) -> Any:
        """The kernel's form of this rule: the asymmetric one with equal parameters."""
        return query_kernel("AskAsymmetric", [self.c, self.c])


@dataclass(eq=False, repr=False)
class AskAsymmetric(QueryRule):
    """Ask with chance c_pos / (\\|p\\| + c_pos) where p >= 0, with c_neg elsewhere (QA of paper 001, eq. (5)).

    Parameters: ``c_pos``, ``c_neg`` > 0, in units of the score; a smaller ``c_pos`` spares labels on the many
    doubtful positives of imbalanced data.

    >>> AskAsymmetric(0.1, 0.3).query_probability(QueryInput(-0.3, False, 0))
    0.5
    """

    c_pos: float = 0.01
    c_neg: float = 0.1

    def validate(self) -> None:
        """Complain about parameters that are not positive."""
        check_number("c_pos", self.c_pos, above=0)
        check_number("c_neg", self.c_neg, above=0)

    def query_probability(self, glance: QueryInput) -> float:
        """Falls with the distance from the boundary, on each side in its own way."""
        c = self.c_pos if glance.score >= 0 else self.c_neg
        return c / (abs(glance.score) + c)

    def native(self) -> Any:
        """The kernel's form of this rule."""
        return query_kernel("AskAsymmetric", [self.c_pos, self.c_neg])


@dataclass(eq=False, repr=False)
class AskPredictedPositive(QueryRule):
    """Ask for the ``first`` rounds, then only where the answer is positive: the warning of Figure 2 of paper 001.

    Cheap where every alarm is looked at anyway, but the labels are a biased sample and can harm the learner.

    >>> AskPredictedPositive(first=2).query_probability(QueryInput(-0.3, False, 2))
    0.0
    """

    first: int = 0

    def validate(self) -> None:
        """Complain about a negative number of rounds."""
        check_count("first", self.first, at_least=0)

    def query_probability(self, glance: QueryInput) -> float:
        """1 at the start and for positive answers."""
        return 1.0 if glance.t < self.first or glance.positive else 0.0

    def native(self) -> Any:
        """The kernel's form of this rule."""
        return query_kernel("AskPredictedPositive", [self.first])


@dataclass(eq=False, repr=False)
class AskAtLeast(QueryRule):
    """Another rule with an audit floor: its chance, but never less than ``floor``.

    With a floor above zero every example has a known chance of being asked, so inverse-probability estimates of the
    stream's measures exist for every rule. Off in all reproductions.

    Parameters: ``floor`` in (0, 1]; ``rule``, any query rule.

    >>> AskAtLeast(0.01, AskUncertain(0.5)).query_probability(QueryInput(-0.7, False, 0))
    0.01
    """

    floor: float = 0.01
    rule: QueryRule = field(default_factory=lambda: AskUncertain())

    def validate(self) -> None:
        """Complain about a floor outside (0, 1] or something that is no rule."""
        check_number("floor", self.floor, above=0, at_most=1)
        if not isinstance(self.rule, QueryRule) or isinstance(self.rule, AskAtLeast):
            raise invalid("rule", "be a query rule without a floor of its own", self.rule)
        self.rule.validate()

    def query_probability(self, glance: QueryInput) -> float:
        """The greater of the two."""
        return max(self.floor, self.rule.query_probability(glance))

    def native(self) -> Any:
        """The inner rule; the loop keeps the floor."""
        return self.rule.kernel()
