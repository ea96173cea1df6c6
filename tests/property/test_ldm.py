"""CS-LDM against an independent solver, its native kernels against plain Python, and the laws of its special cases."""

import clarabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from steelyard import CSLDMClassifier
from steelyard._native import (
    LdmCsr,
    LdmPairs,
    ldm_algorithm1_sweep,
    ldm_greedy,
    ldm_hinge_sums,
    ldm_metric_pass,
    ldm_shuffle,
    ldm_smooth_hinge,
    ldm_smooth_hinge_slope,
)
from steelyard.margin.ldm.dual import Box, Examples
from steelyard.margin.ldm.inputs import with_constant
from steelyard.margin.ldm.kernel import Spectrum
from steelyard.margin.ldm.linear import MetricProblem, SdcaProblem, native_csr
from steelyard.margin.ldm.sgd import PairSampler, _window

POWERS = st.sampled_from([0.0, 2.0**-10, 0.25, 1.0, 16.0, 2.0**10])


def reference(G, examples, C, lambda1, lambda2, rho):
    """The optimum of (4) by an interior point on the primal over a factor of the Gram matrix."""
    y, s, m = examples.sign, examples.weight, examples.size
    n, pull = len(y), examples.theta(rho) * examples.weight
    values, vectors = np.linalg.eigh(G)
    keep = values > 1e-13 * max(values.max(), 1e-300)
    F = vectors[:, keep] * np.sqrt(values[keep])
    d = F.shape[1]
    first = F.T @ (s * y)
    M = np.eye(d) + 4 * lambda1 / m * (F.T @ (F * s[:, None]) - np.outer(first, first) / m)
    P = sparse.block_diag([sparse.csc_matrix(np.triu(M)), sparse.csc_matrix((n, n))]).tocsc()
    q = np.concatenate([-lambda2 / m * (F.T @ (pull * y)), C * pull])
    A = sparse.vstack(
        [
            sparse.hstack([-sparse.csc_matrix(F * y[:, None]), -sparse.eye(n)]),
            sparse.hstack([sparse.csc_matrix((n, d)), -sparse.eye(n)]),
        ]
    ).tocsc()
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = 1e-12
    b = np.concatenate([-np.ones(n), np.zeros(n)])
    return clarabel.DefaultSolver(P, q, A, b, [clarabel.NonnegativeConeT(2 * n)], options).solve().obj_val


@st.composite
def problems(draw, max_rows=24):
    n, d = draw(st.integers(2, max_rows)), draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    X = rng.normal(size=(n, d)).round(2)
    X[:, 0] = draw(st.sampled_from([1.0, 0.0])) if draw(st.booleans()) else X[:, 0]  # a constant feature
    X[n // 2] = X[0]  # a duplicate row, so that the Gram matrix is singular
    y = np.where(rng.random(n) < 0.35, 1.0, -1.0)
    y[0], y[-1] = 1.0, -1.0
    return X, Examples(y, rng.uniform(0.5, 2.0, n), rng.uniform(0.5, 2.0, n))


def close(value, expected, scale, tol=1e-6):
    assert abs(value - expected) <= tol * max(abs(expected), 1e-3 * scale) + 1e-9


@pytest.mark.kernel
@settings(max_examples=20)
@given(problems(), POWERS, POWERS, POWERS, st.sampled_from([0.0, 0.5]), st.sampled_from(["linear", "rbf", "poly"]))
def test_kernel_optimum_equals_an_independent_solver(problem, C, lambda1, lambda2, rho, kernel):
    X, examples = problem
    G = pairwise_kernels(X, metric=kernel) + 1.0
    found = Spectrum(G, examples).problem(lambda1).solve(examples.box(C, lambda2, rho), tol=1e-8, max_iter=2000)
    assert found.certificate.holds(1e-8)
    close(found.certificate.objective, reference(G, examples, C, lambda1, lambda2, rho), found.certificate.scale)


@pytest.mark.kernel
@settings(max_examples=20)
@given(problems(), POWERS, POWERS, POWERS, st.sampled_from([0.0, 0.5]), st.booleans())
def test_linear_optimum_equals_an_independent_solver(problem, C, lambda1, lambda2, rho, as_sparse):
    X, examples = problem
    rows = sparse.csr_array(X) if as_sparse else X
    box = examples.box(C, lambda2, rho)
    found = MetricProblem(rows, examples, lambda1).solve(box, tol=1e-8, max_iter=2000)
    expected = reference(X @ X.T, examples, C, lambda1, lambda2, rho)
    assert found.certificate.holds(1e-8)
    close(found.certificate.objective, expected, found.certificate.scale)
    exact = MetricProblem(rows, examples, lambda1).solve(box, tol=1e-8, max_iter=200, solver="interior")
    close(exact.certificate.objective, expected, exact.certificate.scale)


@pytest.mark.kernel
@pytest.mark.parametrize("lambda1", [0.0, 0.25, 4.0])
@pytest.mark.parametrize("lambda2", [0.0, 1.0])
def test_coordinate_solvers_reach_the_same_optimum(lambda1, lambda2):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 4))
    examples = Examples(np.where(X[:, 0] > 0.5, 1.0, -1.0), rng.uniform(0.5, 2.0, 40), rng.uniform(0.5, 2.0, 40))
    box = examples.box(0.25, lambda2, 0.5)
    expected = reference(X @ X.T, examples, 0.25, lambda1, lambda2, 0.5)
    thin = sparse.csr_array(X)
    for problem, options in (
        (MetricProblem(X, examples, lambda1), {"solver": "cd"}),
        (MetricProblem(thin, examples, lambda1), {"solver": "cd"}),
        (SdcaProblem(thin, examples, lambda1), {}),
    ):
        found = problem.solve(box, tol=1e-4, max_iter=3000, **options)
        assert found.certificate.holds(1e-4)
        assert -1e-7 <= found.certificate.objective - expected <= found.certificate.gap + 1e-7
        np.testing.assert_allclose(found.margins, examples.sign * (X @ found.w), atol=1e-9)


