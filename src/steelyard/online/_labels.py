"""Labels of any type, as quickly as a stream needs them, and the draws of its rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._native import tell_apart
from ..errors import InvalidInputError
from ..validation.arrays import check_classes, check_column, check_finite, check_labels
from ..validation.values import invalid

Labels = NDArray[Any]


def as_column(y: Any) -> Labels:
    """Labels as a flat array."""
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biufU":
        return y  # nothing would be converted
    if y is None:
        check_labels(y)
    return check_column("y", y)


def two_classes(y: Labels) -> tuple[Labels, NDArray[np.bool_]]:
    """The sorted classes of ``y``, which must be two, and where the second stands. Whole numbers take no sort."""
    if y.dtype.kind in "biu":
        other = np.empty(len(y), bool)
        at = tell_apart(np.ascontiguousarray(y, np.int64), other)  # great unsigned numbers wrap, each to its own
        if at > 0:
            pair = y[[0, at]].astype(y.dtype.newbyteorder("="))
            return (pair, other) if pair[0] < pair[1] else (pair[::-1].copy(), ~other)
    classes = check_two(check_labels(y)[0])
    return classes, is_positive(y, classes)


def check_two(classes: Any) -> Labels:
    """Two different labels, sorted."""
    found = check_classes(classes)
    if len(found) > 2:
        raise InvalidInputError(
            f"y must have two classes; got {len(found)}. Only binary classification is supported. "
            "The type of the target is multiclass."
        )
    if len(found) < 2:
        raise invalid("y", "have two classes", found.tolist(), "If the first batch has one class, pass classes=[...].")
    return found


def is_positive(y: Labels, classes: Labels) -> NDArray[np.bool_]:
    """True where the label is ``classes[1]``; one that is neither class is named with its row."""
    positive = np.asarray(y == classes[1])
    if positive.shape == y.shape:
        either = positive | np.asarray(y == classes[0])
        if either.all():
            return positive
        at = int(np.argmin(either))
    else:  # numpy found the types not comparable
        at = 0
    raise invalid("y", f"hold the classes {classes.tolist()}", y[at], f"See row {at}.")


def uniform_draws(draws: Any, n: int) -> NDArray[np.float64]:
    """Uniform numbers a caller gives in place of the rounds' own."""
    uniform = np.ascontiguousarray(draws, dtype=np.float64)
    if uniform.shape != (n,):
        raise invalid("draws", f"have shape ({n},)", uniform.shape)
    check_finite("draws", uniform)
    if len(uniform) and not (uniform.min() >= 0 and uniform.max() < 1):
        raise invalid("draws", "lie in [0, 1)", (float(uniform.min()), float(uniform.max())))
    return uniform
