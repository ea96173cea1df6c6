"""What each column of a table is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ..data.columns import is_number
from ..errors import InvalidInputError
from ..validation.arrays import is_sparse
from ..validation.values import invalid
from .encoders import coded_encoder, scaled_encoder

MOST_LEVELS = 10_000  # of a nominal column: beyond that no learner here can use it
MOST_DENSE = 2_000  # columns of a sparse matrix that is made an array for trees
_WORDS = 4  # a cell of more words on average is free text
_DATE = re.compile(r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})([T ]\d.*)?")
_NO_DATES = "dates are not used; turn them into numbers first"


@dataclass(frozen=True)
class Columns:
    """Names of the numeric and nominal columns of a table, and of those left out with the reason."""

    numeric: Sequence[Any]
    nominal: tuple[Any, ...]
    left_out: dict[Any, str] = field(default_factory=dict)
    sparse: bool = False

    @property
    def used(self) -> Sequence[Any]:
        """Every column that a learner sees."""
        return (*self.numeric, *self.nominal) if self.nominal else self.numeric

    def scaled(self) -> Any:
        """For linear and kernel learners: imputed, z-scored, one-hot."""
        return scaled_encoder(self.numeric, self.nominal, sparse=self.sparse)

    def coded(self, *, dense: bool = False) -> Any:
        """For trees: numbers as they are, then nominal columns as codes; missing and unseen values are NaN.

        A sparse matrix stays one unless ``dense`` asks for an array.
        """
        return coded_encoder(self.numeric, self.nominal, sparse=self.sparse, dense=dense)

    @property
    def too_wide_for_trees(self) -> str | None:
        """Why a learner that needs an array of all cells cannot use a sparse matrix; None where it can."""
        if not self.sparse or len(self.numeric) <= MOST_DENSE:
            return None
        return f"{len(self.numeric):,} columns are too many for it"

    @property
    def coded_nominal(self) -> list[int]:
        """Positions of the nominal columns in what :meth:`coded` gives."""
        return list(range(len(self.numeric), len(self.numeric) + len(self.nominal)))


def by_name(X: Any) -> Any:
    """The same rows; a frame whose columns are only numbered is an array, since a number is no name."""
    names = list(getattr(X, "columns", ()))
    if all(isinstance(name, str) for name in names):
        return X
    if names != list(range(len(names))):
        odd = next(name for name in names if not isinstance(name, str))
        raise invalid("columns", "have text as names", odd, "Rename them: X.columns = X.columns.astype(str).")
    return np.asarray(X)


def read_columns(X: Any, *, drop: Sequence[Any] = ()) -> Columns:
    """Sort the columns of an array, sparse matrix or frame; complain about those no learner could use."""
    if is_sparse(X):
        if drop:
            raise invalid("drop", "be left out for sparse rows", list(drop), "Take the columns out of X first.")
        return Columns(range(X.shape[1]), (), sparse=True)  # never named one by one: there may be 2^31
    names = list(getattr(X, "columns", ()))
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise invalid("columns", "have different names", f"{twice} twice", "Rename one of them.")
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return _of_array(np.asarray(X), set(drop))
    if unknown := set(drop) - set(frame.columns):
        raise invalid("drop", f"name columns of the data ({', '.join(frame.columns)})", sorted(unknown)[0])
    numeric, nominal, left_out = [], [], {}
    for name in frame.columns:
        if name in drop:
            left_out[name] = "as asked"
            continue
        column = frame[name]
        if column.null_count() == len(column) or _only_nan(column):
            raise invalid("columns", "hold values", f"column {name!r} without any", f"Leave it out with --drop {name}.")
        if column.dtype.is_numeric() or column.dtype == nw.Boolean:
            if column.dtype.is_float() and np.isinf(column.to_numpy()).any():
                raise invalid(
                    f"column {name!r}", "hold finite numbers or none", "infinity", f"Mend it, or use --drop {name}."
                )
            numeric.append(name)
        elif column.dtype.is_temporal():
            left_out[name] = _NO_DATES
        elif reason := _not_nominal(column):
            left_out[name] = reason
        else:
            nominal.append(name)
    return _checked(Columns(tuple(numeric), tuple(nominal), left_out))


def _of_array(X: NDArray[Any], drop: set[Any]) -> Columns:
    if X.ndim != 2:
        raise invalid("X", "have two dimensions", f"shape {X.shape}")
    if X.dtype.kind not in "fiub":
        raise invalid("X", "hold numbers, or be a data frame with named columns", f"dtype {X.dtype}")
    if X.dtype.kind == "f" and np.isinf(X).any():
        raise invalid("X", "hold finite numbers or none", "infinity", "NaN stands for a missing value.")
    if unknown := drop.difference(range(X.shape[1])):
        raise invalid("drop", f"name columns of the data (0 to {X.shape[1] - 1})", next(iter(unknown)))
    used = tuple(i for i in range(X.shape[1]) if i not in drop)
    empty = [i for i in used if X.dtype.kind == "f" and np.isnan(X[:, i]).all()]
    if empty:
        raise invalid(
            "columns", "hold values", f"column {empty[0]} without any", f"Leave it out with drop=[{empty[0]}]."
        )
    return _checked(Columns(used, ()))


def _only_nan(column: Any) -> bool:
    return bool(column.dtype.is_float() and column.is_nan().fill_null(True).all())


def _not_nominal(column: Any) -> str | None:
    """Why a column of words cannot serve as a nominal one, or None if it can."""
    cells = column.cast(nw.String).drop_nulls()
    levels = cells.n_unique()
    head = [str(cell) for cell in cells.head(1000).to_list()]
    if all(map(_DATE.fullmatch, head)):
        return _NO_DATES
    if np.mean([len(cell.split()) for cell in head]) > _WORDS:
        return "free text"
    looks_unique = levels > 50 and levels > 0.5 * len(cells)
    strange = [cell for cell in head if not is_number(cell)]
    if (looks_unique or levels > MOST_LEVELS) and 0 < len(strange) < 0.5 * len(head):
        return f"numbers, but also {strange[0]!r}; leave cells empty where a value is missing"
    if levels > MOST_LEVELS:
        raise invalid(
            f"column {column.name!r}",
            f"have at most {MOST_LEVELS} levels to be nominal",
            f"{levels} levels",
            f"Leave it out with --drop {column.name}, or group its values.",
        )
    if looks_unique:
        return f"{levels} different values in {len(cells)} rows: an identifier"
    return None


def _checked(columns: Columns) -> Columns:
    if not columns.used:
        reasons = "; ".join(f"{name}: {why}" for name, why in columns.left_out.items())
        raise InvalidInputError(f"the data must have a column to learn from; got none that can be used ({reasons}).")
    return columns
