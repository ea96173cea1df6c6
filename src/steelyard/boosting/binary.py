"""The relatives of AdaC2.M1 for two classes: where the costs enter the weights is all they differ in.

Tested in ``tests/unit/boosting/test_template.py``.
"""

from __future__ import annotations

from typing import ClassVar

from ..validation.docstrings import documented
from . import rules
from ._template import PARAMETERS, CostBoosting
from .rules import WeightRule


@documented(PARAMETERS)
class AdaC1Classifier(CostBoosting):
    """Costs inside of the exponent: D <- D exp(-+alpha c) / Z. Paper 003, reference [20].

    alpha = 1/2 log((1 + r) / (1 - r)), r = sum_right c D - sum_wrong c D, with the largest cost scaled to 1.
    Two classes; attributes as in :class:`AdaC2M1Classifier`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> model = AdaC1Classifier(DecisionTreeClassifier(max_depth=1), costs={0: 1, 1: 3})
    >>> model.fit([[0], [1], [2], [3]], [0, 1, 0, 1]).predict([[1], [3]])
    array([1, 1])
    """

    _binary_only: ClassVar[bool] = True
    _rule: ClassVar[WeightRule] = staticmethod(rules.adac1)


@documented(PARAMETERS)
class AdaC2Classifier(CostBoosting):
    """Costs outside of the exponent: D <- c D exp(-+alpha) / Z; AdaC2.M1 for two classes. Paper 003, reference [20].

    Attributes as in :class:`AdaC2M1Classifier`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> model = AdaC2Classifier(DecisionTreeClassifier(max_depth=1), costs={0: 1, 1: 3})
    >>> model.fit([[0], [1], [2], [3]], [0, 1, 0, 1]).predict([[1], [3]])
    array([1, 1])
    """

    _binary_only: ClassVar[bool] = True
    _rule: ClassVar[WeightRule] = staticmethod(rules.adac2)


@documented(PARAMETERS)
class AdaC3Classifier(CostBoosting):
    """Costs inside and outside of the exponent: D <- c D exp(-+alpha c) / Z. Paper 003, reference [20].

    alpha = 1/2 log((s + r) / (s - r)), s = sum c D, r = sum_right c^2 D - sum_wrong c^2 D, the largest cost being 1.
    Two classes; attributes as in :class:`AdaC2M1Classifier`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> model = AdaC3Classifier(DecisionTreeClassifier(max_depth=1), costs={0: 1, 1: 3})
    >>> model.fit([[0], [1], [2], [3]], [0, 1, 0, 1]).predict([[1], [3]])
    array([1, 1])
    """

    _binary_only: ClassVar[bool] = True
    _rule: ClassVar[WeightRule] = staticmethod(rules.adac3)


@documented(PARAMETERS)
class AdaCostClassifier(CostBoosting):
    """Costs adjust the exponent: D <- D exp(-+alpha beta) / Z. Paper 003, reference [4].

    beta = 1/2 - c/2 where right and 1/2 + c/2 where wrong, alpha = 1/2 log((1 + r) / (1 - r)) with
    r = sum_right beta D - sum_wrong beta D; D_1 is proportional to the costs, the largest being 1.
    Two classes; attributes as in :class:`AdaC2M1Classifier`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> model = AdaCostClassifier(DecisionTreeClassifier(max_depth=1), costs={0: 1, 1: 3})
    >>> model.fit([[0], [1], [2], [3]], [0, 1, 0, 1]).predict([[1], [3]])
    array([1, 1])
    """

    _binary_only: ClassVar[bool] = True
    _rule: ClassVar[WeightRule] = staticmethod(rules.adacost)


@documented(PARAMETERS)
class CSB0Classifier(CostBoosting):
    """Costs alone: D <- c D / Z where wrong, D / Z where right. Paper 003, reference [21].

    alpha as in AdaBoost, from the weights alone; the smallest cost is scaled to 1.
    Two classes; attributes as in :class:`AdaC2M1Classifier`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> model = CSB0Classifier(DecisionTreeClassifier(max_depth=1), costs={0: 1, 1: 3})
    >>> model.fit([[0], [1], [2], [3]], [0, 1, 0, 1]).predict([[1], [3]])
    array([1, 1])
    """

    _binary_only: ClassVar[bool] = True
    _rule: ClassVar[WeightRule] = staticmethod(rules.csb0)


@documented(PARAMETERS)
class CSB1Classifier(CostBoosting):
    """Costs and a constant rate: D <- c D exp(1) / Z where wrong, D exp(-1) / Z where right. Paper 003, reference [21].

    alpha as in AdaBoost, from the weights alone; the smallest cost is scaled to 1.
    Two classes; attributes as in :class:`AdaC2M1Classifier`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> model = CSB1Classifier(DecisionTreeClassifier(max_depth=1), costs={0: 1, 1: 3})
    >>> model.fit([[0], [1], [2], [3]], [0, 1, 0, 1]).predict([[1], [3]])
    array([1, 1])
    """

    _binary_only: ClassVar[bool] = True
    _rule: ClassVar[WeightRule] = staticmethod(rules.csb1)


@documented(PARAMETERS)
class CSB2Classifier(CostBoosting):
    """Costs where wrong: D <- c D exp(alpha) / Z where wrong, D exp(-alpha) / Z where right. Paper 003, reference [21].

    alpha as in AdaBoost, from the weights alone; the smallest cost is scaled to 1.
    Two classes; attributes as in :class:`AdaC2M1Classifier`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> model = CSB2Classifier(DecisionTreeClassifier(max_depth=1), costs={0: 1, 1: 3})
    >>> model.fit([[0], [1], [2], [3]], [0, 1, 0, 1]).predict([[1], [3]])
    array([1, 1])
    """

    _binary_only: ClassVar[bool] = True
    _rule: ClassVar[WeightRule] = staticmethod(rules.csb2)
