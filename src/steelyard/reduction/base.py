"""The one template of all reductions: read the input, make the cases, solve, answer."""

from __future__ import annotations

import numbers
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from ..costs.rules import CostsLike, as_learning_costs
from ..evaluate.classifier_mixin import CostClassifierMixin
from ..margin.kernels import DTYPES, Gamma, KernelFunction, KernelName, kernel_spec
from ..validation.arrays import (
    check_base_rows,
    check_finite,
    check_folds,
    check_labels,
    check_rows,
    check_same_length,
    check_sample_weight,
    take_rows,
    unchanged_on_error,
)
from ..validation.types import ArrayLike, CVLike, Estimator, LabelsLike, MatrixLike
from ..validation.values import check_choice, check_count, check_number, invalid
from ._learners import train
from .deduplication import Deduplication
from .scheme import CostExamples, Floats, ReductionScheme, SolvedProblems
from .svm_backend import ColumnCache, SharedGram

PAPER_LAMS: Floats = 2.0 ** np.arange(17.0, -4.0, -2.0)  # paper 002, sec. 5
DEFAULT_LAMS: Floats = 2.0 ** np.arange(17.0, -12.0, -2.0)


PARAMETERS = {  # of all reductions, for ``documented``
    "estimator": (
        "classifier or None",
        "Any that takes ``sample_weight``; None for a support vector machine on one shared Gram matrix.",
    ),
    "costs": (
        "Costs, cost rule, mapping, array-like or None",
        "What mistakes cost, ``C[true, predicted]``; 0/1 costs if None. ``fit(costs=)`` wins.",
    ),
    "lam": ("float above 0", "Weight of the regulariser of the support vector machines; large is smooth."),
    "tol": (
        "float above 0",
        "Largest violation of the optimality conditions, times the spread of the decisions where that is below 1.",
    ),
    "dtype": ('{"float32", "float64"}', "Precision of the Gram matrix, which holds examples that repeat once."),
    "cache_mb": ("float above 0", "Memory it may take before columns are computed on demand."),
    "n_jobs": ("int or None", "Sub-problems solved at the same time."),
    "lams": (
        'sequence of float, "paper" or None',
        'The path: 2^17, 2^15, ..., 2^-11 if None; "paper" stops at 2^-3. Among equals the largest is chosen.',
    ),
    "cv": ("int, splitter or iterable", "Number of stratified folds, a scikit-learn splitter or (train, test) pairs."),
}


class SVMBackend(Protocol):
    """Something that trains support vector machines for all sub-problems of a plan, lam by lam."""

    def path(self, plan: ReductionScheme, cases: CostExamples, lams: Sequence[float] | Floats) -> list[Any]:
        """Machines for every lam, trained on the cases that have weight."""
        ...

    def scores(self, path: list[Any], at: NDArray[np.intp]) -> list[Floats]:
        """Scores (n, m) of the machines of every lam at these rows."""
        ...

    def solution(self, machines: Any, /) -> SolvedProblems:
        """The machines as a fitted estimator keeps them."""
        ...


