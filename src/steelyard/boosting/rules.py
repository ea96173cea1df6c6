"""How a boosting variant weighs examples: columns that depend on the costs alone, and the two formulas that read them.

Every variant of the family is one case of the same two lines. With s = pull (of the right or the wrong answer),
a = in_alpha * D, and the sign +1 where the hypothesis is right and -1 where it is wrong:

    alpha = 1/2 log(sum a (1 + sign s) / sum a (1 - sign s))        (11), (31)
    D <- carried * D exp(-sign rate s) / Z,   rate = alpha          (13), (26)

D is kept at the sum m instead of 1, as the base learner needs it: a minimum of two objects must mean two objects.
The native rounds read the same columns in the same order of operations, so both paths have the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import CostsError
from ..validation.values import invalid

Floats = NDArray[np.float64]
Right = NDArray[np.bool_]
ROUNDING = 1e-12  # the same hypothesis twice has an alpha of zero but for rounding


class WeightColumns(NamedTuple):
    """A variant over the training examples, one entry each; ``rate`` None means alpha."""

    first: Floats  # what the first weights are multiplied with
    in_alpha: Floats  # how much of D enters alpha
    pull_right: Floats  # how strongly a right answer counts and lowers the weight
    pull_wrong: Floats  # how strongly a wrong answer counts and raises the weight
    carried_right: Floats  # what D is multiplied with after a right answer
    carried_wrong: Floats  # what D is multiplied with after a wrong answer
    rate: float | None = None


WeightRule = Callable[[Floats], WeightColumns]


def adac2(costs: Floats) -> WeightColumns:
    """c D exp(-+alpha), the costs outside of the exponent; AdaC2 and AdaC2.M1. Paper 003, eqs. (26) and (31)."""
    c, one = _largest_is_one(costs), np.ones_like(costs)
    return WeightColumns(one, c, one, one, c, c)


def adac1(costs: Floats) -> WeightColumns:
    """D exp(-+alpha c), the costs inside of the exponent."""
    c, one = _largest_is_one(costs), np.ones_like(costs)
    return WeightColumns(one, one, c, c, one, one)


def adac3(costs: Floats) -> WeightColumns:
    """c D exp(-+alpha c), the costs inside and outside."""
    c, one = _largest_is_one(costs), np.ones_like(costs)
    return WeightColumns(one, c, c, c, c, c)


def adacost(costs: Floats) -> WeightColumns:
    """D exp(-+alpha beta): beta = 1/2 - c/2 after a right answer, 1/2 + c/2 after a wrong one; D_1 as the costs."""
    c, one = _largest_is_one(costs), np.ones_like(costs)
    return WeightColumns(c, one, 0.5 - 0.5 * c, 0.5 + 0.5 * c, one, one)


def csb0(costs: Floats) -> WeightColumns:
    """c D after a wrong answer, D after a right one."""
    return _csb(costs)._replace(rate=0.0)


def csb1(costs: Floats) -> WeightColumns:
    """c D exp(1) after a wrong answer, D exp(-1) after a right one."""
    return _csb(costs)._replace(rate=1.0)


def csb2(costs: Floats) -> WeightColumns:
    """c D exp(alpha) after a wrong answer, D exp(-alpha) after a right one."""
    return _csb(costs)


def _csb(costs: Floats) -> WeightColumns:
    c, one = _smallest_is_one(costs), np.ones_like(costs)
    return WeightColumns(one, one, one, one, one, c)


def _largest_is_one(costs: Floats) -> Floats:
    return np.asarray(costs / costs.max())


def _smallest_is_one(costs: Floats) -> Floats:
    least = costs[costs > 0].min()
    if costs.max() / 1e150 > least:  # such weights would overflow
        raise invalid("costs", "lie within a factor of 1e150", (least, costs.max()), error=CostsError)
    return np.asarray(costs / least)


def balance(D: Floats, columns: WeightColumns, right: Right) -> tuple[float, float, float]:
    """What speaks for the hypothesis, what against it, and the weight of what it got wrong."""
    counted = columns.in_alpha * D
    signed = np.where(right, columns.pull_right, -columns.pull_wrong)
    return (
        total(counted * (0.5 * (1.0 + signed))),
        total(counted * (0.5 * (1.0 - signed))),
        total(np.where(right, 0.0, counted)),
    )


def vote(pro: float, contra: float) -> float:
    """alpha = 1/2 log(pro / contra), in a form that cannot overflow; 0 where it is not clearly positive. Eq. (31)."""
    alpha = 0.5 * (math.log(pro) - math.log(contra)) if pro > contra else 0.0
    return alpha if alpha > ROUNDING else 0.0


def reweighted(D: Floats, columns: WeightColumns, right: Right, alpha: float, size: float) -> tuple[Floats, float]:
    """D of the next round, with the sum ``size``, and Z, what it was divided by. Eqs. (13), (26) and (29)."""
    rate = alpha if columns.rate is None else columns.rate
    factor = np.where(right, _exp(-rate, columns.pull_right), _exp(rate, columns.pull_wrong))
    carried = D * factor * np.where(right, columns.carried_right, columns.carried_wrong)
    return scaled(carried, size), total(carried) / size


def scaled(D: Floats, size: float) -> Floats:
    """Weights with this sum."""
    return np.asarray(D * (size / total(D)))


def total(values: Floats) -> float:
    """The sum from first to last, the order of the native rounds; ``np.sum`` adds in pairs."""
    return float(np.add.accumulate(values)[-1])


def _exp(rate: float, pull: Floats) -> Floats:
    """exp(rate * pull) by the C library, as the native rounds do it; there are few distinct pulls."""
    distinct, where = np.unique(pull, return_inverse=True)
    return np.array([math.exp(rate * p) for p in distinct.tolist()])[where]
