"""Spending the budget over the rows that are expected: the query rule's scale, found from past scores alone."""

from __future__ import annotations

from collections import deque

from ...active import AskAsymmetric, AskAtLeast, AskSymmetric, QueryRule
from ..log.settings import ProjectSettings

FIRST = 200  # rows before the first adjustment, and the least number between two
REMEMBERED = 500  # scores
_STEPS = 40  # of the bisection
_EXPONENTS = 60  # the factor lies between 2^-60 and 2^60


class Pace:
    """Scales a query rule so that its mean chance on the last scores is (labels left) / (rows still expected).

    A pure function of the past, so that each logged chance is exact. Sums run in a fixed order and only products,
    quotients and powers of two are taken: the same bits on every machine.
    """

    def __init__(self, due: int = FIRST) -> None:
        self.scores: deque[float] = deque(maxlen=REMEMBERED)
        self.due = due
        self.query: QueryRule | None = None  # as scaled last; None before the first adjustment

    def note(self, score: float) -> None:
        """Remember the signed score of a row."""
        self.scores.append(score)

    def rows_before_next(self, settings: ProjectSettings, t: int) -> int | None:
        """How many rows from round ``t`` on are asked by the present rule, at least one; None: all."""
        return max(1, self.due - t) if settings.pace else None

    def adjusted(self, settings: ProjectSettings, t: int, left: int) -> QueryRule | None:
        """The rule from round ``t`` on, if it is time for another one."""
        if not settings.pace or t < self.due:
            return None
        self.due = t + max(FIRST, t // 4)
        expected = max(settings.expected_rows - t, t // 4)
        if left == 0 or not self.scores:
            return None
        wanted = min(1.0, left / expected)
        self.query = scaled_rule(settings.query_rule(), list(self.scores), wanted, settings.floor_share * wanted)
        return self.query


def scaled_rule(rule: QueryRule, scores: list[float], wanted: float, floor: float) -> QueryRule:
    """The rule with its constants times one factor, such that the mean chance on the scores is ``wanted``."""
    c_pos, c_neg = (rule.c_pos, rule.c_neg) if isinstance(rule, AskAsymmetric) else (_constant(rule),) * 2

    def mean(factor: float) -> float:
        total = 0.0
        for score in scores:
            c = (c_pos if score >= 0 else c_neg) * factor
            total += max(floor, c / (abs(score) + c))
        return total / len(scores)

    low = 2.0**-_EXPONENTS
    for _ in range(2 * _EXPONENTS):
        if mean(2 * low) >= wanted:
            break
        low *= 2
    high = 2 * low
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if mean(middle) < wanted:
            low = middle
        else:
            high = middle
    made: QueryRule = AskSymmetric(c_pos * high)
    if isinstance(rule, AskAsymmetric):
        made = AskAsymmetric(c_pos * high, c_neg * high)
    return AskAtLeast(floor, made) if floor > 0 else made


def _constant(rule: QueryRule) -> float:
    assert isinstance(rule, AskSymmetric)
    return rule.c
