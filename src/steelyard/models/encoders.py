"""Preprocessors built from what the columns are; they are fitted inside the folds only.

Tested in ``tests/unit/models/test_schema.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from .cells import DATE_PARTS, DateParts, TargetMeans, TextWords

__all__ = ["DATE_PARTS", "MOST_ONE_HOT", "DateParts", "Dense", "TargetMeans", "TextWords"]

MOST_ONE_HOT = 40  # levels of a category that get a column each; the rest share one, or are encoded by the target


def _numbers() -> Any:
    return make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())


def scaled_encoder(
    numeric: Sequence[Any],
    few: Sequence[Any],
    *,
    many: Sequence[Any] = (),
    dates: Sequence[Any] = (),
    texts: Sequence[Any] = (),
    sparse: bool,
) -> Any:
    """For linear and kernel learners: imputed and z-scored numbers, one-hot or target-encoded categories, words."""
    if sparse:
        return MaxAbsScaler()
    levels = OneHotEncoder(
        handle_unknown="infrequent_if_exist", min_frequency=2, max_categories=MOST_ONE_HOT, sparse_output=False
    )
    steps: list[tuple[str, Any, list[Any]]] = [("numeric", _numbers(), list(numeric)), ("nominal", levels, list(few))]
    if many:
        steps.append(("many", make_pipeline(TargetMeans(), StandardScaler()), list(many)))
    if dates:
        steps.append(("dates", make_pipeline(DateParts(), _numbers()), list(dates)))
    steps += [(f"text{i}", TextWords(), [name]) for i, name in enumerate(texts)]
    return ColumnTransformer(steps, sparse_threshold=1.0 if texts else 0.0)


def coded_encoder(
    numeric: Sequence[Any],
    nominal: Sequence[Any],
    *,
    dates: Sequence[Any] = (),
    sparse: bool,
    dense: bool = False,
) -> Any:
    """For trees: numbers as they are, parts of dates, then categories as codes; missing and unseen values are NaN.

    A sparse matrix stays one unless ``dense`` asks for an array.
    """
    if sparse:
        return Dense() if dense else FunctionTransformer(accept_sparse=True)
    levels = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan)
    steps: list[tuple[str, Any, list[Any]]] = [("numeric", "passthrough", list(numeric))]
    if dates:
        steps.append(("dates", DateParts(), list(dates)))
    return ColumnTransformer([*steps, ("nominal", levels, list(nominal))])


class Dense(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A sparse matrix as an array."""

    def fit(self, X: Any, y: Any = None) -> Dense:
        """Nothing is learned."""
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> Any:
        """The same cells, zeros included; single precision, for memory's sake."""
        return (X.toarray() if hasattr(X, "toarray") else np.asarray(X)).astype(np.float32)
