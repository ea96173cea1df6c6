"""Cost-sensitive SVM: a box as wide as a mistake on the example is costly. Papers 002 and 004."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..costs import as_costs
from ..costs.rules import CostsLike
from ..errors import CostsError
from ..validation.arrays import check_labels, check_same_length, check_sample_weight, unchanged_on_error
from ..validation.docstrings import documented
from ..validation.types import ArrayLike, LabelsLike, MatrixLike
from ..validation.values import check_number, invalid
from ._machine import SOLVER, KernelMachine, SignClassifierMixin
from .kernels import KERNEL, Gamma, KernelFunction, KernelName
from .path import MAX_ITER, Floats, weights_in_range


@documented(KERNEL, SOLVER)
class CSSVMClassifier(SignClassifierMixin, KernelMachine):
    """Two-class SVM whose loss is weighted by cost: min 1/2 |w|^2 + C sum_i cost_i weight_i max(0, 1 - y_i f(x_i)).

    The CS-SVM of paper 004, section 4. cost_i is what the wrong answer costs more than the right one for example i;
    where per-example costs make the other class the cheaper answer, that class is learned.

    Parameters
    ----------
    C : float above 0
        Weight of the losses.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The classes, sorted.
    support_, support_vectors_, dual_coef_, intercept_ : ndarray, rows, ndarray, float
        f(x) = dual_coef_ @ K(support_vectors_, x) + intercept_.
    dual_objective_, duality_gap_, violation_, n_iter_ : float, float, float, int
        How the solver ended.

    Examples
    --------
    >>> X, y = [[0.0], [2.0], [3.0], [5.0]], [0, 1, 0, 1]
    >>> CSSVMClassifier(kernel="linear", costs={0: 1.0, 1: 10.0}).fit(X, y).predict(X)
    array([0, 1, 1, 1])
    """

    def __init__(
        self,
        C: float = 1.0,
        kernel: KernelName | KernelFunction = "rbf",
        *,
        gamma: Gamma = None,
        degree: int = 3,
        coef0: float = 0.0,
        costs: CostsLike | None = None,
        tol: float = 1e-3,
        dtype: str = "float32",
        cache_mb: float = 1000.0,
        max_iter: int = MAX_ITER,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.costs = costs
        self.tol = tol
        self.dtype = dtype
        self.cache_mb = cache_mb
        self.max_iter = max_iter

    def fit(
        self, X: MatrixLike, y: LabelsLike, sample_weight: ArrayLike | None = None, *, costs: CostsLike | None = None
    ) -> Self:
        """Learn from rows, two-class labels, weights and per-example costs (which win over the parameter)."""
        with unchanged_on_error(self):
            rows = self._check_training_rows(X)
            classes, codes = check_labels(y)
            check_same_length(X=rows, y=codes)
            if len(classes) != 2:
                raise invalid(
                    "y",
                    "have two classes",
                    f"{len(classes)} classes" if len(classes) != 1 else f"one class, {classes.tolist()[0]!r}",
                    "Only binary classification is supported. "
                    "For more classes use a reduction, e.g. OneVsAllClassifier.",
                )
            sign, cost = _cheaper_answer(as_costs(self.costs, y, classes, per_example=costs).per_example(y), codes)
            weight = cost * check_sample_weight(sample_weight, len(codes))
            if not (weight > 0).any():
                raise invalid("costs", "make some mistake of positive weight costlier", "none", error=CostsError)
            C = check_number("C", self.C, above=0)
            with weights_in_range("C", C):
                reach = C * weight
            self._train(rows, -sign, np.where(sign > 0, 0.0, -reach), np.where(sign > 0, reach, 0.0))
            self.classes_ = classes
        return self

    def decision_function(self, X: MatrixLike) -> Floats:
        """f(x): positive for ``classes_[1]``."""
        return self._decide(X)


def _cheaper_answer(table: Floats, codes: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Sign of the answer that costs less, and by how much; the true class where both cost the same."""
    extra = table[:, 0] - table[:, 1]
    return np.where(extra == 0, 2.0 * codes - 1.0, np.sign(extra)), np.abs(extra)
