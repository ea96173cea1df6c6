"""The threshold on a score that would have cost least.

Tested in ``tests/unit/comparison/test_evaluation.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..costs import Costs

Floats = NDArray[np.float64]


def cheapest_threshold(score: Floats, y: Any, costs: Costs, weight: Floats | None = None) -> float:
    """The threshold, answering positive from it on, that would have cost least on these rows.

    Half way between neighbouring scores, below all, or above all of them.
    """
    table, positive = costs.per_example(y), costs.positive_index()
    order = np.argsort(score, kind="stable")
    costlier = table[:, 1 - positive] - table[:, positive]  # by being answered negative
    costlier = (costlier if weight is None else weight * costlier)[order]
    total = np.concatenate([[0.0], np.cumsum(costlier)])  # the k lowest scores answered negative
    ordered = score[order]
    cuts = np.concatenate([[0.0], (ordered[1:] + ordered[:-1]) / 2, [np.nextafter(1.0, 2.0)]])
    apart = np.concatenate([[True], ordered[1:] > ordered[:-1], [True]])  # equal scores are answered alike
    return float(cuts[np.where(apart, total, np.inf).argmin()])
