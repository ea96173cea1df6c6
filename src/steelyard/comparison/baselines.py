"""What a user would pick instead: the learners of LightGBM and scikit-learn, with early stopping for boosting."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from .candidates import Kind, TrainingRows, fit_arguments

Params = dict[str, Any]
Fitted = tuple[Any, int | None]
_KERNEL_ROWS = 3_000  # beyond that a kernel's time and memory grow with their square
_INNER_SHARE = 0.2  # of the training rows decide when boosting stops
_MOST_ROUNDS = 600
_PATIENCE = 30
_FEWEST_ROUNDS = 5
_MANY_CLASSES = 8  # beyond these a round, which is a tree for each class, takes larger steps: fewer rounds are needed
_LARGEST_STEP = 2.0  # times the learning rate of the setting
_LARGEST_RATE = 0.12  # beyond it deep trees of many classes diverge
_MOST_LEAVES = 2_500  # of a tree of a forest
_MOST_SHARES = 10_000_000  # of classes in all nodes of a forest: 80 MB
_MOST_CATEGORIES = 255  # of a column in scikit-learn's boosting; beyond, its codes are numbers


def _logistic(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    return LogisticRegression(max_iter=300, **params).fit(
        rows.X, rows.data.codes, **fit_arguments(rows, weighted)
    ), None


def _forest(kind: type, params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    """Leaves grow with the rows, and trees are fewer with many classes, so that a forest stays within the memory that a
    comparison may take.
    """
    n = len(rows.data.codes)
    least = max(params["min_samples_leaf"], -(-n // _MOST_LEAVES))
    most_trees = _MOST_SHARES // (2 * -(-n // least) * len(rows.data.classes))
    trees = max(1, min(params["n_estimators"], most_trees))
    model = kind(random_state=rows.data.seed, **{**params, "min_samples_leaf": least, "n_estimators": trees})
    return model.fit(rows.X, rows.data.codes, **fit_arguments(rows, weighted)), None


def _svm(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    model = SVC(kernel="rbf", gamma="scale", cache_size=100, **params)
    return model.fit(rows.X, rows.data.codes, **fit_arguments(rows, weighted)), None


# -- boosting: rounds are found on an inner part, then all rows are learned from --------------------------------------


def _inner_split(rows: TrainingRows) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows to learn from and rows to stop on; every class has one to learn from, whole groups stay together."""
    data = rows.data
    unit = np.arange(len(data.codes)) if data.groups is None else data.groups
    order = np.random.default_rng([data.seed, 1]).permutation(int(unit.max()) + 1)
    by_class = np.lexsort((order[unit], data.codes))
    counts = np.bincount(data.codes, minlength=len(data.classes))
    place = np.arange(len(unit)) - np.repeat(np.cumsum(counts) - counts, counts)
    held = by_class[place < np.floor(_INNER_SHARE * np.repeat(counts, counts))]
    if data.groups is not None:
        held = np.flatnonzero(np.isin(data.groups, data.groups[held[: max(1, len(held) // 4)]]))
    rest = np.setdiff1d(np.arange(len(unit)), held)
    return rest, np.sort(held)


def _with_larger_steps(params: Params, rows: TrainingRows) -> Params:
    """The setting with a learning rate for so many classes."""
    factor = min(_LARGEST_STEP, max(1.0, len(rows.data.classes) / _MANY_CLASSES))
    rate = params["learning_rate"]
    return {**params, "learning_rate": max(rate, min(rate * factor, _LARGEST_RATE))}


def _lightgbm(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    import lightgbm

    settings = {
        "n_jobs": 1,
        "deterministic": True,
        "force_row_wise": True,
        "verbosity": -1,
        "random_state": rows.data.seed,
        "subsample_freq": 1 if params.get("subsample", 1.0) < 1.0 else 0,
        "min_data_per_group": 20,
        "cat_smooth": 10.0,
        **_with_larger_steps(params, rows),
    }
    settings["min_child_samples"] = max(2, min(settings.get("min_child_samples", 20), len(rows.data.codes) // 20))
    given: dict[str, Any] = {"categorical_feature": list(rows.categories)} if rows.categories else {}
    weight = fit_arguments(rows, weighted)
    X, y, rounds = _as_floats(rows.X), rows.data.codes, rows.rounds
    if rounds is None:
        rest, held = _inner_split(rows)
        part = {name: values[rest] for name, values in weight.items()}
        stopper = lightgbm.LGBMClassifier(n_estimators=_MOST_ROUNDS, **settings)
        known = np.isin(y[held], y[rest])
        stopper.fit(
            X[rest],
            y[rest],
            eval_set=[(X[held[known]], y[held[known]])],
            eval_sample_weight=[weight["sample_weight"][held[known]]] if weight else None,
            callbacks=[lightgbm.early_stopping(_PATIENCE, verbose=False)],
            **part,
            **given,
        )
        rounds = max(_FEWEST_ROUNDS, int(stopper.best_iteration_ or _MOST_ROUNDS))
    model = lightgbm.LGBMClassifier(n_estimators=rounds, **settings)
    return model.fit(X, y, **weight, **given), rounds


def _lightgbm_ordered(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    """Codes of categories are split like numbers: few rows then tell more where their order means something."""
    return _lightgbm(params, replace(rows, categories=()), weighted)


def _as_floats(X: Any) -> Any:
    """Rows as LightGBM reads them without a copy of its own: arrays of floats, or CSR."""
    return X if hasattr(X, "indptr") else np.ascontiguousarray(X, dtype=np.float64)


def _hist_boosting(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    X, y = _as_floats(rows.X), rows.data.codes
    categories = [j for j in rows.categories if not np.nanmax(X[:, j], initial=0.0) >= _MOST_CATEGORIES]
    settings = {"random_state": rows.data.seed, "categorical_features": categories or None}
    settings |= _with_larger_steps(params, rows)
    weight, rounds = fit_arguments(rows, weighted), rows.rounds
    if rounds is None:
        rest, held = _inner_split(rows)
        stopper = HistGradientBoostingClassifier(
            max_iter=_MOST_ROUNDS, early_stopping=True, n_iter_no_change=_PATIENCE, **settings
        )
        known = held[np.isin(y[held], y[rest])]
        part = {name: values[rest] for name, values in weight.items()}
        held_weight = {"sample_weight_val": weight["sample_weight"][known]} if weight else {}
        stopper.fit(X[rest], y[rest], X_val=X[known], y_val=y[known], **part, **held_weight)
        rounds = max(_FEWEST_ROUNDS, int(np.argmax(stopper.validation_score_)))
    model = HistGradientBoostingClassifier(max_iter=rounds, early_stopping=False, **settings)
    return model.fit(X, y, **weight), rounds


def _catboost(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    import catboost

    settings = {"thread_count": 1, "random_seed": rows.data.seed, "verbose": False, "allow_writing_files": False}
    X, rounds, weight = _as_floats(rows.X), rows.rounds, fit_arguments(rows, weighted)
    if rounds is None:
        rest, held = _inner_split(rows)
        stopper = catboost.CatBoostClassifier(iterations=_MOST_ROUNDS, **settings, **params)
        part = {name: values[rest] for name, values in weight.items()}
        held_out = (X[held], rows.data.codes[held])
        stopper.fit(X[rest], rows.data.codes[rest], eval_set=held_out, early_stopping_rounds=_PATIENCE, **part)
        rounds = max(_FEWEST_ROUNDS, int(stopper.tree_count_))
    model = catboost.CatBoostClassifier(iterations=rounds, **settings, **params)
    return model.fit(X, rows.data.codes, **weight), rounds


def _xgboost(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    import xgboost

    settings = {"n_jobs": 1, "random_state": rows.data.seed, "tree_method": "hist"}
    X, rounds, weight = _as_floats(rows.X), rows.rounds, fit_arguments(rows, weighted)
    if rounds is None:
        rest, held = _inner_split(rows)
        stopper = xgboost.XGBClassifier(
            n_estimators=_MOST_ROUNDS, early_stopping_rounds=_PATIENCE, **settings, **params
        )
        part = {name: values[rest] for name, values in weight.items()}
        held_out = [(X[held], rows.data.codes[held])]
        stopper.fit(X[rest], rows.data.codes[rest], eval_set=held_out, verbose=False, **part)
        rounds = max(_FEWEST_ROUNDS, int(stopper.best_iteration) + 1)
    model = xgboost.XGBClassifier(n_estimators=rounds, **settings, **params)
    return model.fit(X, rows.data.codes, **weight), rounds


BASELINES: dict[str, Kind] = {
    "logistic": Kind(_logistic, "scaled"),
    "svm": Kind(_svm, "scaled", most_rows=_KERNEL_ROWS),
    "extra_trees": Kind(partial(_forest, ExtraTreesClassifier), "coded"),
    "forest": Kind(partial(_forest, RandomForestClassifier), "coded"),
    "lightgbm": Kind(_lightgbm, "coded"),
    "lightgbm_ordered": Kind(_lightgbm_ordered, "coded"),
    "hist_boosting": Kind(_hist_boosting, "coded", dense=True),
    "catboost": Kind(_catboost, "coded", dense=True, requires="catboost", savable=False),
    "xgboost": Kind(_xgboost, "coded", requires="xgboost", savable=False),
}
