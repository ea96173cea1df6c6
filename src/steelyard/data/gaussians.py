"""The three Gaussians of paper 002, Figure 2: a problem whose best answers are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..costs import Costs
from ..validation.values import check_count

CENTRES = np.array([[-1.0, 0.0], [0.5, np.sqrt(0.75)], [0.5, -np.sqrt(0.75)]])
VARIANCE = 0.25
ROTATING = np.array([[0.0, 1.0, 100.0], [100.0, 0.0, 1.0], [1.0, 100.0, 0.0]])


def make_three_gaussians(
    n_per_class: int = 500, random_state: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Points of three round Gaussians of variance 1/4 about the corners of a triangle, class after class.

    Paper 002, sec. 5.1. ``random_state`` is a seed or a numpy Generator.

    >>> X, y = make_three_gaussians(2, random_state=0)
    >>> X.shape, y
    ((6, 2), array([0, 0, 1, 1, 2, 2]))
    """
    n = check_count("n_per_class", n_per_class)
    y = np.repeat(np.arange(3), n)
    noise = np.random.default_rng(random_state).normal(scale=np.sqrt(VARIANCE), size=(3 * n, 2))
    return CENTRES[y] + noise, y


def rotating_costs() -> Costs:
    """The matrix of paper 002, sec. 5.1: one neighbour is a hundred times as costly as the other."""
    return Costs.from_matrix(ROTATING, classes=[0, 1, 2])


def three_gaussians_posterior(X: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """P(class | x) for equally frequent classes, (n, 3); ``rotating_costs().decide`` of it is the Bayes rule."""
    squared = ((np.asarray(X, dtype=np.float64)[:, None, :] - CENTRES) ** 2).sum(axis=2)
    density = np.exp(-(squared - squared.min(axis=1, keepdims=True)) / (2 * VARIANCE))
    return np.asarray(density / density.sum(axis=1, keepdims=True))
