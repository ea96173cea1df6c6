"""Curves over thresholds by parts: a histogram of scores whose bins need no look at the data, with its error bound.

A score as a double, read as a whole number that orders like it, loses its last 40 bits: bins are 1/4096 wide relative
to the score, the same for all parts, and counts add up. What is reported at the edges of bins is exact.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]
LOST = 40  # bits of a double that a bin does not tell apart
_SIGN = np.int64(0x7FFF_FFFF_FFFF_FFFF)


def bins_of(scores: Any) -> Wholes:
    """The bin of each score; bins are ordered like scores."""
    bits = (np.asarray(scores, dtype=np.float64) + 0.0).view(np.int64)  # -0 is 0
    return (bits ^ ((bits >> 63) & _SIGN)) >> LOST


def edges_of(bins: Wholes) -> Floats:
    """The least score of each bin."""
    whole = bins << LOST
    return (whole ^ ((whole >> 63) & _SIGN)).view(np.float64)


@dataclass(frozen=True)
class Histogram:
    """Rows of the second class and of the first in every bin that has any.

    Parameters
    ----------
    bins, positive, negative : ndarray of shape (m,)
        Bins in their order, and how many rows of each class they hold.
    """

    bins: Wholes
    positive: Wholes
    negative: Wholes

    @staticmethod
    def empty() -> Histogram:
        """No rows."""
        none = np.empty(0, dtype=np.int64)
        return Histogram(none, none, none)

    @staticmethod
    def of(scores: Any, positive: NDArray[np.bool_]) -> Histogram:
        """Of some rows."""
        bins, place = np.unique(bins_of(scores), return_inverse=True)
        hits = np.bincount(place[positive], minlength=len(bins))
        return Histogram(bins, hits, np.bincount(place, minlength=len(bins)) - hits)

    def __add__(self, other: Histogram) -> Histogram:
        bins, place = np.unique(np.concatenate([self.bins, other.bins]), return_inverse=True)
        counts = []
        for mine, more in ((self.positive, other.positive), (self.negative, other.negative)):
            total = np.zeros(len(bins), dtype=np.int64)
            np.add.at(total, place, np.concatenate([mine, more]))
            counts.append(total)
        return Histogram(bins, *counts)


@dataclass(frozen=True)
class ScoreCurve:
    """What a threshold on the score does to all rows of many files.

    Parameters
    ----------
    auc, auc_error : float
        Area under the ROC curve, and how far from the exact one it is at most.
    thresholds : ndarray of shape (m,)
        Answering the second class from there on; the last is above all scores.
    fn, fp : ndarray of shape (m,)
        Mistakes of either kind at each threshold, exactly.
    cost : ndarray of shape (m,) or None
        Mean cost a row at each threshold, exactly; None without costs by class.
    best_threshold, best_cost, cost_error : float
        The cheapest of these thresholds, its cost, and how much cheaper one between them can be at most.
    """

    auc: float
    auc_error: float
    thresholds: Floats
    fn: Wholes
    fp: Wholes
    cost: Floats | None
    best_threshold: float
    best_cost: float
    cost_error: float

    def __str__(self) -> str:
        text = f"AUC {self.auc:.6g} (error at most {self.auc_error:.1g})"
        if self.cost is None:
            return text
        cheaper = f"error at most {self.cost_error:.1g}"
        return f"{text}; cheapest threshold {self.best_threshold:.6g}, {self.best_cost:.6g} a row ({cheaper})"


def score_curve(found: Histogram, costs: Floats | None) -> ScoreCurve | None:
    """The curve of a histogram; ``costs`` are C[true, predicted] of both classes. None where a class has no row."""
    positive, negative = int(found.positive.sum()), int(found.negative.sum())
    if not positive or not negative:
        return None
    below = np.concatenate([[0], np.cumsum(found.negative)])[:-1]
    pairs = float(positive) * float(negative)
    wins = float(_product(found.positive, below))
    ties = float(_product(found.positive, found.negative))
    thresholds = np.concatenate([edges_of(found.bins), [np.inf]])
    fn = np.concatenate([[0], np.cumsum(found.positive)])
    fp = negative - np.concatenate([[0], np.cumsum(found.negative)])
    cost, best, error = None, int(np.argmin(fn + fp)), float("nan")
    if costs is not None:
        cost, error = _costs(found, fn, fp, costs)
        best = int(np.argmin(cost))
    best_cost = float("nan") if cost is None else float(cost[best])
    area = (wins + 0.5 * ties) / pairs
    return ScoreCurve(area, 0.5 * ties / pairs, thresholds, fn, fp, cost, float(thresholds[best]), best_cost, error)


def _product(one: Wholes, other: Wholes) -> int:
    """Exactly: Python's integers do not overflow."""
    return sum(map(operator.mul, one.tolist(), other.tolist()))


def _costs(found: Histogram, fn: Wholes, fp: Wholes, costs: Floats) -> tuple[Floats, float]:
    """The mean cost at each threshold, and how much less one within a bin can have at most."""
    rows = int(found.positive.sum() + found.negative.sum())
    price = [float(costs[1, 0] - costs[1, 1]), float(costs[0, 1] - costs[0, 0])]  # of a miss, of a false alarm
    base = float(costs[1, 1]) * int(found.positive.sum()) + float(costs[0, 0]) * int(found.negative.sum())
    total = base + price[0] * fn + price[1] * fp
    # Within a bin at most its negatives are spared against its lower edge, its positives against its upper one.
    least = np.maximum(total[:-1] - abs(price[1]) * found.negative, total[1:] - abs(price[0]) * found.positive)
    return total / rows, max(0.0, float(total.min() - least.min())) / rows
