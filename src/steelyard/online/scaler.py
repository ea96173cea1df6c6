"""Scaling a stream without looking ahead."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._native import scale_row, scale_rows, shorten_rows
from ..errors import StateError
from ..validation.arrays import check_rows, unchanged_on_error
from ..validation.types import ArrayLike, LabelsLike, MatrixLike
from ..validation.values import check_flag, invalid

__all__ = ["StreamScaler"]

Floats = NDArray[np.float64]


class StreamScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Centre and scale every feature by its running mean and deviation, then, if wanted, every row to length 1.

    Welford's recurrence: n += 1, mean += (x - mean) / n, M += (x - old mean)(x - new mean); z = (x - mean) / sqrt(M/n).
    A feature that has not varied so far becomes 0. Missing cells (NaN) are left out of the sums and become 0, the mean.
    :meth:`run` is for streams: every row is scaled by what came strictly before it, so nothing of the future leaks, and
    no cutting of the stream changes a bit.

    Parameters
    ----------
    unit_norm : bool
        Divide every scaled row by its Euclidean length (papers 000 and 001).

    Examples
    --------
    >>> StreamScaler().run([[1.0], [3.0], [5.0]]).ravel()
    array([0., 0., 3.])
    """

    counts_: Floats
    mean_: Floats
    squares_: Floats

    def __init__(self, *, unit_norm: bool = False) -> None:
        self.unit_norm = unit_norm

    def fit(self, X: MatrixLike, y: LabelsLike | None = None) -> Self:
        """Learn means and deviations of these rows afresh."""
        with unchanged_on_error(self):
            return self._learned(check_rows(self, X, reset=True, accept_sparse=False, allow_nan=True), new=True)

    def partial_fit(self, X: MatrixLike, y: LabelsLike | None = None) -> Self:
        """Go on with more rows."""
        new = not hasattr(self, "counts_")
        with unchanged_on_error(self):
            return self._learned(check_rows(self, X, reset=new, accept_sparse=False, allow_nan=True), new=new)

    def transform(self, X: MatrixLike) -> Floats:
        """Scale rows by what is known now.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows; NaN for a missing cell.

        Returns
        -------
        ndarray of shape (n, d)
            The rows, scaled by what is known now.
        """
        check_is_fitted(self, "counts_")
        rows = check_rows(self, X, reset=False, accept_sparse=False, allow_nan=True)
        return self._shortened(_scaled(rows.astype(np.float64), self.counts_, self.mean_, self.squares_))

    def run(self, X: MatrixLike) -> Floats:
        """Scale every row by the rows before it, then learn from it.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows; NaN for a missing cell.

        Returns
        -------
        ndarray of shape (n, d)
            The rows, each scaled by those before it.
        """
        new = not hasattr(self, "counts_")
        with unchanged_on_error(self):
            rows = check_rows(self, X, reset=new, accept_sparse=False, allow_nan=True)
            out = np.empty(rows.shape)
            self._learned(rows, new=new, out=out)
        return self._shortened(out)

    def one(self, row: ArrayLike) -> Floats:
        """Scale one row by the rows before it, then learn from it: :meth:`run` for a single row, much quicker.

        Parameters
        ----------
        row : array-like of shape (d,)
            The row; NaN for a missing cell.

        Returns
        -------
        ndarray of shape (d,)
            The row, scaled by those before it.
        """
        if hasattr(self, "counts_"):
            counts, mean, squares = self.counts_.copy(), self.mean_.copy(), self.squares_.copy()
            out = np.empty(len(mean))
            if scale_row(row, counts, mean, squares, out, self.unit_norm is True):
                self.counts_, self.mean_, self.squares_ = counts, mean, squares
                return out
        if np.ndim(row) != 1:
            raise invalid("row", "be one row, a vector", f"{np.ndim(row)} dimensions", "Use run for many.")
        return self.run(np.asarray(row)[None])[0]  # type: ignore[no-any-return]

    def _learned(self, rows: Any, *, new: bool, out: Floats | None = None) -> Self:
        check_flag("unit_norm", self.unit_norm)
        counts, mean, squares = self._sums_of(rows, new)
        scale_rows(np.ascontiguousarray(rows, dtype=np.float64), counts, mean, squares, out)
        self.counts_, self.mean_, self.squares_ = counts, mean, squares
        return self

    def _sums_of(self, rows: Any, new: bool) -> tuple[Floats, Floats, Floats]:
        """Copies of the sums, so that a call that fails changes nothing."""
        if new:
            return np.zeros(rows.shape[1]), np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
        return self.counts_.copy(), self.mean_.copy(), self.squares_.copy()

    def _shortened(self, rows: Floats) -> Floats:
        if not self.unit_norm:
            return rows
        shorten_rows(rows)
        return rows

    @property
    def scale_(self) -> Floats:
        """Standard deviation of every feature so far."""
        check_is_fitted(self, "counts_")
        return np.asarray(np.sqrt(self.squares_ / np.maximum(self.counts_, 1.0)))

    def state(self) -> dict[str, Any]:
        """All that a resumed stream needs: arrays under ``"arrays"``, everything else JSON."""
        check_is_fitted(self, "counts_")
        arrays = {"counts": self.counts_.copy(), "mean": self.mean_.copy(), "squares": self.squares_.copy()}
        return {"format": "steelyard.StreamScaler", "version": 1, "unit_norm": bool(self.unit_norm), "arrays": arrays}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The scaler as it was.

        Parameters
        ----------
        state : dict
            What :meth:`state` gave.

        Returns
        -------
        Self
            The scaler as it was.
        """
        if not isinstance(state, dict) or (state.get("format"), state.get("version")) != ("steelyard.StreamScaler", 1):
            raise StateError(f"state must be one of steelyard.StreamScaler, version 1; got {type(state).__name__}.")
        try:
            made = cls(unit_norm=state["unit_norm"])
            sums = [np.array(state["arrays"][name], dtype=np.float64) for name in ("counts", "mean", "squares")]
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(f"state must be complete and unchanged; got {type(error).__name__}: {error}.") from error
        if any(s.ndim != 1 or len(s) != len(sums[0]) for s in sums):
            raise StateError("state must hold three vectors of one length.")
        made.counts_, made.mean_, made.squares_ = sums
        made.n_features_in_ = len(sums[0])
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _scaled(x: Floats, counts: Floats, mean: Floats, squares: Floats) -> Floats:
    deviation = np.sqrt(squares / np.maximum(counts, 1.0))
    centred = np.where(np.isnan(x), 0.0, x - mean)
    return np.divide(centred, deviation, out=np.zeros_like(centred), where=deviation > 0)
