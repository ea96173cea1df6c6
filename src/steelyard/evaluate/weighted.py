"""A mean of rows that count differently, with its standard error.

Tested in ``tests/unit/evaluate/test_weighted.py``.
"""

from __future__ import annotations

import numpy as np

from ..validation.types import Floats


def weighted_mean(values: Floats, weights: Floats | None = None) -> tuple[float, float]:
    """Mean and standard error of one draw a row; a weight says what a row stands for, not that it was seen so often.

    Parameters
    ----------
    values : array of shape (n,)
        One number a row.
    weights : array of shape (n,) or None
        How much each row counts; alike if None.

    Returns
    -------
    tuple of float
        The mean, and the jackknife's standard error, which is s / sqrt(n) for equal weights.
    """
    count = np.ones(len(values)) if weights is None else weights
    share, n = count / count.sum(), len(values)
    mean = float(share @ values)
    return mean, float(np.linalg.norm(leave_one_out(share) * (values - mean)) * np.sqrt((n - 1) / n))


def leave_one_out(share: Floats) -> Floats:
    """By how much of its distance to the mean each row moves the mean when it is left out.

    Parameters
    ----------
    share : array of shape (n,)
        Of each row in the mean.

    Returns
    -------
    array of shape (n,)
        share / (1 - share); 0 for a row that is all there is.
    """
    rest = 1.0 - share
    return np.divide(share, rest, out=np.zeros(len(share)), where=rest > 0)


def effective_rows(weights: Floats) -> float:
    """Rows of equal weight whose mean would be as certain (Kish): (sum w)^2 / sum w^2.

    Parameters
    ----------
    weights : array of shape (n,)
        How much each row counts.

    Returns
    -------
    float
        At most n.
    """
    return float(weights.sum() ** 2 / (weights**2).sum())
