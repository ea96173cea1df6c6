"""The rounds of boosting on our own trees: the data prepared once, everything else in the kernel.

Tested in ``tests/unit/boosting/test_template.py``.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .._native import boost_trees
from ..tree import C45Classifier
from .rules import Floats, WeightColumns

StopReason = Literal["n_estimators", "perfect", "weak"]
STOP_REASONS: tuple[StopReason, ...] = ("n_estimators", "perfect", "weak")  # boost::Stop


def is_our_tree(base: Any) -> bool:
    """True for C4.5 itself; a subclass may learn or answer otherwise."""
    return type(base) is C45Classifier


def stacked(columns: WeightColumns) -> tuple[NDArray[np.float64], float]:
    """The weight columns as the kernel reads them, and the rate, NaN where it is alpha."""
    return np.stack(columns[1:6]), float("nan") if columns.rate is None else columns.rate


def boosted_trees(
    base: C45Classifier, X: Any, y: NDArray[Any], columns: WeightColumns, D: Floats, size: float, n_rounds: int
) -> tuple[list[Any], list[float], int, Floats, Floats]:
    """Fitted trees, their votes, the number of the stop reason, the normalisers and the margins of the rows."""
    reader = clone(base)
    prepared = reader.prepare(X, y)
    table, rate = stacked(columns)
    grown, alphas, stop, normalisers, margins = boost_trees(
        prepared.table, base.native_options(), table, rate, D, size, n_rounds
    )
    trees = [clone(base).from_arrays(prepared, arrays) for arrays in grown]
    for tree in trees:
        if hasattr(reader, "feature_names_in_"):
            tree.feature_names_in_ = reader.feature_names_in_
    return trees, alphas.tolist(), stop, normalisers, margins


def read_rows(trees: list[C45Classifier], X: Any) -> NDArray[np.float64]:
    """Rows as all these trees read them."""
    return trees[0].encoding_.matrix(trees[0], X)
