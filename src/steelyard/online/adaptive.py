"""What a mistake costs along a stream: fixed by class, by row, or adapted to the past.

Tested in ``tests/unit/online/test_classifier.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..costs import Balanced, CostRule, Costs, ExampleCosts, as_costs
from ..errors import CostsError
from ..validation.arrays import check_sample_weight
from ..validation.docstrings import documented
from ..validation.values import check_number, invalid

__all__ = ["AdaptiveBalanced"]

Floats = NDArray[np.float64]


@documented()
@dataclass(frozen=True)
class AdaptiveBalanced(Balanced):
    """:class:`Balanced` for a stream whose class counts are not known: rho_t = (N- + 1) / (N+ + 1) * eta_p / eta_n.

    N+ and N- count the labels learned from strictly before round t. Paper 000, the remark on Algorithm 1.
    With more than two classes a mistake on class k costs (max N + 1) / (N_k + 1), and ``eta_pos`` must be 0.5.
    Elsewhere, where all labels are known, the same as :class:`Balanced`.

    Parameters
    ----------
    eta_pos : float in (0, 1)
        How much sensitivity counts; specificity counts the rest.

    Examples
    --------
    >>> AdaptiveBalanced().costs_for([1, 0, 0, 0]).ratio()
    3.0
    """


class ClassCosts(NamedTuple):
    """Cost of a mistake by class; with ``adaptive_odds`` above 0 that of one class follows the stream."""

    cost_neg: float = 1.0
    cost_pos: float = 1.0
    adaptive_odds: float = 0.0
    adaptive_positive: bool = True


class RowCosts(NamedTuple):
    """One number per row: the ``absolute`` cost of a mistake, or a factor to the cost of its class."""

    values: Floats | None
    absolute: bool


def class_costs(costs: Any, y: Any, classes: NDArray[Any]) -> ClassCosts:
    """The estimator's ``costs`` as the loop takes them: 1 for the negative class, rho for the positive one.

    ``y`` is the whole stream, or None if it is not known; rules that count classes then cannot be used.
    """
    if isinstance(costs, AdaptiveBalanced):
        odds, plus = adaptive_odds(costs, classes)
        return ClassCosts(adaptive_odds=odds, adaptive_positive=plus == 1)
    found = fixed_costs(costs, y, classes)
    pair = [1.0, 1.0]
    pair[found.positive_index()] = found.ratio()
    return ClassCosts(pair[0], pair[1])


def adaptive_odds(costs: AdaptiveBalanced, classes: NDArray[Any]) -> tuple[float, int]:
    """eta_p / eta_n, and the position of the class whose cost they belong to where there are two."""
    eta = check_number("eta_pos", costs.eta_pos, above=0, below=1)
    if len(classes) > 2 and eta != 0.5:
        raise invalid("eta_pos", "be 0.5 with more than two classes", costs.eta_pos, error=CostsError)
    if costs.positive is None:
        return eta / (1 - eta), len(classes) - 1
    found = np.flatnonzero(classes == costs.positive)
    if len(found) != 1:
        raise invalid("positive", f"be one of the classes {classes.tolist()}", costs.positive, error=CostsError)
    return eta / (1 - eta), int(found[0])


def fixed_costs(costs: Any, y: Any, classes: NDArray[Any]) -> Costs:
    """Costs by class that stay for the life of a stream; ``y`` is all of it, or None if that is not known."""
    if y is None and isinstance(costs, CostRule):
        raise invalid(
            "costs",
            "not depend on labels yet to come when a stream is learned in parts",
            costs,
            "Use AdaptiveBalanced(), or fixed costs from known labels: costs.costs_for(y_known).",
            CostsError,
        )
    found = as_costs(costs, y, classes)
    if isinstance(found, ExampleCosts):
        raise invalid(
            "costs", "be by class in the constructor", found, "Give costs per example to fit, run or learn.", CostsError
        )
    return found


def row_costs(costs: Any, sample_weight: Any, y: Any, classes: NDArray[Any], positive: NDArray[np.bool_]) -> RowCosts:
    """Costs per row from the metadata of fit and run; a sample weight is a factor to the cost."""
    weight = None if sample_weight is None else check_sample_weight(sample_weight, len(positive))
    if costs is None:
        return RowCosts(weight, absolute=False)
    found = as_costs(None, y, classes, per_example=costs)
    if isinstance(found, ExampleCosts):
        table = found.per_example(y)
        rows, right = np.arange(len(table)), positive.astype(np.intp)
        values = table[rows, 1 - right] - table[rows, right]
        if (values < 0).any():
            at = int(np.argmax(values < 0))
            raise invalid(
                "costs", "make the right answer the cheapest", table[at].tolist(), f"See row {at}.", CostsError
            )
    else:
        by_class = class_costs(found, y, classes)
        values = np.where(positive, by_class.cost_pos, by_class.cost_neg)
    return RowCosts(values if weight is None else values * weight, absolute=True)
