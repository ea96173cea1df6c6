"""Laws of the SVM solver on arbitrary problems, and its agreement with a plain Python twin."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.margin.kernels import gram
from steelyard.margin.path import STEPS_AT_ONCE, SVMProblem, solve_path

pytestmark = pytest.mark.kernel


def smo_twin(K, p, y, upper, tol, max_steps=20_000):
    """min 1/2 a'Qa + p'a, y'a = 0, 0 <= a <= upper: SMO with the most violating pair, as plain as it gets."""
    a, Q = np.zeros(len(p)), K * np.outer(y, y)
    for _ in range(max_steps):
        score = -y * (Q @ a + p)
        up = ((y > 0) & (a < upper)) | ((y < 0) & (a > 0))
        down = ((y > 0) & (a > 0)) | ((y < 0) & (a < upper))
        if not up.any() or not down.any():
            break
        i, j = np.argmax(np.where(up, score, -np.inf)), np.argmin(np.where(down, score, np.inf))
        if score[i] - score[j] <= tol:
            break
        step = (score[i] - score[j]) / max(K[i, i] + K[j, j] - 2 * K[i, j], 1e-12)
        step = min(step, upper[i] - a[i] if y[i] > 0 else a[i], a[j] if y[j] > 0 else upper[j] - a[j])
        a[i] += y[i] * step
        a[j] -= y[j] * step
    return a, 0.5 * a @ Q @ a + p @ a


@st.composite
def problems(draw):
    """Small duals with ties, duplicate rows, zero weights and any sides."""
    n = draw(st.integers(1, 24))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = draw(st.sampled_from([2, 5, 1000]))
    X = rng.integers(0, levels, size=(n, draw(st.integers(1, 3)))) / levels
    kernel = draw(st.sampled_from(["perceptron", "rbf", "linear", "poly"]))
    K = gram(X, kernel=kernel, gamma=0.5, coef0=1.0, degree=2, dtype="float64")
    upper = rng.choice([0.0, 0.5, 1.0, 3.0], n)
    target = rng.integers(-3, 4, n) / 2.0
    side = rng.choice([-1.0, 1.0], n)
    if draw(st.booleans()):
        return K, SVMProblem.one_sided(np.arange(n), target, side, upper)
    return K, SVMProblem.classification(np.arange(n), side, upper)


@settings(max_examples=60)
@given(problems(), st.sampled_from([0.1, 1.0, 30.0]))
def test_the_solver_finds_what_its_plain_twin_finds(given_problem, lam) -> None:
    K, problem = given_problem
    tol = 1e-5
    [solution] = solve_path(K, [problem], [lam], tol=tol)
    (point,) = solution.points
    upper = problem.upper / lam
    a = problem.y * point.coef
    assert point.converged
    assert (a >= 0).all()
    assert (a <= upper).all()
    assert abs(problem.y @ a) < 1e-9 * (1 + upper.sum())
    _, least = smo_twin(K, problem.p, problem.y, upper, tol)
    scale = 1 + abs(least) + upper.sum()
    assert -point.dual_objective == pytest.approx(least, abs=2 * tol * scale)
    assert -1e-9 * scale <= point.duality_gap <= 2 * tol * scale


@settings(max_examples=30)
@given(problems())
def test_certificates_bound_the_truth_even_when_stopped_early(given_problem) -> None:
    K, problem = given_problem
    _, least = smo_twin(K, problem.p, problem.y, problem.upper, 1e-8)
    for max_iter in (1, 3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            [solution] = solve_path(K, [problem], [1.0], max_iter=max_iter)
        (point,) = solution.points
        slack = 1e-6 * (1 + abs(least))
        assert point.dual_objective <= -least + slack
        assert point.primal_objective >= -least - slack


@settings(max_examples=30)
@given(problems(), st.lists(st.sampled_from([0.01, 0.3, 1.0, 7.0, 1e4]), min_size=2, max_size=4))
def test_every_point_of_a_path_is_optimal(given_problem, lambdas) -> None:
    K, problem = given_problem
    [solution] = solve_path(K, [problem], lambdas, tol=1e-5)
    for lam, point in zip(lambdas, solution.points, strict=True):
        assert point.lam == lam
        assert point.violation <= 1e-5
        assert 0 <= point.duality_gap + 1e-8 <= 1e-4 * (1 + problem.upper.sum() / lam)


@settings(max_examples=60)
@given(problems(), st.lists(st.sampled_from([0.1, 1.0, 30.0, 1e4, 1e7]), min_size=1, max_size=3))
def test_the_violation_is_a_share_of_the_decisions_spread(given_problem, lambdas) -> None:
    K, problem = given_problem
    [solution] = solve_path(K, [problem], lambdas)
    for point in solution.points:
        spread = np.ptp(K @ point.coef)
        # Where no machine decides anything at the optimum, the spread falls with the violation: a slice of work is all.
        decides_nothing = point.n_iter >= STEPS_AT_ONCE and spread < 1e-6
        assert point.violation <= (1e-6 if decides_nothing else 1e-3 * min(1.0, spread) + 1e-14)


def test_a_machine_that_decides_nothing_ends_after_a_slice_of_work() -> None:
    x = np.array([0.296, 0.627, 0.728, 0.139, 0.918, 0.916, 0.093])
    upper = np.array([1.0, 0.0, 0.5, 0.5, 3.0, 0.5, 0.5])
    problem = SVMProblem.classification(np.arange(7), np.array([-1.0] * 5 + [1.0] * 2), upper)
    [solution] = solve_path(np.outer(x, x), [problem], [0.1])
    (point,) = solution.points
    assert point.converged
    assert point.n_iter <= STEPS_AT_ONCE
    assert np.ptp(np.outer(x, x) @ point.coef) < 1e-9


@settings(max_examples=60)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_kernel_matrices_do_not_depend_on_where_rows_stand(n, m, d, seed) -> None:
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(n, d + 1)), rng.normal(size=(m, d + 1))
    for kernel in ("perceptron", "rbf", "linear"):
        whole = gram(X, Z, kernel=kernel, gamma=0.1)
        i, j = int(rng.integers(n)), int(rng.integers(m))
        assert gram(X[i : i + 1], Z[j : j + 1], kernel=kernel, gamma=0.1)[0, 0] == whole[i, j]
        np.testing.assert_array_equal(gram(Z, X, kernel=kernel, gamma=0.1), whole.T)
