"""What paper 002 guarantees about the cost of answers that come from one-sided regression."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..costs.rules import CostsLike, as_learning_costs
from ..evaluate.bounds import Bound
from ..validation.arrays import check_same_length
from ..validation.types import LabelsLike, MatrixLike
from ..validation.values import invalid
from .one_sided import OneSidedClassifier, OneSidedClassifierCV
from .scheme import Floats


def one_sided_losses(table: Floats, estimates: Floats) -> Floats:
    """xi_k of every example and class: the estimate's error on the side that counts. Paper 002, eq. (2)."""
    side = np.where(table == table.min(axis=1, keepdims=True), 1.0, -1.0)
    return np.asarray(np.maximum(0.0, side * (estimates - table)))


def one_sided_bound(
    model: OneSidedClassifier | OneSidedClassifierCV, X: MatrixLike, y: LabelsLike, *, costs: CostsLike | None = None
) -> Bound:
    """The mean cost of the answers against the one-sided losses of the cost estimates. Paper 002, Theorems 1 and 2.

    What an answer costs beyond the cheapest one is at most the sum over the classes of max(0, Z_k (r_k(x) - c[k])):
    for every example (Theorem 1), and so for their means (Theorem 2, K times the mean one-sided loss).

    Parameters
    ----------
    model : OneSidedClassifier or OneSidedClassifierCV
        Fitted in this session: files do not hold the scale of its estimates.
    X : array-like or sparse matrix of shape (n, d)
        Rows, of the training part or others.
    y : array-like of shape (n,)
        Labels.
    costs : Costs, array-like of shape (n, K) or None
        Costs of these examples; those of the model if None.

    Returns
    -------
    Bound
        Means over the examples, and over the first 1, 2, ... of them.

    Examples
    --------
    >>> from steelyard import OneSidedClassifier
    >>> X, y = [[0.0], [0.2], [1.0], [1.2], [2.0], [2.2]], [0, 0, 1, 1, 2, 2]
    >>> model = OneSidedClassifier(costs=[[0, 1, 9], [1, 0, 1], [1, 1, 0]], lam=0.1).fit(X, y)
    >>> found = one_sided_bound(model, X, y)
    >>> found.holds, found.measured
    (True, 0.0)
    """
    check_is_fitted(model)
    if not isinstance(model, OneSidedClassifier | OneSidedClassifierCV) or not hasattr(model, "cost_limits_"):
        raise invalid("model", "be a OneSidedClassifier fitted in this session", model)
    low, high = model.cost_limits_  # what 0 and 1 of its estimates stand for
    table = as_learning_costs(model.costs, y, model.classes_, per_example=costs).per_example(y)
    rows = model._read(X, reset=False)
    check_same_length(X=rows, y=table)
    scale = high - low if high > low else 1.0
    estimates = low - scale * model.plan_.preference(model.solution_.scores(rows))  # scores are negated estimates
    answers = model.plan_.predict(model.solution_, rows)
    at = np.arange(len(table))
    paid = table[at, answers] - table.min(axis=1)
    count = at + 1.0
    values = np.cumsum(one_sided_losses(table, estimates).sum(axis=1)) / count
    measures = np.cumsum(paid) / count
    ends = float(values[-1]), float(measures[-1])
    return Bound("mean cost above the cheapest answer", *ends, None, None, False, at + 1, values, measures)