@pytest.mark.kernel
@settings(max_examples=20)
@given(problems(), st.floats(0.01, 10.0))
def test_greedy_equals_its_plain_twin(problem, C):
    X, examples = problem
    X = X + np.random.default_rng(0).normal(size=X.shape)  # no duplicates: ties may be broken either way
    H = Spectrum(pairwise_kernels(X, metric="rbf"), examples).problem(1.0).hessian
    box = examples.box(C, 1.0, 0.5)
    x, twin = box.lower.copy(), box.lower.copy()
    gradient, twin_gradient = H @ x - 1.0, H @ twin - 1.0
    ldm_greedy(H, box.lower, box.upper, x, gradient, 0.0, 7)
    for _ in range(7):
        steps = box.clip(twin - twin_gradient / np.diag(H)) - twin
        promise = -twin_gradient * steps
        best = int(np.argmax(promise))
        if promise[best] <= 0:
            break
        twin[best] += steps[best]
        twin_gradient += steps[best] * H[best]
    np.testing.assert_allclose(x, twin, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gradient, twin_gradient, rtol=1e-10, atol=1e-10)


@pytest.mark.kernel
@settings(max_examples=20)
@given(problems(), st.floats(0.01, 10.0))
def test_algorithm1_equals_the_paper_line_by_line(problem, C):
    X, examples = problem
    examples = examples._replace(weight=np.ones(len(X)))
    y, m, lambda1, lambda2 = examples.sign, len(X), 0.5, 1.0
    G = pairwise_kernels(X, metric="rbf", gamma=0.7) + 0.5 * np.eye(m)  # the paper needs Q^-1
    Gy = G @ y
    Q_inverse = np.linalg.inv(4 * lambda1 * (m * G.T @ G - np.outer(Gy, Gy)) / m**2 + G)
    theta = examples.theta(0.5)
    mu, alpha, A = np.zeros(m), lambda2 / m * Q_inverse @ G @ (theta * y), Q_inverse @ G @ np.diag(y)
    h = np.diag(np.diag(y) @ G @ Q_inverse @ G @ np.diag(y))
    for _ in range(3):
        for i in range(m):
            old, slope = mu[i], y[i] * G[i] @ alpha - 1
            mu[i] = min(max(mu[i] - slope / h[i], 0), C * theta[i])
            alpha = alpha + (mu[i] - old) * A[:, i]
    problem = Spectrum(G, examples).problem(lambda1)
    np.testing.assert_allclose(np.diag(problem.hessian), h, rtol=1e-8)
    box = examples.box(C, lambda2, 0.5)
    nu = box.lower.copy()
    ours = problem.coefficients(nu)
    update = np.ascontiguousarray(problem.coefficients(np.eye(m)).T)
    signed = np.ascontiguousarray(G * y[:, None])
    for _ in range(3):
        ldm_algorithm1_sweep(signed, update, np.diag(problem.hessian).copy(), box.lower, box.upper, nu, ours)
    np.testing.assert_allclose(nu - box.lower, mu, atol=1e-7)
    np.testing.assert_allclose(ours, alpha, atol=1e-7)


