"""One-vs-all: each class against the rest, whatever mistakes cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..margin.kernels import KERNEL
from ..validation.docstrings import documented
from .base import PARAMETERS, ReductionClassifier, ReductionClassifierCV
from .scheme import CostExamples, Floats, ReductionScheme, SubProblem


@dataclass(frozen=True)
class OneVsAll(ReductionScheme):
    """One two-class problem for each class; the highest score wins."""

    n_classes: int
    weighted = False

    def problems(self, stage: int, cases: CostExamples, scores: Floats) -> list[SubProblem]:
        """For every class: is it the true one? The costs are wiped out. Paper 002, sec. 4."""
        return [SubProblem.of(np.where(cases.codes == k, 1.0, -1.0), cases.weight) for k in range(self.n_classes)]

    def preference(self, scores: Floats) -> Floats:
        """The scores themselves."""
        return scores


class _OneVsAllParameters:
    def _plan(self, classes: NDArray[np.generic]) -> OneVsAll:
        return OneVsAll(len(classes))


@documented(PARAMETERS, KERNEL)
@dataclass(eq=False, repr=False)
class OneVsAllClassifier(_OneVsAllParameters, ReductionClassifier):
    """One-vs-all (OVA): K two-class problems, the highest score wins, ties go to the first class.

    Costs play no part in training; it is the cost-blind rival the other reductions are measured against, and
    :class:`OneSidedClassifier` with the costs c[k] = 2 [y != k] - 1. Paper 002, sec. 4 (OVA-SVM).

    Parameters
    ----------
    estimator : classifier or None
        None for a support vector machine on one shared Gram matrix. It is scored by ``decision_function``, else
        ``predict_proba``, else ``predict``.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> model = OneVsAllClassifier(GaussianNB())
    >>> model.fit([[0.0], [0.2], [1.0], [1.2], [2.0], [2.2]], list("aabbcc")).predict([[0.1], [2.1]])
    array(['a', 'c'], dtype='<U1')
    """


@documented(PARAMETERS, KERNEL)
@dataclass(eq=False, repr=False)
class OneVsAllClassifierCV(_OneVsAllParameters, ReductionClassifierCV):
    """:class:`OneVsAllClassifier` as a support vector machine whose ``lam`` is chosen by cross-validated cost.

    The costs are used for that choice only. Paper 002, sec. 5.2 (OVA-SVM). Attributes are those of
    :class:`OneSidedClassifierCV`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OneVsAllClassifierCV(lams="paper").fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """
