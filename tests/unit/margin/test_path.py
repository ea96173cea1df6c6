"""The path solver against scikit-learn, an interior point solver and its own certificates."""

import threading

import clarabel
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from steelyard._native import svm_on_gram32, svm_on_gram64
from steelyard.errors import InvalidInputError
from steelyard.margin.kernels import LazyGram, gram
from steelyard.margin.path import SVMProblem, solve_path

pytestmark = pytest.mark.kernel


def two_classes(n=300, seed=0):
    X, y = make_classification(n, 6, n_informative=4, flip_y=0.1, random_state=seed)
    return X, 2.0 * y - 1.0


def interior_point_minimum(K, problem: SVMProblem, lam: float) -> float:
    """Minimum of the dual by a solver that shares no idea with ours."""
    n = len(problem.y)
    y = problem.y
    Q = K[np.ix_(problem.index, problem.index)] * np.outer(y, y)
    A = sparse.csc_matrix(np.vstack([y[None, :], np.eye(n), -np.eye(n)]))
    b = np.concatenate([[0.0], problem.upper / lam, np.zeros(n)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    P = sparse.triu(sparse.csc_matrix((Q + Q.T) / 2), format="csc")
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)]
    return clarabel.DefaultSolver(P, problem.p, A, b, cones, settings).solve().obj_val


@pytest.mark.parametrize("lam", [10.0, 1.0, 0.05])
def test_the_minimum_is_that_of_an_interior_point_method(lam) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    K = gram(X, kernel="rbf", gamma=0.3, dtype="float64")
    side = rng.choice([-1.0, 1.0], 60)
    for problem in (
        SVMProblem.one_sided(np.arange(60), rng.normal(size=60), side, rng.random(60)),
        SVMProblem.classification(np.arange(10, 60), side[10:], rng.random(50)),
    ):
        [solution] = solve_path(K, [problem], [lam], tol=1e-9)
        (point,) = solution.points
        assert -point.dual_objective == pytest.approx(interior_point_minimum(K, problem, lam), rel=1e-6, abs=1e-8)
        assert 0 <= point.duality_gap < 1e-6
        assert point.violation <= 1e-9


@pytest.mark.parametrize("kernel", ["perceptron", "rbf", "linear", "poly"])
def test_a_path_is_scikit_learn_at_each_point(kernel) -> None:
    X, y = two_classes()
    K = gram(X, kernel=kernel, gamma=0.1, coef0=1.0, dtype="float64")
    train, test = np.arange(0, 300, 2), np.arange(1, 300, 2)
    weight = np.random.default_rng(0).uniform(0.2, 3, len(train))
    lambdas = [0.5, 100.0, 2.0, 8.0]
    [solution] = solve_path(K, [SVMProblem.classification(train, y[train], weight)], lambdas, tol=1e-6)
    assert [point.lam for point in solution.points] == lambdas
    decision = solution.decision(K[test])
    for k, lam in enumerate(lambdas):
        svc = SVC(C=1 / lam, kernel="precomputed", tol=1e-6)
        svc.fit(K[np.ix_(train, train)], y[train], sample_weight=weight)
        np.testing.assert_allclose(decision[:, k], svc.decision_function(K[np.ix_(test, train)]), atol=1e-4)


def test_strong_regularisation_leaves_no_answer_to_chance() -> None:
    """Decisions then lie closer together than tol: a violation of that size would leave their order open."""
    X, y = two_classes()
    y = np.where(X[:, 0] > np.quantile(X[:, 0], 0.85), 1.0, y * 0 - 1.0)
    K = gram(X, dtype="float64")
    lambdas = [2.0**17, 2.0**13, 2.0**9]
    [solution] = solve_path(K.astype(np.float32), [SVMProblem.classification(np.arange(len(y)), y)], lambdas)
    for lam, point in zip(lambdas, solution.points, strict=True):
        exact = SVC(C=1 / lam, kernel="precomputed", tol=1e-12).fit(K, y)
        wanted = exact.decision_function(K) - exact.intercept_
        assert np.ptp(wanted) < 1
        np.testing.assert_allclose(K @ point.coef, wanted, atol=0.01 * np.ptp(wanted))


