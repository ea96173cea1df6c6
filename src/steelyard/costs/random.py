"""Random costs, as experiments on data without costs of their own use them."""

from __future__ import annotations

import numpy as np

from ..errors import CostsError
from ..validation.arrays import check_labels
from ..validation.types import LabelsLike, RandomState
from ..validation.values import check_choice, check_number, invalid
from ._costs import Costs


def random_costs(
    y: LabelsLike, random_state: RandomState = None, kind: str = "plain", *, high: float = 2000.0
) -> Costs:
    """A random cost matrix for the classes of ``y``: zero diagonal, every other entry uniform from 0 upwards.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels, for the classes and their sizes.
    random_state : int, Generator or None
        Seed or source of random numbers.
    kind : {"plain", "paper"}
        "plain": entries up to ``high``. "paper": entry C[i, k] up to high * n_k / n_i, so that mistaking a rare
        class for a frequent one costs more; the formula printed in paper 002, sec. 5.2 (its Table 2 agrees with
        "plain").
    high : float
        Largest entry.

    Returns
    -------
    Costs
        The costs.

    Examples
    --------
    >>> random_costs(["a", "a", "b"], random_state=0).matrix.round(1)
    array([[  0. , 539.6],
           [ 81.9,   0. ]])
    """
    check_choice("kind", kind, ("plain", "paper"))
    top = check_number("high", high, above=0)
    classes, codes = check_labels(y)
    if len(classes) < 2:
        raise invalid("y", "hold two or more classes", classes.tolist(), error=CostsError)
    counts = np.bincount(codes)
    bounds = np.full((len(classes),) * 2, top) if kind == "plain" else top * counts / counts[:, None]
    matrix = np.random.default_rng(random_state).uniform(0.0, bounds)
    np.fill_diagonal(matrix, 0.0)
    return Costs.from_matrix(matrix, classes=classes)
