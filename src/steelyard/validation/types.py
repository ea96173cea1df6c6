"""Names for the kinds of arguments that public functions take; nothing is imported at run time beyond numpy.

Tested in ``tests/unit/validation/test_arrays.py``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike as ArrayLike  # handed on
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]


@runtime_checkable
class FrameLike(Protocol):
    """A table with named columns: pandas, polars or pyarrow."""

    @property
    def columns(self) -> Any:
        """The columns or their names."""


@runtime_checkable
class HasShape(Protocol):
    """A scipy sparse matrix, or anything else that knows its rows and columns."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""


class Estimator(Protocol):
    """A scikit-learn estimator that predicts."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name."""
        ...

    def fit(self, X: Any, y: Any, /) -> Any:
        """Learn from rows and labels."""
        ...

    def predict(self, X: Any, /) -> Any:
        """Labels of new rows."""
        ...


class Splitter(Protocol):
    """A scikit-learn cross-validator."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterable[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Positions to train and to test on, fold by fold."""
        ...


MatrixLike: TypeAlias = ArrayLike | FrameLike | HasShape
Label: TypeAlias = Hashable
LabelsLike: TypeAlias = ArrayLike | Sequence[Any]
CVLike: TypeAlias = int | Splitter | Iterable[tuple[ArrayLike, ArrayLike]] | None
RandomState: TypeAlias = int | np.random.RandomState | None
