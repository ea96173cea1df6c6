"""What a reader gives back: rows, labels and what is known about them."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..validation.arrays import len_rows

READING = {  # what the options of readers mean, for ``documented``
    "source": ("path or binary stream", "May be compressed (gz, bz2, xz, zst)."),
    "target": ("str, int or None", "Column of the labels, by name or position (-1 is the last)."),
    "nominal": ("sequence of str", "Numeric-looking columns to take as categories."),
    "drop": ("sequence of str", "Columns to leave out."),
    "drop_missing": ("bool", "Leave out rows with missing cells."),
    "frame": ('{"auto", "pandas", "polars", "array"}', "What holds data that an array of floats cannot hold."),
    "dtype": ("float64 or float32", "Of an array of numbers."),
    "max_bytes": ("int or None", "Most uncompressed bytes to read."),
}


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows, labels and what is known about them; unpacks as ``X, y``.

    Parameters
    ----------
    X : float array, CSR matrix or frame
        An array or CSR matrix if every column is numeric and complete, otherwise a pandas or polars frame (an object
        array where neither is installed) in which nominal columns are categories and missing cells are missing.
    y : ndarray or None
        Whole-number labels as integers and others as text; None if no target was named.
    features : tuple of str
        Names of the columns; empty if they have none.
    nominal : mapping of str to tuple of str
        The values of each nominal column, empty where they are not known in advance (chunks of a stream).
    name : str
        What the data are called.
    about : str
        Where they come from.

    Examples
    --------
    >>> from steelyard import load_dataset
    >>> X, y = load_dataset("german")
    >>> X.shape, y[:3].tolist()
    ((1000, 24), [-1, 1, -1])
    """

    X: Any
    y: NDArray[Any] | None
    features: tuple[str, ...] = ()
    nominal: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    name: str = ""
    about: str = ""

    @property
    def classes(self) -> NDArray[Any]:
        """The labels that occur, sorted; empty without a target."""
        return np.unique(self._known_labels())

    @property
    def counts(self) -> dict[Any, int]:
        """How many rows each class has."""
        classes, counts = np.unique(self._known_labels(), return_counts=True)
        return dict(zip(classes.tolist(), counts.tolist(), strict=True))

    def _known_labels(self) -> NDArray[Any]:
        if self.y is None:
            return np.empty(0)
        if self.y.dtype != object:
            return self.y
        return np.array([label for label in self.y if label is not None])

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y))

    def _summary(self) -> str:
        kind = type(self.X).__name__
        return f"{len_rows(self.X)} rows, {self.X.shape[1]} features ({len(self.nominal)} nominal) as {kind}"

    def __repr__(self) -> str:
        classes = ", ".join(f"{label}: {count}" for label, count in list(self.counts.items())[:10])
        return f"Dataset({self.name or 'unnamed'}: {self._summary()}; classes {classes or 'unknown'})"

    def _repr_html_(self) -> str:
        counts = self.counts
        top = max(counts.values(), default=1)
        rows = "".join(
            f"<tr><th>{html.escape(str(label))}</th><td style='text-align:right'>{count}</td><td>"
            f"<div style='background:#36c;height:0.8em;width:{100 * count / top:.0f}px'></div></td></tr>"
            for label, count in counts.items()
        )
        return (
            f'<table class="steelyard-dataset"><caption><b>{html.escape(self.name or "Dataset")}</b>: '
            f"{html.escape(self._summary())}<br>{html.escape(self.about)}</caption>"
            f"<thead><tr><th>class</th><th>rows</th><th></th></tr></thead><tbody>{rows}</tbody></table>"
        )
