"""Passes over rows, as both online estimators make them: from the start, further on, and with a record.

Tested in ``tests/unit/online/test_classifier.py``.
"""

from __future__ import annotations

from typing import Any, Self

from ..costs.rules import CostsLike
from ..trace import Trace
from ..validation.arrays import unchanged_on_error
from ..validation.docstrings import documented
from ..validation.types import ArrayLike, LabelsLike, MatrixLike


class PassesMixin:
    """``fit``, ``partial_fit`` and ``run``."""

    _learn: Any  # (X, y, classes, costs, sample_weight, *, known_whole, recorded, draws): the record, if one is kept

    def fit(
        self, X: MatrixLike, y: LabelsLike, sample_weight: ArrayLike | None = None, *, costs: CostsLike | None = None
    ) -> Self:
        """Learn afresh from one pass over the rows in their order. ``costs`` per example and weights are per row."""
        with unchanged_on_error(self):
            self.__dict__.pop("_stream", None)
            self._learn(X, y, None, costs, sample_weight, known_whole=True)
        return self

    def partial_fit(
        self,
        X: MatrixLike,
        y: LabelsLike,
        classes: LabelsLike | None = None,
        *,
        costs: CostsLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Go on learning. The first part names all ``classes`` unless it has them."""
        with unchanged_on_error(self):
            self._learn(X, y, classes, costs, sample_weight, known_whole=False)
        return self

    @documented()
    def run(
        self,
        X: MatrixLike,
        y: LabelsLike,
        *,
        draws: ArrayLike | None = None,
        classes: LabelsLike | None = None,
        costs: CostsLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Trace:
        """Go on learning and keep the prequential record: every answer was given before its label was looked at.

        A new estimator starts with these rows; costs that count classes take them for the whole stream. ``draws``
        replaces the uniform numbers of the rounds. Labels that are not asked for are not looked at. The score of two
        classes is f(x); of many it is how much costlier the second best answer seems.

        Parameters
        ----------
        draws : array-like of shape (n,) or None
            In place of the uniform numbers of the rounds.

        Returns
        -------
        Trace
            Score, prediction, query and truth of every round.
        """
        with unchanged_on_error(self):
            trace: Trace = self._learn(
                X, y, classes, costs, sample_weight, known_whole=True, recorded=True, draws=draws
            )
        return trace
