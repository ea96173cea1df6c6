"""Costs as a user states them before there are data: numbers and names of columns, in text, files and plain dicts."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from reprlib import repr as _short  # bounded, however deeply a value is nested
from types import MappingProxyType
from typing import Any, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ..errors import CostsError, DataFileError
from ..validation.types import Floats, FrameLike
from ..validation.values import invalid
from ._costs import ABSTAIN, Costs, check_abstain_label
from ._example_costs import ExampleCosts
from ._making import check_currency
from ._reading import check_classes, floats, from_csv, listed, positive_index

ROLES = ("fn", "fp", "tp", "tn")
MAX_FILE = 1 << 22  # bytes of a costs file
_SETTINGS = ("currency", "positive", "abstain")
_LOOKS = "fn=8,fp=1 (tp, tn, abstain and currency may follow; a name stands for a column), 8:1, or a .csv or .toml file"


class CostCellError(CostsError):
    """A cell of a cost column that is no cost; it knows its row (from 0) and column."""

    def __init__(self, message: str, row: int = 0, column: str = "", cell: Any = None) -> None:
        super().__init__(message)
        self.row, self.column, self.cell = row, column, cell

    @staticmethod
    def of(row: int, column: str, rule: str, cell: Any) -> CostCellError:
        """About one cell."""
        said = invalid(f"cost column {column!r}", rule, cell, f"See row {row}.")
        return CostCellError(str(said), row, column, cell)

    def in_file(self, file: str, first: int = 0) -> DataFileError:
        """The same about a file, whose rows count from 1 and of which the rows before ``first`` were others."""
        place = f"{file}, row {first + self.row + 1}, column {self.column!r}"
        return DataFileError(f"{place}: expected a finite number as cost; got {self.cell!r}. Fill it in first.")


@dataclass(frozen=True)
class CostSpec:
    """Two-class costs, each a number or the name of a column that holds one number a row.

    Examples
    --------
    >>> CostSpec.parse("FN=8, fp=1, tp=-3").costs(classes=["good", "bad"]).matrix
    array([[ 0.,  1.],
           [ 8., -3.]])
    """

    fn: float | str
    fp: float | str
    tp: float | str = 0.0
    tn: float | str = 0.0
    abstain: float | str | None = None
    positive: Any = None
    currency: str | None = None

    @staticmethod
    def parse(text: str, columns: Mapping[str, str] = MappingProxyType({})) -> CostSpec:
        """``fn=8,fp=1,tp=-3`` in any letter case, numbers or column names; ``8:1`` for fn and fp, or with a currency.

        ``columns`` are names by role that were given elsewhere, whatever characters they hold.
        """
        stated: dict[str, Any] = {}
        if "=" not in text and (text or not columns):
            stated["fn"], stated["fp"] = _ratio(text)
        for part in text.split(",") if "=" in text else ():
            key, equals, value = (piece.strip() for piece in part.partition("="))
            role = key.lower()
            if not equals or not value or role not in (*ROLES, "abstain", "currency"):
                raise invalid("--costs", f"look like {_LOOKS}", text, error=CostsError)
            if role in stated:
                raise invalid("--costs", f"state {role} once", text, error=CostsError)
            stated[role] = check_currency(value) if role == "currency" else _number_or_name(value)
        if twice := [role for role in columns if role in stated]:
            raise invalid("--costs", f"leave out {twice[0]}, which a column gives", text, error=CostsError)
        stated |= columns
        missing = [role for role in ("fn", "fp") if role not in stated]
        if missing:
            got = ", ".join(filter(None, [text, *(f"{role} from column {name!r}" for role, name in columns.items())]))
            raise invalid("--costs", f"state both fn and fp; {missing[0]} is missing", got, error=CostsError)
        return CostSpec(**stated)

    @property
    def columns(self) -> dict[str, str]:
        """Role (fn, fp, tp, tn, abstain) and name of every column that is needed."""
        stated = {role: getattr(self, role) for role in (*ROLES, "abstain")}
        return {role: name for role, name in stated.items() if isinstance(name, str)}

    def costs(self, frame: FrameLike | None = None, *, classes: Sequence[Any] | NDArray[Any] | None = None) -> Costs:
        """The costs, with columns taken from ``frame``; an :class:`ExampleCosts` where there are any."""
        columns = self.columns
        if columns and frame is None:
            named = ", ".join(dict.fromkeys(columns.values()))
            raise invalid("costs", "come with the data whose columns they name", named, "Pass the frame.", CostsError)
        taken: dict[str, Floats | float | None] = {
            role: _column(frame, columns[role], role) if role in columns else getattr(self, role)
            for role in (*ROLES, "abstain")
        }
        abstain = taken.pop("abstain")
        made = Costs.binary(
            **cast("dict[str, Any]", taken), classes=classes, positive=self.positive, currency=self.currency
        )
        return made if abstain is None else made.with_abstain(abstain)

    def mean(self, costs: Costs) -> CostSpec:
        """Numbers instead of names, from class-level costs such as the means of training."""
        if costs.matrix is None:
            raise invalid("costs", "be the same for all examples", costs, error=CostsError)
        plus = costs.positive_index()
        cells = costs.matrix
        usual = {
            "fn": cells[plus, 1 - plus],
            "fp": cells[1 - plus, plus],
            "tp": cells[plus, plus],
            "tn": cells[1 - plus, 1 - plus],
        }
        changes: dict[str, Any] = {role: float(usual[role]) for role in self.columns if role in usual}
        if isinstance(self.abstain, str):
            changes["abstain"] = costs.abstain
        return replace(self, **changes)


def _ratio(text: str) -> tuple[float, float]:
    left, colon, right = text.partition(":")
    numbers = [_number_or_name(piece.strip()) for piece in (left, right)]
    if not colon or any(isinstance(n, str) for n in numbers):
        raise invalid("--costs", f"look like {_LOOKS}", text, error=CostsError)
    return numbers[0], numbers[1]  # type: ignore[return-value]


def _number_or_name(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _column(frame: Any, name: str, role: str) -> Floats:
    table = nw.from_native(frame, eager_only=True, pass_through=True)
    if not isinstance(table, nw.DataFrame):
        got = type(frame).__name__
        raise invalid("data", f"be a frame with the column {name!r} of costs", got, error=CostsError)
    if name not in table.columns:
        shown = ", ".join(map(repr, table.columns[:20])) + (", ..." if len(table.columns) > 20 else "")
        raise invalid(role, f"be a number or one of the columns {shown}", name, error=CostsError)
    column = table[name]
    if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        cells = column.to_list()
        at = next((i for i, cell in enumerate(cells) if not _is_number(cell)), None)
        if at is not None:
            raise CostCellError.of(at, name, "hold numbers", cells[at])
        return np.array(cells, dtype=np.float64)
    values = np.asarray(column.to_numpy(), dtype=np.float64)
    wrong = ~np.isfinite(values)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise CostCellError.of(at, name, "hold finite numbers", values[at].item())
    return values


def _is_number(cell: Any) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except (TypeError, ValueError):
        return False


# -- files -----------------------------------------------------------------------------------------------------------


def read_file(path: Path) -> Costs | CostSpec:
    """A labelled matrix from CSV or TOML, or, from TOML, costs that may name columns."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise CostsError(f"costs file {path} cannot be read: {error.strerror}. Check the path.") from error
    except UnicodeDecodeError as error:
        raise CostsError(f"costs file {path} must be UTF-8 text; got other bytes ({error.reason}).") from error
    if len(content) > MAX_FILE:
        raise CostsError(f"costs file {path} must have at most {MAX_FILE >> 20} MB; got more. Is it a file of costs?")
    if path.suffix.lower() != ".toml":
        nested, answers = from_csv(path, text)
        return Costs.from_matrix(nested, classes=answers)
    try:
        table = tomllib.loads(text)
    except ValueError as error:  # also an integer of thousands of digits
        raise CostsError(f"costs file {path} is not TOML: {error}.") from error
    except RecursionError as error:
        raise CostsError(f"costs file {path} must be a flat table of costs; it is nested too deep.") from error
    return _from_toml(path, table.get("costs", table))


