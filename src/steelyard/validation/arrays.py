"""Checks of rows, labels and weights, on scikit-learn's own, which is imported where it is first needed."""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Iterator, Set
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError, InvalidTypeError, SteelyardError
from .values import check_number, invalid

Rows = Any  # a C-contiguous float array (n, d) or a CSR matrix of floats: what every kernel reads


def check_rows(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    accept_sparse: bool = True,
    dtype: Any = (np.float64, np.float32),
    allow_nan: bool = False,
    looked_at: bool = True,
) -> Rows:
    """Rows as the kernels read them: C-contiguous or CSR, finite, native byte order. Never writes to ``X``.

    ``looked_at=False`` leaves out everything that reads the values; a kernel that looks at them anyway then finds what
    is not finite, and its caller calls :func:`check_finite` to say where.
    """
    wanted = dtype if isinstance(dtype, tuple) else (dtype,)
    if _as_kernels_read(X, wanted, accept_sparse):
        note_columns(estimator, X, reset=reset)
        rows: Any = X
    else:
        from sklearn.utils.validation import validate_data

        with _worded("X", X, None if reset else estimator):
            rows = validate_data(
                estimator,
                X,
                reset=reset,
                accept_sparse="csr" if accept_sparse else False,
                dtype=list(dtype) if isinstance(dtype, tuple) else dtype,
                order="C",
                ensure_all_finite=False,
            )
    if not looked_at:
        return rows
    if is_sparse(rows) and not rows.has_sorted_indices:
        rows = rows.sorted_indices()  # a copy: the caller's matrix stays as it was
    check_finite("X", rows, allow_nan=allow_nan)
    return rows


def check_table(name: str, X: Any) -> Rows:
    """Finite rows of floats, where no estimator keeps their columns."""
    from sklearn.utils.validation import check_array

    with _worded(name, X):
        rows = check_array(
            X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", ensure_all_finite=False, input_name=name
        )
    check_finite(name, rows)
    return rows


def check_shape(X: Any) -> Any:
    """Rows as they came, frames too, for a learner that reads the cells itself; lists become arrays."""
    if hasattr(X, "shape"):
        rows = X
    else:
        with _worded("X", X):
            rows = np.asarray(X)
    problem = _shape_error("X", X, rows.shape)
    if problem is not None:
        raise problem
    return rows


def note_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """What scikit-learn keeps of the columns. A plain array needs no search for their names, if none are known."""
    if type(X) is np.ndarray and X.ndim == 2:
        known = vars(estimator)
        if reset:
            known.pop("feature_names_in_", None)
            estimator.n_features_in_ = X.shape[1]
            return
        if known.get("n_features_in_") == X.shape[1] and "feature_names_in_" not in known:
            return
    from sklearn.utils.validation import validate_data

    with _worded("X", X, None if reset else estimator):
        validate_data(estimator, X, reset=reset, skip_check_array=True)


@contextmanager
def _worded(name: str, X: Any, fitted: Any = None) -> Iterator[None]:
    """Errors of scikit-learn and numpy about ``X`` as ours; their own words stay as the hint."""
    try:
        yield
    except (ValueError, TypeError, IndexError) as error:  # scikit-learn looks for the first row of an empty list
        if isinstance(error, SteelyardError):
            raise
        try:
            shape = tuple(np.shape(X)) if not hasattr(X, "shape") else tuple(X.shape)
        except ValueError:  # rows of different lengths
            shape = None
        problem = None if shape is None else _shape_error(name, X, shape)
        width = getattr(fitted, "n_features_in_", None)
        if problem is None and shape is not None and width not in (None, shape[1]):
            problem = invalid(name, f"have {width} columns as in fit", f"{shape[1]} columns", str(error))
        if problem is None:
            kind = InvalidTypeError if isinstance(error, TypeError) else InvalidInputError
            names = "feature names" in str(error)
            rule = "have the columns of fit" if names else "be numbers in rows and columns"
            got = f"{type(X).__name__} with {shape[1]} columns" if names and shape else _kind_of(X)
            problem = invalid(name, rule, got, str(error), kind)
        raise problem from error


def _kind_of(X: Any) -> str:
    return f"{type(X).__name__} of {X.dtype}" if hasattr(X, "dtype") else type(X).__name__


