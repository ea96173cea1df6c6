"""The small searches inside the training part of a fold."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline

from ..evaluate import get_scorer
from .data import ComparisonData

ROWS_FOR_SEARCH = 5_000  # parameters are chosen on no more: the best on these are near the best on all


def inner_folds(problem: ComparisonData) -> StratifiedKFold:
    """Three folds, or two where a class is too small for three."""
    fewest = int(np.unique(problem.y, return_counts=True)[1].min())
    return StratifiedKFold(max(2, min(3, fewest)), shuffle=True, random_state=problem.seed)


def searched(problem: ComparisonData, prepare: Any, learner: Any, grid: dict[str, list[Any]]) -> Any:
    """The learner behind its preparation, its few parameters chosen by inner cross-validated cost."""
    folds: Any = inner_folds(problem)
    if len(problem.y) > ROWS_FOR_SEARCH:
        folds = [_small_fold(problem)]
    scorer = get_scorer("mean_cost", costs=problem.mean_costs())
    return make_pipeline(prepare, GridSearchCV(learner, grid, scoring=scorer, cv=folds))


def _small_fold(problem: ComparisonData) -> tuple[Any, Any]:
    """Two thirds and one third of the rows that a search may use."""
    rows = problem.sample_rows(ROWS_FOR_SEARCH)
    train, test = next(inner_folds(problem).split(rows, problem.y[rows]))
    return rows[train], rows[test]
