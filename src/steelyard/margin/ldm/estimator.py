"""CS-LDM and LDM: large margins whose whole distribution counts. Paper 004."""

from __future__ import annotations

import copy
import warnings
from functools import cache
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ...costs.rules import CostsLike
from ...validation.arrays import (
    Rows,
    check_classes,
    check_rows,
    check_same_length,
    check_scores,
    unchanged_on_error,
)
from ...validation.docstrings import documented
from ...validation.types import ArrayLike, LabelsLike, MatrixLike, RandomState
from ...validation.values import invalid
from .._machine import SignClassifierMixin
from ..kernels import KERNEL, Gamma, KernelFunction, KernelSpec, gram_of
from .balance import Advantage, Balance, Solve, balance_point, cross_validated_advantage, training_advantage
from .dual import DualSolution, Examples, Floats, refine
from .inputs import (
    LDMSettings,
    Ready,
    TrainingRows,
    check_in_range,
    overflow_named,
    read_examples,
    read_fit,
    read_settings,
    seed_of,
    training_rows,
    two_classes,
)
from .pairs import pair_cross_validated_advantage, pair_problem, pair_training_advantage
from .sgd import LossScale, PairRows, PairSgd

KernelChoice = Literal["linear", "rbf", "poly", "precomputed"] | KernelFunction
LDM = {  # what the parameters of LDM mean, for ``documented``
    "kernel": (
        '{"linear", "rbf", "poly", "precomputed"} or callable',
        'As in :func:`gram`; positive semi-definite, so not "perceptron".',
    ),
    "fit_intercept": ("bool", "Add a feature of 1."),
    "tol": ("float above 0", "Duality gap, relative to the terms of the objective."),
    "max_iter": ("int or None", "Sweeps of the solver; None is 1000, and 5 for asgd."),
    "balance": ('{"train", "cv"} or None', "Find the rho at which both classes are recognised equally."),
}
DECIDE_AT_ONCE = 1 << 23  # kernel values held while deciding
AT_THE_HINGE = 1e-3  # margins this near to 1 belong to free examples
SWEEP_TOL = 1e-3  # relative gap while rho is sought
NEARLY_EVEN, FEW_ROWS = 0.005, 2000  # of a balance point: difference of the recalls; rows that are quick to solve


