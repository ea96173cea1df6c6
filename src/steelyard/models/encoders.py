"""Preprocessors built from what the columns are; they are fitted inside the folds only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

_COMMON = 40  # one-hot columns per nominal column at the most; the rest share one


def scaled_encoder(numeric: Sequence[Any], nominal: Sequence[Any], *, sparse: bool) -> Any:
    """For linear and kernel learners: imputed, z-scored, one-hot."""
    if sparse:
        return MaxAbsScaler()
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    levels = OneHotEncoder(
        handle_unknown="infrequent_if_exist", min_frequency=2, max_categories=_COMMON, sparse_output=False
    )
    return ColumnTransformer([("numeric", numbers, list(numeric)), ("nominal", levels, list(nominal))])


def coded_encoder(numeric: Sequence[Any], nominal: Sequence[Any], *, sparse: bool, dense: bool = False) -> Any:
    """For trees: numbers as they are, then nominal columns as codes; missing and unseen values are NaN.

    A sparse matrix stays one unless ``dense`` asks for an array.
    """
    if sparse:
        return Dense() if dense else FunctionTransformer(accept_sparse=True)
    levels = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan)
    return ColumnTransformer([("numeric", "passthrough", list(numeric)), ("nominal", levels, list(nominal))])


class Dense(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A sparse matrix as an array."""

    def fit(self, X: Any, y: Any = None) -> Dense:
        """Nothing is learned."""
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> Any:
        """The same cells, zeros included; single precision, for memory's sake."""
        return X.toarray().astype(np.float32)
