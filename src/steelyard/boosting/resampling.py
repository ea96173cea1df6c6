"""What a round of boosting does to the weight of every class, right and wrong. Paper 003, Figures 2 and 3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..costs.rules import CostsLike
from ..evaluate._drawing import axes, label_axes
from ..validation.arrays import check_same_length, check_sample_weight
from ..validation.docstrings import documented
from ..validation.types import ArrayLike, Estimator, LabelsLike, MatrixLike
from ..validation.values import check_count, invalid
from ._template import CostBoosting
from .rules import Floats, reweighted, scaled, total

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STAGES = ("before", "after the costs", "after the round")


@dataclass(eq=False)
class ResamplingDisplay:
    """The share of the weight that each class has among right and wrong answers, before and after a round.

    After a round of AdaBoost.M1 or AdaC2.M1 half of the weight lies on the wrong answers (eqs. (33) and (34)); the
    costs first move weight between the classes. Paper 003, Figures 2 and 3.

    Parameters
    ----------
    shares : ndarray of shape (3, K, 2)
        Weight before, after the costs and after the round; by class; of right and wrong answers. Each sums to 1.
    classes : ndarray of shape (K,)
        The labels.
    round_number : int
        The round, from 1.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from steelyard import AdaBoostM1Classifier
    >>> X, y = [[0], [1], [2], [3]], ["a", "b", "b", "a"]
    >>> model = AdaBoostM1Classifier(DecisionTreeClassifier(max_depth=1), n_estimators=3).fit(X, y)
    >>> ResamplingDisplay.of_estimator(model, X, y).shares[2].sum(axis=0).round(6).tolist()
    [0.5, 0.5]
    """

    shares: Floats
    classes: NDArray[Any]
    round_number: int

    @classmethod
    def of_estimator(
        cls,
        model: Estimator,
        X: MatrixLike,
        y: LabelsLike,
        *,
        round_number: int = 1,
        sample_weight: ArrayLike | None = None,
        costs: CostsLike | None = None,
    ) -> ResamplingDisplay:
        """The weights of a fitted model, replayed on its training rows; not drawn yet.

        Parameters
        ----------
        model : AdaC2M1Classifier, AdaBoostM1Classifier or a relative
            Fitted to these rows.
        X : array-like of shape (n, d)
            The training rows.
        y : array-like of shape (n,)
            Their labels.
        round_number : int
            The round, from 1 to the number of hypotheses.
        sample_weight : array-like of shape (n,) or None
            As given to ``fit``.
        costs : array-like or None
            As given to ``fit``.

        Returns
        -------
        ResamplingDisplay
            Ready to plot.
        """
        if not isinstance(model, CostBoosting):
            raise invalid("model", "be a boosted classifier of this library", model)
        check_is_fitted(model)
        last = check_count("round_number", round_number)
        if last > len(model.estimators_):
            raise invalid("round_number", f"be at most {len(model.estimators_)}, the rounds of the model", round_number)
        labels = np.asarray(y)
        codes = (labels[:, None] == model.classes_).argmax(axis=1)
        if not (model.classes_[codes] == labels).all():
            raise invalid("y", f"hold the classes {model.classes_.tolist()}", labels)
        weight = check_sample_weight(sample_weight, len(codes))
        columns = type(model)._rule(model._example_costs(model.classes_, codes, weight, costs))
        size = total(weight)
        D = weight if (columns.first == 1).all() else scaled(weight * columns.first, size)
        for number, answers in enumerate(model._answers(X), start=1):
            check_same_length(X=answers, y=codes)
            right = answers == codes
            after, _ = reweighted(D, columns, right, float(model.estimator_weights_[number - 1]), size)
            if number == last:
                priced = scaled(D * np.where(right, columns.carried_right, columns.carried_wrong), size)
                stages = [_by_class(weights, codes, right, len(model.classes_)) for weights in (D, priced, after)]
                return cls(np.array(stages) / size, model.classes_, last)
            D = after
        raise AssertionError

    @classmethod
    @documented()
    def from_estimator(
        cls, model: Estimator, X: MatrixLike, y: LabelsLike, *, ax: Axes | None = None, **given: Any
    ) -> ResamplingDisplay:
        """Draw the weights of a fitted model.

        Parameters
        ----------
        model : AdaC2M1Classifier, AdaBoostM1Classifier or a relative
            Fitted to these rows.
        X : array-like of shape (n, d)
            The training rows.
        y : array-like of shape (n,)
            Their labels.
        **given : Any
            As of :meth:`of_estimator`.

        Returns
        -------
        ResamplingDisplay
            The display, drawn.
        """
        return cls.of_estimator(model, X, y, **given).plot(ax=ax)

    @documented()
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw a bar for right and one for wrong answers at every stage, cut by class.

        Returns
        -------
        Self
            The display, with ``ax_`` and ``bars_`` set.
        """
        self.ax_ = axes(ax, "ResamplingDisplay")
        self.figure_ = self.ax_.figure
        place = (np.arange(3)[:, None] * 3 + np.arange(2)).ravel()
        bottom = np.zeros(6)
        self.bars_: list[Any] = []
        for k, label in enumerate(self.classes.tolist()):
            heights = self.shares[:, k, :].ravel()
            self.bars_.append(self.ax_.bar(place, heights, bottom=bottom, width=0.9, label=str(label)))
            bottom = bottom + heights
        self.ax_.set_xticks(place, ["right", "wrong"] * 3, fontsize="small")
        self.ax_.set_xticks(
            place.reshape(3, 2).mean(axis=1), [f"\n{stage}" for stage in STAGES], minor=True, fontsize="small"
        )
        self.ax_.tick_params(axis="x", which="minor", length=0)
        self.ax_.axhline(0.5, color="black", linewidth=0.6)
        label_axes(self.ax_, f"round {self.round_number}", "share of the weight")
        return self


def _by_class(weights: Floats, codes: NDArray[np.intp], right: NDArray[np.bool_], n_classes: int) -> Floats:
    return np.column_stack([np.bincount(codes, weights * part, n_classes) for part in (right, ~right)])