@dataclass(eq=False, repr=False, kw_only=True)
class Reduction(CostClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What all reductions share; a subclass brings its plan."""

    costs: CostsLike | None = None
    kernel: KernelName | KernelFunction = "perceptron"
    gamma: Gamma = None
    degree: int = 3
    coef0: float = 0.0
    tol: float = 1e-3
    dtype: str = "float32"
    cache_mb: float = 4000.0
    n_jobs: int | None = None

    @abstractmethod
    def _plan(self, classes: NDArray[Any]) -> ReductionScheme: ...

    @abstractmethod
    def _learn(self, rows: Any, cases: CostExamples, plan: ReductionScheme) -> dict[str, Any]:
        """Solve for the cases; fitted attributes by name."""

    def fit(
        self, X: MatrixLike, y: LabelsLike, sample_weight: ArrayLike | None = None, *, costs: CostsLike | None = None
    ) -> Self:
        """Learn from rows, labels and costs; ``costs`` (n, K) or :class:`Costs` wins over the parameter."""
        with unchanged_on_error(self):
            rows = self._read(X, reset=True)
            classes, codes = check_labels(y)
            check_same_length(X=rows, y=codes)
            if len(classes) < 2:
                raise invalid("y", "hold two or more classes", classes.tolist(), "With one class there is no choice.")
            weight = check_sample_weight(sample_weight, len(codes))
            cases = CostExamples(
                as_learning_costs(self.costs, y, classes, per_example=costs).per_example(y), codes, weight
            )
            plan = self._plan(classes)
            fitted = self._learn(rows, cases, plan)
            limits = float(cases.table.min()), float(cases.table.max())  # the costs that were learned from
            for name, value in {"classes_": classes, "plan_": plan, "cost_limits_": limits, **fitted}.items():
                setattr(self, name, value)
        return self

    def decision_function(self, X: MatrixLike) -> Floats:
        """How much each class is preferred, (n, K); for two classes the second over the first, (n,)."""
        check_is_fitted(self)
        preference: Floats = self.plan_.preference(self.solution_.scores(self._read(X, reset=False)))
        return preference[:, 1] - preference[:, 0] if len(self.classes_) == 2 else preference

    def predict(self, X: MatrixLike) -> NDArray[Any]:
        """The preferred class of every row; ties go to the first."""
        check_is_fitted(self)
        answers = self.plan_.predict(self.solution_, self._read(X, reset=False))
        return np.asarray(self.classes_[answers])

    def _read(self, X: Any, *, reset: bool) -> Any:
        return check_rows(self, X, reset=reset)

    def _machines(self, rows: Any, cases: CostExamples) -> tuple[Deduplication, SVMBackend]:
        if self.kernel == "precomputed" and rows.shape[0] != rows.shape[1]:
            raise invalid("X", "be a square kernel matrix at fit", f"shape {rows.shape}", "Or use another kernel=.")
        spec = kernel_spec(self.kernel, rows, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        itemsize = DTYPES[check_choice("dtype", self.dtype, tuple(DTYPES))].itemsize
        limit = check_number("cache_mb", self.cache_mb, above=0)
        tol = check_number("tol", self.tol, above=0)
        repeats = Deduplication.found(rows, cases) if spec.is_native else Deduplication.none(len(cases))
        distinct = take_rows(rows, repeats.first)
        if spec.is_native and itemsize * distinct.shape[0] ** 2 > limit * 2**20:
            return repeats, ColumnCache(distinct, spec, dtype=self.dtype, tol=tol, cache_mb=limit)
        return repeats, SharedGram(distinct, repeats.first, spec, dtype=self.dtype, tol=tol, n_jobs=self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


@dataclass(eq=False, repr=False)
class ReductionClassifier(Reduction):
    """A reduction to any base learner, or to support vector machines of one ``lam``."""

    estimator: Estimator | None = field(default=None, kw_only=False)
    lam: float = field(default=1.0, kw_only=True)

    def _learn(self, rows: Any, cases: CostExamples, plan: ReductionScheme) -> dict[str, Any]:
        if self.estimator is not None:
            return {"solution_": train(plan, rows, cases, self.estimator, self.n_jobs)}
        lam = check_number("lam", self.lam, above=0)
        repeats, machines = self._machines(rows, cases)
        return {"solution_": machines.solution(machines.path(plan, repeats.merged(cases), [lam])[0])}

    def _read(self, X: Any, *, reset: bool) -> Any:
        if self.estimator is None:
            return super()._read(X, reset=reset)
        return check_base_rows(self, X, reset=reset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags


@dataclass(eq=False, repr=False)
class ReductionClassifierCV(Reduction):
    """A reduction to support vector machines with the ``lam`` of least cross-validated cost."""

    lams: ArrayLike | str | None = field(default=None, kw_only=True)
    cv: CVLike = field(default=5, kw_only=True)

    def _learn(self, rows: Any, cases: CostExamples, plan: ReductionScheme) -> dict[str, Any]:
        lams = read_lams(self.lams)
        folds = read_folds(self.cv, rows, cases.codes)
        repeats, machines = self._machines(rows, cases)
        held_out = np.array([cases.weight[test].sum() for _, test in folds])
        costs = np.column_stack([fold_costs(machines, plan, repeats, cases, lams, *fold) for fold in folds])
        best = int((costs @ held_out).argmin())
        solution = machines.solution(machines.path(plan, repeats.merged(cases), lams[best : best + 1])[0])
        return {"lams_": lams, "cv_costs_": costs, "lam_": float(lams[best]), "solution_": solution}


def fold_costs(
    machines: SVMBackend,
    plan: ReductionScheme,
    repeats: Deduplication,
    cases: CostExamples,
    lams: Floats,
    training: NDArray[np.intp],
    test: NDArray[np.intp],
) -> Floats:
    """Mean cost of the held-out examples under the machines of every lam."""
    if not cases.weight[training].any():
        raise invalid("cv", "leave examples of positive weight to learn from", "a fold without any", "Use fewer folds.")
    path = machines.path(plan, repeats.merged(cases, training), lams)
    asked = np.unique(repeats.of[test])
    held_out = repeats.merged(cases, test).take(asked)
    share = held_out.weight / (held_out.weight.sum() or 1.0)
    answers = [plan.answer(scores) for scores in machines.scores(path, asked)]
    return np.array([share @ held_out.table[np.arange(len(asked)), answer] for answer in answers])


def read_lams(lams: Any) -> Floats:
    """The path from the largest to the smallest."""
    if lams is None:
        return DEFAULT_LAMS
    if isinstance(lams, str):
        if lams != "paper":
            raise invalid("lams", 'be None, "paper" or positive numbers', lams)
        return PAPER_LAMS
    if isinstance(lams, numbers.Real):
        lams = [lams]
    try:
        path = np.unique(np.asarray(lams, dtype=np.float64))[::-1]
    except (TypeError, ValueError, OverflowError):
        raise invalid("lams", 'be None, "paper" or positive numbers', lams) from None
    check_finite("lams", path)
    if path.ndim != 1 or len(path) == 0 or path[-1] <= 0:
        raise invalid("lams", 'be None, "paper" or positive numbers', lams)
    return path


def read_folds(cv: Any, X: Any, codes: NDArray[np.intp]) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """(training, held-out) positions. A number deals out the examples of each class in turn."""
    if not isinstance(cv, numbers.Integral):
        return check_folds(cv, X, codes)
    n_folds = check_count("cv", cv, at_least=2)
    if n_folds > len(codes):
        raise invalid("cv", f"be at most the number of examples, {len(codes)}", cv, "Use fewer folds.")
    fold_of = np.empty(len(codes), dtype=np.intp)
    fold_of[np.argsort(codes, kind="stable")] = np.arange(len(codes)) % n_folds
    return [(np.flatnonzero(fold_of != f), np.flatnonzero(fold_of == f)) for f in range(n_folds)]