@pytest.mark.kernel
@settings(max_examples=20)
@given(problems())
def test_coordinate_passes_equal_their_plain_twins(problem):
    X, examples = problem
    box, y = examples.box(1.0, 1.0, 0.5), examples.sign
    dense, thin = MetricProblem(X, examples, 1.0), MetricProblem(sparse.csr_array(X), examples, 1.0)
    H = np.linalg.inv(dense.metric)
    order = np.random.default_rng(0).permutation(len(X)).astype(np.int32)
    nu, v = box.lower.copy(), dense._state(box.lower)
    ldm_metric_pass(dense.factor, dense.diagonal, box.lower, box.upper, order, nu, v)
    nu_thin, w = box.lower.copy(), thin._state(box.lower)
    thin.native.metric_pass(y, thin.inverse, thin.diagonal, box.lower, box.upper, order, nu_thin, w)
    twin = box.lower.copy()
    for i in order:
        curvature = X[i] @ H @ X[i]
        slope = y[i] * X[i] @ H @ (X.T @ (twin * y)) - 1.0
        target = twin[i] - slope / curvature if curvature > 1e-300 else -np.sign(slope) * np.inf
        twin[i] = np.clip(target, box.lower[i], box.upper[i])
    np.testing.assert_allclose(nu, twin, atol=1e-7)
    np.testing.assert_allclose(nu_thin, twin, atol=1e-7)
    np.testing.assert_allclose(w, H @ X.T @ (twin * y), atol=1e-7)


@pytest.mark.kernel
@settings(max_examples=20)
@given(problems(), st.floats(0.05, 2.0))
def test_sdca_pass_solves_each_row_exactly(problem, stiffness):
    """After a row's step its tau is pull (gamma - centre), and nu is at the bound its margin asks for."""
    X, examples = problem
    box, y = examples.box(1.0, 1.0, 0.5), examples.sign
    native, pull = (
        LdmCsr(
            X.ravel(),
            np.tile(np.arange(X.shape[1], dtype=np.int32), len(X)),
            np.arange(len(X) + 1, dtype=np.int64) * X.shape[1],
        ),
        0.3 * examples.weight,
    )
    nu, tau, w = box.lower.copy(), np.zeros(len(X)), X.T @ (box.lower * y)
    centre = 0.2
    for i in range(len(X)):
        order = np.array([i], dtype=np.int32)
        centre = native.sdca_pass(y, (X**2).sum(1), pull, box.lower, box.upper, order, nu, tau, w, centre, stiffness)
        margin = y[i] * X[i] @ w
        assert abs(tau[i] - pull[i] * (margin - centre)) < 1e-8
        if box.lower[i] < nu[i] < box.upper[i]:
            assert abs(margin - 1) < 1e-8
        else:
            assert (margin - 1) * (1 if nu[i] == box.lower[i] else -1) > -1e-8
    np.testing.assert_allclose(w, X.T @ ((nu - tau) * y), atol=1e-9)
    assert abs(centre - (0.2 + tau.sum() / stiffness)) < 1e-9


@pytest.mark.kernel
@settings(max_examples=20)
@given(problems(), st.floats(0.01, 2.0))
def test_smooth_hinge_equals_its_formula(problem, smooth):
    X, examples = problem
    n, d = X.shape
    rng = np.random.default_rng(0)
    margins, change, cost, y = rng.normal(1, 1, n), rng.normal(size=n), examples.cost, examples.sign
    lack = 1 - margins
    slope = np.clip(lack / smooth, 0, 1)
    bent = (lack > 0) & (lack < smooth)
    loss = cost @ np.where(lack >= smooth, lack - smooth / 2, np.maximum(lack, 0) ** 2 / (2 * smooth))
    csr = LdmCsr(X.ravel(), np.tile(np.arange(d, dtype=np.int32), n), np.arange(n + 1, dtype=np.int64) * d)
    for look in (lambda *a: ldm_smooth_hinge(X, *a), csr.smooth_hinge):
        pull, curvature = np.zeros(d), np.zeros((d, d))
        assert look(y, cost, margins, smooth, pull, curvature) == pytest.approx(loss)
        np.testing.assert_allclose(pull, X.T @ (cost * slope * y), atol=1e-10)
        np.testing.assert_allclose(curvature, np.tril((X.T * (cost * bent / smooth)) @ X), atol=1e-8)
    at = np.clip((1 - margins - 0.3 * change) / smooth, 0, 1)
    lack = np.maximum(1.0 - margins, 0.0)
    sums = cost @ lack, cost @ (lack * (1.0 - np.minimum(lack / smooth, 1.0)))
    assert ldm_hinge_sums(margins, cost, smooth) == pytest.approx(sums, abs=1e-10)
    assert ldm_smooth_hinge_slope(margins, change, cost, smooth, 0.3) == pytest.approx(cost @ (at * change), abs=1e-10)


