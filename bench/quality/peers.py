"""What a user would do without `compare`: tune one library, then answer by expected cost."""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from steelyard.comparison import compare

from . import tables
from .tables import Cut

SETTINGS = 15  # random ones of each library


def steelyard(cut: Cut, seconds: float, seed: int) -> dict[str, Any]:
    result = compare(cut.X, cut.y, costs=cut.costs, time_limit=seconds, random_state=seed, promise_rows=len(cut.new_y))
    model = result.refit()
    answers = model.predict(cut.rows_new, costs=cut.decide_costs)
    codes = np.searchsorted(result.runs.problem.classes, answers)
    own = result.lines[0].mean_cost  # the interval of the winner's own costs: no selection, no new sample
    told = {"promise": result.promise.as_dict(), "own": [own.low, own.high]}
    return {"codes": codes, "units": result.runs.units, "winner": result.winner} | told


def _decided(cut: Cut, proba: np.ndarray) -> dict[str, Any]:
    costs = cut.costs if cut.decide_costs is None else cut.decide_costs
    return {"codes": np.asarray(costs.expected(proba)).argmin(axis=1)}


def encoded(cut: Cut, *, linear: bool) -> tuple[Any, Any]:
    words = [c for c in cut.X if cut.X[c].dtype.kind not in "biuf"]
    numbers = [c for c in cut.X if c not in words]
    if linear:
        scaled = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
        levels: Any = OneHotEncoder(handle_unknown="ignore", max_categories=40)
    else:
        scaled = "passthrough"
        levels = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan)
    encoder = ColumnTransformer([("n", scaled, numbers), ("w", levels, words)], sparse_threshold=0.0)
    return np.asarray(encoder.fit_transform(cut.X), dtype=float), np.asarray(
        encoder.transform(cut.rows_new), dtype=float
    )


def _tuned(cut: Cut, seconds: float, seed: int, make: Callable[[np.random.Generator], Any], *, linear: bool) -> Any:
    """Random settings by 3-fold log loss within the CPU time, the best one fitted on all rows."""
    start, rng = time.process_time(), np.random.default_rng(seed)
    X, new = encoded(cut, linear=linear)
    classes, y = np.unique(cut.y, return_inverse=True)
    folds = list(StratifiedKFold(3, shuffle=True, random_state=seed).split(X, y))
    best, best_loss = None, np.inf
    for _ in range(SETTINGS):
        state = rng.integers(1 << 31)
        losses = []
        for fit_on, held in folds:
            model = make(np.random.default_rng(state)).fit(X[fit_on], y[fit_on])
            losses.append(log_loss(y[held], model.predict_proba(X[held]), labels=np.arange(len(classes))))
        if np.mean(losses) < best_loss:
            best, best_loss = state, float(np.mean(losses))
        if time.process_time() - start > 0.8 * seconds:
            break
    return _decided(cut, make(np.random.default_rng(best)).fit(X, y).predict_proba(new))


def logistic(cut: Cut, seconds: float, seed: int) -> dict[str, Any]:
    def make(rng: np.random.Generator) -> Any:
        return LogisticRegression(C=float(10 ** rng.uniform(-2, 1.5)), max_iter=300)

    return _tuned(cut, seconds, seed, make, linear=True)


def lightgbm(cut: Cut, seconds: float, seed: int) -> dict[str, Any]:
    from lightgbm import LGBMClassifier

    def make(rng: np.random.Generator) -> Any:
        return LGBMClassifier(
            n_estimators=int(rng.integers(50, 400)),
            learning_rate=float(10 ** rng.uniform(-2, -0.7)),
            num_leaves=int(2 ** rng.uniform(2, 6)),
            min_child_samples=int(rng.integers(5, 50)),
            colsample_bytree=float(rng.uniform(0.5, 1.0)),
            reg_lambda=float(10 ** rng.uniform(-2, 1)),
            n_jobs=1,
            verbosity=-1,
        )

    return _tuned(cut, seconds, seed, make, linear=False)


def xgboost(cut: Cut, seconds: float, seed: int) -> dict[str, Any]:
    from xgboost import XGBClassifier

    def make(rng: np.random.Generator) -> Any:
        return XGBClassifier(
            n_estimators=int(rng.integers(50, 400)),
            learning_rate=float(10 ** rng.uniform(-2, -0.7)),
            max_depth=int(rng.integers(2, 9)),
            min_child_weight=float(10 ** rng.uniform(-0.5, 1.3)),
            colsample_bytree=float(rng.uniform(0.5, 1.0)),
            reg_lambda=float(10 ** rng.uniform(-2, 1)),
            n_jobs=1,
        )

    return _tuned(cut, seconds, seed, make, linear=False)


def catboost(cut: Cut, seconds: float, seed: int) -> dict[str, Any]:
    from catboost import CatBoostClassifier

    def make(rng: np.random.Generator) -> Any:
        return CatBoostClassifier(
            iterations=int(rng.integers(50, 400)),
            learning_rate=float(10 ** rng.uniform(-2, -0.7)),
            depth=int(rng.integers(3, 9)),
            l2_leaf_reg=float(10 ** rng.uniform(0, 1)),
            thread_count=1,
            verbose=False,
            allow_writing_files=False,
            random_seed=seed,
        )

    return _tuned(cut, seconds, seed, make, linear=False)


@contextmanager
def _clock_of_cpu() -> Iterator[None]:
    """Whoever asks for the time is told the CPU time of this process: a budget that load cannot change."""
    wall, start = time.time, time.time() - time.process_time()
    time.time = lambda: start + time.process_time()
    try:
        yield
    finally:
        time.time = wall


def flaml(cut: Cut, seconds: float, seed: int) -> dict[str, Any]:
    """Its budget is of wall time; its clock is made to show CPU time instead."""
    from flaml import AutoML

    X, new = (pd.DataFrame(rows) for rows in encoded(cut, linear=False))  # of arrays it takes no missing cells
    y = np.unique(cut.y, return_inverse=True)[1]
    model = AutoML()
    settings = {"time_budget": seconds, "metric": "log_loss", "n_jobs": 1, "seed": seed, "verbose": 0}
    with _clock_of_cpu():
        model.fit(X, y, task="classification", **settings)
    return _decided(cut, model.predict_proba(new))


METHODS: dict[str, Callable[[Cut, float, int], dict[str, Any]]] = {
    "steelyard": steelyard,
    "catboost": catboost,
    "lightgbm": lightgbm,
    "xgboost": xgboost,
    "flaml": flaml,
    "logistic": logistic,
}


def run_method(table: str, method: str, seconds: float, seed: int) -> dict[str, Any]:
    """One line of results: what a method, alone in its process, costs on the held-out rows of a table."""
    part = tables.cut(table, seed)
    start = time.process_time()
    line: dict[str, Any] = {"table": table, "seed": seed, "method": method, "seconds": seconds, "own_process": True}
    constant = float(part.new_costs.mean(axis=0).min())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = METHODS[method](part, seconds, seed)
        except Exception as error:
            return line | {"failed": f"{type(error).__name__}: {error}"[:200], "cpu": time.process_time() - start}
    codes = found.pop("codes")
    cost = float(part.new_costs[np.arange(len(codes)), codes].mean())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    used = {"cpu": time.process_time() - start, "peak_mb": peak, "table_mb": part.X.size * 4 / (1 << 20)}
    return line | found | {"cost": cost, "constant": constant} | used
