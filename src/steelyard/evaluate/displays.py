"""The curves of a score drawn: scikit-learn style displays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..validation.types import Estimator, Label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import NotFittedError

from ..costs.rules import CostsLike, stated_costs
from ..validation.docstrings import documented
from ..validation.types import ArrayLike, LabelsLike, MatrixLike
from ..validation.values import invalid
from ._drawing import ACCENT, FAINT, axes, label_axes, words
from ._predictions import Floats
from .curves import BrierCurve, CostCurve, RocHull, ThresholdCurve, brier_curve, cost_curve, roc_hull, threshold_curve


def score_of(estimator: Any, X: Any, *, costs: Any = None, positive: Any = None, proba: bool = False) -> Floats:
    """How positive each row is: the positive column of ``predict_proba``, else ``decision_function`` with its sign."""
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        raise NotFittedError(f"estimator must be a fitted classifier; got {type(estimator).__name__}. Call fit first.")
    labels = np.asarray(classes).tolist()
    if len(labels) != 2:
        raise invalid("estimator", "tell two classes apart for a curve", labels)
    if positive is None and costs is not None:
        positive = stated_costs(costs, labels).aligned(labels).positive
    if positive is not None and positive not in labels:
        raise invalid("positive", f"be a class of the estimator ({', '.join(map(repr, labels))})", positive)
    at = 1 if positive is None else labels.index(positive)
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, at]
    if proba or not hasattr(estimator, "decision_function"):
        need = "predict_proba" if proba else "predict_proba or decision_function"
        raise invalid("estimator", f"have {need}", type(estimator).__name__)
    return np.asarray(estimator.decision_function(X), dtype=np.float64) * (1.0 if at == 1 else -1.0)


class _CurveDisplay:
    """What the displays of scores have in common; each draws itself in ``_draw``."""

    _needs_proba: ClassVar[bool] = False
    name: str | None
    ax_: Any
    figure_: Any
    line_: Any

    @classmethod
    def _of(cls, y_true: Any, y_score: Any, name: str | None, **given: Any) -> Self:
        raise NotImplementedError

    def _draw(self, ax: Any, **line: Any) -> None:
        raise NotImplementedError

    @classmethod
    @documented()
    def from_predictions(
        cls,
        y_true: LabelsLike,
        y_score: ArrayLike,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        line: Any = None,
        **given: Any,
    ) -> Self:
        """Draw from scores (or probabilities) of the positive class; ``given`` are the curve's own parameters.

        Parameters
        ----------
        y_score : array-like of shape (n,)
            Scores, higher for the positive class, or probabilities where the curve needs them.

        Returns
        -------
        Self
            The display, drawn.
        """
        return cls._of(y_true, y_score, name, **given).plot(ax=ax, **(line or {}))

    @classmethod
    @documented()
    def from_estimator(
        cls,
        estimator: Estimator,
        X: MatrixLike,
        y: LabelsLike,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        line: Any = None,
        costs: CostsLike | None = None,
        positive: Label | None = None,
        **given: Any,
    ) -> Self:
        """Draw from a fitted estimator of two classes; ``given`` are the curve's own parameters.

        Parameters
        ----------
        estimator : estimator
            A fitted classifier.

        Returns
        -------
        Self
            The display, drawn.
        """
        score = score_of(estimator, X, costs=costs, positive=positive, proba=cls._needs_proba)
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, score, name=name, ax=ax, line=line, costs=costs, positive=positive, **given)

    @documented()
    def plot(self, ax: Axes | None = None, **line: Any) -> Self:
        """Draw into ``ax`` (default: a new figure); ``line`` goes to matplotlib's ``plot``.

        Returns
        -------
        Self
            The display, with ``ax_`` and ``line_`` set.
        """
        self.ax_ = axes(ax, type(self).__name__)
        self.figure_ = self.ax_.figure
        self._draw(self.ax_, **line)
        return self


def _label(name: str | None, number: str) -> str:
    return number if name is None else f"{name} ({number})"


@dataclass(eq=False)
class CostCurveDisplay(_CurveDisplay):
    """Cost curve with its lower envelope, the answers that ignore the score, and the operating point of the costs.

    Make one with ``from_estimator`` or ``from_predictions`` (parameters of :func:`cost_curve`). The thin lines are the
    thresholds on the hull, at most ``lines`` of them.

    Parameters
    ----------
    curve : CostCurve
        What to draw.
    name : str or None
        Name in the legend.
    lines : int
        Most thin lines of single thresholds to draw.

    Examples
    --------
    >>> display = CostCurveDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> display.line_.get_label()
    'area 0.125'
    """

    curve: CostCurve
    name: str | None = None
    lines: int = 60

    @classmethod
    def _of(cls, y_true: Any, y_score: Any, name: str | None, **given: Any) -> Self:
        return cls(cost_curve(y_true, y_score, **given), name)

    def _draw(self, ax: Any, **line: Any) -> None:
        curve = self.curve
        shown = np.unique(np.linspace(0, len(curve.fpr) - 1, self.lines).astype(int))
        for fpr, tpr in zip(curve.fpr[shown], curve.tpr[shown], strict=True):
            ax.plot([0, 1], [fpr, 1 - tpr], color=FAINT, alpha=0.25, linewidth=0.7)
        ax.plot([0, 0.5, 1], [0, 0.5, 0], color=FAINT, linestyle=":", label="always one answer")
        (self.line_,) = ax.plot(
            curve.x, curve.cost, **{"linewidth": 2, "label": _label(self.name, f"area {curve.area:.3f}")} | line
        )
        ax.plot([curve.operating], [curve.at(curve.operating)], "o", color=ACCENT, label="given costs")
        ax.set(xlim=(0, 1), ylim=(0, 0.52))
        label_axes(ax, "probability cost of the positives", "normalised expected cost", legend="upper right")


@dataclass(eq=False)
class BrierCurveDisplay(_CurveDisplay):
    """Brier curve: loss of probabilities taken at their word, by the cost proportion of a false negative.

    Make one with ``from_estimator`` (needs ``predict_proba``) or ``from_predictions`` (parameters of
    :func:`brier_curve`). The area is the Brier score.

    Parameters
    ----------
    curve : BrierCurve
        What to draw.
    name : str or None
        Name in the legend.

    Examples
    --------
    >>> display = BrierCurveDisplay.from_predictions([0, 1], [0.2, 0.7], name="ours")
    >>> display.line_.get_label()
    'ours (Brier 0.065)'
    """

    curve: BrierCurve
    name: str | None = None

    _needs_proba: ClassVar[bool] = True

    @classmethod
    def _of(cls, y_true: Any, y_score: Any, name: str | None, **given: Any) -> Self:
        return cls(brier_curve(y_true, y_score, **given), name)

    def _draw(self, ax: Any, **line: Any) -> None:
        curve = self.curve
        (self.line_,) = ax.plot(curve.c, curve.loss, **{"label": _label(self.name, f"Brier {curve.area:.3f}")} | line)
        ax.fill_between(curve.c, curve.loss, alpha=0.12, color=self.line_.get_color(), linewidth=0)
        ax.axvline(curve.operating, color=ACCENT, linestyle="--", linewidth=1, label="given costs")
        ax.set(xlim=(0, 1))
        ax.set_ylim(bottom=0)
        label_axes(ax, "cost proportion of a false negative", "loss")


@dataclass(eq=False)
class RocHullDisplay(_CurveDisplay):
    """ROC curve with its convex hull and the iso-cost line that touches it at the cheapest point.

    Make one with ``from_estimator`` or ``from_predictions`` (parameters of :func:`roc_hull`).

    Parameters
    ----------
    curve : RocHull
        What to draw.
    name : str or None
        Name in the legend.

    Examples
    --------
    >>> display = RocHullDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], costs={0: 1, 1: 5})
    >>> display.curve.iso_cost
    0.2
    """

    curve: RocHull
    name: str | None = None

    @classmethod
    def _of(cls, y_true: Any, y_score: Any, name: str | None, **given: Any) -> Self:
        return cls(roc_hull(y_true, y_score, **given), name)

    def _draw(self, ax: Any, **line: Any) -> None:
        curve = self.curve
        (self.line_,) = ax.plot(curve.fpr, curve.tpr, **{"label": _label(self.name, f"area {curve.area:.3f}")} | line)
        hull = curve.hull
        ax.plot(curve.fpr[hull], curve.tpr[hull], linestyle="--", linewidth=1, color=FAINT, label="convex hull")
        best = (curve.fpr[curve.best], curve.tpr[curve.best])
        if np.isfinite(curve.iso_cost):
            ax.axline(best, slope=curve.iso_cost, color=ACCENT, linewidth=1, label="equal cost")
        else:
            ax.axvline(best[0], color=ACCENT, linewidth=1, label="equal cost")
        ax.plot(*best, "o", color=ACCENT)
        ax.plot([0, 1], [0, 1], color=FAINT, linestyle=":", linewidth=1)
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
        label_axes(ax, "false positive rate", "true positive rate", legend="lower right")


@dataclass(eq=False)
class ThresholdDisplay(_CurveDisplay):
    """A measure (mean cost by default; G-mean, F, ...) over the threshold, with its best point.

    Make one with ``from_estimator`` or ``from_predictions`` (parameters of :func:`threshold_curve`).

    Parameters
    ----------
    curve : ThresholdCurve
        What to draw.
    name : str or None
        Name in the legend.

    Examples
    --------
    >>> display = ThresholdDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], costs={0: 1, 1: 5})
    >>> display.line_.get_label()
    'best 0.25 at 0.4'
    """

    curve: ThresholdCurve
    name: str | None = None

    @classmethod
    def _of(cls, y_true: Any, y_score: Any, name: str | None, **given: Any) -> Self:
        return cls(threshold_curve(y_true, y_score, **given), name)

    def _draw(self, ax: Any, **line: Any) -> None:
        curve = self.curve
        finite = curve.thresholds[:-1]
        beyond = finite[-1] + 0.03 * max(np.ptp(finite), 1e-9)  # stands for infinity: nothing is called positive
        x = np.append(finite, beyond)
        # the value holds from the previous threshold up to this one
        best = f"best {curve.best_value:.3g}" + (f" at {curve.best_threshold:.3g}" if curve.best < len(finite) else "")
        (self.line_,) = ax.plot(x, curve.values, **{"drawstyle": "steps-pre", "label": _label(self.name, best)} | line)
        ax.plot([x[curve.best]], [curve.best_value], "o", color=ACCENT)
        label_axes(ax, "threshold", words(curve.measure))
