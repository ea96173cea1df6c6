"""AdaC2.M1 and its case of equal costs, AdaBoost.M1: boosting with costs over any number of classes. Paper 003.

Tested in ``tests/unit/boosting/test_template.py``.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ..costs import InverseFrequency
from ..validation.types import ArrayLike, Estimator, LabelsLike, MatrixLike, RandomState
from ._template import CostBoosting
from .rules import WeightRule, adac2


class AdaC2M1Classifier(CostBoosting):
    """Boosting that carries the cost of its class with every example: D <- c D exp(-+alpha) / Z.

    alpha = 1/2 log(sum_right c D / sum_wrong c D), and the answer is the class with the largest sum of alphas.
    Only the ratios of costs matter, and they work anew in every round: costs belong to their number of rounds.
    Paper 003, eqs. (15), (26), (31), (32).

    Parameters
    ----------
    estimator : estimator or None
        Any classifier whose ``fit`` takes ``sample_weight``; C4.5 if None.
    n_estimators : int
        Most rounds, >= 1; ``stop_reason_`` says why it ended: "n_estimators", "perfect" (nothing wrong; that
        hypothesis votes with 1) or "weak" (a hypothesis no better than chance is dropped, unless it is the first).
    costs : Costs, cost rule, mapping, array-like or None
        A matrix becomes class costs by eq. (25), c(i) = sum_j C(i, j). None: (n_min / n_k)^0.5, on held-out data as
        good as searched costs.
    classes : sequence of labels or None
        All classes in the order in which ties are decided, in the vote and in the trees of C4.5: the first wins. None:
        sorted. ``classes_`` has this order.
    random_state : int, Generator or None
        Seed or source of random numbers.

    Attributes
    ----------
    estimators_, estimator_weights_ : list, ndarray
        The hypotheses and their alphas.
    normalisers_ : ndarray
        Z of every round, eqs. (17) and (29), the largest cost being 1.
    error_bound_ : float
        What the training error cannot exceed: the first bound of eq. (30), product of Z times the sum of D / c^T, which
        is the mean of exp(-margin); :func:`error_bound` has it round by round.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AdaC2M1Classifier(DecisionTreeClassifier(max_depth=2), costs={0: 1, 1: 1, 2: 2}, n_estimators=3)
    >>> model.fit(X, y).stop_reason_
    'n_estimators'
    """

    _rule: ClassVar[WeightRule] = staticmethod(adac2)


class AdaBoostM1Classifier(CostBoosting):
    """AdaBoost.M1: AdaC2.M1 with equal costs. Paper 003, eqs. (11) - (15).

    Parameters and attributes as in :class:`AdaC2M1Classifier`, without costs.

    Parameters
    ----------
    estimator : estimator or None
        Any classifier whose ``fit`` takes ``sample_weight``; C4.5 if None.
    n_estimators : int
        Most rounds, >= 1.
    classes : sequence of labels or None
        As for :class:`AdaC2M1Classifier`.
    random_state : int, Generator or None
        Seed or source of random numbers.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> model = AdaBoostM1Classifier(DecisionTreeClassifier(max_depth=1), n_estimators=5)
    >>> model.fit([[0], [1], [2], [3]], ["a", "b", "b", "a"]).predict([[0], [2]]).tolist()
    ['a', 'b']
    """

    _rule: ClassVar[WeightRule] = staticmethod(adac2)

    def __init__(
        self,
        estimator: Estimator | None = None,
        n_estimators: int = 10,
        *,
        classes: LabelsLike | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.classes = classes
        self.random_state = random_state

    def fit(self, X: MatrixLike, y: LabelsLike, sample_weight: ArrayLike | None = None) -> AdaBoostM1Classifier:  # type: ignore[override]
        """Boost on rows ``X`` and labels ``y``; ``sample_weight`` counts as copies of an example."""
        super().fit(X, y, sample_weight)
        return self

    def _class_level_costs(self) -> Any:
        return InverseFrequency(0.0)  # every mistake costs the same
