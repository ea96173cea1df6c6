"""Costs near the end of what numbers hold: every measure is finite or says that the costs are too large."""

import inspect
import math
import warnings
from typing import Any

import numpy as np
import pytest

import steelyard as sy

rng = np.random.default_rng(3)
N = 40
Y = rng.integers(0, 2, N)
ANSWER = np.where(rng.random(N) < 0.7, Y, 1 - Y)
GIVEN = {
    "y_true": Y,
    "y_pred": ANSWER,
    "pred_a": ANSWER,
    "pred_b": rng.integers(0, 2, N),
    "y_score": rng.normal(size=N) + Y,
    "y_proba": np.clip(0.5 + 0.3 * rng.normal(size=N), 0.01, 0.99),
    "n_resamples": 100,
    "random_state": 0,
}
COSTS: dict[str, Any] = {
    "as large as allowed": [[0, 1e300], [1e300, 0]],
    "large": [[0, 1e308], [1e308, 0]],
    "largest": [[0, np.finfo(float).max], [np.finfo(float).max, 0]],
    "uneven": [[0, 1e308], [1.0, 0]],
    "small": [[0, 5e-324], [1e-308, 0]],
    "gains": [[-1e308, 1e308], [1e308, -1e308]],
    "by row": np.where(Y[:, None] == [0, 1], 0.0, 1e300),
}
CURVES = ("threshold_curve", "cost_curve", "roc_hull", "brier_curve")  # thresholds of all or nothing are infinite


def measures() -> list[str]:
    found = []
    for name in sy.__all__:
        thing = getattr(sy, name)
        if inspect.isfunction(thing) and {"y_true", "costs"} <= set(inspect.signature(thing).parameters):
            found.append(name)
    return [*found, "bootstrap_interval"]


def numbers(value: Any) -> list[float]:
    """Every number within a result."""
    if isinstance(value, (float, int, np.number, np.ndarray)):
        return [] if isinstance(value, bool) else np.asarray(value, dtype=float).ravel().tolist()
    if isinstance(value, dict):
        return [x for inner in value.values() for x in numbers(inner)]
    if isinstance(value, (tuple, list)):
        return [x for inner in value for x in numbers(inner)]
    return numbers(vars(value)) if hasattr(value, "__dict__") and not callable(value) else []


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", measures())
def test_a_measure_is_finite_or_refuses(name: str, costs: str, weighted: bool) -> None:
    function = getattr(sy, name)
    accepted = inspect.signature(function).parameters
    given = {k: a for k, a in GIVEN.items() if k in accepted}
    if name == "bootstrap_interval":
        given["measure"] = sy.mean_cost
    if name == "compare_learners":
        given |= {k: GIVEN[k] for k in ("n_resamples", "random_state")}
    if "measure" in accepted and "measure" not in given:
        given["measure"] = sy.mean_cost
    if weighted and ("sample_weight" in accepted or name == "bootstrap_interval"):
        given["sample_weight"] = np.full(N, 1e200)
    priced = COSTS[costs]
    given["costs"] = sy.Costs.from_rows(priced, classes=[0, 1]) if costs == "by row" else priced
    told = None
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning of numpy's would be the only sign
        try:
            told = function(**given)
        except sy.SteelyardError:
            return
    sound = (lambda x: not math.isnan(x)) if name in CURVES else math.isfinite
    assert all(map(sound, numbers(told))), told
