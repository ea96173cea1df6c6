"""``python -m bench.quality.early_stopping [TABLE ...]``: by how much stopping on the fold that is scored flatters.

One LightGBM setting on tables of the choosing half. Its rounds are found either on an inner part of the training rows,
as `compare` does, or on the held-out fold itself; both tell log loss and cost out of fold. The refit on all rows with
the mean of the rounds tells what is then paid on new rows. A ratio below one out of fold that is not one on new rows
is flattery.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import lightgbm
import numpy as np

from steelyard.comparison.baselines import BASELINES
from steelyard.comparison.candidates import Candidate
from steelyard.comparison.fold import FoldRunner, as_rows, single_threaded
from steelyard.decision.blending import code_probabilities
from steelyard.decision.calibration import LEAST

from . import tables
from .measure import FOLDS, problem_of

SETTING = Candidate(
    "LightGBM, 15 leaves",
    BASELINES["lightgbm"],
    {"num_leaves": 15, "learning_rate": 0.06, "min_child_samples": 20, "colsample_bytree": 0.8},
)
_ROUNDS, _PATIENCE = 600, 30


def _log_loss(proba: np.ndarray, codes: np.ndarray) -> float:
    return float(-np.log(np.maximum(proba[np.arange(len(codes)), codes], LEAST)).mean())


def _rounds_of_scored(X: Any, y: np.ndarray, held: Any, held_y: np.ndarray, categories: Any) -> int:
    model = lightgbm.LGBMClassifier(
        n_estimators=_ROUNDS, n_jobs=1, deterministic=True, force_row_wise=True, verbosity=-1, random_state=0,
        **SETTING.params,
    )  # fmt: skip
    known = np.isin(held_y, y)
    stop = lightgbm.early_stopping(_PATIENCE, verbose=False)
    given = {"categorical_feature": list(categories)} if categories else {}
    model.fit(X, y, eval_set=[(held[known], held_y[known])], callbacks=[stop], **given)
    return max(5, int(model.best_iteration_ or _ROUNDS))


def measured(table: str) -> dict[str, tuple[float, float, float, float]]:
    """Per way of stopping: log loss and cost out of fold, log loss and cost on new rows."""
    cut, data = problem_of(table)
    judged = FoldRunner(data, FOLDS).judged(len(data.codes))
    found = {}
    for way in ("inner", "scored"):
        told = np.zeros((len(data.codes), len(data.classes)))
        rounds = []
        for fold in range(judged.n_folds):
            fit_on, held = judged.split(fold)
            encoder = SETTING.new_encoder(data)
            X = as_rows(encoder.fit_transform(data.subset(fit_on).X, data.codes[fit_on]))
            asked = as_rows(encoder.transform(data.subset(held).X))
            part, count = data.labels_only().subset(fit_on), None
            if way == "scored":
                categories = () if data.columns.sparse else tuple(data.columns.coded_nominal)
                count = _rounds_of_scored(X, part.codes, asked, data.codes[held], categories)
            model, used = SETTING.fit(X, part, count)
            told[held] = code_probabilities(model, asked, len(data.classes))
            rounds.append(used if used is not None else 0)
        encoder = SETTING.new_encoder(data)
        model, _ = SETTING.fit(as_rows(encoder.fit_transform(data.X, data.codes)), data, round(float(np.mean(rounds))))
        new = code_probabilities(model, as_rows(encoder.transform(cut.rows_new)), len(data.classes))
        costs = cut.costs if cut.decide_costs is None else cut.decide_costs
        codes = np.asarray(costs.expected(new)).argmin(axis=1)
        paid = float(cut.new_costs[np.arange(len(codes)), codes].mean())
        out_of_fold = float(data.paid(data.decide(told)).mean())
        found[way] = (_log_loss(told, data.codes), out_of_fold, _log_loss(new, cut.new_y), paid)
    return found


def main() -> None:
    warnings.simplefilter("ignore")
    print("scored fold over inner part | log loss out of fold | cost out of fold | log loss on new rows | cost on new")
    logs = []
    for table in sys.argv[1:] or [name for name in tables.names("choosing") if name != "shared:ijcnn1"]:
        if table not in tables.names("choosing"):
            raise SystemExit(f"{table} is not of the choosing half")
        with single_threaded():
            found = measured(table)
        ratio = np.array(found["scored"]) / np.array(found["inner"])
        logs.append(np.log(ratio))
        print(f"{table:27s} | " + " | ".join(f"{r:.3f}" for r in ratio), flush=True)
    means = np.exp(np.mean(logs, axis=0))
    errors = np.std(logs, axis=0, ddof=1) / np.sqrt(len(logs)) if len(logs) > 1 else np.full(4, np.nan)
    print(
        "geometric mean (s.e.)       | " + " | ".join(f"{m:.3f} ({e:.3f})" for m, e in zip(means, errors, strict=True))
    )


if __name__ == "__main__":
    main()
