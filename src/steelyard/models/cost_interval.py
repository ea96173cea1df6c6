"""How sure an expected mean cost is: the chance of new outcomes, and of probabilities fitted to so many rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm

from ..costs import ExampleCosts
from ..evaluate import Interval
from ..validation.types import Floats

if TYPE_CHECKING:
    from .model import Decisions


def outcome_variance(weighed: Decisions) -> Floats:
    """Variance of what each decision costs, over the classes that the row may turn out to have."""
    costs, decided = weighed.costs, weighed.decided
    known = np.flatnonzero(decided < len(np.asarray(costs.classes)))  # to abstain costs what it costs
    found = np.zeros(len(decided))
    if isinstance(costs, ExampleCosts):
        if costs.matrices is None:
            return found
        paid = np.asarray(costs.matrices)[known, :, decided[known]]
    else:
        assert costs.matrix is not None
        paid = np.asarray(costs.matrix).T[decided[known]]
    proba = weighed.proba[known]
    mean = (proba * paid).sum(axis=1)
    found[known] = np.maximum((proba * paid**2).sum(axis=1) - mean**2, 0.0)
    return found


@dataclass
class ExpectedCostMean:
    """Sums over rows, chunk by chunk: what they are expected to cost, and how much that may vary.

    Parameters
    ----------
    judged : int
        Rows that the probabilities were fitted to, out of fold; 0 where nobody knows.
    """

    judged: int
    rows: int = 0
    total: float = 0.0
    variance: float = 0.0

    def add(self, weighed: Decisions) -> None:
        """Count the rows of a chunk.

        Parameters
        ----------
        weighed : Decisions
            Their decisions.
        """
        self.rows += len(weighed.decided)
        self.total += float(weighed.expected_cost.sum())
        self.variance += float(outcome_variance(weighed).sum())

    def interval(self, confidence: float = 0.95) -> Interval:
        """The expected mean with a prediction interval for what these rows will cost.

        Parameters
        ----------
        confidence : float
            Of the interval.

        Returns
        -------
        Interval
            Infinitely wide where it is not known how many rows the probabilities rest on.
        """
        if not self.rows:
            return Interval(math.nan, math.nan, math.nan, confidence, math.nan, "no rows")
        mean = self.total / self.rows
        spread = math.inf if self.judged < 1 else 1 / self.rows + 1 / self.judged
        error = math.sqrt(self.variance / self.rows * spread) if self.variance else 0.0
        half = float(norm.ppf((1 + confidence) / 2)) * error
        return Interval(mean, mean - half, mean + half, confidence, error, "outcomes and calibration")