@documented(LDM, KERNEL)
class CSLDMClassifier(SignClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Cost-sensitive large margin distribution machine for two classes. Paper 004, eq. (4); rho = 0 is LDM.

    min 1/2 |w|^2 + lambda1 variance - (lambda2 / m) sum_i theta_i gamma_i + C sum_i theta_i max(0, 1 - gamma_i), with
    margins gamma_i = y_i f(x_i) and theta = (m- / m+)^rho for positives, its inverse for negatives, times the cost of a
    mistake on example i. The variance is the paper's: twice the usual one.

    Parameters
    ----------
    C : float, at least 0
        Weight of the losses.
    lambda1 : float, at least 0
        Weight of the variance of the margins.
    lambda2 : float, at least 0
        Weight of their mean.
    rho : float
        Power of the ratio of the classes; 0 is LDM.
    solver : str
        "auto" or, for kernels, "greedy", "algorithm1", "interior", and for linear also "newton", "cd", "sdca", "asgd".

    Attributes
    ----------
    coef_, intercept_ : ndarray, float
        Of the linear model; of a kernel's ``dual_coef_``, ``support_`` and ``support_vectors_``.
    rho_, rho_interval_ : float, tuple
        The rho used, and where ``balance`` found both classes recognised equally.
    solver_, objective_, duality_gap_, n_iter_ : str, float, float or None, int
        How the solver ended; asgd knows no gap.
    margin_mean_, margin_variance_ : float
        Of the margins of the training rows; the variance is the usual one.
    bounded_share_ : ndarray of shape (2,)
        By class the share of training rows with mu = C theta, which the training error does not exceed and whose mean
        bounds the expected error (eq. (21)).

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [0, 0, 0, 0, 1]
    >>> model = CSLDMClassifier(C=10.0, rho=1.0).fit(X, y)
    >>> model.predict(X), model.solver_
    (array([0, 0, 0, 1, 1]), 'newton')
    """

    def __init__(
        self,
        C: float = 1.0,
        lambda1: float = 1.0,
        lambda2: float = 1.0,
        rho: float = 0.5,
        kernel: KernelChoice = "linear",
        *,
        gamma: Gamma = None,
        degree: int = 3,
        coef0: float = 0.0,
        solver: str = "auto",
        fit_intercept: bool = True,
        tol: float = 1e-5,
        max_iter: int | None = None,
        costs: CostsLike | None = None,
        balance: Literal["train", "cv"] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.C = C
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.rho = rho
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.costs = costs
        self.balance = balance
        self.random_state = random_state

    objective_: float | None
    duality_gap_: float | None
    support_: NDArray[np.intp]
    dual_coef_: Floats
    coef_: Floats

    # -- learning ----------------------------------------------------------------------------------------------------

    def fit(
        self, X: MatrixLike, y: LabelsLike, sample_weight: ArrayLike | None = None, *, costs: CostsLike | None = None
    ) -> Self:
        """Learn from rows, two-class labels, weights and per-example costs (which win over the parameter)."""
        with unchanged_on_error(self):
            ready = read_fit(self, X, y, sample_weight, costs)
            with overflow_named():
                if ready.solver == "asgd":
                    self._fit_pairs(ready)
                else:
                    self._fit_dual(ready, training_rows(ready.rows, ready.spec, ready.solver, self.fit_intercept))
            self.classes_, self._seen = ready.classes, _class_weights(ready.examples)
            if ready.spec.kernel == "precomputed" and ready.positions is not None:
                self.support_ = ready.positions[self.support_]
        return self

    def _fit_dual(self, ready: Ready, data: TrainingRows) -> None:
        problem = data.prepare(ready.examples)(ready.settings.lambda1)
        rho, interval = ready.settings.rho, (ready.settings.rho, ready.settings.rho)
        if self.balance is not None:
            rho, interval, _ = self._balanced(ready, data, problem)
        found = ready.solve(problem, self.solver, ready.examples, rho, None, ready.settings.tol)
        if found.solver != "sdca":
            found = refine(problem, found, ready.settings.box(ready.examples, rho))
        self._warn_unless_converged(found, ready.settings)
        self.rho_, self.rho_interval_ = rho, interval
        self.solver_, self.n_iter_ = found.solver, max(1, found.n_iter)
        self.objective_, self.duality_gap_ = found.certificate.objective, found.certificate.gap
        learned = problem.coefficients(found.nu) if found.w is None else found.w
        self._keep(learned, ready.rows, ready.spec, is_weights=found.w is not None)
        self._keep_margins(found.margins, ready.examples)

    def _balanced(self, ready: Ready, data: TrainingRows, problem: Any) -> Balance:
        """The balance point; of many rows sought on rough solutions that begin with their neighbours'.

        Under a small C nearly all of the objective is the hinge's constant: a neighbour's solution then passes as it
        is, and the search is lost. Where solutions from scratch contradict what it found, all are made from scratch.
        """

        few = len(ready.examples.sign) <= FEW_ROWS
        # Where Newton stalls, its weights are better than its certificate: recalls do not need the interior point.
        solver = "newton" if ready.solver == "newton" and not few else self.solver

        def nearly(problem: Any, examples: Examples, rho: float, start: DualSolution | None) -> DualSolution:
            return ready.solve(problem, solver, examples, rho, start, max(ready.settings.tol, SWEEP_TOL))

        def from_scratch(problem: Any, examples: Examples, rho: float, _: DualSolution | None) -> DualSolution:
            return ready.solve(problem, solver, examples, rho, None, ready.settings.tol)

        def advantage(solve: Solve) -> Advantage:
            if self.balance == "train":
                return cache(training_advantage(problem, ready.examples, solve))
            return cache(cross_validated_advantage(data, ready.examples, ready.settings.lambda1, solve, ready.seed))

        closely = advantage(from_scratch)
        if few:
            return balance_point(closely)
        found = balance_point(advantage(nearly))
        low, high = found.interval
        crosses = closely(low) <= NEARLY_EVEN and closely(high) >= -NEARLY_EVEN
        agrees = crosses and abs(closely(found.rho)) <= abs(found.advantage) + NEARLY_EVEN
        return found if agrees else balance_point(closely)

    def _fit_pairs(self, ready: Ready) -> None:
        problem = pair_problem(ready, bool(self.fit_intercept))
        rho, interval = ready.settings.rho, (ready.settings.rho, ready.settings.rho)
        if self.balance is not None:
            seek = pair_training_advantage if self.balance == "train" else pair_cross_validated_advantage
            rho, interval, _ = balance_point(cache(seek(problem)))
        found = problem.solve(rho)
        self._keep_stream(found.stream, found.epochs, rho)
        self.rho_interval_, self.objective_ = interval, found.objective
        self._keep_margins(found.margins, ready.examples)

    def partial_fit(
        self,
        X: MatrixLike,
        y: LabelsLike,
        classes: LabelsLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        costs: CostsLike | None = None,
    ) -> Self:
        """One pass of averaged stochastic gradient descent over a chunk of a stream; linear kernel only.

        ``classes`` names both labels, at the first call or earlier than they both occur. m and theta are those of all
        rows seen so far; the pairs behind the variance are drawn within the chunk.
        """
        if self.kernel != "linear":
            raise invalid("kernel", "be 'linear' for partial_fit", self.kernel, "Use fit for other kernels.")
        if self.balance is not None:
            hint = "The point is sought over all rows: use fit, or set rho."
            raise invalid("balance", "be None for partial_fit", self.balance, hint)
        with unchanged_on_error(self):
            first = not hasattr(self, "classes_")
            settings = read_settings(self)
            rows = check_rows(self, X, reset=first, dtype=np.float64)
            stated = None if classes is None else check_classes(classes)
            known = two_classes(y, stated if first else self.classes_)
            if stated is not None and not np.array_equal(stated, known):
                raise invalid("classes", f"stay {known.tolist()}", classes)
            examples = read_examples(self, rows, y, known, sample_weight, costs)
            keep = examples.weight > 0
            rows, examples = rows[keep], examples.rows(np.flatnonzero(keep))
            seen = getattr(self, "_seen", np.zeros(2)) + _class_weights(examples)
            power = (seen[0] / seen[1]) ** (settings.rho * examples.sign) if seen.all() else 1.0
            data = PairRows(rows, examples.sign, examples.cost * power, bool(self.fit_intercept))
            count = len(data.sign)
            stream = self._stream(data.width, count)
            pulls = LossScale(float(seen.sum()), settings.C, settings.lambda1, settings.lambda2)
            rng = np.random.default_rng([seed_of(self.random_state), stream.steps])
            with overflow_named():
                stream.run(data, pulls, examples.weight, count, rng)
                check_in_range(stream.average())
            self.classes_, self._seen = known, seen
            self._keep_stream(stream, getattr(self, "n_iter_", 0) + 1, settings.rho)
            self.objective_ = None
            for name in ("margin_mean_", "margin_variance_", "bounded_share_"):  # of rows that are gone
                self.__dict__.pop(name, None)
        return self

    def _stream(self, width: int, count: int) -> PairSgd:
        """The stream so far, copied so that a failed call leaves it alone; else one that starts at what is learned."""
        if hasattr(self, "stream_"):
            if len(self.stream_.weights) != width:
                hint = "Call fit to begin anew."
                raise invalid("fit_intercept", "stay the same while a stream goes on", self.fit_intercept, hint)
            return copy.deepcopy(self.stream_)
        if not hasattr(self, "coef_"):
            return PairSgd.start(np.zeros(width), average_from=count)
        start = np.append(self.coef_[0], self.intercept_) if self.fit_intercept else self.coef_[0]
        stream = PairSgd.start(start, average_from=int(self._seen.sum()))
        stream.steps = stream.average_from
        return stream

    # -- keeping -----------------------------------------------------------------------------------------------------

    def _keep(self, found: Floats, rows: Rows, spec: KernelSpec, *, is_weights: bool) -> None:
        """Weights, or coefficients over the training rows; of a linear kernel the weights either way."""
        for name in ("coef_", "dual_coef_", "support_", "support_vectors_", "stream_"):
            self.__dict__.pop(name, None)
        if spec.kernel == "linear":
            if not is_weights:
                found = np.append(rows.T @ found, found.sum()) if self.fit_intercept else np.asarray(rows.T @ found)
            self._keep_weights(found)
            return
        self.intercept_ = np.array([found.sum() if self.fit_intercept else 0.0])
        self.support_ = np.flatnonzero(found)
        self.dual_coef_ = found[self.support_]
        self.support_vectors_ = None if spec.kernel == "precomputed" else rows[self.support_]
        self.kernel_ = spec

    def _keep_weights(self, w: Floats) -> None:
        self.coef_ = (w[:-1] if self.fit_intercept else w)[None, :].copy()
        self.intercept_ = np.array([w[-1] if self.fit_intercept else 0.0])

    def _keep_stream(self, stream: PairSgd, epochs: int, rho: float) -> None:
        self._keep_weights(stream.average())
        self.stream_ = stream
        self.rho_, self.rho_interval_ = rho, (rho, rho)
        self.solver_, self.n_iter_, self.duality_gap_ = "asgd", epochs, None

    def _keep_margins(self, margins: Floats, examples: Examples) -> None:
        """What the objective is about: mean and variance of the margins, and how many hinges are active."""
        weight, positive = examples.weight, examples.sign > 0
        self.margin_mean_ = float(np.average(margins, weights=weight))
        self.margin_variance_ = float(np.average((margins - self.margin_mean_) ** 2, weights=weight))
        bounded = weight * (margins < 1.0 - AT_THE_HINGE)
        self.bounded_share_ = np.array([bounded[part].sum() / weight[part].sum() for part in (~positive, positive)])

    def _warn_unless_converged(self, found: DualSolution, settings: LDMSettings) -> None:
        if not found.certificate.holds(settings.tol):
            relative = found.certificate.gap / found.certificate.scale
            warnings.warn(
                f"{type(self).__name__}: the {found.solver} solver stopped after {found.n_iter} sweeps at a relative "
                f"gap of {relative:.1e}, above tol={settings.tol:g}. Raise max_iter or tol, lower C, scale features, "
                "or use solver='interior'.",
                ConvergenceWarning,
                stacklevel=4,
            )

    # -- deciding ----------------------------------------------------------------------------------------------------

    def decision_function(self, X: MatrixLike) -> Floats:
        """f(x): positive for ``classes_[1]``."""
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # what became of it is looked at
            if hasattr(self, "coef_"):
                return check_scores(np.asarray(rows @ self.coef_[0] + self.intercept_[0]))
            scores = np.full(rows.shape[0], self.intercept_[0])
            step = max(1, DECIDE_AT_ONCE // max(1, len(self.support_)))
            for start in range(0, len(scores) if len(self.support_) else 0, step):
                scores[start : start + step] += self._kernel_to_support(rows[start : start + step]) @ self.dual_coef_
        return check_scores(scores)

    def _kernel_to_support(self, rows: Rows) -> Any:
        if self.kernel_.kernel == "precomputed":
            return rows[:, self.support_]
        return gram_of(self.kernel_, rows, self.support_vectors_, dtype="float64")

    @documented()
    def margins(self, X: MatrixLike, y: LabelsLike) -> Floats:
        """y f(x) of every row, y being +1 for ``classes_[1]``: negative for a mistake.

        Returns
        -------
        ndarray of shape (n,)
            Margins.
        """
        scores, labels = self.decision_function(X), np.asarray(y).ravel()
        check_same_length(X=scores, y=labels)
        two_classes(labels, self.classes_)
        return np.where(labels == self.classes_[1], scores, -scores)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return cast("Tags", tags)


def _class_weights(examples: Examples) -> Floats:
    """Weight of the negative and the positive rows."""
    positive = float(examples.weight[examples.sign > 0].sum())
    return np.array([examples.size - positive, positive])
