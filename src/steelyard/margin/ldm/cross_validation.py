"""CS-LDM with its parameters chosen by cross-validation over boxes, one factorisation a fold. Paper 004, sec. 5.2.

Tested in ``tests/unit/margin/ldm/test_estimator.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, Literal, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ...costs.rules import CostsLike
from ...validation.arrays import check_folds, check_rows, unchanged_on_error
from ...validation.docstrings import documented
from ...validation.types import ArrayLike, CVLike, LabelsLike, MatrixLike, RandomState
from ...validation.values import check_choice, invalid
from .._machine import SignClassifierMixin
from ..kernels import KERNEL, Gamma
from .dual import DualSolution, Examples, Floats
from .estimator import LDM, CSLDMClassifier, KernelChoice
from .inputs import Ready, TrainingRows, overflow_named, read_fit, read_settings, training_rows

Score = Callable[[Any, Any], float]
SCORES = ("g_mean", "accuracy", "balanced_accuracy")
FOLD_TOL = 1e-2  # relative gap of the fits on folds: answers of held-out rows do not need more
FOLD_SWEEPS = 30  # a fit on a fold that is slower goes on from there at the next larger C
SMALL = 1500  # rows up to which a Gram matrix serves linear grids quicker


class Point(NamedTuple):
    """One setting of the grid."""

    lambda1: float
    lambda2: float
    C: float
    rho: float


@documented(LDM, KERNEL)
class CSLDMClassifierCV(SignClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """:class:`CSLDMClassifier` over a grid of (lambda1, lambda2, C, rho), scored on folds. Paper 004, sec. 5.2.

    One eigendecomposition a fold serves the whole grid: lambda1 changes only its weights, the rest only the box.

    Ties go to the first point, so order grids from simple to complex.

    Parameters
    ----------
    Cs, lambda1s, lambda2s, rhos : sequence of float
        The values to try.
    scoring : {"g_mean", "accuracy", "balanced_accuracy"} or callable
        A function of (truths, answers), averaged over folds.
    cv : int, splitter or iterable
        Folds, as in scikit-learn.
    balance : {"train", "cv"} or None
        Find rho anew for the chosen parameters, as the paper does.

    Attributes
    ----------
    C_, lambda1_, lambda2_, rho_ : float
        The chosen point.
    best_score_, scores_ : float, ndarray of shape (lambda1s, lambda2s, Cs, rhos)
        Mean score over the folds.
    best_estimator_, n_fits_ : CSLDMClassifier, int
        The model of the chosen point; how many were fitted.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [0, 0, 0, 0, 1, 1]
    >>> model = CSLDMClassifierCV(cv=2).fit(X, y)
    >>> model.n_fits_, model.predict([[0.0], [5.0]])
    (162, array([0, 1]))
    """

    def __init__(
        self,
        Cs: Sequence[float] = (0.0625, 1.0, 16.0),
        lambda1s: Sequence[float] = (0.0625, 1.0, 16.0),
        lambda2s: Sequence[float] = (0.0625, 1.0, 16.0),
        rhos: Sequence[float] = (0.0, 0.5, 1.0),
        kernel: KernelChoice = "linear",
        *,
        gamma: Gamma = None,
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        scoring: str | Score = "g_mean",
        cv: CVLike = 5,
        tol: float = 1e-5,
        max_iter: int | None = None,
        costs: CostsLike | None = None,
        balance: Literal["train", "cv"] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.Cs = Cs
        self.lambda1s = lambda1s
        self.lambda2s = lambda2s
        self.rhos = rhos
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.costs = costs
        self.balance = balance
        self.random_state = random_state

    def fit(
        self, X: MatrixLike, y: LabelsLike, sample_weight: ArrayLike | None = None, *, costs: CostsLike | None = None
    ) -> Self:
        """Score the grid on held-out folds, then fit the best point on all rows."""
        with unchanged_on_error(self):
            check_rows(self, X, reset=True)
            grids = self._grids()
            if not callable(self.scoring):
                check_choice("scoring", self.scoring, SCORES, "Or give a function of truths and answers.")
            for values, name in zip(grids, ("lambda1", "lambda2", "C", "rho"), strict=True):
                for value in values:
                    read_settings(self._model(**{name: value}))
            ready = read_fit(self._model(), X, y, sample_weight, costs)
            with overflow_named():
                scores, fits = self._search(ready, np.asarray(y).ravel(), grids)
            if not np.isfinite(scores).all():
                raise invalid("scoring", "give a finite number on every fold", float(scores[~np.isfinite(scores)][0]))
            at = np.unravel_index(int(np.argmax(scores)), scores.shape)
            best = Point(*(float(grid[i]) for grid, i in zip(grids, at, strict=True)))
            model = self._model(**best._asdict(), balance=self.balance)
            model.fit(X, y, sample_weight, costs=costs)
            self.best_estimator_ = model
            self.classes_ = model.classes_
            self.lambda1_, self.lambda2_, self.C_ = best.lambda1, best.lambda2, best.C
            self.rho_, self.rho_interval_ = model.rho_, model.rho_interval_
            self.scores_, self.best_score_, self.n_fits_, self.n_iter_ = (
                scores,
                float(scores.max()),
                fits,
                model.n_iter_,
            )
        return self

    def _grids(self) -> list[tuple[float, ...]]:
        grids = []
        for name in ("lambda1s", "lambda2s", "Cs", "rhos"):
            values = tuple(np.atleast_1d(getattr(self, name)).tolist())
            if not values:
                raise invalid(name, "hold at least one value", values)
            grids.append(values)
        return grids

    def _model(self, **point: Any) -> CSLDMClassifier:
        shared = ("kernel", "gamma", "degree", "coef0", "fit_intercept", "tol", "max_iter", "costs", "random_state")
        return CSLDMClassifier(**{name: getattr(self, name) for name in shared}, **point)

    def _search(self, ready: Ready, labels: Any, grids: list[tuple[float, ...]]) -> tuple[Floats, int]:
        """Mean score of every point over the folds, and the number of problems solved."""
        data = self._data(ready)
        codes = np.searchsorted(ready.classes, labels)
        place = np.full(len(codes), -1)  # of every given row among those of positive weight
        place[slice(None) if ready.positions is None else ready.positions] = np.arange(len(ready.examples.sign))
        total = np.zeros(tuple(len(grid) for grid in grids))
        folds = check_folds(self.cv, np.zeros(len(codes)), codes)
        for train, test in folds:
            kept, held_out = place[train], place[test]
            total += self._fold(ready, data, grids, kept[kept >= 0], held_out[held_out >= 0])
        return total / len(folds), len(folds) * total.size

    def _data(self, ready: Ready) -> TrainingRows:
        if ready.spec.kernel == "linear" and ready.rows.shape[0] <= SMALL:
            return training_rows(ready.rows, ready.spec, "greedy", self.fit_intercept)
        return training_rows(ready.rows, ready.spec, ready.solver, self.fit_intercept)

    def _fold(
        self,
        ready: Ready,
        data: TrainingRows,
        grids: list[tuple[float, ...]],
        train: NDArray[np.intp],
        test: NDArray[np.intp],
    ) -> Floats:
        kept, held_out = ready.examples.rows(train), ready.examples.rows(test)
        if abs(float(kept.sign.sum())) == len(kept.sign):
            raise invalid(
                "cv", "leave both classes in every training fold", "a fold with one class", "Use fewer folds."
            )
        if len(held_out.sign) == 0:
            raise invalid("cv", "hold out rows of positive weight in every fold", "a fold without", "Use fewer folds.")
        prepare = data.prepare(kept, train)
        scores = np.empty(tuple(len(grid) for grid in grids))
        for i, lambda1 in enumerate(grids[0]):
            problem = prepare(lambda1)
            found = solve_boxes(problem, kept, grids[1], grids[2], grids[3], ready.seed)
            answers = data.scores(problem, found, train, test) > 0
            scores[i] = self._score(held_out, answers, ready.classes).reshape(scores.shape[1:])
        return scores

    def _score(self, truth: Examples, answers: NDArray[np.bool_], classes: NDArray[Any]) -> Floats:
        """One score a column of answers."""
        positive = truth.sign > 0
        if callable(self.scoring):
            labels = classes[positive.astype(np.intp)]
            return np.array([self.scoring(labels, classes[column.astype(np.intp)]) for column in answers.T])
        mass = np.array([truth.weight[~positive].sum(), truth.weight[positive].sum()])
        hits = np.stack([truth.weight[~positive] @ ~answers[~positive], truth.weight[positive] @ answers[positive]])
        if self.scoring == "accuracy":
            return np.asarray(hits.sum(axis=0) / mass.sum())
        recalls = hits[mass > 0] / mass[mass > 0, None]
        return np.asarray(recalls.mean(axis=0) if self.scoring == "balanced_accuracy" else _g_mean(recalls))

    def decision_function(self, X: MatrixLike) -> Floats:
        """f(x) of the best model: positive for ``classes_[1]``."""
        check_is_fitted(self)
        check_rows(self, X, reset=False)
        return self.best_estimator_.decision_function(X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return cast("Tags", tags)


def solve_boxes(
    problem: Any,
    examples: Examples,
    lambda2s: Sequence[float],
    Cs: Sequence[float],
    rhos: Sequence[float],
    seed: int = 0,
    *,
    tol: float = FOLD_TOL,
    sweeps: int = FOLD_SWEEPS,
) -> list[DualSolution]:
    """Every box of the grid on one H, in the order of ``product(lambda2s, Cs, rhos)``, each from its neighbour."""
    found: list[DualSolution] = []
    for lambda2 in lambda2s:
        starts: dict[float, DualSolution | None] = dict.fromkeys(rhos)
        for C, rho in product(Cs, rhos):
            box = examples.box(C, lambda2, rho)
            solution = problem.solve(
                box, tol=tol, max_iter=sweeps, start=starts[rho], solver=problem.plain_solver, seed=seed
            )
            starts[rho] = solution
            found.append(solution)
    return found


def _g_mean(recalls: Floats) -> Floats:
    return np.asarray(np.prod(recalls, axis=0) ** (1.0 / len(recalls)))
