"""One-sided linear regression for many sparse rows. Paper 002 leaves the regressor open; Theorem 1 holds for any."""

from __future__ import annotations

import math
import warnings
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..validation.arrays import Rows, check_rows, check_scores, is_sparse, unchanged_on_error
from ..validation.docstrings import documented
from ..validation.types import ArrayLike, LabelsLike, MatrixLike
from ..validation.values import check_count, check_flag, check_number, invalid
from .one_sided import SIDED, read_sided
from .path import Floats

_LARGEST = 1e150  # of a feature or a target: L-BFGS squares them


class OneSidedLinearRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Linear regression that pays on one side only, squared, for rows too many or too wide for a kernel.

    min lam/2 \\|w\\|^2 + sum_i weight_i max(0, side_i (r(x_i) - y_i))^2 with r(x) = w.x + b. Rows are dense or
    sparse; each step of its L-BFGS is two products with them, in coordinates where the units of the columns play no
    part. An ``estimator=`` of :class:`OneSidedClassifier`. Paper 002, the squared loss of sec. 3.

    Parameters
    ----------
    lam : float
        Weight of the regulariser, > 0.
    fit_intercept : bool
        Learn b; it is not regularised.
    tol : float
        Largest entry of the gradient over the summed weights, > 0, where the largest target is between 1 and 2 and
        every column is centred and has unit curvature.
    max_iter : int
        Steps.

    Attributes
    ----------
    coef_, intercept_ : ndarray, float
        w and b.
    n_iter_ : int
        Steps made.
    objective_ : float
        What was minimised.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 1.0, 1.0]
    >>> model = OneSidedLinearRegressor(lam=1e-6).fit(X, y, side=[1, 1, -1, -1])
    >>> bool(model.predict([[0.0]])[0] < 1e-3), bool(model.predict([[3.0]])[0] > 0.999)
    (True, True)
    """

    def __init__(
        self, lam: float = 1e-3, *, fit_intercept: bool = True, tol: float = 1e-7, max_iter: int = 1000
    ) -> None:
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    @documented(SIDED)
    def fit(
        self, X: MatrixLike, y: LabelsLike, sample_weight: ArrayLike | None = None, *, side: ArrayLike | None = None
    ) -> Self:
        """Learn from rows, targets and the side of each on which an estimate is loss."""
        with unchanged_on_error(self):
            rows = check_rows(self, X, reset=True, dtype=np.float64)
            if (largest_of_rows := float(abs(rows).max())) > _LARGEST:
                raise invalid("X", f"stay within {_LARGEST:g} of zero, so that squares are finite", largest_of_rows)
            target, sides, weight = read_sided(rows, y, side, sample_weight)
            if (largest := float(np.abs(target).max())) > _LARGEST:
                raise invalid("y", f"stay within {_LARGEST:g} of zero, so that squares are finite", largest)
            unit = math.ldexp(1.0, math.frexp(largest)[1] - 1) if largest > 0 else 1.0  # a power of two rounds nothing
            target = target / unit
            lam, tol = check_number("lam", self.lam, above=0), check_number("tol", self.tol, above=0)
            steps, constant = check_count("max_iter", self.max_iter), check_flag("fit_intercept", self.fit_intercept)
            total = max(float(weight.sum()), 1e-300)

            mean, curvature = _coordinates(rows, weight / total, lam / total, largest_of_rows, constant)

            def objective(v: Floats) -> tuple[float, Floats]:
                w = v[:-1] / curvature
                error = rows @ w + (v[-1] - mean @ w) - target
                error[sides * error < 0] = 0.0
                pull = 2.0 * weight * error
                moved = pull.sum()
                gradient = np.append((rows.T @ pull - mean * moved + lam * w) / curvature, moved if constant else 0.0)
                return (0.5 * lam * float(w @ w) + float(weight @ error**2)) / total, gradient / total

            start = np.zeros(rows.shape[1] + 1)
            limits: dict[str, Any] = {"maxiter": steps, "maxfun": 4 * steps, "gtol": tol, "ftol": 1e-16, "maxcor": 20}
            found: Any = minimize(objective, start, jac=True, method="L-BFGS-B", options=limits)  # type: ignore[call-overload]
            if not found.success and float(np.abs(found.jac).max()) > tol:
                warnings.warn(
                    f"OneSidedLinearRegressor stopped after {found.nit} steps (max_iter={steps}) before tol={tol:g}. "
                    "Raise max_iter, tol or lam.",
                    ConvergenceWarning,
                    stacklevel=2,
                )
            w = found.x[:-1] / curvature
            self.coef_, self.intercept_ = unit * w, unit * float(found.x[-1] - mean @ w)
            self.n_iter_, self.objective_ = int(found.nit), float(found.fun) * total * unit**2
        return self

    def predict(self, X: MatrixLike) -> Floats:
        """r(x) for every row."""
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # what became of it is looked at
            return check_scores(np.asarray(rows @ self.coef_ + self.intercept_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _coordinates(rows: Rows, share: Floats, lam: float, largest: float, centred: bool) -> tuple[Floats, Floats]:
    """Where columns are counted from, and the roots of the curvatures there: weights times these all bend alike.

    Beside an intercept a column that does not vary has an infinite one, and so no weight.
    """
    unit = largest or 1.0  # squares of the largest numbers stay finite
    mean = np.asarray(rows.T @ share) if centred else np.zeros(rows.shape[1])
    if is_sparse(rows):
        squares = np.asarray((rows / unit).power(2).T @ share) - (mean / unit) ** 2
        low, high = (np.ravel(ends.toarray()) for ends in (rows.min(axis=0), rows.max(axis=0)))
    else:
        squares = share @ ((rows - mean) / unit) ** 2
        low, high = rows.min(axis=0), rows.max(axis=0)
    curvature = np.hypot(np.sqrt(2.0 * np.maximum(squares, 0.0)) * unit, np.sqrt(lam))
    curvature[(curvature == 0) | (centred & (low == high))] = np.inf
    return mean, curvature
