"""How many labels may be asked for."""

from __future__ import annotations

import math
import numbers
from typing import Any, NamedTuple, Self

from ..validation.values import check_count, check_number

__all__ = ["Budget"]


class Budget(NamedTuple):
    """Labels that may be asked for: ``limit`` in all, ``rate`` per round, or both; infinite by default.

    Asked for and not yet answered labels (``reserved``) count like answered ones (``spent``), so no delay and no
    chunking can exceed the budget: at every round ``spent + reserved <= min(limit, rate * rounds)``.

    Parameters
    ----------
    limit : float
        Labels in all.
    rate : float
        Labels per round.

    Examples
    --------
    >>> Budget.of(2).may_ask(spent=1, reserved=1, t=10)
    False
    >>> [Budget.of(0.5).may_ask(spent=0, reserved=0, t=t) for t in (0, 1)]
    [False, True]
    """

    limit: float = math.inf
    rate: float = math.inf

    @classmethod
    def of(cls, budget: Any) -> Self:
        """From what a user writes: None, a whole number of labels, a rate in (0, 1), or a Budget.

        Parameters
        ----------
        budget : int, float, Budget or None
            Labels in all (a whole number), per round (a rate in (0, 1)), or no limit.

        Returns
        -------
        Budget
            The budget.
        """
        if budget is None:
            return cls()
        if isinstance(budget, Budget):
            limit, rate = budget
            if limit != math.inf:
                check_count("budget.limit", int(limit) if float(limit).is_integer() else limit, at_least=0)
            if rate != math.inf:
                check_number("budget.rate", rate, above=0, at_most=1)
            return cls(float(limit), float(rate))
        if isinstance(budget, numbers.Real) and not isinstance(budget, numbers.Integral):
            hint = "Give a whole number of labels in all, or labels per round as a rate."
            return cls(rate=check_number("budget", budget, above=0, below=1, hint=hint))
        return cls(limit=check_count("budget", budget, at_least=0))

    def may_ask(self, *, spent: int, reserved: int, t: int) -> bool:
        """Whether one more label may be asked for at round ``t``, counted from 0.

        Parameters
        ----------
        spent : int
            Labels that came.
        reserved : int
            Labels that were queried and have not come yet.
        t : int
            The round, from 0.

        Returns
        -------
        bool
            Whether one more label may be queried.
        """
        used = spent + reserved
        return used < self.limit and used + 1 <= self.rate * (t + 1)
