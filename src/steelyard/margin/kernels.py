"""Kernel matrices, computed once and shared: linear, polynomial, RBF, perceptron, precomputed, callable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._native import (
    GramRows32,
    GramRows64,
    Kernel,
    gram_csr,
    gram_dense,
    gram_rows_csr32,
    gram_rows_csr64,
    gram_rows_dense32,
    gram_rows_dense64,
)
from ..validation.arrays import Rows, check_table, is_sparse, overflow_blamed_on
from ..validation.docstrings import documented
from ..validation.types import ArrayLike, MatrixLike
from ..validation.values import check_choice, check_count, check_number, invalid

KernelName = Literal["linear", "poly", "rbf", "perceptron", "precomputed"]
KernelFunction = Callable[[Any, Any], Any]
Gamma = float | Literal["scale", "auto"] | None
Matrix = NDArray[np.float32] | NDArray[np.float64]

NATIVE = {"linear": 0, "poly": 1, "rbf": 2, "perceptron": 3}  # the order of KernelKind in native/gram.hpp
DTYPES: dict[str, np.dtype[Any]] = {"float32": np.dtype(np.float32), "float64": np.dtype(np.float64)}
_GAMMA = 'Of "rbf" and "poly". None and "scale" are 1 / (d var(X)), 1 / d where X is constant; "auto" is 1 / d.'
KERNEL = {  # what the parameters of kernels mean, for ``documented``
    "kernel": (
        '{"perceptron", "rbf", "linear", "poly", "precomputed"} or callable',
        "``-|x - z|``; ``exp(-gamma |x - z|^2)``; ``xz``; ``(gamma xz + coef0)^degree``; X is the matrix already; or\n"
        "a function of two matrices of rows.",
    ),
    "gamma": ('float above 0, "scale", "auto" or None', _GAMMA),
    "degree": ("int, at least 0", 'Exponent of "poly".'),
    "coef0": ("float", 'Constant term of "poly".'),
    "dtype": ('{"float32", "float64"}', "Precision of kernel values."),
}
ROWS_AT_ONCE = 1 << 26  # numbers written by one native call, so that a long computation can be interrupted


class KernelSpec(NamedTuple):
    """A kernel with every parameter settled; what a fitted estimator keeps."""

    kernel: KernelName | KernelFunction
    gamma: float
    degree: int
    coef0: float

    @property
    def is_native(self) -> bool:
        """True if the native code can compute single rows of it."""
        return self.kernel in NATIVE

    def native(self) -> Kernel:
        """The same for the native code."""
        assert isinstance(self.kernel, str)
        return Kernel(NATIVE[self.kernel], self.gamma, self.degree, self.coef0)


def kernel_spec(kernel: Any, X: Rows, *, gamma: Any = None, degree: Any = 3, coef0: Any = 0.0) -> KernelSpec:
    """Check kernel parameters and settle ``gamma`` on the rows X of the training set.

    ``gamma``: None or "scale" is 1 / (d var(X)) (1 / d where X is constant), "auto" is 1 / d, else a number > 0.
    """
    if not callable(kernel):
        hint = "A function of two row matrices is also accepted."
        kernel = check_choice("kernel", kernel, (*NATIVE, "precomputed"), hint)
    if isinstance(gamma, str) or gamma is None:
        check_choice("gamma", gamma, (None, "scale", "auto"), "Or give a number > 0.")
        features = max(1, X.shape[1])
        variance = 1.0 if gamma == "auto" or kernel not in ("poly", "rbf") else _variance(X)
        value = 1.0 / (features * variance) if variance > 0 else 1.0 / features
    else:
        value = check_number("gamma", gamma, above=0)
    return KernelSpec(
        kernel, value, check_count("degree", degree, at_least=0, at_most=2**31 - 1), check_number("coef0", coef0)
    )


def _variance(X: Rows) -> float:
    with np.errstate(over="ignore", invalid="ignore"):  # rows that long are named where the kernel is computed
        if is_sparse(X):
            return float(X.multiply(X).mean() - X.mean() ** 2)
        return float(X.var(dtype=np.float64))


def check_range(spec: KernelSpec, dtype: np.dtype[Any], **tables: Rows) -> None:
    """Raise for rows so long that a kernel value would overflow: no solver survives an infinite one."""
    work = working_type(dtype, *tables.values())
    name, most = max(((name, _largest(rows)) for name, rows in tables.items()), key=lambda found: found[1])
    features = max(rows.shape[1] for rows in tables.values())
    with np.errstate(over="ignore", invalid="ignore"):
        square = np.float64(features) * np.float64(most) ** 2  # no row has a greater dot product with another
        bounds = {
            "linear": square,
            "poly": (abs(spec.gamma) * square + abs(spec.coef0)) ** spec.degree,
            "rbf": np.float64(1.0),
            "perceptron": 2 * np.sqrt(square),
        }
    if 4 * square > np.finfo(work).max or not bounds[str(spec.kernel)] <= np.finfo(dtype).max:
        raise invalid(name, f"be small enough for {spec.kernel} kernel values in {dtype}", most, "Scale the features.")


def working_type(dtype: np.dtype[Any], *tables: Rows) -> np.dtype[Any]:
    """The precision in which rows are compared: theirs, and never less than that of the result."""
    return np.result_type(dtype, *(np.float32 if rows.dtype == np.float32 else np.float64 for rows in tables))


def _largest(rows: Rows) -> float:
    values = rows.data if is_sparse(rows) else rows
    return max(float(values.max()), -float(values.min())) if values.size else 0.0


@documented(KERNEL)
def gram(
    X: MatrixLike,
    Z: MatrixLike | None = None,
    *,
    kernel: KernelName | KernelFunction = "perceptron",
    gamma: Gamma = None,
    degree: int = 3,
    coef0: float = 0.0,
    dtype: str = "float32",
) -> Matrix:
    """Kernel matrix K(X, Z), dense, of shape (n_X, n_Z); K(X, X) without Z.

    The perceptron kernel (paper 002, sec. 4) is only *conditionally* positive definite: use it where a bias makes the
    coefficients sum to zero.

    Rows that are float32 are compared in float32 arithmetic, others in float64.

    Parameters
    ----------
    Z : array-like, sparse matrix of shape (n_Z, d) or None
        Other rows; X itself if None.

    Returns
    -------
    ndarray of shape (n_X, n_Z)
        The kernel values.

    Examples
    --------
    >>> gram([[0.0, 0.0], [3.0, 4.0]])
    array([[-0., -5.],
           [-5., -0.]], dtype=float32)
    """
    rows = check_table("X", X)
    return gram_of(kernel_spec(kernel, rows, gamma=gamma, degree=degree, coef0=coef0), rows, Z, dtype=dtype)


@documented(KERNEL)
class LazyGram:
    """The kernel matrix K(X, X) whose rows are computed when somebody first needs them, and then kept.

    :func:`solve_path` takes it in place of a matrix. A support vector machine needs the rows of its support only: where
    those are few, most of the matrix is never computed and takes no memory. Threads share it.

    Parameters
    ----------
    kernel : {"perceptron", "rbf", "linear", "poly"}
        A kernel that has a name, as in :func:`gram`.

    Examples
    --------
    >>> K = LazyGram([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
    >>> K.part([1], [0, 2])
    array([[-5.       , -4.2426405]], dtype=float32)
    >>> K.shape, K.rows_at_hand
    ((3, 3), 1)
    """

    def __init__(
        self,
        X: MatrixLike,
        *,
        kernel: KernelName = "perceptron",
        gamma: Gamma = None,
        degree: int = 3,
        coef0: float = 0.0,
        dtype: str = "float32",
    ) -> None:
        check_choice("kernel", kernel, tuple(NATIVE), "Use gram for a function or a matrix.")
        rows = check_table("X", X)
        spec = kernel_spec(kernel, rows, gamma=gamma, degree=degree, coef0=coef0)
        self.dtype = DTYPES[check_choice("dtype", dtype, tuple(DTYPES))]
        self.native = _growing(spec, rows, self.dtype)

    @classmethod
    def of(cls, spec: KernelSpec, rows: Rows, *, dtype: str) -> LazyGram:
        """With settled parameters.

        Parameters
        ----------
        spec : KernelSpec
            The kernel, every parameter settled.
        rows : array or CSR matrix of shape (n, d)
            Checked rows.
        dtype : {"float32", "float64"}
            Precision of kernel values.

        Returns
        -------
        LazyGram
            The matrix, none of its rows computed.
        """
        assert isinstance(spec.kernel, str)
        return cls(rows, **spec._asdict(), dtype=dtype)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, as many as X has rows."""
        return len(self.native), len(self.native)

    @property
    def rows_at_hand(self) -> int:
        """How many rows have been computed."""
        return self.native.rows_at_hand

    def part(self, rows: ArrayLike, columns: ArrayLike) -> Matrix:
        """K[rows][:, columns]; the rows are kept whole.

        Parameters
        ----------
        rows : array-like of int
            Positions of rows.
        columns : array-like of int
            Positions of columns.

        Returns
        -------
        ndarray of shape (rows, columns)
            The kernel values.
        """
        at, across = _positions("rows", rows, self.shape[0]), _positions("columns", columns, self.shape[1])
        out = np.empty((len(at), len(across)), self.dtype)
        self.native.part(at, across, out)
        return out

    def __repr__(self) -> str:
        return f"<LazyGram of {self.shape[0]} rows, {self.rows_at_hand} of them computed>"


def _positions(name: str, which: Any, n: int) -> NDArray[np.int64]:
    at = np.asarray(which)
    if at.ndim != 1 or (len(at) and (at.dtype.kind not in "iu" or at.min() < 0 or at.max() >= n)):
        raise invalid(name, f"hold positions in 0..{n - 1}", which)
    return np.ascontiguousarray(at, np.int64)


def _growing(spec: KernelSpec, rows: Rows, out_type: np.dtype[Any]) -> GramRows32 | GramRows64:
    check_range(spec, out_type, X=rows)
    single, work = out_type == np.float32, working_type(out_type, rows)
    if is_sparse(rows):  # copies: rows that are computed later must be those of now
        on_csr = gram_rows_csr32 if single else gram_rows_csr64
        (rows,) = narrowed(rows)
        values, indices, starts = csr_arrays(rows, work)
        return on_csr(spec.native(), rows.shape[1], values.copy(), indices.copy(), starts.copy())
    on_dense = gram_rows_dense32 if single else gram_rows_dense64
    return on_dense(spec.native(), np.array(rows, work, order="C"))


def gram_of(spec: KernelSpec, X: Any, Z: Any = None, *, dtype: str = "float32") -> Matrix:
    """:func:`gram` with settled parameters."""
    out_type = DTYPES[check_choice("dtype", dtype, tuple(DTYPES))]
    x = check_table("X", X)
    if spec.kernel == "precomputed":
        return _given("X", x, out_type)
    z = x if Z is None else check_table("Z", Z)
    if x.shape[1] != z.shape[1]:
        raise invalid("Z", f"have {x.shape[1]} features like X", f"{z.shape[1]} features")
    if callable(spec.kernel):
        return _called(spec.kernel, x, z, out_type)
    check_range(spec, out_type, X=x, Z=z)
    if is_sparse(x) or is_sparse(z):
        return _sparse_gram(spec, x, z, out_type)
    return _dense_gram(spec, x, z, out_type)


def _called(kernel: KernelFunction, x: Rows, z: Rows, out_type: np.dtype[Any]) -> Matrix:
    values = check_table("kernel(X, Z)", kernel(x, z))
    if values.shape != (x.shape[0], z.shape[0]):
        raise invalid("kernel", f"return an array of shape {(x.shape[0], z.shape[0])}", values.shape)
    return _given("kernel(X, Z)", values, out_type)


def _given(name: str, values: Rows, out_type: np.dtype[Any]) -> Matrix:
    """Kernel values that are not ours, in the type that is asked for."""
    rule, hint = f"be small enough for {out_type}", "Scale the kernel or use dtype='float64'."
    with overflow_blamed_on(name, rule, _largest(values), hint):
        matrix: Matrix = np.ascontiguousarray(values.toarray() if is_sparse(values) else values, dtype=out_type)
    return matrix


def _dense_gram(spec: KernelSpec, x: Rows, z: Rows, out_type: np.dtype[Any]) -> Matrix:
    work = working_type(out_type, x, z)
    x, z = np.ascontiguousarray(x, work), np.ascontiguousarray(z, work)
    out: Matrix = np.empty((len(x), len(z)), out_type)
    step = max(64, ROWS_AT_ONCE // max(1, len(z) * max(1, x.shape[1] // 16)))
    for start in range(0, len(x), step):
        gram_dense(spec.native(), x[start : start + step], z, out[start : start + step])
    return out


class CsrArrays(NamedTuple):
    """A CSR matrix as the native code reads it."""

    values: Any
    indices: NDArray[np.int32]
    starts: NDArray[np.int64]


def csr_arrays(X: Rows, dtype: Any) -> CsrArrays:
    """Sorted, without duplicates, in the given precision; X itself is left as it is."""
    rows = X  # which remembers what has been found out about it
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return CsrArrays(
        np.ascontiguousarray(rows.data, dtype),
        np.ascontiguousarray(rows.indices, np.int32),
        np.ascontiguousarray(rows.indptr, np.int64),
    )


def narrowed(*tables: Rows, columns_a_value: int = 1) -> tuple[Rows, ...]:
    """Sparse rows without the columns that are empty in all of them, if there are more columns than that to a value.

    The native code spreads a row over all columns; what it adds up, and in which order, stays the same.
    """
    rows = [X if getattr(X, "format", None) == "csr" else sparse.csr_array(X) for X in tables]
    indices = np.concatenate([one.indices for one in rows])
    if rows[0].shape[1] <= columns_a_value * len(indices):
        return tuple(rows)
    used, places = np.unique(indices, return_inverse=True)
    ends = np.cumsum([len(one.indices) for one in rows])
    return tuple(
        sparse.csr_array((one.data, part, one.indptr), shape=(one.shape[0], len(used)))
        for one, part in zip(rows, np.split(places, ends[:-1]), strict=True)
    )


def _sparse_gram(spec: KernelSpec, x: Rows, z: Rows, out_type: np.dtype[Any]) -> Matrix:
    work = working_type(out_type, x, z)
    x, z = narrowed(x, z, columns_a_value=32)  # fewer are cleared sooner than sorted
    mine, its = csr_arrays(x, work), csr_arrays(z, work)
    out: Matrix = np.empty((x.shape[0], z.shape[0]), out_type)
    step = max(16, ROWS_AT_ONCE // max(1, 8 * z.shape[0]))
    for start in range(0, len(out), step):
        gram_csr(spec.native(), x.shape[1], *mine, *its, start, out[start : start + step])
    return out
