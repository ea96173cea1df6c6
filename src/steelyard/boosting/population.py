"""AdaC2.M1 on C4.5 with many cost vectors on the same rows: the table and every first round are made once.

Tested in ``tests/property/test_boosting_kernel.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .._native import BoostFirstRound, boost_answers
from ..tree import C45Classifier
from ..validation.values import check_count
from ._trees import is_our_tree, stacked
from .multiclass import AdaC2M1Classifier
from .rules import Floats, adac2

Codes = NDArray[np.intp]


class Population:
    """Answers of a boosted ensemble for held-out rows, as function of its class costs.

    All rows lie in one table, those held out with weight 0. No cost enters the first round (D_1 = 1/m), so it is shared
    by all cost vectors. The answers are those of the estimator fitted to the training rows alone.
    """

    def __init__(self, model: AdaC2M1Classifier, X: Any, y: NDArray[Any], cuts: Sequence[tuple[Codes, Codes]]) -> None:
        base = C45Classifier() if model.estimator is None else clone(model.estimator)
        prepared = base.prepare(X, y)
        self.table, self.options, self.codes = prepared.table, base.native_options(), prepared.codes
        self.n_rounds = check_count("n_estimators", model.n_estimators)
        self.held_out = [np.ascontiguousarray(held, dtype=np.int64) for _, held in cuts]
        self.first = [self._first_round(train) for train, _ in cuts]

    @staticmethod
    def takes(model: Any, codes: Codes, trains: list[Codes]) -> bool:
        """True if the model is AdaC2.M1 on C4.5 itself, and all classes occur in all training rows."""
        if type(model) is not AdaC2M1Classifier or not (model.estimator is None or is_our_tree(model.estimator)):
            return False
        if model.classes is not None or getattr(model.estimator, "classes", None) is not None:
            return False  # codes there have another order
        n_classes = len(np.unique(codes))
        return all(len(np.unique(codes[train])) == n_classes for train in trains)

    def _first_round(self, train: Codes) -> BoostFirstRound:
        weights = np.zeros(len(self.codes))
        weights[train] = 1.0
        return BoostFirstRound(self.table, self.options, weights)

    def answers(self, costs: Floats, cut: int) -> Codes:
        """Class numbers for the held-out rows of a cut, with these class costs."""
        columns, rate = stacked(adac2(costs[self.codes]))
        out = np.empty(len(self.held_out[cut]), dtype=np.int32)
        boost_answers(self.table, self.options, self.first[cut], columns, rate, self.n_rounds, self.held_out[cut], out)
        return out.astype(np.intp)
