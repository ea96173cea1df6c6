"""A comparison from the command line: the user's file, target and costs as rows, labels and a Costs object."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ..costs import Balanced, Costs
from ..costs.spec import CostSpec
from ..data import Dataset, read_table
from ..data.columns import UnknownColumnError
from ..data.files import file_error
from ..data.formats import FORMATS
from ..data.parts import source_format
from ..errors import CostsError
from ..validation.values import invalid
from .memory import check_memory
from .parsing import BALANCED, costs_option

_DELIMITED = ("csv", "tsv", "whitespace")
WEIGHTS = 8  # vectors as wide as the rows that the candidates of a comparison need at the least


def read_data(
    path: Path | str,
    target: str | None,
    columns: Sequence[str] = (),
    *,
    keep: bool = False,
    format: str | None = None,
    as_text: Sequence[str] = (),
    drop: Sequence[str] = (),
) -> tuple[Any, NDArray[Any], dict[str, Any]]:
    """Rows, labels, and the named cost columns, which are taken out of the rows unless they are to be kept.

    Cells of the columns ``as_text`` stay as they are written: a code 007 is not the number 7. What columns to ``drop``
    hold need not be readable.
    """
    source, kind = open_rows(path, format)
    if kind == "libsvm" and target is not None:
        raise invalid("--target", "not be given for LIBSVM, where labels come first on each line", target)
    if kind == "libsvm" and drop:
        raise invalid("--drop", "not be given for LIBSVM, whose columns have no names", list(drop))
    given: dict[str, Any] = {} if target is None else {"target": target}
    if kind != "libsvm":
        texts = [*as_text, *(drop if kind in _DELIMITED else ())]  # whose cells are all looked at
        given |= {"nominal": list(dict.fromkeys(texts))} if texts else {}
        given |= {"drop": list(drop)} if drop else {}
    try:
        dataset: Dataset = read_table(source, format=kind, **given)
    except UnknownColumnError as unknown:
        option = "--drop" if unknown.column in drop else "--category, --text and --date"
        raise invalid(option, f"name columns of the data ({unknown.known})", unknown.column) from None
    if dataset.y is None:
        columns_seen = ", ".join(dataset.features[:20])
        raise invalid("target", f"name the column of labels (one of {columns_seen})", target, "Use --target NAME.")
    if len(dataset.y) == 0:
        where = "standard input" if str(path) == "-" else str(path)
        raise file_error(where, None, "at least one row", "the names of columns alone")
    if kind == "libsvm":
        check_memory("the highest index", dataset.X.shape[1], WEIGHTS * 8 * dataset.X.shape[1])
    X = named_rows(dataset)
    taken: dict[str, Any] = {}
    for name in dict.fromkeys(columns):  # one column may hold both costs
        rest, taken[name] = _without(X, dataset.features, name)
        X = X if keep else rest
    return X, dataset.y, taken


def open_rows(path: Path | str, format: str | None) -> tuple[Any, str]:
    """What to read from, ``-`` being standard input, and its format, which then must be named."""
    source: Any = sys.stdin.buffer if str(path) == "-" else path
    if format is None and str(path) == "-":
        raise invalid("--format", f"be one of {', '.join(FORMATS)} where rows come from standard input", None)
    return source, source_format(source, format)


def named_rows(dataset: Dataset) -> Any:
    """The rows as a frame, so that columns go by their names; an array where that cannot be."""
    X = dataset.X
    library: Any = next((name for name in ("pandas", "polars") if find_spec(name)), None)
    if not isinstance(X, np.ndarray) or not dataset.features or library is None:
        return X
    return nw.from_dict(dict(zip(dataset.features, X.T, strict=True)), backend=library).to_native()


def _without(X: Any, features: Sequence[str], name: str) -> tuple[Any, NDArray[np.float64] | list[Any]]:
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame) or name not in frame.columns:
        raise invalid("cost column", f"be one of {', '.join(features)}", name, error=CostsError)
    column = frame[name]  # text is an error that names its cell, once it is read as costs
    cells = column.to_numpy().astype(float) if column.dtype.is_numeric() else column.to_list()
    return frame.drop(name).to_native(), cells


def cost_spec(
    text: str | None, roles: dict[str, str], classes: NDArray[Any] | None = None, positive: str | None = None
) -> CostSpec | None:
    """The costs as stated where they name columns of the data, to be remembered with the model."""
    stated = costs_option(text, roles)
    if not isinstance(stated, CostSpec) or not stated.columns:
        return None
    return stated if classes is None or positive is None else replace(stated, positive=_label(classes, positive))


def read_costs(
    text: str | None, classes: NDArray[Any], positive: str | None, taken: dict[str, Any], roles: dict[str, str]
) -> Any:
    """Costs from the option ``--costs`` and columns of the data (``roles``: fn and fp column names)."""
    stated = costs_option(text, roles)
    if len(classes) < 2:
        return None  # the data cannot be compared on at all; what is wrong with them is said elsewhere
    if len(classes) > 2:
        if isinstance(stated, CostSpec):
            got = ", ".join(
                [*([] if text is None else [text]), *(f"{role} from {name!r}" for role, name in roles.items())]
            )
            raise invalid("--costs", "be a matrix file for more than two classes", got, error=CostsError)
        if positive is not None:
            raise invalid("--positive", "be left out where there are more than two classes", positive)
        return Balanced() if stated == BALANCED else stated
    named = None if positive is None else _label(classes, positive)
    if stated is None or isinstance(stated, str):
        rule = Balanced(positive=named)
        return rule if stated else Costs.binary(fn=1, fp=1, classes=classes.tolist(), positive=named)
    if isinstance(stated, CostSpec):
        spec = stated if named is None else replace(stated, positive=named)
        return spec.costs(_frame(spec, taken), classes=classes.tolist())
    return stated if named is None else replace(stated.aligned(classes), positive=named)


def _frame(spec: CostSpec, taken: dict[str, Any]) -> Any:
    """The cost columns that were taken out of the rows, if the costs name any."""
    missing = [name for name in spec.columns.values() if name not in taken]
    if missing:
        hint = "Name columns with --fn-cost-column and --fp-cost-column."
        raise invalid("--costs", "give numbers", missing[0], hint, CostsError)
    if not spec.columns:
        return None
    library: Any = next((name for name in ("pandas", "polars") if find_spec(name)), None)
    return nw.from_dict(taken, backend=library).to_native()


def _label(classes: NDArray[Any], positive: str) -> Any:
    """The label a command line means: its text is compared with the text of each class."""
    for label in classes.tolist():
        if str(label) == positive:
            return label
    raise invalid("--positive", f"be one of {', '.join(map(str, classes.tolist()))}", positive)
