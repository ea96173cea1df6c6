"""What papers 000 and 001 guarantee about one pass, computed for the rows of that pass.

Every guarantee holds for any fixed comparator u; by default u is where the guarantee is smallest, found by L-BFGS.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.base import clone

from ..active import AskAll, AskAsymmetric, AskSymmetric, Budget
from ..costs import Balanced
from ..evaluate.bounds import Bound
from ..validation.arrays import Rows, check_finite, check_floats, is_sparse
from ..validation.types import ArrayLike, LabelsLike, MatrixLike
from ..validation.values import check_count, invalid
from ._binary_stream import check_stream_rows
from ._labels import as_column, is_positive
from .adaptive import AdaptiveBalanced, fixed_costs
from .classifier import OnlineClassifier
from .updates import CSOGD1, CSOGD2, CSOALHinge, Perceptron

Floats = NDArray[np.float64]
Objective = Callable[[Floats], tuple[float, Floats]]


class GradientPass(NamedTuple):
    """One pass of gradient steps, example by example; ``sign`` is y, ``weight`` rho_t."""

    rows: LinearRows
    sign: Floats
    weight: Floats
    score: Floats
    positive_index: int
    eta: float
    shifts_margin: bool  # loss (4); else (5)

    def losses(self, score: Floats) -> Floats:
        """Eq. (4) or (5)."""
        if self.shifts_margin:
            return np.maximum(0.0, self.weight - self.sign * score)
        return self.weight * np.maximum(0.0, 1.0 - self.sign * score)

    def slopes(self, score: Floats) -> Floats:
        """Derivative of every loss by its score."""
        active = (self.losses(score) > 0) * -self.sign
        return active if self.shifts_margin else active * self.weight

    def squares(self) -> Floats:
        """|gradient|^2 of every round: x2, or rho_t^2 x2, where the loss was positive."""
        return np.asarray(self.slopes(self.score) ** 2 * self.rows.squares())

    def total_loss(self, u: Floats) -> tuple[float, Floats]:
        """The loss of fixed weights over the pass, and its gradient."""
        score = self.rows.times(u)
        return float(self.losses(score).sum()), self.rows.combine(self.slopes(score))


class LinearRows(NamedTuple):
    """Rows, with a constant feature 1 where the learner has one."""

    rows: Rows
    fit_intercept: bool

    @property
    def width(self) -> int:
        """Weights."""
        return int(self.rows.shape[1]) + self.fit_intercept

    def times(self, u: Floats) -> Floats:
        """u.x of every row."""
        return np.asarray(self.rows @ u[:-1] + u[-1] if self.fit_intercept else self.rows @ u)

    def combine(self, factors: Floats) -> Floats:
        """The sum of the rows times their factors."""
        found = np.asarray(self.rows.T @ factors)
        return np.append(found, factors.sum()) if self.fit_intercept else found

    def squares(self) -> Floats:
        """|x|^2 of every row."""
        rows = self.rows
        found = rows.multiply(rows).sum(axis=1) if is_sparse(rows) else np.einsum("ij,ij->i", rows, rows)
        return np.asarray(found, dtype=np.float64).ravel() + self.fit_intercept


def regret_bound(
    model: OnlineClassifier, X: MatrixLike, y: LabelsLike, *, comparator: ArrayLike | None = None
) -> Bound:
    """The summed loss of one pass of CSOGD against that of fixed weights u. Paper 000, Lemma 1.

    sum l_t(w_t) <= sum l_t(u) + \\|u\\|^2 / (2 eta) + eta / 2 sum_S rho_t^2 \\|x_t\\|^2 over the margin errors S. The
    paper prints \\|u\\| sqrt(rho^2 S_p + S_n) in place of the last two terms, which holds only for the one step that
    makes them equal: on german with the costs of Table II it is false. It is returned as ``printed``.

    Parameters
    ----------
    model : OnlineClassifier
        With ``CSOGD1``, ``CSOGD2`` or ``CSOALHinge``, fixed costs, every label queried and threshold 0. It is cloned.
    X : array-like or sparse matrix of shape (n, d)
        Rows, in the order of the stream.
    y : array-like of shape (n,)
        Labels.
    comparator : array-like or None
        u, with one more entry for ``fit_intercept``; None for the one with the smallest guarantee.

    Returns
    -------
    Bound
        The guarantee and the summed loss.

    Examples
    --------
    >>> from steelyard import CSOGD2, Costs, OnlineClassifier
    >>> model = OnlineClassifier(CSOGD2(0.5), costs=Costs.binary(fn=3, fp=1))
    >>> found = regret_bound(model, [[1.0, 0.0], [0.0, 1.0]], [1, 0])
    >>> found.holds, found.measured
    (True, 4.0)
    """
    found, _ = _gradient_pass(model, X, y)
    return _regret(found, comparator, 1.0, "summed loss")


def cost_bound(model: OnlineClassifier, X: MatrixLike, y: LabelsLike, *, comparator: ArrayLike | None = None) -> Bound:
    """The total cost of the mistakes of one pass of CSOGD: at most c_n times the loss bound. Paper 000, Theorem 2.

    Parameters
    ----------
    model : OnlineClassifier
        As for :func:`regret_bound`, with costs by class.
    X : array-like or sparse matrix of shape (n, d)
        Rows, in the order of the stream.
    y : array-like of shape (n,)
        Labels.
    comparator : array-like or None
        As for :func:`regret_bound`.

    Returns
    -------
    Bound
        The guarantee, and what the mistakes cost beyond right answers.

    Examples
    --------
    >>> from steelyard import CSOGD2, Costs, OnlineClassifier
    >>> model = OnlineClassifier(CSOGD2(0.5), costs=Costs.binary(fn=3, fp=1))
    >>> cost_bound(model, [[1.0, 0.0], [0.0, 1.0]], [1, 0]).measured
    1.0
    """
    found, fitted = _gradient_pass(model, X, y)
    matrix = fixed_costs(model.costs, as_column(y), fitted.classes_).regret().matrix
    assert matrix is not None
    negative = 1 - found.positive_index
    scale = float(matrix[negative, found.positive_index])
    bound = _regret(found, comparator, scale, "total cost")
    return _measuring(bound, scale * np.cumsum(found.weight * _wrong(found)))


def sum_bound(model: OnlineClassifier, X: MatrixLike, y: LabelsLike, *, comparator: ArrayLike | None = None) -> Bound:
    """eta_p sensitivity + eta_n specificity of one pass of CSOGD, from below. Paper 000, Theorem 1.

    sum >= 1 - (eta_n / T_n) (the loss bound), with rho = eta_p T_n / (eta_n T_p), which ``costs=Balanced()`` sets.

    Parameters
    ----------
    model : OnlineClassifier
        As for :func:`regret_bound`, with ``costs=Balanced(...)``.
    X : array-like or sparse matrix of shape (n, d)
        Rows, in the order of the stream.
    y : array-like of shape (n,)
        Labels.
    comparator : array-like or None
        As for :func:`regret_bound`.

    Returns
    -------
    Bound
        The guarantee from below, and the weighted sum; over time both fall from 1.

    Examples
    --------
    >>> from steelyard import Balanced, CSOGD1, OnlineClassifier
    >>> model = OnlineClassifier(CSOGD1(0.2), costs=Balanced())
    >>> sum_bound(model, [[1.0, 0.0], [0.0, 1.0], [0.1, 1.0]], [1, 0, 0]).measured
    0.75
    """
    if not isinstance(model.costs, Balanced) or isinstance(model.costs, AdaptiveBalanced):
        raise invalid("costs", "be Balanced(...) for sum_bound", model.costs, "Theorem 1 sets rho by the class counts.")
    found, _ = _gradient_pass(model, X, y)
    label_of_positive = 1.0 if found.positive_index == 1 else -1.0
    scale = (1.0 - model.costs.eta_pos) / float((found.sign != label_of_positive).sum())
    bound = _measuring(
        _regret(found, comparator, scale, "weighted sum"), scale * np.cumsum(found.weight * _wrong(found))
    )
    return Bound(
        bound.quantity,
        1.0 - bound.value,
        1.0 - bound.measured,
        bound.comparator,
        None if bound.printed is None else 1.0 - bound.printed,
        True,
        bound.rounds,
        1.0 - bound.values,
        1.0 - bound.measures,
    )


def mistake_bound(
    model: OnlineClassifier, X: MatrixLike, y: LabelsLike, *, runs: int = 20, comparator: ArrayLike | None = None
) -> Bound:
    """The expected weighted mistakes of a Perceptron that queries by QA or QS, up to its last label. Paper 001.

    Theorem 2: E[c- FN + c+ FP] <= E[sum of max(0, c- + R^2 / 2 - u.x) over the positive rows and of
    max(0, c+ + R^2 / 2 + u.x) over the negative ones] + \\|u\\|^2 / 2, where R is the longest row. The margins and
    alpha of the paper are factors of u, and this is their best choice. QS is the case c+ = c- = c, where the mistakes
    of Theorem 1 are those of this bound over c. Rounds in which the budget allows no query do not count.

    Parameters
    ----------
    model : OnlineClassifier
        With ``Perceptron``, and ``AskAsymmetric`` or ``AskSymmetric``. It is cloned for every run.
    X : array-like or sparse matrix of shape (n, d)
        Rows, in the order of the stream.
    y : array-like of shape (n,)
        Labels.
    runs : int
        Passes with other draws of the queries, over which the expectations are averaged.
    comparator : array-like or None
        u, with one more entry for ``fit_intercept``; None for the one with the smallest guarantee.

    Returns
    -------
    Bound
        The guarantee and the weighted mistakes, means over the runs.

    Examples
    --------
    >>> from steelyard import AskAsymmetric, OnlineClassifier, Perceptron
    >>> model = OnlineClassifier(Perceptron("margin"), query=AskAsymmetric(0.1, 0.2))
    >>> mistake_bound(model, [[1.0, 0.0], [0.0, 1.0]], [1, 0], runs=3).holds
    True
    """
    count, query = check_count("runs", runs), model.query
    if not isinstance(model.update, Perceptron):
        raise invalid("update", "be Perceptron(...) for mistake_bound", model.update)
    if not isinstance(query, AskAsymmetric | AskSymmetric):
        raise invalid("query", "be AskAsymmetric(...) or AskSymmetric(...) for mistake_bound", query)
    c_pos, c_neg = (query.c, query.c) if isinstance(query, AskSymmetric) else (query.c_pos, query.c_neg)
    n = len(as_column(y))
    mistakes, within = np.zeros(n), np.zeros(n)
    for run in range(count):
        _, rows, sign, score, chance = _pass(clone(model).set_params(seed=int(model.seed) + run), X, y)
        live = chance > 0  # by these rules wherever the budget allows a query
        tie = score == 0 if model.update.tie == "margin" else (score == 0) & (sign < 0)
        wrong = (sign * score < 0) | tie
        mistakes += live * wrong * np.where(sign > 0, c_neg, c_pos) / count
        within += live / count
    half = float(rows.squares().max(initial=0.0)) / 2.0
    margin = np.where(sign > 0, c_neg, c_pos) + half

    def guarantee(u: Floats) -> tuple[float, Floats]:
        short = margin - sign * rows.times(u)
        active = within * (short > 0)
        return float((active * short).sum() + 0.5 * u @ u), rows.combine(-active * sign) + u

    u = _comparator(comparator, rows.width, guarantee)
    values = 0.5 * float(u @ u) + np.cumsum(within * np.maximum(0.0, margin - sign * rows.times(u)))
    measures = np.cumsum(mistakes)
    rounds = np.arange(1, n + 1)
    ends = float(values[-1]), float(measures[-1])
    return Bound("weighted mistakes, mean over runs", *ends, u, None, False, rounds, values, measures)


def _regret(found: GradientPass, comparator: ArrayLike | None, scale: float, quantity: str) -> Bound:
    squares = found.squares()
    total, eta = float(squares.sum()), found.eta

    def proven(u: Floats) -> tuple[float, Floats]:
        loss, gradient = found.total_loss(u)
        return loss + float(u @ u) / (2.0 * eta), gradient + u / eta

    def as_printed(u: Floats) -> tuple[float, Floats]:
        loss, gradient = found.total_loss(u)
        length = float(np.linalg.norm(u))
        return loss + length * total**0.5, gradient + u * (total**0.5 / max(length, 1e-300))

    u = _comparator(comparator, found.rows.width, proven)
    printed_at = u if comparator is not None else _comparator(None, found.rows.width, as_printed, start=u)
    with_u = np.cumsum(found.losses(found.rows.times(u)))
    values = scale * (with_u + float(u @ u) / (2.0 * eta) + 0.5 * eta * np.cumsum(squares))
    measures = scale * np.cumsum(found.losses(found.score))
    printed = scale * as_printed(printed_at)[0]
    rounds = np.arange(1, len(values) + 1)
    return Bound(quantity, float(values[-1]), float(measures[-1]), u, printed, False, rounds, values, measures)


def _measuring(bound: Bound, measures: Floats) -> Bound:
    """The same guarantee for something that the loss bounds."""
    values = {name: getattr(bound, name) for name in bound.__dataclass_fields__}
    return Bound(**values | {"measured": float(measures[-1]), "measures": measures})


def _wrong(found: GradientPass) -> NDArray[np.bool_]:
    return np.asarray((found.score >= 0) != (found.sign > 0))


def _gradient_pass(model: OnlineClassifier, X: Any, y: Any) -> tuple[GradientPass, OnlineClassifier]:
    """Run a clone over the rows; raise for settings that the lemma does not cover."""
    update = CSOGD2() if model.update is None else model.update
    if not isinstance(update, CSOGD1 | CSOGD2 | CSOALHinge):
        raise invalid("update", "be CSOGD1, CSOGD2 or CSOALHinge for this bound", update)
    if not isinstance(model.query, AskAll | None) or Budget.of(model.budget) != Budget():
        raise invalid("query", "be AskAll() without a budget for this bound", model.query)
    if model.threshold != 0:
        raise invalid("threshold", "be 0 for this bound", model.threshold)
    if isinstance(model.costs, AdaptiveBalanced):
        raise invalid("costs", "be fixed for this bound", model.costs, "Use Balanced().")
    fitted, rows, sign, score, _ = _pass(clone(model), X, y)
    costs = fitted._running().setting.costs
    weight = np.where(sign > 0, costs.cost_pos, costs.cost_neg)
    at = fixed_costs(model.costs, as_column(y), fitted.classes_).positive_index()
    return GradientPass(rows, sign, weight, score, at, update.eta, isinstance(update, CSOGD1)), fitted


def _pass(model: OnlineClassifier, X: Any, y: Any) -> tuple[OnlineClassifier, LinearRows, Floats, Floats, Floats]:
    trace = model.run(X, y)
    rows = LinearRows(check_stream_rows(model, X, reset=False), bool(model.fit_intercept))
    sign = np.where(is_positive(as_column(y), model.classes_), 1.0, -1.0)
    return model, rows, sign, np.asarray(trace.score), np.asarray(trace.query_probability)


def _comparator(given: ArrayLike | None, width: int, objective: Objective, start: Floats | None = None) -> Floats:
    if given is None:
        begin = np.zeros(width) if start is None else start
        found = minimize(objective, begin, jac=True, method="L-BFGS-B", options={"maxiter": 500})
        return np.asarray(found.x if found.fun <= objective(begin)[0] else begin, dtype=np.float64)
    u = check_floats("comparator", given)
    if u.shape != (width,):
        raise invalid("comparator", f"have shape ({width},)", u.shape)
    check_finite("comparator", u)
    return np.asarray(u, dtype=np.float64)
