"""What a stream leaves behind: plain columns, no behaviour."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Decision", "Trace"]


class Trace(NamedTuple):
    """The prequential record of a stream, one entry per round; what every stream measure reads.

    ``prediction`` and ``y`` are in the caller's own labels. ``y`` is the truth of every round in a simulation; a live
    stream knows it only where ``queried``. ``query_probability`` is the probability with which the label was asked for.
    """

    score: NDArray[np.float64]
    prediction: NDArray[Any]
    queried: NDArray[np.bool_]
    query_probability: NDArray[np.float64]
    y: NDArray[Any]


class Decision(NamedTuple):
    """What was decided about one example at round ``t``, before its label is known."""

    t: int
    score: float
    prediction: Any
    query_probability: float
    query: bool