def _from_toml(path: Path, table: Any) -> Costs | CostSpec:
    if not isinstance(table, Mapping):
        raise CostsError(f"costs file {path} must hold a table of costs; got {_short(table)}.")
    stated = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    by_class = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    settings = {key: stated.pop(key) for key in _SETTINGS if key in stated}
    check_currency(settings.get("currency"))
    if not stated and by_class:
        made = Costs.from_matrix(by_class, positive=settings.get("positive"), currency=settings.get("currency"))
        return made if settings.get("abstain") is None else made.with_abstain(settings["abstain"])
    roles = {key.lower(): value for key, value in stated.items()}
    unknown = [key for key in roles if key not in ROLES]
    if by_class or unknown or not {"fn", "fp"} <= roles.keys():
        rule = "must state fn and fp (tp and tn may follow), or a table of costs for each true class"
        got = ", ".join(map(repr, list(table)[:10])) or "nothing"
        raise CostsError(f"costs file {path} {rule}; got {got}.")
    for role, value in {**roles, "abstain": settings.get("abstain", 0.0)}.items():
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise CostsError(
                f"costs file {path}: {role} must be a number or the name of a column; got {_short(value)}."
            )
    return CostSpec(**roles, **settings)


# -- plain dicts -----------------------------------------------------------------------------------------------------


