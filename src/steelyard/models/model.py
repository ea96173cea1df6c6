"""A fitted candidate with what it needs to meet new data."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from ..costs import Costs
from ..decision import ExpectedCostClassifier
from ..validation.arrays import is_sparse
from ..validation.values import invalid
from .schema import Columns, by_name


def split_pipeline(estimator: Any) -> tuple[Any, Any]:
    """What prepares rows, None if nothing does, and what then decides."""
    return (estimator[:-1], estimator[-1]) if isinstance(estimator, Pipeline) else (None, estimator)


def unwrap_search(estimator: Any) -> Any:
    """A fitted model without its search: the best one stands for all that were tried."""
    if isinstance(estimator, Pipeline):
        return type(estimator)([(name, unwrap_search(step)) for name, step in estimator.steps])
    return unwrap_search(estimator.best_estimator_) if hasattr(estimator, "best_estimator_") else estimator


def decide(decider: Any, rows: Any, costs: Costs | None = None) -> Any:
    """Answers for prepared rows; costs of each row count where the decision is by expected cost."""
    if costs is not None and isinstance(decider, ExpectedCostClassifier):
        return decider.predict(rows, costs=costs)
    return decider.predict(rows)


@dataclass(frozen=True)
class Model:
    """A fitted contender with what it needs to meet new data: its columns, classes and costs."""

    name: str
    estimator: Any
    columns: Columns
    costs: Costs

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the model to a `.steelyard` file, whole or not at all; :func:`steelyard.load_model` reads it."""
        from .storage import save_object  # the table of kinds knows this class

        return save_object(self, path)

    def predict(self, X: Any, *, costs: Costs | None = None) -> NDArray[Any]:
        """Decisions for new rows; ``costs`` of their own count where the decision is by expected cost.

        Missing cells and categories never seen are treated as in training: imputed, or a level of their own. Columns
        the model does not know are ignored; one that is gone or holds text instead of numbers is an error.
        """
        prepare, decider = split_pipeline(self.estimator)
        rows = self._known_columns(X)
        return np.asarray(decide(decider, rows if prepare is None else prepare.transform(rows), costs))

    def expected_costs(self, X: Any, *, costs: Costs | None = None) -> NDArray[np.float64] | None:
        """Expected cost of the decision for each row, where the model knows probabilities."""
        if not hasattr(self.estimator, "predict_proba"):
            return None
        priced = self.costs if costs is None else costs
        expected = priced.expected(self.estimator.predict_proba(self._known_columns(X)))
        chosen = self.costs.encode(self.predict(X, costs=costs))
        return np.asarray(expected[np.arange(len(chosen)), chosen])

    def _known_columns(self, X: Any) -> Any:
        X = by_name(X)
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            return self._known_positions(X)
        missing = [c for c in self.columns.used if c not in frame.columns]
        if missing:
            raise invalid("data", "have every column the model was taught with", f"no column {missing[0]!r}")
        for name in self.columns.numeric:
            if not (frame[name].dtype.is_numeric() or frame[name].dtype == nw.Boolean):
                raise invalid(f"column {name!r}", "hold numbers as in training", f"{frame[name].dtype} cells")
        return frame.select(list(self.columns.used)).to_native()

    def _known_positions(self, X: Any) -> Any:
        if any(isinstance(name, str) for name in self.columns.used):
            raise invalid("data", "be a frame with the columns the model was taught with", type(X).__name__)
        least = max(self.columns.used) + 1
        if X.shape[1] < least or (is_sparse(X) and X.shape[1] != least):
            raise invalid("data", f"have the {least} columns the model was taught with", f"{X.shape[1]} columns")
        return X