def test_the_path_is_a_shortcut_and_not_another_answer() -> None:
    X, y = two_classes()
    K = gram(X)
    problem = SVMProblem.classification(np.arange(len(y)), y)
    lambdas = [100.0, 10.0, 1.0, 0.1]
    [path] = solve_path(K, [problem], lambdas, tol=1e-5)
    alone = [solve_path(K, [problem], [lam], tol=1e-5)[0].points[0] for lam in lambdas]
    for warm, cold in zip(path.points, alone, strict=True):
        assert warm.dual_objective == pytest.approx(cold.dual_objective, rel=1e-6)
        assert warm.bias == pytest.approx(cold.bias, abs=1e-4)
    assert sum(p.n_iter for p in path.points[1:]) < sum(p.n_iter for p in alone[1:])


def test_single_precision_moves_the_objective_by_little() -> None:
    X, y = two_classes()
    problem = SVMProblem.classification(np.arange(len(y)), y)
    [single], [double] = (solve_path(gram(X, dtype=t), [problem], [0.5]) for t in ("float32", "float64"))
    assert single.points[0].dual_objective == pytest.approx(double.points[0].dual_objective, rel=1e-5)


@pytest.mark.parametrize("doubled", [False, True])
@pytest.mark.parametrize("build", [svm_on_gram32, svm_on_gram64])
def test_more_free_examples_than_a_block_holds(build, doubled) -> None:
    """Every example is free: steps on the shared matrix itself, or one by one where a row is two examples."""
    rng = np.random.default_rng(0)
    n = 301
    A = rng.normal(size=(n, 4))
    K = (0.05 * A @ A.T + 3 * np.eye(n)).astype(np.float32 if build is svm_on_gram32 else np.float64)
    index = np.r_[np.arange(n), 0] if doubled else np.arange(n)
    y = rng.choice([-1.0, 1.0], n)[index]
    solver = build(K, index, -y, np.where(y > 0, 0, -10.0), np.where(y > 0, 10.0, 0), 1e-3, largest_block=64)
    assert solver.run(100_000) < 100_000
    b = solver.coefficients()
    free = (b != 0) & (np.abs(b) < 10)
    assert free.sum() > 200
    gradient = K[np.ix_(index, index)] @ b - y
    np.testing.assert_allclose(gradient, solver.gradient(), atol=1e-4)
    assert gradient[free].max() - gradient[free].min() <= 1.1e-3
    assert b.sum() == pytest.approx(0, abs=1e-9)


def test_threads_share_one_matrix_and_give_the_same_answers() -> None:
    X, y = two_classes()
    K = gram(X)
    K.setflags(write=False)
    problems = [SVMProblem.classification(np.arange(k, 300), y[k:]) for k in range(6)]
    one, two = (solve_path(K, problems, [4.0, 0.5], n_jobs=n) for n in (1, 2))
    for a, b in zip(one, two, strict=True):
        for p, q in zip(a.points, b.points, strict=True):
            np.testing.assert_array_equal(p.coef, q.coef)


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_a_lazy_matrix_gives_the_same_optimum_whoever_else_uses_it(wrap) -> None:
    X, y = two_classes()
    few = [SVMProblem.classification(np.arange(0, 300, 3), y[::3]), SVMProblem.classification(np.arange(60), y[:60])]
    many = [SVMProblem.classification(np.arange(k, 300), y[k:]) for k in range(6)]
    for problems in (few, many):
        plain, alone, side_by_side = (
            [p for path in solve_path(K, problems, [4.0, 0.5, 0.01], n_jobs=jobs) for p in path.points]
            for K, jobs in ((gram(wrap(X)), 1), (LazyGram(wrap(X)), 1), (LazyGram(wrap(X)), 2))
        )
        for a, b, c in zip(plain, alone, side_by_side, strict=True):
            assert b.converged
            assert b.dual_objective == pytest.approx(a.dual_objective, rel=1e-4)
            np.testing.assert_array_equal(b.coef, c.coef)


def test_of_a_lazy_matrix_only_what_is_needed_is_computed() -> None:
    X = np.linspace(0, 1, 400)[:, None]
    X[200:] += 5
    lazy = LazyGram(X)
    [solution] = solve_path(lazy, [SVMProblem.classification(np.arange(400), np.repeat([-1.0, 1.0], 200))], [0.01])
    assert 0 < np.count_nonzero(solution.points[0].coef) <= lazy.rows_at_hand < 40