def to_plain(costs: Costs) -> dict[str, Any]:
    """Lists, numbers and texts; what is not stated is left out."""
    labels = None if costs.classes is None else costs.classes.tolist()
    named = costs.positive is not None and labels is not None
    content = {
        "classes": labels,
        "positive": labels[positive_index(costs.classes, costs.positive)] if named and labels else None,
        "currency": costs.currency,
        "matrix": None if costs.matrix is None else costs.matrix.tolist(),
    }
    if isinstance(costs, ExampleCosts):
        content["rows"] = None if costs.rows is None else costs.rows.tolist()
        content["matrices"] = None if costs.matrices is None else costs.matrices.tolist()
    if costs.abstain is not None:
        content |= {"abstain": np.asarray(costs.abstain).tolist(), "abstain_label": costs.abstain_label}
    if len(labels or "") == 2 and content["positive"] is None:
        content["positive"] = labels[1]  # type: ignore[index]
    return {key: value for key, value in content.items() if value is not None}


def from_plain(content: Mapping[str, Any]) -> Costs:
    """Costs from :func:`to_plain`'s dict; every number is checked again."""
    known = ("classes", "positive", "currency", "matrix", "rows", "matrices", "abstain", "abstain_label")
    if not isinstance(content, Mapping) or any(key not in known for key in content):
        raise invalid("content", f"be a dict with the keys {', '.join(known)}", content, error=CostsError)
    cells = [key for key in ("matrix", "rows", "matrices") if key in content]
    if len(cells) != 1:
        raise invalid("content", "hold one of matrix, rows and matrices", cells, error=CostsError)
    values = floats(cells[0], content[cells[0]])
    labels = check_classes(content.get("classes"))
    wanted = 3 if cells[0] == "matrices" else 2
    square = cells[0] == "rows" or (values.ndim == wanted and values.shape[-1] == values.shape[-2])
    if values.ndim != wanted or not square or not np.isfinite(values).all():
        raise invalid(cells[0], f"be finite numbers in {wanted} axes", f"shape {values.shape}", error=CostsError)
    if labels is not None and len(labels) != values.shape[-1]:
        raise invalid("classes", f"name {values.shape[-1]} classes", listed(labels), error=CostsError)
    positive_index(labels, content.get("positive"))
    given = {"rows": ExampleCosts(labels, rows=values), "matrices": ExampleCosts(labels, matrices=values)}
    made = given.get(cells[0], Costs(labels, values))
    made = replace(made, positive=content.get("positive"), currency=check_currency(content.get("currency")))
    if content.get("abstain") is None:
        return made
    label = content.get("abstain_label", ABSTAIN)
    check_abstain_label(label, labels)
    return made.with_abstain(content["abstain"], label=label)