@pytest.mark.kernel
@settings(max_examples=20)
@given(problems(), st.sampled_from([np.int32, np.int64]), st.integers(0, 3))
def test_parts_of_sparse_rows_equal_those_rows_alone(problem, index, seed):
    X, examples = problem
    rng = np.random.default_rng(seed)
    thin = sparse.csr_array(np.where(rng.random(X.shape) < 0.4, X, 0.0))
    thin.indices, thin.indptr = thin.indices.astype(index), thin.indptr.astype(index)
    full = with_constant(thin)
    np.testing.assert_array_equal(full.toarray(), np.hstack([thin.toarray(), np.ones((len(X), 1))]))
    assert full.indices.dtype == full.indptr.dtype == index
    chosen = np.sort(rng.permutation(len(X))[: len(X) // 2 + 1]).astype(np.int32)
    sign, cost, w = examples.sign[chosen], examples.cost[chosen], rng.normal(size=full.shape[1])
    outcomes = []
    for rows in (native_csr(full).part(chosen), native_csr(full[chosen])):
        margins, pull, curvature = np.empty(len(chosen)), np.zeros(len(w)), np.zeros((len(w), len(w)))
        rows.margins(sign, w, margins)
        loss = rows.smooth_hinge(sign, cost, margins, 0.5, pull, curvature)
        outcomes.append([*margins, loss, *pull, *curvature.ravel()])
    assert outcomes[0] == outcomes[1]
    np.testing.assert_allclose(margins, sign * (full[chosen] @ w), atol=1e-12)
    for wrong in ([-1], [len(X)]):
        with pytest.raises(ValueError, match="no such row"):
            native_csr(full).part(np.array(wrong, dtype=np.int32))


def algorithm2(X, y, theta, slopes, i_of, j_of, eta0, average_from):
    """The paper's Algorithm 2 written out: last and averaged weights, X with its constant feature."""
    mean_slope, hinge_slope, variance, decay = slopes
    w, average, count = np.zeros(X.shape[1]), np.zeros(X.shape[1]), 0
    for t, (i, j) in enumerate(zip(i_of, j_of, strict=True)):
        eta = eta0 * (1 + eta0 * decay * t) ** -0.75
        gap = y[i] * X[i] @ w - y[j] * X[j] @ w
        push = theta[i] * (mean_slope + (hinge_slope if y[i] * X[i] @ w < 1 else 0.0)) - variance * gap
        w = (1 - eta * decay) * w + eta * push * y[i] * X[i]
        if t >= average_from:
            count += 1
            average = average + (w - average) / count
    return w, average


@pytest.mark.kernel
@settings(max_examples=20)
@given(
    problems(), st.floats(0.001, 0.3), st.integers(0, 30), st.booleans(), st.sampled_from([0.05, 40.0]), st.booleans()
)
@pytest.mark.parametrize("form", ["dense", "sparse", "ones"])
def test_pair_steps_equal_algorithm_2_written_out(form, problem, eta0, average_from, paired, decay, huge):
    X, examples = problem
    n, y, theta = len(X), examples.sign, examples.cost
    eta0 = min(eta0, 0.5 / decay)
    X = X.astype(np.float32).astype(np.float64)  # such values are kept in single precision without loss
    if form != "dense":
        X = np.hstack([X if form == "sparse" else X > 0, np.zeros((n, 2 * X.shape[1]))])
    if huge and form != "ones":
        X[-1] *= 1e35  # a row that is not drawn, but whose values need double precision
    drawn = n - 1 if huge else n
    rng = np.random.default_rng(1)
    place = rng.permutation(n).astype(np.int32)  # of each row among those packed
    i_of, j_of = (rng.integers(0, drawn, 40, dtype=np.int32) for _ in range(2))
    slopes = (0.1, 1.0, 0.2 if paired else 0.0, decay)
    full = np.hstack([X, np.ones((n, 1))])
    w, average = algorithm2(full, y, theta, slopes, i_of, j_of, eta0, average_from)
    if form == "dense":
        native = LdmPairs(X, y, theta, place, True)
    else:
        csr = sparse.csr_array(X)
        columns, starts = csr.indices.astype(np.int32), csr.indptr.astype(np.int64)
        native = LdmPairs(LdmCsr(csr.data, columns, starts), X.shape[1], y, theta, place, True)
    weights, sums = np.zeros(full.shape[1]), np.zeros(full.shape[1])
    native.run(slopes, place[i_of[:17]], place[j_of[:17]], eta0, 0, average_from, weights, sums)
    native.run(slopes, place[i_of[17:]], place[j_of[17:]], eta0, 17, average_from, weights, sums)
    np.testing.assert_allclose(weights, w, atol=1e-9)
    np.testing.assert_allclose(sums / (40 - average_from), average, atol=1e-9)
    margins = np.empty(n)
    native.margins(weights, margins)
    np.testing.assert_allclose(margins[place], y * (full @ weights), rtol=1e-9, atol=1e-9)


@pytest.mark.kernel
@given(st.integers(1, 60), st.integers(0, 5))
def test_shuffle_equals_fisher_and_yates(count, seed):
    uniform = np.random.default_rng(seed).random(count)
    places, out = [], np.empty(count, dtype=np.int32)
    for i, u in enumerate(uniform):
        j = int(u * (i + 1))
        places.append(i)
        places[i], places[j] = places[j], i
    ldm_shuffle(uniform, out)
    assert out.tolist() == places
    assert sorted(places) == list(range(count))


@settings(max_examples=10)
@given(st.integers(2, 40), st.booleans(), st.integers(0, 5))
def test_pairs_are_drawn_independently_and_by_weight(count, weighted, seed):
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 4, count).astype(float) if weighted else np.ones(count)
    draw = PairSampler(weight, np.arange(count), _window(count, count), np.random.default_rng(seed))
    first, second = (np.stack([way(count)[:3] for _ in range(4000)]) for way in (draw.in_turn, draw.at_random))
    for step in range(min(3, count)):  # exact probabilities at every step, not only on average over an epoch
        for rows in (first, second):
            seen = np.bincount(rows[:, step], minlength=count)
            expected = 4000 * weight / weight.sum()
            assert ((seen - expected) ** 2 / expected).sum() < count + 8 * np.sqrt(2 * count)
        pair = np.corrcoef(first[:, step], second[:, step])[0, 1]
        assert abs(pair) < 0.1


@given(st.integers(2, 40), st.integers(0, 5))
def test_a_pass_takes_every_row_once(count, seed):
    draw = PairSampler(np.ones(count), np.arange(count), _window(count, count), np.random.default_rng(seed))
    assert sorted(draw.in_turn(count)) == list(range(count))


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(X @ [1.0, -1.0, 0.3] + 0.4 * rng.normal(size=n) > 0.7, "yes", "no"), rng


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_rho_zero_is_ldm_and_equal_classes_make_rho_idle(kernel):
    X, y, _ = data()
    settings_ = {"kernel": kernel, "tol": 1e-8}
    G = pairwise_kernels(X, metric=kernel, **({} if kernel == "linear" else {"gamma": 0.3})) + 1
    plain = Examples(np.where(y == "yes", 1.0, -1.0), np.ones(len(y)), np.ones(len(y)))
    ldm = CSLDMClassifier(rho=0, gamma=0.3, **settings_).fit(X, y)
    assert ldm.objective_ == pytest.approx(reference(G, plain, 1, 1, 1, 0), rel=1e-6)
    half = np.concatenate([np.flatnonzero(y == "yes")[:10], np.flatnonzero(y == "no")[:10]])
    a, b = (CSLDMClassifier(rho=rho, **settings_).fit(X[half], y[half]) for rho in (0.0, 2.0))
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_order_of_rows_and_duplicates_of_half_weight_change_nothing(kernel):
    X, y, rng = data()
    model = CSLDMClassifier(kernel=kernel, gamma=0.5, C=4.0, tol=1e-9).fit(X, y)
    order = rng.permutation(len(y))
    shuffled = CSLDMClassifier(kernel=kernel, gamma=0.5, C=4.0, tol=1e-9).fit(X[order], y[order])
    doubled = CSLDMClassifier(kernel=kernel, gamma=0.5, C=4.0, tol=1e-9).fit(
        np.vstack([X, X]), np.concatenate([y, y]), sample_weight=np.full(2 * len(y), 0.5)
    )
    for other in (shuffled, doubled):
        assert other.objective_ == pytest.approx(model.objective_, rel=1e-7)
        np.testing.assert_allclose(other.decision_function(X), model.decision_function(X), atol=1e-4)


def test_box_clip_keeps_the_box():
    box = Box(np.array([0.0, 1.0]), np.array([1.0, 1.0]))
    assert box.clip(np.array([5.0, -5.0])).tolist() == [1.0, 1.0]
