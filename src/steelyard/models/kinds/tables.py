"""Columns of a table on their way to a learner: who prepares which, and the levels of nominal ones."""

from __future__ import annotations

from typing import Any, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from ...errors import StateError
from ...files import Node
from .fields import Fields, write_labels
from .kind import Kind, State, Write, feature_params, fitted_features

__all__ = ["KINDS", "FittedColumns", "FittedLevels"]

_MOST_CELLS = 1 << 16  # one-hot columns of one nominal column


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
        return np.hstack([part.toarray() if sparse.issparse(part) else np.asarray(part) for part in found])

    def _prepared(self, X: Any, transformer: Any, columns: list[Any]) -> Any:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            names = [column if isinstance(column, str) else frame.columns[column] for column in columns]
            chosen = frame.select(names).to_native()
        else:
            chosen = X[:, columns]
        return chosen if transformer is None else transformer.transform(chosen)

    def __sklearn_is_fitted__(self) -> bool:
        return True


class FittedLevels(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted scikit-learn OneHotEncoder or OrdinalEncoder: the levels of each column and what becomes of them.

    Parameters
    ----------
    levels : list of arrays
        The levels of each column; NaN and None are levels of their own where they stand there.
    codes : list of arrays
        The code of each level: its one-hot column, -1 for none, or its number.
    unknown : array
        The code of a level that training did not show, for each column; NaN and -1 give none.
    widths : list of int or None
        One-hot columns of each column; None where codes are handed on.
    strict : bool
        Whether a level that training did not show is an error.
    sparse_output : bool
        Whether the result is a sparse matrix.
    """

    def __init__(
        self,
        levels: list[NDArray[Any]],
        codes: list[NDArray[np.float64]],
        unknown: NDArray[np.float64],
        *,
        widths: list[int] | None = None,
        strict: bool = False,
        sparse_output: bool = False,
    ) -> None:
        self.levels = levels
        self.codes = codes
        self.unknown = unknown
        self.widths = widths
        self.strict = strict
        self.sparse_output = sparse_output

    def fit(self, X: Any, y: Any = None) -> Self:
        """Nothing to learn: the levels are known."""
        return self

    def transform(self, X: Any) -> Any:
        """Codes, or one-hot columns, of every row."""
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        width = frame.shape[1]
        if width != len(self.levels):
            raise ValueError(f"X has {width} features, but the levels of {len(self.levels)} are known")
        cells = frame if isinstance(frame, nw.DataFrame) else np.asarray(X)
        coded = [self._coded(_column(cells, j), j) for j in range(width)]
        if self.widths is None:
            return np.column_stack(coded) if coded else np.empty((frame.shape[0], 0))
        found = [_one_hot(codes, width) for codes, width in zip(coded, self.widths, strict=True)]
        together = sparse.hstack(found).tocsr() if self.sparse_output else np.hstack([part.toarray() for part in found])
        return together

    def _coded(self, column: list[Any], j: int) -> NDArray[np.float64]:
        place = {_key(level): code for level, code in zip(self.levels[j].tolist(), self.codes[j].tolist(), strict=True)}
        if self.strict and (strange := next((cell for cell in column if _key(cell) not in place), None)) is not None:
            raise ValueError(f"Found unknown category {strange!r} in column {j} during transform")
        other = float(self.unknown[j])
        return np.fromiter((place.get(_key(cell), other) for cell in column), np.float64, len(column))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags


def _column(cells: Any, j: int) -> list[Any]:
    column = cells[:, j]
    found: list[Any] = column.to_numpy().tolist() if isinstance(column, nw.Series) else column.tolist()
    return found


def _key(cell: Any) -> Any:
    """A level as a key: missing values of any kind but None are one."""
    return ("nan",) if cell is not None and cell != cell else cell


def _one_hot(codes: NDArray[np.float64], width: int) -> sparse.csr_matrix:
    rows = np.flatnonzero(codes >= 0)
    return sparse.csr_matrix((np.ones(len(rows)), (rows, codes[rows].astype(np.int64))), shape=(len(codes), width))


# -- levels ----------------------------------------------------------------------------------------------------------


def _write_levels(model: Any, write: Write) -> Node:
    if isinstance(model, OneHotEncoder):
        model = _from_one_hot(model)
    elif isinstance(model, OrdinalEncoder):
        model = _from_ordinal(model)
    params, arrays = feature_params(model)
    params |= {"widths": model.widths, "strict": bool(model.strict), "sparse_output": bool(model.sparse_output)}
    arrays["unknown"] = np.asarray(model.unknown, dtype=np.float64)
    for j, (levels, codes) in enumerate(zip(model.levels, model.codes, strict=True)):
        arrays |= write_labels(f"levels.{j}", levels) | {f"codes.{j}": np.asarray(codes, dtype=np.float64)}
    return Node("Levels/1", params, arrays)


def _kept_features(model: Any, made: FittedLevels) -> FittedLevels:
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(made, name, getattr(model, name))
    return made


def _from_one_hot(model: OneHotEncoder) -> FittedLevels:
    """What each level becomes is seen by transforming every level, one column at a time."""
    if model.drop is not None:
        raise StateError(f"a one-hot encoder must keep all levels to be saved; got drop={model.drop!r}.")
    names = model.get_feature_names_out([f"c{j}" for j in range(len(model.categories_))])
    infrequent = getattr(model, "infrequent_categories_", [None] * len(model.categories_))
    columns = [sum(1 for name in names if name.startswith(f"c{j}_")) for j in range(len(model.categories_))]
    codes, unknown = [], []
    for levels, rare, width in zip(model.categories_, infrequent, columns, strict=True):
        last = width - 1 if rare is not None else -1
        is_rare = np.array([rare is not None and _among(level, rare) for level in levels], dtype=bool)
        place = np.where(is_rare, last, np.cumsum(~is_rare) - 1)
        codes.append(place.astype(np.float64))
        unknown.append(float(last) if model.handle_unknown in ("infrequent_if_exist", "warn") else -1.0)
    made = FittedLevels(
        [np.asarray(levels) for levels in model.categories_],
        codes,
        np.array(unknown),
        widths=columns,
        strict=model.handle_unknown == "error",
        sparse_output=bool(model.sparse_output),
    )
    return _kept_features(model, made)


def _among(level: Any, others: Any) -> bool:
    return any(_key(level) == _key(other) for other in others)


def _from_ordinal(model: OrdinalEncoder) -> FittedLevels:
    if getattr(model, "infrequent_categories_", None) is not None and any(
        rare is not None for rare in model.infrequent_categories_
    ):
        raise StateError("an ordinal encoder must keep all levels apart to be saved; it groups rare ones.")
    missing = np.nan if model.encoded_missing_value is None else float(model.encoded_missing_value)
    codes = []
    for levels in model.categories_:
        is_missing = np.array([level is None or level != level for level in levels.tolist()], dtype=bool)
        codes.append(np.where(is_missing, missing, np.cumsum(~is_missing) - 1.0))
    unknown = float("nan") if model.unknown_value is None else float(model.unknown_value)
    levels = [np.asarray(each) for each in model.categories_]
    made = FittedLevels(levels, codes, np.full(len(levels), unknown), strict=model.handle_unknown == "error")
    return _kept_features(model, made)


def _check_levels(fields: Fields) -> State:
    unknown = fields.floats("unknown", "features", nan=True)
    features, state = fields.features(), {"unknown": unknown}
    widths = fields.param("widths")
    if widths is not None and (
        not isinstance(widths, list)
        or len(widths) != len(unknown)
        or any(type(width) is not int or not 0 <= width <= _MOST_CELLS for width in widths)
    ):
        fields.refuse("widths", f"gives {len(unknown)} columns a width", widths)
    state |= {"widths": widths, "strict": fields.flag("strict"), "sparse_output": fields.flag("sparse_output")}
    state["levels"], state["codes"] = [], []
    for j, other in enumerate(unknown.tolist()):
        levels = fields.labels(f"levels.{j}")
        codes = fields.floats(f"codes.{j}", len(levels), nan=True)
        for code in () if widths is None else (*codes.tolist(), other):
            if not (code == int(code) if code == code else False) or not -1 <= code < widths[j]:
                fields.refuse(f"codes.{j}", f"lies within [-1, {widths[j] - 1}]", code)
        state["levels"].append(levels)
        state["codes"].append(codes)
    fields.done(parts=0)
    return {"settings": state, "features": features}


def _build_levels(state: State, parts: list[Any]) -> FittedLevels:
    return fitted_features(FittedLevels(**state["settings"]), state["features"])  # type: ignore[no-any-return]


# -- columns ---------------------------------------------------------------------------------------------------------


def _write_columns(model: Any, write: Write) -> Node:
    if isinstance(model, ColumnTransformer):
        made = _from_column_transformer(model)
    else:
        made = model
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
        if columns.dtype.kind not in "Ui" or (columns.dtype.kind == "i" and columns.size and not _within(columns, width)):
            fields.refuse(f"columns.{k}", f"are names, or positions below {width}", columns[:5])
        state["steps"].append((name, hands_on, columns.tolist()))
    fields.done(parts=passed_on.count(False))
    return state


def _within(columns: NDArray[Any], width: int) -> bool:
    return bool(columns.min() >= 0 and columns.max() < width)


def _build_columns(state: State, parts: list[Any]) -> FittedColumns:
    left = iter(parts)
    steps = [(name, None if hands_on else next(left), columns) for name, hands_on, columns in state["steps"]]
    return fitted_features(FittedColumns(steps, sparse_output=state["sparse_output"]), state["features"])  # type: ignore[no-any-return]


KINDS = (
    Kind("Levels/1", (FittedLevels, OneHotEncoder, OrdinalEncoder), _write_levels, _check_levels, _build_levels),
    Kind("Columns/1", (FittedColumns, ColumnTransformer), _write_columns, _check_columns, _build_columns),
)
