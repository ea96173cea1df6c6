"""Decisions under a limit: only so many rows can be acted on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..validation.types import ArrayLike
from ..validation.values import check_count, invalid
from ._predictions import numbers


class LimitedDecisions(NamedTuple):
    """Positions of the answers given, (n,), and what one more place to act would save.

    Parameters
    ----------
    decisions : ndarray of shape (n,)
        Position of each row's answer.
    next_place : float
        What one more place to act would save.
    """

    decisions: NDArray[np.intp]
    next_place: float


def at_most(expected: ArrayLike, n: int, *, action: int = 1) -> LimitedDecisions:
    """Act on at most ``n`` rows: those where acting saves most.

    Parameters
    ----------
    expected : array-like of shape (n, K)
        Expected cost of every answer, as :meth:`Costs.expected` gives it.
    n : int
        Most rows that may get the answer ``action``; rows where acting saves nothing are left alone even so.
    action : int
        Position of the answer that is limited; by default the second, the positive class of two.

    Returns
    -------
    LimitedDecisions
        The position of each row's answer: ``action``, or the cheapest of the others; and how much one more place
        would save, 0 where there is nothing left to save. Rows that save the same are taken in their order.

    Examples
    --------
    >>> limited = at_most([[0.5, 0.9], [4.0, 0.5], [2.0, 0.5]], 1)
    >>> limited.decisions.tolist(), limited.next_place
    ([0, 1, 0], 1.5)
    """
    cost = numbers("expected", expected, 2)
    if cost.shape[1] < 2:
        raise invalid("expected", "have a column for each of two or more answers", f"shape {cost.shape}")
    limit = check_count("n", n, at_least=0)
    acting = check_count("action", action, at_least=0, at_most=cost.shape[1] - 1)
    others = cost.copy()
    others[:, acting] = np.inf
    decisions: NDArray[np.intp] = others.argmin(axis=1)
    saved = others.min(axis=1) - cost[:, acting]
    order = np.argsort(-saved, kind="stable")
    worth = order[saved[order] > 0]
    decisions[worth[:limit]] = acting
    return LimitedDecisions(decisions, float(saved[worth[limit]]) if len(worth) > limit else 0.0)
