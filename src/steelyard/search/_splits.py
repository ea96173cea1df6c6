"""Which rows a cost vector is judged on."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ShuffleSplit, StratifiedKFold

from .._checks import complain

Codes = NDArray[np.intp]
PAPER_REPEATS = 20
PAPER_VALIDATION = 0.2


class Split(NamedTuple):
    """Positions of the training and of the validation rows."""

    train: Codes
    validation: Codes


def stratified_splits(folds: int, codes: Codes, seed: int) -> list[Split]:
    """Every row is validated on once; the only row of its class is always trained on instead."""
    counts = np.bincount(codes)
    if counts.max() < 2:
        raise complain("y", "have two or more rows of some class to validate on", "n_samples=1 of every class")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)  # it misses some folds
        cuts = StratifiedKFold(min(folds, int(counts.max())), shuffle=True, random_state=seed).split(codes, codes)
        held = [validation[counts[codes[validation]] > 1] for _, validation in cuts]
    return [Split(np.setdiff1d(np.arange(len(codes)), rows), rows) for rows in held if len(rows)]


def paper_splits(codes: Codes, seed: int) -> list[Split]:
    """Twenty random cuts of 80 to 20, classes not looked at. Paper 003, sec. 7.2."""
    cuts = ShuffleSplit(PAPER_REPEATS, test_size=PAPER_VALIDATION, random_state=seed).split(codes)
    return [Split(*cut) for cut in cuts]
