"""``score`` of every classifier of this package.

Tested in ``tests/unit/evaluate/test_cost_routing.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from sklearn import metrics
from sklearn.base import ClassifierMixin

from ..costs import CostRule, Costs
from ..costs.rules import CostsLike
from ..validation.docstrings import documented
from ..validation.types import ArrayLike, LabelsLike, MatrixLike
from .measures import mean_cost
from .scorers import own_classes, takes_costs


class CostClassifierMixin(ClassifierMixin):  # type: ignore[misc]
    """scikit-learn's ClassifierMixin with a score in terms of cost."""

    @documented()
    def score(
        self, X: MatrixLike, y: LabelsLike, *, costs: CostsLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Minus the mean cost of the decisions where costs are known, else their accuracy; higher is better.

        Parameters
        ----------
        costs : Costs, cost rule, mapping, array-like or None
            Of these rows, by class or one for each; handed to ``predict`` where that takes costs. If None, the
            constructor's ``costs`` count; where there are none either, the score is the accuracy, of a search of costs
            its ``scoring``.

        Returns
        -------
        float
            Minus the mean cost, or the accuracy or ``scoring``.
        """
        predict: Any = self.predict
        known = getattr(self, "costs", None) if costs is None else self._stated(costs)
        if known is None:
            return self._score_without_costs(X, y, sample_weight)
        answers = predict(X, **({} if costs is None or not takes_costs(predict) else {"costs": known}))
        return -mean_cost(y, answers, costs=known, classes=own_classes(self, y, known), sample_weight=sample_weight)

    def _score_without_costs(self, X: Any, y: Any, sample_weight: Any) -> float:
        """The accuracy; a search has a measure of its own."""
        predict: Any = self.predict
        return float(metrics.accuracy_score(y, predict(X), sample_weight=sample_weight))

    def _stated(self, costs: CostsLike) -> CostsLike:
        """The costs of a call: a table with a row per example and a square matrix differ by their shape."""
        shape: tuple[int, ...] = () if isinstance(costs, (Costs, Mapping, CostRule)) else np.shape(cast("Any", costs))
        if len(shape) == 2 and shape[0] != shape[1]:
            return Costs.from_rows(cast("ArrayLike", costs), classes=getattr(self, "classes_", None))
        return costs
