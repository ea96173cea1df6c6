"""Columns of a table on their way to a learner: which step prepares which."""

from __future__ import annotations

from typing import Any, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer

from ...errors import StateError
from ...files import Fields, Node, write_labels
from ...validation.values import invalid
from ..encoders import Dense
from .kind import Kind, State, Write, check_part, feature_params, fitted_features

__all__ = ["KINDS", "FittedColumns"]


class FittedColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted scikit-learn ColumnTransformer: each step prepares its columns, the results stand side by side.

    Parameters
    ----------
    steps : list of (name, transformer or None, columns)
        None hands its columns on as they are. Columns are names or positions.
    sparse_output : bool
        Whether the result is a sparse matrix.
    """

    def __init__(self, steps: list[tuple[str, Any, list[Any]]], *, sparse_output: bool = False) -> None:
        self.steps = steps
        self.sparse_output = sparse_output

    def fit(self, X: Any, y: Any = None) -> Self:
        """Nothing to learn: the steps are fitted."""
        return self

    def transform(self, X: Any) -> Any:
        """The prepared columns of every row."""
        found = [self._prepared(X, transformer, columns) for _, transformer, columns in self.steps]
        if self.sparse_output:
            return sparse.hstack(found).tocsr()
        return np.hstack([part.toarray() if hasattr(part, "toarray") else np.asarray(part) for part in found])

    def _prepared(self, X: Any, transformer: Any, columns: list[Any]) -> Any:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            names = [column if isinstance(column, str) else frame.columns[column] for column in columns]
            chosen = frame.select(names).to_native()
        elif any(isinstance(column, str) for column in columns):
            raise invalid("X", f"be a table with the columns {columns[:5]}", type(X).__name__)
        else:
            chosen = X[:, columns]
        return chosen if transformer is None else transformer.transform(chosen)

    def __sklearn_is_fitted__(self) -> bool:
        return True


def _write_columns(model: Any, write: Write) -> Node:
    made = _from_column_transformer(model) if isinstance(model, ColumnTransformer) else model
    params, arrays = feature_params(model)
    parts: list[Node] = []
    params |= {"names": [], "passed_on": [], "sparse_output": bool(made.sparse_output)}
    for k, (name, transformer, columns) in enumerate(made.steps):
        params["names"].append(name)
        params["passed_on"].append(transformer is None)
        arrays |= write_labels(f"columns.{k}", columns)
        if transformer is not None:
            parts.append(write(transformer))
    return Node("Columns/1", params, arrays, parts)


def _from_column_transformer(model: ColumnTransformer) -> FittedColumns:
    steps = []
    for name, transformer, columns in model.transformers_:
        listed = columns if isinstance(columns, list) else np.asarray(columns)
        if len(listed) == 0 or (isinstance(transformer, str) and transformer == "drop"):
            continue
        passed_on = transformer == "passthrough" if isinstance(transformer, str) else _is_identity(transformer)
        if not all(isinstance(column, (str, int, np.integer)) and not isinstance(column, bool) for column in listed):
            raise StateError(f"columns must be a list of names or positions to be saved; got {columns!r}.")
        steps.append((name, None if passed_on else transformer, list(listed)))
    return FittedColumns(steps, sparse_output=bool(model.sparse_output_))


def _is_identity(transformer: Any) -> bool:
    return type(transformer).__name__ == "FunctionTransformer" and transformer.func is None


def _check_columns(fields: Fields) -> State:
    features = fields.features()
    passed_on = fields.param("passed_on")
    if not isinstance(passed_on, list) or any(not isinstance(flag, bool) for flag in passed_on):
        fields.refuse("passed_on", "says of each step whether it only hands on", passed_on)
    names = fields.texts("names", len(passed_on))
    state: State = {"features": features, "sparse_output": fields.flag("sparse_output"), "steps": []}
    width = features.get("n_features_in_", 1 << 24)
    for k, (name, hands_on) in enumerate(zip(names, passed_on, strict=True)):
        columns = fields.labels(f"columns.{k}")
        if columns.dtype.kind != "U" and not _within(columns, width):
            fields.refuse(f"columns.{k}", f"are names, or positions below {width}", columns[:5])
        state["steps"].append((name, hands_on, columns.tolist()))
    fields.done(parts=passed_on.count(False))
    return state


def _within(columns: NDArray[Any], width: int) -> bool:
    return columns.dtype.kind == "i" and bool((columns >= 0).all() and (columns < width).all())


def _build_columns(state: State, parts: list[Any]) -> FittedColumns:
    for part in parts:
        check_part("Columns/1", part, "transform")
    left = iter(parts)
    steps = [(name, None if hands_on else next(left), columns) for name, hands_on, columns in state["steps"]]
    return fitted_features(FittedColumns(steps, sparse_output=state["sparse_output"]), state["features"])  # type: ignore[no-any-return]


def _write_dense(model: Dense, write: Write) -> Node:
    params, arrays = feature_params(model)
    return Node("Dense/1", params, arrays)


def _check_dense(fields: Fields) -> State:
    features = fields.features()
    fields.done(parts=0)
    return features


def _build_dense(state: State, parts: list[Any]) -> Dense:
    return fitted_features(Dense(), state)  # type: ignore[no-any-return]


KINDS = (
    Kind("Columns/1", (FittedColumns, ColumnTransformer), _write_columns, _check_columns, _build_columns),
    Kind("Dense/1", (Dense,), _write_dense, _check_dense, _build_dense),
)