def _shape_error(name: str, X: Any, shape: tuple[int, ...]) -> InvalidInputError | None:
    if len(shape) != 2:
        hint = f"Reshape your data: {name}.reshape(-1, 1) for one column, {name}.reshape(1, -1) for one row."
        got = None if X is None else f"{type(X).__name__} of shape {shape}"
        return invalid(name, "have two dimensions, rows and columns", got, hint)
    for count, part, word in zip(shape, ("row", "column"), ("sample", "feature"), strict=True):
        if count == 0:
            got = f"0 {word}(s) (shape={shape}) while a minimum of 1 is required."
            return InvalidInputError(f"{name} must have at least one {part}; got {got}")
    return None


def _as_kernels_read(X: Any, wanted: tuple[Any, ...], accept_sparse: bool) -> bool:
    """Nothing would have to be converted: checks that take as long as a short stream can be left out."""
    if type(X) is np.ndarray:
        return bool(X.ndim == 2 and X.size > 0 and X.flags.c_contiguous and X.dtype in wanted)
    if not accept_sparse or not is_sparse(X) or X.format != "csr" or X.ndim != 2:
        return False
    widths = {X.indices.dtype, X.indptr.dtype}
    return min(X.shape) > 0 and X.dtype in wanted and widths in ({np.dtype(np.int32)}, {np.dtype(np.int64)})


def is_sparse(rows: Any) -> bool:
    """True for any scipy sparse matrix or array."""
    sparse = sys.modules.get("scipy.sparse")  # whoever has such a matrix has imported it
    return sparse is not None and bool(sparse.issparse(rows))


def check_finite(
    name: str, rows: Rows, *, allow_nan: bool = False, hint: str = "Impute or drop such values first."
) -> None:
    """Raise for the first NaN or infinity, by row and column."""
    values = rows.data if is_sparse(rows) else np.asarray(rows)
    if values.dtype.kind != "f" or values.size == 0 or math.isfinite(_quick_sum(values)):
        return
    bad = np.isinf(values) if allow_nan else ~np.isfinite(values)
    if not bad.any():
        return  # the sum overflowed, the values did not
    first = int(np.argmax(bad)) if values.ndim == 1 else int(np.argmax(bad.ravel()))
    value = values.ravel()[first]
    shown = "NaN" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if is_sparse(rows):
        row = int(np.searchsorted(rows.indptr, first, side="right")) - 1
        where = f"row {row}, column {int(rows.indices[first])}"
    elif values.ndim == 1:
        where = f"row {first}"
    else:
        where = "row {}, column {}".format(*np.unravel_index(first, values.shape))
    raise InvalidInputError(f"{name} must hold finite numbers; got {shown} at {where}. {hint}")


def check_scores(scores: NDArray[Any]) -> NDArray[Any]:
    """The scores or probabilities of rows; an error where numbers were too large for them, so that none decides."""
    check_finite("scores", scores, hint="Rows or coefficients are too large to compute with: scale the columns.")
    return scores


def check_linear_scores(classifier: Any, rows: Any) -> None:
    """An error where the score of a linear classifier is no number: its sign, or a probability of 1, would hide it.

    Whether a sum of such products is NaN or infinite depends on the processor, which may add without rounding first.
    """
    if hasattr(classifier, "coef_") and hasattr(classifier, "decision_function"):
        check_scores(np.asarray(classifier.decision_function(rows)))


def check_probabilities(classifier: Any, rows: Any) -> NDArray[np.float64]:
    """Class probabilities of rows, none of which rests on numbers too large to compute with."""
    check_linear_scores(classifier, rows)
    return check_scores(np.asarray(classifier.predict_proba(rows), dtype=np.float64))


def _quick_sum(values: NDArray[Any]) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.add.reduce(values, axis=None))


