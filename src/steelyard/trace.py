"""What a stream leaves behind: plain columns, no behaviour.

Tested in ``tests/unit/evaluate/test_estimates.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Decision", "Trace"]


class Trace(NamedTuple):
    """The prequential record of a stream, one entry per round; what every stream measure reads.

    ``prediction`` and ``y`` are in the caller's own labels. ``y`` is the truth of every round in a simulation; a live
    stream knows it only where ``queried``. ``query_probability`` is the probability with which the label was asked for.

    Parameters
    ----------
    score : ndarray of shape (n,)
        Scores.
    prediction : ndarray of shape (n,)
        Answers.
    queried : ndarray of shape (n,)
        Whether the label was queried.
    query_probability : ndarray of shape (n,)
        How likely it was to be.
    y : ndarray of shape (n,)
        Truths, where known.
    """

    score: NDArray[np.float64]
    prediction: NDArray[Any]
    queried: NDArray[np.bool_]
    query_probability: NDArray[np.float64]
    y: NDArray[Any]


class Decision(NamedTuple):
    """What was decided about one example at round ``t``, before its label is known.

    Parameters
    ----------
    t : int
        The round, from 0.
    score : float
        Score of the row.
    prediction : label
        The answer.
    query_probability : float
        How likely the label was to be queried.
    query : bool
        Whether the label is wanted.
    """

    t: int
    score: float
    prediction: Any
    query_probability: float
    query: bool
