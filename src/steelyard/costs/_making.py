"""The ways to make costs: from pairs, classes, matrices, rows, columns of a table and files.

Tested in ``tests/unit/costs/test_costs.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import CostsError
from ..validation.types import ArrayLike, Floats, FrameLike, Label
from ..validation.values import invalid
from ._reading import (
    ORIENTATION,
    USE_MATRIX,
    check_classes,
    check_values,
    common_shape,
    floats,
    from_frame,
    from_nested,
    in_order,
    is_frame,
    positive_index,
    warn_about_diagonal,
)

if TYPE_CHECKING:
    from ._costs import Costs
    from ._example_costs import ExampleCosts


class CostsConstructors:
    """The part of :class:`Costs` that makes them."""

    @staticmethod
    def binary(
        *,
        fn: float | ArrayLike,
        fp: float | ArrayLike,
        tp: float | ArrayLike = 0.0,
        tn: float | ArrayLike = 0.0,
        classes: Sequence[Any] | NDArray[Any] | None = None,
        positive: Label | None = None,
        currency: str | None = None,
    ) -> Costs:
        """Two classes, in the words of a confusion matrix. Negative costs are gains.

        Each cost may be an array with one number per example; the result is then an :class:`ExampleCosts`.

        Parameters
        ----------
        fn : float or array-like of shape (n,)
            Cost of a positive answered negative.
        fp : float or array-like of shape (n,)
            Cost of a negative answered positive.
        tp : float or array-like of shape (n,)
            Cost of a positive answered positive; negative where it gains.
        tn : float or array-like of shape (n,)
            Cost of a negative answered negative.
        classes : sequence of two labels or None
            Both labels; those of the data if None.
        positive : label or None
            Which of them is the positive one; the second if None.
        currency : str or None
            Printed after every amount.

        Returns
        -------
        Costs
            An :class:`ExampleCosts` where a cost is an array.

        Examples
        --------
        >>> from steelyard import Costs
        >>> Costs.binary(fn=[10.0, 250.0], fp=2.0, tp=-1.0).per_example([1, 0])
        array([[10., -1.],
               [ 0.,  2.]])
        """
        labels = check_classes(classes)
        if labels is not None and len(labels) != 2:
            raise invalid("classes", "name two classes for a cost pair", labels.tolist(), USE_MATRIX, CostsError)
        plus = positive_index(labels, positive)
        cells = [floats(name, v) for name, v in (("fn", fn), ("fp", fp), ("tp", tp), ("tn", tn))]
        shape = common_shape(cells)
        cube = np.zeros((*shape, 2, 2))
        cube[..., plus, 1 - plus], cube[..., 1 - plus, plus] = cells[0], cells[1]
        cube[..., plus, plus], cube[..., 1 - plus, 1 - plus] = cells[2], cells[3]
        check_values("costs", cube)
        if shape:
            return per_example_costs(labels, positive=positive, currency=check_currency(currency), matrices=cube)
        return one_matrix(labels, cube, positive, check_currency(currency))

    @staticmethod
    def from_classes(cost_of: Mapping[Any, float], *, currency: str | None = None) -> Costs:
        """Every mistake on class k costs ``cost_of[k]``, whatever the wrong answer was.

        Parameters
        ----------
        cost_of : mapping of label to float
            Cost of a mistake on each class.
        currency : str or None
            Printed after every amount.

        Returns
        -------
        Costs
            The costs, classes sorted.
        """
        if not isinstance(cost_of, Mapping) or len(cost_of) < 2:
            raise invalid("cost_of", "map two or more classes to costs", cost_of, error=CostsError)
        labels = check_classes(in_order(cost_of))
        per_class = floats("cost_of", [cost_of[label] for label in in_order(cost_of)])
        matrix = np.where(np.eye(len(per_class)), 0.0, per_class[:, None])
        return CostsConstructors.from_matrix(matrix, classes=labels, currency=currency)

    @staticmethod
    def from_matrix(
        C: Any,
        *,
        classes: Sequence[Any] | NDArray[Any] | None = None,
        positive: Label | None = None,
        currency: str | None = None,
    ) -> Costs:
        """A K x K matrix ``C[true, predicted]``: an array, ``{true: {predicted: cost}}`` or a labelled frame.

        Parameters
        ----------
        C : array-like, mapping of mappings, or frame
            ``C[true, predicted]``, K x K.
        classes : sequence of labels or None
            All classes; by default those the costs name, else those that occur, sorted.
        positive : label or None
            The positive class; by default the one the costs name, else the last of two.
        currency : str or None
            Printed after every amount.

        Returns
        -------
        Costs
            The costs.

        Examples
        --------
        >>> from steelyard import Costs
        >>> Costs.from_matrix({"ham": {"spam": 10}, "spam": {"ham": 1}}).matrix
        array([[ 0., 10.],
               [ 1.,  0.]])
        """
        if isinstance(C, Mapping):
            if classes is None:
                classes = in_order(C)
            C = from_nested(cast("Mapping[Any, Mapping[Any, float]]", C), list(classes))
        elif is_frame(C):
            C, found = from_frame(C)
            classes = found if classes is None else classes
        matrix = floats("C", C)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < 2:
            raise invalid("C", "be a K x K matrix with K >= 2", f"shape {matrix.shape}", ORIENTATION, CostsError)
        labels = check_classes(classes)
        if labels is not None and len(labels) != len(matrix):
            raise invalid("classes", f"name the {len(matrix)} classes of C", labels.tolist(), error=CostsError)
        check_values("C", matrix)
        warn_about_diagonal(matrix)
        positive_index(labels, positive)
        return one_matrix(labels, matrix, positive, check_currency(currency))

    @staticmethod
    def from_rows(
        c: ArrayLike, *, classes: Sequence[Any] | NDArray[Any] | None = None, currency: str | None = None
    ) -> ExampleCosts:
        """Per-example costs: ``c[i, k]`` is the cost of answering class k for example i, its truth being known.

        Parameters
        ----------
        c : array-like of shape (n, K)
            ``c[i, k]``, the cost of answering class k for example i.
        classes : sequence of labels or None
            All classes; by default those the costs name, else those that occur, sorted.
        currency : str or None
            Printed after every amount.

        Returns
        -------
        ExampleCosts
            The costs.
        """
        rows = floats("c", c)
        if rows.ndim != 2 or rows.shape[1] < 2:
            raise invalid("c", "be an (n, K) array with K >= 2", f"shape {rows.shape}", error=CostsError)
        labels = check_classes(classes)
        if labels is not None and len(labels) != rows.shape[1]:
            raise invalid("classes", f"name the {rows.shape[1]} columns of c", labels.tolist(), error=CostsError)
        check_values("c", rows)
        return per_example_costs(labels, currency=check_currency(currency), rows=rows)

    @staticmethod
    def from_matrices(
        C: ArrayLike,
        *,
        classes: Sequence[Any] | NDArray[Any] | None = None,
        positive: Label | None = None,
        currency: str | None = None,
    ) -> ExampleCosts:
        """One matrix per example: ``C[i, true, predicted]``, for decisions before the truth is known.

        Parameters
        ----------
        C : array-like of shape (n, K, K)
            ``C[i, true, predicted]``.
        classes : sequence of labels or None
            All classes; by default those the costs name, else those that occur, sorted.
        positive : label or None
            The positive class; by default the one the costs name, else the last of two.
        currency : str or None
            Printed after every amount.

        Returns
        -------
        ExampleCosts
            The costs.
        """
        cube = floats("C", C)
        if cube.ndim != 3 or cube.shape[1] != cube.shape[2] or cube.shape[1] < 2:
            raise invalid("C", "be an (n, K, K) array with K >= 2", f"shape {cube.shape}", ORIENTATION, CostsError)
        labels = check_classes(classes)
        if labels is not None and len(labels) != cube.shape[1]:
            raise invalid("classes", f"name the {cube.shape[1]} classes of C", labels.tolist(), error=CostsError)
        check_values("C", cube)
        positive_index(labels, positive)
        return per_example_costs(labels, positive=positive, currency=check_currency(currency), matrices=cube)

    @staticmethod
    def from_columns(
        frame: FrameLike,
        *,
        fn: float | str,
        fp: float | str,
        tp: float | str = 0.0,
        tn: float | str = 0.0,
        abstain: float | str | None = None,
        classes: Sequence[Any] | NDArray[Any] | None = None,
        positive: Label | None = None,
        currency: str | None = None,
    ) -> Costs:
        """Two classes, each cost a number or the name of a column of ``frame`` (pandas, polars or pyarrow).

        Parameters
        ----------
        frame : pandas, polars or pyarrow frame
            One row per example.
        fn : float or str
            Cost of a positive answered negative: a number, or the name of a column.
        fp : float or str
            Cost of a negative answered positive.
        tp : float or str
            Cost of a positive answered positive.
        tn : float or str
            Cost of a negative answered negative.
        abstain : float, str or None
            Price of deciding nothing.
        classes : sequence of labels or None
            All classes; by default those the costs name, else those that occur, sorted.
        positive : label or None
            The positive class; by default the one the costs name, else the last of two.
        currency : str or None
            Printed after every amount.

        Returns
        -------
        Costs
            An :class:`ExampleCosts` where a column is named.

        Examples
        --------
        >>> import pandas as pd
        >>> from steelyard import Costs
        >>> Costs.from_columns(pd.DataFrame({"amount": [10.0, 250.0]}), fn="amount", fp=2).per_example([1, 0])
        array([[10.,  0.],
               [ 0.,  2.]])
        """
        from .spec import CostSpec  # which reads columns into costs

        spec = CostSpec(fn=fn, fp=fp, tp=tp, tn=tn, abstain=abstain, positive=positive, currency=currency)
        return spec.costs(frame, classes=classes)

    @staticmethod
    def zero_one(classes: Sequence[Any] | NDArray[Any]) -> Costs:
        """Every mistake costs one.

        Parameters
        ----------
        classes : sequence of labels
            All classes.

        Returns
        -------
        Costs
            0 for right answers, 1 for all others.
        """
        labels = check_classes(classes)
        if labels is None or len(labels) < 2:
            raise invalid("classes", "name two or more classes", classes, error=CostsError)
        return one_matrix(labels, 1.0 - np.eye(len(labels)))

    @staticmethod
    def from_file(path: str | Path, frame: FrameLike | None = None) -> Costs:
        """Costs from a CSV or TOML file.

        CSV: a header row of answers, a first column of truths. TOML: a table of costs for each true class, or ``fn``,
        ``fp``, ``tp`` and ``tn`` as numbers or names of columns of ``frame``; ``currency``, ``positive`` and
        ``abstain`` may stand beside them. All of it may stand in a table ``[costs]``.

        Parameters
        ----------
        path : str or Path
            A ``.csv`` or ``.toml`` file.
        frame : frame or None
            The table whose columns the file names.

        Returns
        -------
        Costs
            The costs.
        """
        from .spec import CostSpec, read_file  # which reads files into costs

        stated = read_file(Path(path))
        return stated.costs(frame) if isinstance(stated, CostSpec) else stated

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> Costs:
        """The costs that :meth:`to_dict` wrote; anything else is an error.

        Parameters
        ----------
        content : mapping
            What :meth:`to_dict` gave.

        Returns
        -------
        Costs
            The costs.
        """
        from .spec import from_plain

        return from_plain(content)


def one_matrix(classes: NDArray[Any] | None, matrix: Floats, *about: Any) -> Costs:
    """One matrix for all examples."""
    from ._costs import Costs  # which is made here

    return Costs(classes, matrix, *about)


def per_example_costs(classes: NDArray[Any] | None, **cells: Any) -> ExampleCosts:
    """Rows or matrices that differ from example to example."""
    from ._example_costs import ExampleCosts  # which is a Costs itself

    return ExampleCosts(classes, **cells)


def check_currency(currency: str | None) -> str | None:
    """A short text, or None."""
    if currency is not None and (not isinstance(currency, str) or not currency.strip()):
        raise invalid("currency", "be a text such as 'EUR', or None", currency, error=CostsError)
    return currency