@pytest.mark.parametrize("doubled", [False, True])
def test_a_lazy_matrix_holds_a_crowd_too(doubled) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 40))
    index = np.r_[np.arange(150), 0] if doubled else np.arange(150)
    y = rng.choice([-1.0, 1.0], 150)[index]
    box = (-y, np.where(y > 0, 0, -10.0), np.where(y > 0, 10.0, 0))
    solvers = [
        svm_on_gram32(K, index, *box, 1e-3, largest_block=64)
        for K in (gram(X, kernel="rbf", gamma=0.5), LazyGram(X, kernel="rbf", gamma=0.5).native)
    ]
    for solver in solvers:
        assert solver.run(100_000) < 100_000
    np.testing.assert_array_equal(*(solver.coefficients() for solver in solvers))


def test_progress_is_told_and_an_interrupt_ends_the_work() -> None:
    X, y = two_classes()
    seen = []

    def interrupt(problem: int, lam: float, steps: int) -> None:
        seen.append((problem, lam, steps))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_path(gram(X), [SVMProblem.classification(np.arange(300), y)], [1.0], progress=interrupt)
    assert seen[0][:2] == (0, 1.0)
    assert threading.active_count() < 10


def test_a_limit_of_steps_warns_and_says_what_to_change() -> None:
    X, y = two_classes()
    with pytest.warns(ConvergenceWarning, match=r"1 of 1 SVM problems stopped at max_iter=5 .* raise tol or max_iter"):
        [solution] = solve_path(gram(X), [SVMProblem.classification(np.arange(300), y)], [0.01], max_iter=5)
    (point,) = solution.points
    assert not point.converged
    assert point.n_iter == 5
    assert point.violation > 1e-3
    assert point.duality_gap > 0


def test_no_free_example_puts_the_bias_in_the_middle() -> None:
    [solution] = solve_path(gram([[0.0], [4.0]]), [SVMProblem.classification([0, 1], [-1, 1])], [100.0])
    (point,) = solution.points  # both at their bounds 0.01: gradients 1 - 0.04 and -1 + 0.04
    np.testing.assert_allclose(np.abs(point.coef), 0.01)
    assert point.bias == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("lam", [1e-12, 1e12])
def test_extreme_lambdas_and_duplicate_rows_end(lam) -> None:
    X = np.repeat(np.random.default_rng(0).random((10, 2)), 4, axis=0)
    y = np.tile([-1.0, 1.0], 20)  # the same row in both classes
    [solution] = solve_path(gram(X), [SVMProblem.classification(np.arange(40), y)], [lam])
    (point,) = solution.points
    assert np.isfinite([point.bias, point.dual_objective, point.duality_gap]).all()


def test_one_class_or_one_example_is_a_constant() -> None:
    K = gram(np.random.default_rng(0).random((5, 2)))
    for index in ([2], [0, 1, 2, 3, 4]):
        [solution] = solve_path(K, [SVMProblem.classification(index, np.ones(len(index)))], [1.0])
        (point,) = solution.points
        assert (point.coef == 0).all()
        assert point.bias == 1.0


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"index": [0, 5]}, "index must lie within"),
        ({"index": [0, -1]}, "index must lie within"),
        ({"index": [0.5, 1]}, "index must hold positions"),
        ({"y": [1, 2]}, r"y must be \+1 or -1"),
        ({"upper": [1, -1]}, "upper must be >= 0"),
        ({"p": [1, np.nan]}, "p must hold finite"),
        ({"p": [1]}, "p must have shape"),
    ],
)
def test_bad_problems_are_named(settings, complaint) -> None:
    fields = {"index": [0, 1], "p": [-1, -1], "y": [1, -1], "upper": [1, 1]} | settings
    with pytest.raises(InvalidInputError, match=complaint):
        solve_path(np.eye(3), [SVMProblem(**fields)], [1.0])


def test_bad_grids_and_matrices_are_named() -> None:
    problem = SVMProblem.classification([0, 1], [1, -1])
    with pytest.raises(InvalidInputError, match="lambdas must hold"):
        solve_path(np.eye(2), [problem], [])
    with pytest.raises(InvalidInputError, match="lambdas must be a finite number > 0"):
        solve_path(np.eye(2), [problem], [0.0])
    with pytest.raises(InvalidInputError, match="gram must be a square matrix"):
        solve_path(np.ones((2, 3)), [problem], [1.0])


def test_a_lambda_that_takes_weights_beyond_all_numbers_is_refused() -> None:
    problem = SVMProblem.classification([0, 1], [-1, 1], [1e10, 1.0])
    with pytest.raises(InvalidInputError, match=r"^lambdas must leave the weights of all examples finite; got 1e-300"):
        solve_path(np.eye(2), [problem], [1.0, 1e-300])
