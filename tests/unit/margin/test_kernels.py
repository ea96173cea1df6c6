"""Kernel matrices against their formulas in double precision."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from steelyard import CSSVMClassifier, OneSidedClassifier
from steelyard.errors import InvalidInputError
from steelyard.margin.kernels import LazyGram, gram, kernel_spec

pytestmark = pytest.mark.kernel
RNG = np.random.default_rng(0)


def reference(X, Z, kernel):
    return {
        "linear": lambda: X @ Z.T,
        "poly": lambda: polynomial_kernel(X, Z, degree=3, gamma=0.5, coef0=1.0),
        "rbf": lambda: rbf_kernel(X, Z, gamma=0.5),
        "perceptron": lambda: -cdist(X, Z),
    }[kernel]()


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "perceptron"])
@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 17, 3), (33, 16, 16), (20, 40, 17), (7, 9, 100)])
@pytest.mark.parametrize(
    ("rows", "out", "close"), [("f4", "float32", 2e-6), ("f8", "float32", 2e-7), ("f8", "float64", 1e-13)]
)
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_every_kernel_is_its_formula(kernel, shape, rows, out, close, layout) -> None:
    n, m, d = shape
    X, Z = RNG.normal(size=(n, d)).astype(rows), RNG.normal(size=(m, d)).astype(rows)
    if layout == "csr":
        X, Z = X * (RNG.random(X.shape) < 0.5), Z * (RNG.random(Z.shape) < 0.5)
    expected = reference(X.astype(float), Z.astype(float), kernel)
    wrap = sparse.csr_array if layout == "csr" else np.asarray
    K = gram(wrap(X), wrap(Z), kernel=kernel, gamma=0.5, coef0=1.0, dtype=out)
    assert K.dtype == out
    assert K.shape == (n, m)
    scale = np.abs(X.astype(float)) @ np.abs(Z.astype(float)).T if kernel == "linear" else np.abs(expected)
    assert (np.abs(K - expected) <= close * np.maximum(scale, 1.0)).all()


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_distances_of_near_neighbours_keep_their_digits(layout) -> None:
    X = 1000.0 + RNG.random((30, 16))
    Z = X + 1e-7 * RNG.random(X.shape)
    exact = cdist(X, Z)
    K = gram(layout(X), layout(Z))
    np.testing.assert_allclose(-K, exact, rtol=1e-6)


def test_single_precision_distances_are_right_to_a_millionth() -> None:
    X = RNG.random((200, 300)).astype(np.float32)
    K = gram(X)
    exact = cdist(X.astype(float), X.astype(float))
    off = ~np.eye(len(X), dtype=bool)
    assert np.abs(-K[off] / exact[off] - 1).max() < 1e-6
    assert (np.diag(K) == 0).all()
    assert (K.T == K).all()


def test_the_exponential_is_right_over_its_whole_range() -> None:
    distance = np.concatenate([[0.0, 1e-300, 1e-9], np.geomspace(1e-6, 30, 500)])[:, None]
    K = gram(distance, [[0.0]], kernel="rbf", gamma=1.0, dtype="float64")[:, 0]
    exact = np.exp(-(distance[:, 0] ** 2))
    visible = exact > 1e-300
    np.testing.assert_allclose(K[visible], exact[visible], rtol=3e-15)
    assert (K[~visible] < 1e-300).all()


def test_precomputed_and_callable() -> None:
    X = RNG.random((4, 3))
    K = gram(X @ X.T, kernel="precomputed", dtype="float64")
    np.testing.assert_array_equal(K, X @ X.T)
    np.testing.assert_allclose(gram(X, kernel=lambda a, b: a @ b.T), X @ X.T, rtol=1e-6)
    with pytest.raises(InvalidInputError, match="return an array of shape"):
        gram(X, kernel=lambda a, b: a)


def test_inputs_of_any_layout_are_read_and_left_alone() -> None:
    X = RNG.random((6, 8))
    X.setflags(write=False)
    expected = -cdist(X[:, ::2], X[:, ::2])
    for rows in (X[:, ::2], np.asfortranarray(X[:, ::2]), X[:, ::2].astype(">f8"), X[:, ::2].tolist()):
        np.testing.assert_allclose(gram(rows, dtype="float64"), expected, atol=1e-12)
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    np.testing.assert_allclose(gram(wide, dtype="float64"), -cdist(X, X), atol=1e-12)
    twice = sparse.csr_array((np.ones(4), ([0, 0, 1, 1], [1, 1, 0, 2])), shape=(2, 3))
    np.testing.assert_allclose(gram(twice, kernel="linear"), [[4, 0], [0, 2]])


def test_gamma_is_settled_once_on_the_training_rows() -> None:
    X = RNG.random((10, 4))
    assert kernel_spec("rbf", X).gamma == pytest.approx(1 / (4 * X.var()))
    assert kernel_spec("rbf", sparse.csr_array(X), gamma="scale").gamma == pytest.approx(1 / (4 * X.var()))
    assert kernel_spec("rbf", X, gamma="auto").gamma == 0.25
    assert kernel_spec("rbf", np.ones((3, 4))).gamma == 0.25


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"kernel": "cosine"}, "kernel must be one of"),
        ({"kernel": "rbf", "gamma": -1}, "gamma must be a finite number > 0"),
        ({"kernel": "rbf", "gamma": "wide"}, "gamma must be one of"),
        ({"kernel": "poly", "degree": -1}, "degree must be a whole number"),
        ({"coef0": np.nan}, "coef0 must be a finite number"),
        ({"dtype": "float16"}, "dtype must be one of"),
    ],
)
def test_bad_settings_are_named(settings, complaint) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        gram(np.ones((2, 2)), **settings)


def test_bad_rows_are_named() -> None:
    with pytest.raises(InvalidInputError, match="Z must have 2 features"):
        gram(np.ones((2, 2)), np.ones((2, 3)))
    with pytest.raises(InvalidInputError, match="X must hold finite numbers; got NaN at row 1, column 0"):
        gram([[0.0], [np.nan]])


@pytest.mark.parametrize("kernel", ["perceptron", "rbf", "linear", "poly"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array, lambda X: X.astype(np.float32)])
def test_rows_computed_when_needed_are_those_of_the_matrix(kernel, dtype, wrap) -> None:
    X = wrap(np.random.default_rng(0).random((60, 7)))
    whole = gram(X, kernel=kernel, gamma=0.5, coef0=1.0, dtype=dtype)
    lazy = LazyGram(X, kernel=kernel, gamma=0.5, coef0=1.0, dtype=dtype)
    assert lazy.rows_at_hand == 0
    rows, columns = np.array([3, 59, 3]), np.arange(0, 60, 7)
    np.testing.assert_array_equal(lazy.part(rows, columns), whole[np.ix_(rows, columns)], strict=True)
    assert lazy.rows_at_hand == 2
    np.testing.assert_array_equal(lazy.part(np.arange(60), np.arange(60)), whole)
    assert lazy.rows_at_hand == 60


def test_many_threads_may_ask_for_the_same_rows() -> None:
    X = np.random.default_rng(0).random((400, 30))
    lazy, columns = LazyGram(X), np.arange(400)
    asked = [np.random.default_rng(seed).permutation(400)[:200] for seed in range(16)]
    with ThreadPoolExecutor(8) as threads:
        parts = list(threads.map(lambda rows: lazy.part(rows, columns), asked))
    whole = gram(X)
    for rows, part in zip(asked, parts, strict=True):
        np.testing.assert_array_equal(part, whole[rows])


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: LazyGram(np.ones((2, 2)), kernel="precomputed"), "kernel"),
        (lambda: LazyGram(np.ones((2, 2)), kernel=np.dot), "kernel"),
        (lambda: LazyGram([[np.nan]]), "X"),
        (lambda: LazyGram(np.ones((2, 2)), dtype="int8"), "dtype"),
        (lambda: LazyGram(np.ones((2, 2))).part([2], [0]), "rows"),
        (lambda: LazyGram(np.ones((2, 2))).part([0], [-1]), "columns"),
        (lambda: LazyGram(np.ones((2, 2))).part([0], [0.5]), "columns"),
    ],
)
def test_what_a_lazy_matrix_cannot_use_is_named(call, name) -> None:
    with pytest.raises(InvalidInputError, match=f"^{name} must"):
        call()


@pytest.mark.parametrize("wrap", [np.array, sparse.csr_array])
def test_a_lazy_matrix_is_that_of_the_rows_it_was_given(wrap) -> None:
    X = wrap(np.random.default_rng(0).random((20, 3)))
    whole, lazy = gram(X), LazyGram(X)
    (X.data if sparse.issparse(X) else X)[:] = 0.0
    np.testing.assert_array_equal(lazy.part(np.arange(20), np.arange(20)), whole)
    assert repr(lazy) == "<LazyGram of 20 rows, 20 of them computed>"


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("kernel", "longest", "dtype"),
    [
        ("perceptron", 1e200, "float64"),
        ("perceptron", 1e39, "float32"),
        ("linear", 1e20, "float32"),
        ("poly", 1e14, "float32"),
        ("rbf", 1e200, "float64"),
    ],
)
def test_rows_whose_kernel_would_overflow_are_refused(kernel, longest, dtype, wrap) -> None:
    long = wrap([[longest, 1.0], [-longest, 2.0], [0.0, 3.0]])
    short = wrap([[1.0, 1.0]])
    settings = {"kernel": kernel, "gamma": 1.0, "dtype": dtype}
    for name, call in {
        "X": lambda: gram(long, **settings),
        "Z": lambda: gram(short, long, **settings),
        "X must": lambda: LazyGram(long, **settings),
        "X m": lambda: CSSVMClassifier(**settings).fit(long, [0, 1, 1]),
    }.items():
        with pytest.raises(InvalidInputError, match=f"^{name}.*small enough for {kernel} kernel values.*Scale"):
            call()
    almost = {"perceptron": 1e30, "linear": 1e15, "poly": 1e5, "rbf": 1e100}[kernel]
    assert np.isfinite(gram(wrap([[almost, 1.0], [-almost, 2.0]]), **settings)).all()


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "perceptron"])
def test_empty_columns_of_sparse_rows_cost_nothing(kernel: str) -> None:
    """Hashed features have more columns than fit into memory, and columns that differ by 2^32 are not the same."""
    narrow = sparse.random_array((30, 6), density=0.5, rng=np.random.default_rng(0), format="csr")
    columns = np.array([0, 7, 2**31, 2**32, 2**32 + 7, 2**40 - 1])
    wide = sparse.csr_array((narrow.data, columns[narrow.indices], narrow.indptr), shape=(30, 2**40))
    settings = {"kernel": kernel, "gamma": 0.5, "coef0": 1.0, "dtype": "float64"}
    whole = gram(narrow, **settings)
    np.testing.assert_array_equal(gram(wide, **settings), whole)
    np.testing.assert_array_equal(gram(wide[:9], wide[9:], **settings), whole[:9, 9:])
    np.testing.assert_array_equal(LazyGram(wide, **settings).part(np.arange(30), np.arange(30)), whole)
    y = np.arange(30) % 2
    for learner in (CSSVMClassifier, OneSidedClassifier):
        model, plain = learner(**settings).fit(wide, y), learner(**settings).fit(narrow, y)
        np.testing.assert_array_equal(model.decision_function(wide), plain.decision_function(narrow))


def test_rows_without_any_value_have_a_kernel() -> None:
    np.testing.assert_array_equal(gram(sparse.csr_array((2, 5)), kernel="poly", gamma=1.0, coef0=2.0), 8.0)


@pytest.mark.parametrize("learner", [CSSVMClassifier, OneSidedClassifier])
def test_a_kernel_that_is_given_must_fit_the_precision(learner) -> None:
    X = RNG.normal(size=(20, 2))
    y = (X[:, 0] > 0).astype(int)
    huge = 1e39 * X @ X.T
    words = "must be small enough for float32; got .*Scale the kernel or use dtype='float64'"
    with pytest.raises(InvalidInputError, match=f"^X {words}"):
        learner(kernel="precomputed").fit(huge, y)
    with pytest.raises(InvalidInputError, match=rf"^kernel\(X, Z\) {words}"):
        learner(kernel=lambda a, b: 1e39 * a @ b.T).fit(X, y)
    fitted = learner(kernel="precomputed", dtype="float64").fit(huge, y)
    assert np.isfinite(fitted.decision_function(huge)).all()


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (lambda K: np.full(K.shape, "a"), r"kernel\(X, Z\) must be numbers in rows and columns"),
        (lambda K: K * 1j, r"kernel\(X, Z\) must be numbers in rows and columns"),
        (lambda K: K[:, :3], r"kernel must return an array of shape \(8, 8\); got \(8, 3\)"),
        (lambda K: K * np.nan, r"kernel\(X, Z\) must hold finite numbers; got NaN at row 0"),
        (lambda K: None, r"kernel\(X, Z\) must have two dimensions"),
    ],
)
def test_what_a_kernel_function_may_not_return(returned, words) -> None:
    X = RNG.normal(size=(8, 2))
    with pytest.raises(InvalidInputError, match=words):
        gram(X, kernel=lambda a, b: returned(a @ b.T))
    np.testing.assert_array_equal(
        gram(X, kernel=lambda a, b: sparse.csr_array(a @ b.T)), gram(X, kernel=lambda a, b: a @ b.T)
    )
