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
from ..validation.values import check_choice, invalid
from .cells import parse_date
from .encoders import DATE_PARTS, MOST_ONE_HOT, coded_encoder, scaled_encoder
from .frames import check_names_differ

MOST_DENSE = 2_000  # columns of a sparse matrix that is made an array for trees
ROLES = ("category", "date", "text")
_REPEATED = 0.5  # of the cells have a value that stands in another row too: a category
_FEW = 10  # values make a category, whether they repeat or not
_WORDS = 2.0  # on average in a cell that is a text; unique single words are identifiers
_LOOKED_AT = 1_000  # cells are enough to see dates and words
_COMMA = re.compile(r"[+-]?(?:[\d.]++,\d++|\d{1,3}(?:,\d{3})++(?:\.\d++)?)")  # 1,5 or 1.234,5; and 1,234,567.8


_SIGNS = re.compile(r"[€$£¥%]")


@dataclass(frozen=True)
class Columns:
    """Names of the columns of a table by what they hold, and of those left out with the reason.

    ``many`` are the categories among ``nominal`` with more levels than get a column each.
    """

    numeric: Sequence[Any]
    nominal: tuple[Any, ...]
    left_out: dict[Any, str] = field(default_factory=dict)
    sparse: bool = False
    many: tuple[Any, ...] = ()
    dates: tuple[Any, ...] = ()
    texts: tuple[Any, ...] = ()

    @property
    def used(self) -> Sequence[Any]:
        """Every column that a learner sees."""
        rest = (*self.nominal, *self.dates, *self.texts)
        return (*self.numeric, *rest) if rest else self.numeric

    def scaled(self) -> Any:
        """For linear and kernel learners: imputed, z-scored, one-hot or target-encoded, words weighed."""
        few = [name for name in self.nominal if name not in self.many]
        roles = {"many": self.many, "dates": self.dates, "texts": self.texts}
        return scaled_encoder(self.numeric, few, sparse=self.sparse, **roles)

    def coded(self, *, dense: bool = False) -> Any:
        """For trees: numbers as they are, then categories as codes; missing and unseen values are NaN.

        Texts are left to linear learners. A sparse matrix stays one unless ``dense`` asks for an array.
        """
        return coded_encoder(self.numeric, self.nominal, dates=self.dates, sparse=self.sparse, dense=dense)

    @property
    def as_written(self) -> tuple[str, ...]:
        """Names of the columns whose cells are texts, digits too: 007 and 20241231 are no numbers."""
        return tuple(name for name in (*self.nominal, *self.dates, *self.texts) if isinstance(name, str))

    @property
    def too_wide_for_trees(self) -> str | None:
        """Why a learner that needs an array of all cells cannot use a sparse matrix; None where it can."""
        if not self.sparse or len(self.numeric) <= MOST_DENSE:
            return None
        return f"{len(self.numeric):,} columns are too many for it"

    @property
    def only_texts(self) -> bool:
        """Whether trees have nothing to look at."""
        return not (self.numeric or self.nominal or self.dates)

    @property
    def coded_nominal(self) -> list[int]:
        """Positions of the categories in what :meth:`coded` gives."""
        first = len(self.numeric) + DATE_PARTS * len(self.dates)
        return list(range(first, first + len(self.nominal)))


def read_columns(X: Any, *, drop: Sequence[Any] = (), roles: dict[Any, str] | None = None) -> Columns:
    """Sort the columns of an array, sparse matrix or frame by what they hold.

    Parameters
    ----------
    X : array, sparse matrix or frame
    drop : columns to leave out
    roles : {column: "category", "date" or "text"}, where the reader should not decide
    """
    given = {name: check_choice(f"the role of {name!r}", role, ROLES) for name, role in (roles or {}).items()}
    if is_sparse(X):
        if drop or given:
            asked = [*drop, *given]
            raise invalid("drop", "be left out for sparse rows", asked, "Take the columns out of X first.")
        return Columns(range(X.shape[1]), (), sparse=True)  # never named one by one: there may be 2^31
    check_names_differ(X)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        if given:
            raise invalid("X", "be a frame to say what its columns are", f"a role for {next(iter(given))!r}")
        return _of_array(np.asarray(X), set(drop))
    for what, wanted in (("drop", set(drop)), ("column", set(given))):
        if unknown := wanted - set(frame.columns):
            raise invalid(what, f"name columns of the data ({', '.join(frame.columns)})", sorted(unknown)[0])
    found: dict[str, list[Any]] = {role: [] for role in ("numeric", "nominal", "many", "dates", "texts")}
    left_out: dict[Any, str] = {}
    for name in frame.columns:
        if name in drop:
            left_out[name] = "as asked"
            continue
        role, reason = _role(frame[name], given.get(name))
        if role is None:
            left_out[name] = reason
            continue
        found["nominal" if role == "many" else role].append(name)
        if role == "many":
            found["many"].append(name)
    chosen: dict[str, Any] = {role: tuple(listed) for role, listed in found.items()}
    return _checked(Columns(left_out=left_out, **chosen))


