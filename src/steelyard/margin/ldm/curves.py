"""How accuracy and both recalls move with rho, on training and test rows. Paper 004, figures 3 and 4.

Tested in ``tests/unit/margin/ldm/test_estimator.py``.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ...validation.arrays import check_rows
from ...validation.docstrings import documented
from ...validation.types import LabelsLike, MatrixLike
from ...validation.values import invalid, require
from ..kernels import gram_of
from .balance import recalls
from .dual import Examples, Floats
from .estimator import CSLDMClassifier
from .inputs import GramRows, Ready, overflow_named, read_examples, read_fit, training_rows, two_classes, with_constant

RHOS = tuple(np.linspace(0.0, 1.0, 21).tolist())
RHO = {  # what the parameters of these curves mean, for ``documented``
    "model": ("CSLDMClassifier", 'Not changed, need not be fitted; its solver must not be "asgd".'),
    "X_test": ("array-like, sparse matrix or None", "Rows to test on."),
    "y_test": ("array-like or None", "Their labels."),
    "rhos": ("sequence of float", "Where to fit."),
}
STYLE = {"accuracy": ("Acc", "C0"), "tpr": ("TPR", "C1"), "tnr": ("TNR", "C2"), "g_mean": ("G-mean", "C3")}


@dataclass(frozen=True)
class RhoMetrics:
    """Accuracy, recall of either class and their geometric mean, one number for every rho.

    Parameters
    ----------
    accuracy : ndarray
        Share of right answers.
    tpr, tnr : ndarray
        Recall of the class that sorts last, and of the other class.
    g_mean : ndarray
        Square root of the product of both recalls.
    """

    accuracy: Floats
    tpr: Floats
    tnr: Floats
    g_mean: Floats

    @classmethod
    def of_scores(cls, truth: Examples, scores: Floats) -> Self:
        """From decision values.

        Parameters
        ----------
        truth : Examples
            Signs and weights of the rows.
        scores : ndarray of shape (n, rhos)
            Decision values, one column a rho.

        Returns
        -------
        RhoMetrics
            One number a rho.
        """
        tpr, tnr = np.array([recalls(truth.sign, column, truth.weight) for column in scores.T]).T
        share = truth.weight[truth.sign > 0].sum() / truth.size
        return cls(share * tpr + (1 - share) * tnr, tpr, tnr, np.sqrt(tpr * tnr))


@dataclass(frozen=True)
class RhoCurves:
    """Metrics over ``rho`` on the training rows and, where given, on test rows.

    Parameters
    ----------
    rho : ndarray
        Where the model was fitted.
    train, test : RhoMetrics
        On the training and on the test rows; ``test`` may be None.
    """

    rho: Floats
    train: RhoMetrics
    test: RhoMetrics | None = None


@documented(RHO)
def rho_curves(
    model: CSLDMClassifier,
    X: MatrixLike,
    y: LabelsLike,
    *,
    X_test: MatrixLike | None = None,
    y_test: LabelsLike | None = None,
    rhos: Sequence[float] = RHOS,
) -> RhoCurves:
    """Fit ``model`` at every rho, its other parameters kept, from one factorisation. Paper 004, figures 3 and 4.

    TPR is the recall of the class that sorts last.

    Returns
    -------
    RhoCurves
        Metrics at every rho.

    Examples
    --------
    >>> curves = rho_curves(CSLDMClassifier(), [[0.0], [1.0], [2.0], [3.0]], [0, 0, 0, 1], rhos=[0.0, 1.0, 2.0])
    >>> curves.train.tpr
    array([1., 1., 1.])
    """
    if model.solver == "asgd":
        raise invalid("solver", "have a dual to sweep", model.solver, "Use 'auto'.")
    if len(rhos) == 0:
        raise invalid("rhos", "hold at least one value", rhos)
    if X_test is not None and y_test is None:
        raise invalid("y_test", "be given with X_test", y_test)
    model = copy.copy(model)  # what is known of the columns belongs to the caller's
    ready = read_fit(model, X, y, None, None)
    with overflow_named():
        data = training_rows(ready.rows, ready.spec, ready.solver, model.fit_intercept)
        problem = data.prepare(ready.examples)(ready.settings.lambda1)
        found = [  # each from scratch: a neighbour's solution may pass for the next one's, see CSLDMClassifier
            ready.solve(problem, model.solver, ready.examples, float(rho), None, ready.settings.tol) for rho in rhos
        ]
    everything = np.arange(len(ready.examples.sign))
    train = RhoMetrics.of_scores(ready.examples, data.scores(problem, found, everything, everything))
    if X_test is None:
        return RhoCurves(np.asarray(rhos, dtype=np.float64), train)
    rows = check_rows(model, X_test, reset=False, dtype=np.float64)
    two_classes(y_test, ready.classes)
    truth = read_examples(model, rows, y_test, ready.classes, None, None)
    if isinstance(data, GramRows):
        alpha = problem.coefficients(np.stack([s.nu for s in found], axis=1))
        scores = _cross_gram(ready, rows, model.fit_intercept) @ alpha
    else:
        full = with_constant(rows) if model.fit_intercept else rows
        scores = full @ np.stack([s.w for s in found if s.w is not None], axis=1)
    return RhoCurves(np.asarray(rhos, dtype=np.float64), train, RhoMetrics.of_scores(truth, np.asarray(scores)))


def _cross_gram(ready: Ready, rows: Any, fit_intercept: bool) -> Any:
    if ready.spec.kernel == "precomputed":
        cross = rows if ready.positions is None else rows[:, ready.positions]
    else:
        cross = gram_of(ready.spec, rows, ready.rows, dtype="float64")
    return cross + 1.0 if fit_intercept else cross


class RhoCurveDisplay:
    """The figure of :func:`rho_curves`: solid on training rows, dashed on test rows. Paper 004, figures 3 and 4.

    :meth:`plot` draws and keeps ``ax_``, ``figure_`` and ``lines_``.

    Parameters
    ----------
    curves : RhoCurves
        From :func:`rho_curves`.

    Examples
    --------
    >>> curves = rho_curves(CSLDMClassifier(), [[0.0], [1.0], [2.0], [3.0]], [0, 0, 0, 1], rhos=[0.0, 1.0])
    >>> RhoCurveDisplay(curves).curves.rho
    array([0., 1.])
    """

    def __init__(self, curves: RhoCurves) -> None:
        self.curves = curves

    @classmethod
    @documented(RHO)
    def from_estimator(
        cls,
        model: CSLDMClassifier,
        X: MatrixLike,
        y: LabelsLike,
        *,
        X_test: MatrixLike | None = None,
        y_test: LabelsLike | None = None,
        rhos: Sequence[float] = RHOS,
        ax: Axes | None = None,
    ) -> RhoCurveDisplay:
        """Sweep rho and draw the curves.

        Returns
        -------
        RhoCurveDisplay
            Drawn.
        """
        return cls(rho_curves(model, X, y, X_test=X_test, y_test=y_test, rhos=rhos)).plot(ax=ax)

    @documented()
    def plot(self, ax: Axes | None = None) -> RhoCurveDisplay:
        """Draw the curves.

        Returns
        -------
        RhoCurveDisplay
            Itself, drawn.
        """
        pyplot = require("matplotlib.pyplot", why="RhoCurveDisplay")
        if ax is None:
            _, ax = pyplot.subplots()
        self.lines_: list[Any] = []
        for prefix, metrics, line in (("Train", self.curves.train, "-"), ("Test", self.curves.test, "--")):
            if metrics is None:
                continue
            for name, (label, colour) in STYLE.items():
                values = getattr(metrics, name)
                self.lines_ += ax.plot(self.curves.rho, values, line, color=colour, label=prefix + label)
        ax.set(xlabel="rho", ylabel="rate", ylim=(0.0, 1.02))
        ax.legend(ncols=2, fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self
