"""What the CS-LDM estimators read: settings, rows, labels, weights and costs, checked and made ready to solve."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._checks import (
    Rows,
    check_choice,
    check_count,
    check_flag,
    check_labels,
    check_number,
    check_random,
    check_rows,
    check_same_length,
    check_sample_weight,
    complain,
    is_sparse,
)
from ..costs import as_costs
from ..errors import DivergedError, InvalidInputError
from .cs_svm import _cheaper_answer
from .kernels import KernelSpec, kernel_spec
from .ldm_data import resolve_solver
from .ldm_problem import Box, Examples, Solution

MAX_ITER = 1000


class Settings(NamedTuple):
    """The numeric parameters, checked."""

    C: float
    lambda1: float
    lambda2: float
    rho: float
    tol: float
    max_iter: int | None

    def box(self, examples: Examples, rho: float) -> Box:
        """The box of these settings at any rho."""
        return examples.box(self.C, self.lambda2, rho)


class Ready(NamedTuple):
    """Checked input of a fit, rows of zero weight left out."""

    rows: Rows
    spec: KernelSpec
    solver: str
    examples: Examples
    classes: NDArray[Any]
    kept: NDArray[np.intp] | None  # positions of the rows among those given; None for all
    settings: Settings
    seed: int

    def solve(
        self, problem: Any, asked: str, examples: Examples, rho: float, start: Solution | None, tol: float
    ) -> Solution:
        """Solve one box; ``asked`` is the solver the user asked for."""
        solver = asked if asked in ("auto", "interior") else self.solver
        limits = {"tol": tol, "max_iter": self.settings.max_iter or MAX_ITER, "seed": self.seed}
        found: Solution = problem.solve(self.settings.box(examples, rho), start=start, solver=solver, **limits)
        check_in_range(found.certificate.objective)
        return found


@contextmanager
def overflow_named() -> Iterator[None]:
    """Numbers that outgrow a solver end in one error that says what to do, not in warnings along the way."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        try:
            yield
        except np.linalg.LinAlgError as error:
            raise _outgrown() from error


def check_in_range(numbers: Any) -> None:
    """Complain where a solver's result is not finite."""
    if not np.isfinite(numbers).all():
        raise _outgrown()


def _outgrown() -> InvalidInputError:
    advice = "Scale the features; see that costs, weights and C are of moderate size."
    return complain("objective", "stay finite", "an overflow", advice, DivergedError)


def read_settings(model: Any) -> Settings:
    """Numbers and choices of a :class:`CSLDMClassifier`."""
    if model.balance is not None:
        check_choice("balance", model.balance, ("train", "cv"))
    check_flag("fit_intercept", model.fit_intercept)
    return Settings(
        C=check_number("C", model.C, at_least=0),
        lambda1=check_number("lambda1", model.lambda1, at_least=0),
        lambda2=check_number("lambda2", model.lambda2, at_least=0),
        rho=check_number("rho", model.rho),
        tol=check_number("tol", model.tol, above=0),
        max_iter=None if model.max_iter is None else check_count("max_iter", model.max_iter),
    )


def read_fit(model: Any, X: Any, y: Any, sample_weight: Any, costs: Any) -> Ready:
    """Everything a batch fit needs."""
    settings = read_settings(model)
    rows, spec = _read_rows(model, X)
    solver = resolve_solver(model.solver, spec.kernel, rows)
    classes = two_classes(y)
    examples = read_examples(model, rows, y, classes, sample_weight, costs)
    kept = None if (examples.weight > 0).all() else np.flatnonzero(examples.weight > 0)
    if kept is not None:
        examples = examples.rows(kept)
        rows = np.ascontiguousarray(rows[np.ix_(kept, kept)]) if spec.kernel == "precomputed" else rows[kept]
    if abs(float(examples.sign.sum())) == len(examples.sign):
        raise complain("y", "have two classes among rows of positive weight", "one class")
    return Ready(rows, spec, solver, examples, classes, kept, settings, seed_of(model.random_state))


def _read_rows(model: Any, X: Any) -> tuple[Rows, KernelSpec]:
    rows = check_rows(model, X, reset=True, dtype=np.float64)
    if str(model.kernel) == "perceptron":
        raise complain(
            "kernel",
            "be positive semi-definite",
            model.kernel,
            "-|x - z| is only conditionally so and needs a free bias: use CSSVMClassifier for it.",
        )
    spec = kernel_spec(model.kernel, rows, gamma=model.gamma, degree=model.degree, coef0=model.coef0)
    if spec.kernel == "precomputed":
        if rows.shape[0] != rows.shape[1]:
            raise complain("X", "be a square kernel matrix where kernel='precomputed'", f"shape {rows.shape}")
        rows = rows.toarray() if is_sparse(rows) else rows
    return rows, spec


def two_classes(y: Any, known: NDArray[Any] | None = None) -> NDArray[Any]:
    """The two labels: those known already, else those of y."""
    present, _ = check_labels(y)
    classes = present if known is None else known
    unknown = np.setdiff1d(present, classes)
    if len(unknown):
        raise complain("y", f"hold the classes {classes.tolist()}", unknown.tolist()[0])
    if len(classes) != 2:
        raise complain(
            "y",
            "have two classes",
            f"{len(classes)} classes" if len(classes) != 1 else f"one class, {classes[0]!r}",
            "Only binary classification is supported. For more classes use a reduction, e.g. OneVsAllClassifier.",
        )
    return classes


def read_examples(model: Any, rows: Rows, y: Any, classes: NDArray[Any], sample_weight: Any, costs: Any) -> Examples:
    """Signs, weights and costs; where costs make the other class the cheaper answer, that class is learned."""
    labels = np.asarray(y).ravel()
    check_same_length(X=rows, y=labels)
    positive = labels == classes[1]
    weight = check_sample_weight(sample_weight, len(labels))
    if model.costs is None and costs is None:
        return Examples(np.where(positive, 1.0, -1.0), weight, np.ones(len(labels)))
    table = as_costs(model.costs, y, classes, per_example=costs).table(y)
    sign, cost = _cheaper_answer(table, positive.astype(np.intp))
    return Examples(sign, weight, cost)


def seed_of(random_state: Any) -> int:
    """A whole number from whatever scikit-learn takes as random_state."""
    return int(check_random(random_state).randint(2**31 - 1))