def _role(column: Any, given: str | None) -> tuple[str | None, str]:
    """What a column holds, or None and why it is left out."""
    if column.null_count() == len(column) or _only_nan(column):
        return None, "no values"
    is_numeric = column.dtype.is_numeric() or column.dtype == nw.Boolean
    if given is None and is_numeric:
        return _numeric_role(column)
    if column.dtype in (nw.Duration, nw.Time) and given != "category":
        return None, "durations or times of day; turn them into numbers, such as hours"
    if column.dtype.is_temporal() and given in (None, "date"):
        return "dates", ""
    if column.dtype.is_nested() or (column.dtype == nw.Object and _is_nested(column)):
        return None, "lists or records in its cells; give each of their parts a column of its own"
    cells = column.cast(nw.String).drop_nulls()
    levels = cells.n_unique()
    if levels == 1 and column.null_count() == 0:
        return None, "the same in every row"
    head = [str(cell) for cell in cells.head(_LOOKED_AT).to_list()]
    if given == "text":
        return "texts", ""
    if given == "date":
        if all(parse_date(cell) is None for cell in head):
            rule = "hold dates such as 2024-12-31, 31.12.2024 or 12/31/2024 to be one of dates"
            raise invalid(f"column {column.name!r}", rule, head[0])
        return "dates", ""
    if given is None and all(parse_date(cell) is not None for cell in head):
        return "dates", ""
    if given is None and (reason := _with_commas(head)) is not None:
        return None, f"{reason}, or name it as a category"
    if given == "category" or levels <= _FEW or _repeats(cells):
        return ("nominal" if levels <= MOST_ONE_HOT else "many"), ""
    strange = [cell for cell in head if not is_number(cell)]
    if 0 < len(strange) < 0.5 * len(head):
        return None, f"numbers, but also {strange[0]!r}; leave cells empty where a value is missing"
    if not strange:
        return None, f"numbers written as text, such as {head[0]!r}; convert them, or name it as a category"
    if (reason := _with_signs(head)) is not None:
        return None, f"{reason}, or name it as a category"
    if np.mean([len(cell.split()) for cell in head]) >= _WORDS:
        return "texts", ""
    return None, f"{levels} different values in {len(cells)} rows: an identifier"


def _with_commas(cells: Sequence[str]) -> str | None:
    found = [cell for cell in cells if _COMMA.fullmatch(cell.strip())]
    if found and all(is_number(cell) for cell in cells if cell not in found):
        return f"numbers with a comma, such as {found[0]!r}; write a point and no digit groups"
    return None


def _with_signs(cells: Sequence[str]) -> str | None:
    bare = [_SIGNS.sub("", cell).strip() for cell in cells]
    signed = [cell for cell, rest in zip(cells, bare, strict=True) if cell.strip() != rest]
    if signed and all(is_number(cell) or _COMMA.fullmatch(cell) for cell in bare):
        return f"numbers with a sign, such as {signed[0]!r}; write the number alone"
    return None


def numbers_as_text(cells: Sequence[str]) -> str | None:
    """Why a column is text although most of its cells are numbers or written like some; None for real texts.

    Parameters
    ----------
    cells : sequence of str
        Its values.
    """
    if (reason := _with_commas(cells) or _with_signs(cells)) is not None:
        return reason
    strange = [cell for cell in cells if not (is_number(cell) or _COMMA.fullmatch(cell.strip()))]
    if len(cells) > _FEW and 0 < len(strange) < 0.5 * len(cells):
        return f"numbers, but also {strange[0]!r}; leave cells empty where a value is missing"
    return None


def _is_nested(column: Any) -> bool:
    """Whether the first cell that is there holds other cells."""
    first = next((cell for cell in column.to_list() if cell is not None), None)
    return isinstance(first, (list, tuple, set, frozenset, dict, np.ndarray))


def _repeats(cells: Any) -> bool:
    """Whether the values of a column come again and again, however many words they have."""
    counts = np.unique(np.asarray(cells.to_list(), dtype=str), return_counts=True)[1]
    return bool(counts[counts > 1].sum() >= _REPEATED * counts.sum())


def _numeric_role(column: Any) -> tuple[str | None, str]:
    values = column.to_numpy().astype(np.float64)
    if column.dtype.is_float() and np.isinf(values).any():
        name = column.name
        raise invalid(f"column {name!r}", "be finite or missing", "infinity", f"Fix it, or use --drop {name}.")
    return ("numeric", "") if (reason := _useless(values)) is None else (None, reason)


def _useless(values: NDArray[np.float64]) -> str | None:
    """Why numbers tell nothing: all missing, all the same, or the numbers of the rows."""
    missing = np.isnan(values)
    if missing.all():
        return "no values"
    if not missing.any() and (values == values[0]).all():
        return "the same in every row"
    if not missing.any() and len(values) > 1 and _counts_rows(values):
        return "counts the rows: an identifier"
    return None


def _counts_rows(values: NDArray[np.float64]) -> bool:
    steps = np.diff(values)
    return bool((steps == 1.0).all() or (steps == -1.0).all()) and len(values) >= 20


def _of_array(X: NDArray[Any], drop: set[Any]) -> Columns:
    if X.ndim != 2:
        raise invalid("X", "have two dimensions", f"shape {X.shape}")
    if X.dtype.kind not in "fiub":
        raise invalid("X", "hold numbers, or be a data frame with named columns", f"dtype {X.dtype}")
    if X.dtype.kind == "f" and np.isinf(X).any():
        raise invalid("X", "be finite or missing", "infinity", "NaN stands for a missing value.")
    if unknown := drop.difference(range(X.shape[1])):
        raise invalid("drop", f"name columns of the data (0 to {X.shape[1] - 1})", next(iter(unknown)))
    left_out: dict[Any, str] = dict.fromkeys(sorted(drop), "as asked")
    for i in range(X.shape[1]):
        if i not in drop and (reason := _useless(X[:, i].astype(np.float64))) is not None:
            left_out[i] = reason
    used = tuple(i for i in range(X.shape[1]) if i not in left_out)
    return _checked(Columns(used, (), left_out))


def _only_nan(column: Any) -> bool:
    return bool(column.dtype.is_float() and column.is_nan().fill_null(True).all())


def _checked(columns: Columns) -> Columns:
    if not columns.used:
        reasons = "; ".join(f"{name}: {why}" for name, why in columns.left_out.items())
        raise InvalidInputError(f"the data must have a column to learn from; got none that can be used ({reasons}).")
    return columns