def check_labels(y: Any, name: str = "y") -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Sorted classes and the code of every label. Labels may be of any type that can be sorted."""
    if y is None:
        raise InvalidInputError(
            f"{name} must hold one label per row; got None. "
            "This estimator requires y to be passed, but the target y is None."
        )
    labels = check_column(name, y)
    if labels.dtype.kind == "f":
        check_finite(name, labels)
    elif labels.dtype.kind == "O":
        missing = [i for i, v in enumerate(labels) if is_missing(v)]
        if missing:
            raise invalid(name, "have a label on every row", labels[missing[0]], f"Row {missing[0]} has none.")
    if labels.dtype.kind in "iu" and labels.size > 0:
        return _count_integers(labels)
    if labels.dtype.kind == "f" and labels.size > 0 and float(np.abs(labels).max()) < 2**31:
        whole = labels.astype(np.int64)
        if (whole == labels).all():
            classes, codes = _count_integers(whole)
            return classes.astype(labels.dtype), codes
    if labels.dtype.kind not in "Ub":  # texts and truth values are always classes; the check sorts them once more
        from sklearn.utils.multiclass import check_classification_targets

        try:
            check_classification_targets(labels)
        except (TypeError, ValueError) as error:
            raise invalid(name, "hold labels of classes", labels[:5].tolist(), str(error)) from error
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        kinds = sorted({type(v).__name__ for v in labels})
        raise invalid(name, "hold labels of one type", kinds, "Convert them, e.g. to str.") from None
    return classes, codes.astype(np.intp, copy=False)


def is_missing(cell: Any) -> bool:
    """None, NaN, NaT, or the missing value of pandas, which neither equals itself nor differs from itself."""
    if cell is None:
        return True
    unequal = cell != cell
    if isinstance(unequal, (bool, np.bool_)):
        return bool(unequal)
    return not hasattr(unequal, "__len__")  # lists of numpy are compared cell by cell


def check_classes(classes: Any) -> NDArray[Any]:
    """The labels that a caller names, sorted, each once."""
    named = np.asarray(list(classes) if isinstance(classes, Set) else classes)
    if named.ndim == 0:
        raise invalid("classes", "be a sequence of labels", classes)
    try:
        return np.unique(named)
    except TypeError:
        raise invalid("classes", "hold labels of one type", classes) from None


def in_class_order(classes: NDArray[Any], codes: NDArray[np.intp], order: Any) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Classes of ``check_labels`` and their codes in an order a user gives, which names every class once."""
    given = np.asarray(order)
    if given.ndim != 1 or len(np.unique(given)) != len(given):
        raise invalid("classes", "name every class once", order)
    place = [np.flatnonzero(classes == label) for label in given]
    chosen = np.array([int(found[0]) for found in place if len(found)], dtype=np.intp)
    if len(chosen) != len(classes):
        left_out = classes.tolist()[np.setdiff1d(np.arange(len(classes)), chosen)[0]]
        raise invalid("classes", f"name all classes of y, {classes.tolist()}", order, f"Add {left_out!r}.")
    rank = np.empty(len(classes), dtype=np.intp)
    rank[chosen] = np.arange(len(chosen))
    return classes[chosen], rank[codes]


def check_column(name: str, values: Any) -> NDArray[Any]:
    """A flat array; a table of one column becomes one with scikit-learn's warning."""
    from sklearn.utils.validation import column_or_1d

    try:
        return np.asarray(column_or_1d(np.asarray(values), warn=True))
    except ValueError as error:
        raise invalid(name, "be one column, a value a row", _kind_of(values), str(error)) from error


