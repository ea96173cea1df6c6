"""Nominal columns: the levels that training showed, and what becomes of each."""

from __future__ import annotations

from typing import Any, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from ...errors import StateError
from ...files import Fields, Node, write_labels
from .kind import Kind, State, Write, feature_params, fitted_features

__all__ = ["KINDS", "FittedLevels", "as_fitted_levels"]

_MOST_CELLS = 1 << 16  # one-hot columns of one nominal column
_NAN = ("nan",)  # the key of NaN, which equals nothing


class FittedLevels(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted scikit-learn OneHotEncoder or OrdinalEncoder: the levels of each column and what becomes of them.

    Parameters
    ----------
    levels : list of arrays
        The levels of each column; NaN and None are levels of their own where both stand there, else one.
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
        return sparse.hstack(found).tocsr() if self.sparse_output else np.hstack([part.toarray() for part in found])

    def _coded(self, column: list[Any], j: int) -> NDArray[np.float64]:
        place = {_key(level): code for level, code in zip(self.levels[j].tolist(), self.codes[j].tolist(), strict=True)}
        for missing, same in ((None, _NAN), (_NAN, None)):  # a library of frames knows one of the two
            if same in place:
                place.setdefault(missing, place[same])
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
    return _NAN if cell is not None and cell != cell else cell


def _one_hot(codes: NDArray[np.float64], width: int) -> sparse.csr_matrix:
    rows = np.flatnonzero(codes >= 0)
    return sparse.csr_matrix((np.ones(len(rows)), (rows, codes[rows].astype(np.int64))), shape=(len(codes), width))


def as_fitted_levels(model: Any) -> Any:
    """What a file holds of a fitted encoder of levels; anything else as it is."""
    if isinstance(model, OneHotEncoder):
        return _from_one_hot(model)
    return _from_ordinal(model) if isinstance(model, OrdinalEncoder) else model


def _write_levels(model: Any, write: Write) -> Node:
    model = as_fitted_levels(model)
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
    """Common levels have a column each, rare ones share the last; ``drop`` would move them."""
    if model.drop is not None:
        raise StateError(f"a one-hot encoder must keep all levels to be saved; got drop={model.drop!r}.")
    infrequent = getattr(model, "infrequent_categories_", [None] * len(model.categories_))
    codes, unknown, widths = [], [], []
    for levels, rare in zip(model.categories_, infrequent, strict=True):
        is_rare = np.array([rare is not None and _is_one_of(level, rare) for level in levels], dtype=bool)
        n_common = int((~is_rare).sum())
        last = -1 if rare is None else n_common  # the rare ones share a column behind the others
        codes.append(np.where(is_rare, last, np.cumsum(~is_rare) - 1).astype(np.float64))
        unknown.append(float(last) if model.handle_unknown in ("infrequent_if_exist", "warn") else -1.0)
        widths.append(n_common + (rare is not None))
    made = FittedLevels(
        [np.asarray(levels) for levels in model.categories_],
        codes,
        np.array(unknown),
        widths=widths,
        strict=model.handle_unknown == "error",
        sparse_output=bool(model.sparse_output),
    )
    return _kept_features(model, made)


def _is_one_of(level: Any, others: Any) -> bool:
    return any(_key(level) == _key(other) for other in others)


def _from_ordinal(model: OrdinalEncoder) -> FittedLevels:
    if getattr(model, "infrequent_categories_", None) is not None and any(
        rare is not None for rare in model.infrequent_categories_
    ):
        raise StateError("an ordinal encoder must keep all levels apart to be saved; it groups rare ones.")
    missing = np.nan if model.encoded_missing_value is None else float(model.encoded_missing_value)
    codes = []
    for levels in model.categories_:
        is_missing = np.array([level != level for level in levels.tolist()], dtype=bool)  # None is a level like others
        codes.append(np.where(is_missing, missing, np.cumsum(~is_missing) - 1.0))
    unknown = float("nan") if model.unknown_value is None else float(model.unknown_value)
    levels = [np.asarray(each) for each in model.categories_]
    made = FittedLevels(levels, codes, np.full(len(levels), unknown), strict=model.handle_unknown == "error")
    return _kept_features(model, made)


def _check_levels(fields: Fields) -> State:
    unknown = fields.floats("unknown", "features", nan=True)
    features = fields.features()
    widths = _check_widths(fields, len(unknown))
    levels, codes = [], []
    for j, other in enumerate(unknown.tolist()):
        levels.append(fields.labels(f"levels.{j}"))
        codes.append(fields.floats(f"codes.{j}", len(levels[j]), nan=True))
        if widths is not None and not all(_is_column(code, widths[j]) for code in (*codes[j].tolist(), other)):
            fields.refuse(f"codes.{j}", f"lies within [-1, {widths[j] - 1}]", codes[j][:5])
    state: State = {"unknown": unknown, "levels": levels, "codes": codes, "widths": widths}
    state |= {"strict": fields.flag("strict"), "sparse_output": fields.flag("sparse_output")}
    fields.done(parts=0)
    return {"settings": state, "features": features}


def _check_widths(fields: Fields, n: int) -> list[int] | None:
    widths = fields.param("widths")
    if widths is None:
        return None
    if not isinstance(widths, list) or len(widths) != n:
        fields.refuse("widths", f"gives {n} columns a width", widths)
    if any(type(width) is not int or not 0 <= width <= _MOST_CELLS for width in widths):
        fields.refuse("widths", f"lies within [0, {_MOST_CELLS}]", widths)
    return widths


def _is_column(code: float, width: int) -> bool:
    return code in range(-1, width)  # NaN is in no range, nor is 1.5


def _build_levels(state: State, parts: list[Any]) -> FittedLevels:
    return fitted_features(FittedLevels(**state["settings"]), state["features"])  # type: ignore[no-any-return]


KINDS = (Kind("Levels/1", (FittedLevels, OneHotEncoder, OrdinalEncoder), _write_levels, _check_levels, _build_levels),)
