"""Checks of numbers, choices and flags, and the wording of every error about user input.

Form of every message: ``{what} must {rule}; got {value!r}. {what to do}``. Not even numpy is imported.

Tested in ``tests/unit/validation/test_arrays.py``.
"""

from __future__ import annotations

import importlib
import math
import numbers
import operator
from collections.abc import Callable, Collection
from types import ModuleType
from typing import Any, TypeVar

from ..errors import InvalidInputError, MissingDependencyError

T = TypeVar("T")


def invalid(
    what: str, rule: str, got: object, hint: str = "", error: type[InvalidInputError] = InvalidInputError
) -> InvalidInputError:
    """The error about an argument; the caller raises it."""
    return error(f"{what} must {rule}; got {_shown(got)}. {hint}".rstrip())


def _shown(value: Any) -> str:
    try:
        text = repr(value.item() if _is_numpy_scalar(value) else value)
    except RecursionError:  # nested too deeply to be shown
        text = f"a deeply nested {type(value).__name__}"
    return text if len(text) <= 120 else text[:117] + "..."


def _is_numpy_scalar(value: Any) -> bool:
    """Decided without numpy, which the command line does without until it has work to do."""
    return type(value).__module__ == "numpy" and hasattr(value, "dtype") and getattr(value, "ndim", None) == 0


def check_number(
    name: str,
    value: object,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    hint: str = "",
) -> float:
    """A finite real number within the given bounds, as a float."""
    bounds: list[tuple[float | None, str, Callable[[Any, Any], bool]]] = [
        (above, "> {}", operator.gt),
        (at_least, ">= {}", operator.ge),
        (below, "< {}", operator.lt),
        (at_most, "<= {}", operator.le),
    ]
    rule = "be a finite number " + " and ".join(text.format(b) for b, text, _ in bounds if b is not None)
    ok = isinstance(value, numbers.Real) and not isinstance(value, bool) and _is_float(value)
    if not ok or not all(holds(value, b) for b, _, holds in bounds if b is not None):
        raise invalid(name, rule.rstrip(), value, hint)
    return float(value)  # type: ignore[arg-type]


def _is_float(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def check_count(name: str, value: object, *, at_least: int = 1, at_most: int | None = None, hint: str = "") -> int:
    """A whole number not smaller than ``at_least`` and not larger than ``at_most``."""
    rule = f"be a whole number >= {at_least}" + ("" if at_most is None else f" and <= {at_most}")
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise invalid(name, rule, value, hint)
    if int(value) < at_least or (at_most is not None and int(value) > at_most):
        raise invalid(name, rule, value, hint)
    return int(value)


def check_jobs(n_jobs: object) -> int | None:
    """How many to run at the same time, as joblib counts them: None is one, -1 all cores."""
    ok = isinstance(n_jobs, numbers.Integral) and not isinstance(n_jobs, bool) and n_jobs != 0
    if n_jobs is not None and not ok:
        raise invalid("n_jobs", "be None or a whole number other than 0", n_jobs, "-1 uses all cores.")
    return None if n_jobs is None else int(n_jobs)  # type: ignore[call-overload]


def check_choice(name: str, value: T, choices: Collection[T], hint: str = "") -> T:
    """The one of a closed set of values that this is; a text of numpy is the text that it holds."""
    for c in choices:
        alike = type(value) is type(c) or (isinstance(value, str) and isinstance(c, str))
        if value is c or (alike and value == c):
            return c
    raise invalid(name, "be one of " + ", ".join(repr(c) for c in choices), value, hint)


def check_flag(name: str, value: Any) -> bool:
    """True or False."""
    if not (isinstance(value, bool) or (_is_numpy_scalar(value) and value.dtype.kind == "b")):
        raise invalid(name, "be True or False", value)
    return bool(value)


def is_missing(value: object) -> bool:
    """Whether a cell is empty: None, NaN of any type of number, or a mark of pandas, which has no truth value."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # pandas need not be installed
        return True
    return isinstance(value, numbers.Number) and bool(value != value)


def require(module: str, *, why: str, extra: str | None = None) -> ModuleType:
    """Import an optional library, or say what to install: the extra that brings it, or the library itself."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition(".")[0].replace("_", "-")
        wanted = f"'steelyard[{extra}]'" if extra else library
        raise MissingDependencyError(
            f"{why} needs {library}, which is not installed. Install it with: pip install {wanted}"
        ) from error