def _count_integers(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Classes and codes without sorting, where the labels lie in a short range."""
    low, high = int(labels.min()), int(labels.max())
    if high - low > 1024:
        classes, codes = np.unique(labels, return_inverse=True)
        return classes, codes.astype(np.intp, copy=False)
    least = labels.dtype.type(low)
    unsigned = np.dtype(f"u{labels.dtype.itemsize}")  # the range may be too long for int8, and the labels for int64
    offsets = (labels - least).astype(unsigned).astype(np.intp)
    present = np.bincount(offsets) > 0
    classes = np.flatnonzero(present).astype(labels.dtype) + least
    return classes, offsets if present.all() else (np.cumsum(present) - 1).astype(np.intp)[offsets]


def check_same_length(**columns: Any) -> None:
    """Every named array has as many rows as the first."""
    (first, reference), *rest = columns.items()
    n = len_rows(reference, first)
    for name, column in rest:
        if len_rows(column, name) != n:
            raise invalid(name, f"have {n} rows like {first}", f"{len_rows(column)} rows")


def len_rows(column: Any, name: str = "X") -> int:
    """Number of rows of an array, sparse matrix, frame or sequence."""
    try:
        return int(column.shape[0]) if hasattr(column, "shape") else len(column)
    except (TypeError, IndexError):
        raise invalid(name, "have rows", column, "Give an array, a frame or a list.") from None


def check_floats(name: str, values: Any) -> NDArray[np.float64]:
    """Numbers in double precision, side by side."""
    try:
        return np.ascontiguousarray(values, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise invalid(name, "hold numbers", _kind_of(values), str(error)) from error


def check_sample_weight(sample_weight: Any, n: int) -> NDArray[np.float64]:
    """Non-negative finite weights of finite sum, ones if None; at least one must be positive."""
    if sample_weight is None:
        return np.ones(n)
    if isinstance(sample_weight, numbers.Real):
        sample_weight = np.full(n, check_number("sample_weight", sample_weight, above=0))
    weight = check_floats("sample_weight", sample_weight)
    if weight.shape != (n,):
        raise invalid("sample_weight", f"have shape ({n},)", weight.shape)
    check_finite("sample_weight", weight)
    if (weight < 0).any():
        raise invalid("sample_weight", "be >= 0 everywhere", float(weight.min()))
    if not (weight > 0).any():
        raise invalid("sample_weight", "be positive somewhere", "all zero")
    with np.errstate(over="ignore"):
        if not np.isfinite(weight.sum()):
            raise invalid(
                "sample_weight", "have a finite sum", float(weight.max()), "Divide them all by the same number."
            )
    return weight


@contextmanager
def overflow_blamed_on(name: str, rule: str, got: object, hint: str) -> Iterator[None]:
    """An overflow of numpy's is an error about the argument that led to it, not a warning and an infinity."""
    try:
        with np.errstate(over="raise"):
            yield
    except FloatingPointError as error:
        raise invalid(name, rule, got, hint) from error


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """A call that fails or is interrupted leaves the estimator as it was, what it knows of the columns included."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def check_folds(cv: Any, X: Any, codes: NDArray[np.intp]) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """(training, held-out) positions of every fold; there are some in each."""
    from sklearn.model_selection import check_cv

    rule, every = "be a number of folds, a scikit-learn splitter or (train, test) pairs", np.arange(len(codes))
    try:
        cuts = check_cv(cv, codes, classifier=True).split(X, codes)
        folds = [(every[train], every[test]) for train, test in cuts]
    except (IndexError, TypeError, ValueError) as error:
        raise invalid("cv", rule, cv, str(error)) from error
    if not folds or not all(len(train) and len(test) for train, test in folds):
        raise invalid("cv", rule, cv, "It makes no folds, or one without rows to learn from or to judge by.")
    return folds


def check_random(random_state: Any) -> np.random.RandomState:
    """A source of random numbers from what scikit-learn takes as ``random_state``."""
    from sklearn.utils import check_random_state

    try:
        return check_random_state(random_state)  # type: ignore[no-any-return]
    except ValueError as error:
        rule = "be None, a whole number in 0..2**32 - 1 or a numpy RandomState"
        hint = "Draw a number from a Generator: random_state=int(rng.integers(2**32))."
        raise invalid("random_state", rule, random_state, hint) from error


def check_takes_weight(estimator: Any) -> None:
    """Base learners of weighted problems must read ``sample_weight``."""
    from sklearn.utils.validation import has_fit_parameter

    if not has_fit_parameter(estimator, "sample_weight"):
        raise invalid(
            "estimator",
            "accept sample_weight in fit, through which it learns what mistakes cost",
            estimator,
            "Use another base learner, or move the steps before it out of the reduction.",
        )


def check_base_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Rows as they came, frames too, for a base learner that reads them itself, in a form that some can be taken of."""
    rows = check_shape(X)
    note_columns(estimator, rows, reset=reset)
    return rows.tocsr() if is_sparse(rows) and rows.format in ("bsr", "coo", "dia") else rows


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Rows of an array, sparse matrix or frame; the very same object where all are taken in order."""
    if len(rows) == X.shape[0] and np.array_equal(rows, np.arange(len(rows))):
        return X
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return nw.to_native(frame[rows.tolist(), :]) if isinstance(frame, nw.DataFrame) else X[rows]
