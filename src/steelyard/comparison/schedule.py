"""How much is tried: work units (one setting, one fold), folds that a row stays in, and the rungs of large tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold

from ..validation.values import check_choice, check_count
from .data import ComparisonData

EFFORTS = ("quick", "normal", "thorough")
_QUICK_SETTINGS = 6
_MANY_ROWS = 20_000  # beyond that rungs, and with two classes three folds, do
_FIRST_RUNG = 10_000  # rows on which all settings of a larger table are tried first
_GROWTH = 4
_FEWEST_SURVIVORS = 5
MOST_RANDOM = 200  # settings near the best that may follow the portfolio
REPEATS = 2  # of the folds, beside the first round, for the members of the blend


@dataclass(frozen=True)
class Unit:
    """One setting on one fold of so many rows."""

    candidate: int  # its position among the candidates
    rows: int
    fold: int
    repeat: int = 0  # of the folds, dealt out anew


@dataclass(frozen=True)
class Effort:
    """Which units run: ``limit`` of them at the most.

    After the portfolio's ``settings`` come ``repeats`` of the folds for the members of the blend, then ``random``
    settings near the best, and repeats for those of them that the blend takes.
    """

    limit: int | None
    settings: int | None
    random: int
    repeats: int = 0


def read_effort(effort: str | int) -> Effort:
    """``quick``, ``normal``, ``thorough`` or a number of units."""
    if isinstance(effort, str) and effort.isdigit():
        effort = int(effort)
    if not isinstance(effort, str):
        return Effort(check_count("effort", effort), None, MOST_RANDOM, REPEATS)
    check_choice("effort", effort, EFFORTS)
    return {
        "quick": Effort(None, _QUICK_SETTINGS, 0),
        "normal": Effort(None, None, 0),
        "thorough": Effort(None, None, MOST_RANDOM, REPEATS),
    }[effort]


def count_folds(n: int, n_classes: int, cv: int) -> int:
    """Folds of a table of so many rows and classes: the work of boosting grows with their product."""
    return cv if n * max(2, n_classes) <= 2 * _MANY_ROWS else min(cv, 3)


def is_expensive(n: int, n_classes: int) -> bool:
    """Whether the classes are so many that units on the rows of the first rung take long."""
    return min(n, _MANY_ROWS) * max(2, n_classes) > 2 * _MANY_ROWS


def rungs(n: int) -> list[int]:
    """Numbers of rows that settings are tried on, one after the other; the last is all."""
    if n <= _MANY_ROWS:
        return [n]
    found = [_FIRST_RUNG]
    while found[-1] * _GROWTH < n:
        found.append(found[-1] * _GROWTH)
    return [*found, n]


def count_survivors(n_settings: int, rung: int) -> int:
    """How many settings are tried on the rows of this rung."""
    return n_settings if rung == 0 else max(_FEWEST_SURVIVORS, n_settings // 2**rung)


def assign_folds(data: ComparisonData, cv: int, repeat: int = 0) -> NDArray[np.intp]:
    """The fold that holds each row out. Classes are dealt out evenly, small ones too; groups are kept together.

    A class with fewer rows than folds is missing in some of them, and no other class loses a fold by it.
    """
    if data.groups is not None:
        return _grouped_folds(data, cv, repeat)
    seed = [data.seed, cv, repeat] if repeat else [data.seed, cv]
    order = np.random.default_rng(seed).permutation(len(data.codes))
    by_class = order[np.argsort(data.codes[order], kind="stable")]
    fold = np.empty(len(order), dtype=np.intp)
    fold[by_class] = np.arange(len(order)) % cv
    return fold


def _grouped_folds(data: ComparisonData, cv: int, repeat: int) -> NDArray[np.intp]:
    assert data.groups is not None
    import warnings

    count = min(cv, int(data.groups.max()) + 1)
    fold = np.zeros(len(data.codes), dtype=np.intp)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class smaller than the folds is allowed
        splitter = StratifiedGroupKFold(count, shuffle=True, random_state=data.seed + repeat)
        for k, (_, held) in enumerate(splitter.split(fold[:, None], data.codes, data.groups)):
            fold[held] = k
    return fold
