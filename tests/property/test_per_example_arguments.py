"""What belongs to the examples becomes an array once, at the door: by position, whatever container it comes in.

Every public function and every method of an estimator that takes labels, scores, weights or costs of the examples gets
them as arrays, lists, pandas objects with a shuffled index and polars objects, and must answer the same.
"""

import dataclasses
import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.linear_model import LogisticRegression

import steelyard as sy

rng = np.random.default_rng(11)
N = 36
X = rng.normal(size=(N, 3))
LABELS = np.where(X[:, 0] + 0.5 * rng.normal(size=N) > 0, "yes", "no")
CHANCE = np.clip(1 / (1 + np.exp(-X[:, 0] + 0.3 * rng.normal(size=N))), 0.01, 0.99)
ROW_COSTS = np.where((LABELS == "yes")[:, None], np.array([1.0, 0.0]), np.array([0.0, 1.0])) * rng.integers(
    1, 9, (N, 1)
)
GIVEN: dict[str, Any] = {
    "y": LABELS,
    "y_true": LABELS,
    "y_test": LABELS,
    "y_pred": np.where(CHANCE > 0.4, "yes", "no"),
    "pred_a": np.where(CHANCE > 0.4, "yes", "no"),
    "pred_b": np.where(CHANCE > 0.6, "yes", "no"),
    "y_score": X[:, 0],
    "y_proba": np.column_stack([1 - CHANCE, CHANCE]),
    "proba": np.column_stack([1 - CHANCE, CHANCE]),
    "sample_weight": rng.integers(1, 4, N).astype(float),
    "a": rng.random(N),
    "b": rng.random(N),
    "side": np.where(X[:, 1] > 0, 1.0, -1.0),
}
SHUFFLED = rng.permutation(N) + 100
FORMS: dict[str, Callable[[Any], Any]] = {
    "list": lambda a: a.tolist(),
    "pandas": lambda a: (pd.DataFrame if a.ndim == 2 else pd.Series)(a, index=SHUFFLED),
    "polars": lambda a: pl.DataFrame(a) if a.ndim == 2 else pl.Series(a),
}


def plain(value: Any) -> Iterator[Any]:
    """The numbers and texts within a result, in order."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        for inner in value.values():
            yield from plain(inner)
    elif isinstance(value, (tuple, list)):
        for inner in value:
            yield from plain(inner)
    elif isinstance(value, (np.ndarray, float, int, str, np.generic)):
        yield np.asarray(value)
    elif hasattr(value, "table") and hasattr(value, "classes"):  # costs
        yield from plain((value.matrix, getattr(value, "rows", None)))


def same(a: Any, b: Any) -> bool:
    first, second = list(plain(a)), list(plain(b))
    assert first, "nothing to compare"
    return len(first) == len(second) and all(
        np.array_equal(p, q, equal_nan=p.dtype.kind == "f") for p, q in zip(first, second, strict=True)
    )


def check(call: Callable[..., Any], given: dict[str, Any], *, each: bool = True) -> None:
    """Equal answers for every container, of all arguments at once and of ``each`` alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = call(**given)
        for name, form in FORMS.items():
            assert same(call(**{k: form(a) for k, a in given.items()}), expected), name
            for alone in given if each else ():
                assert same(call(**given | {alone: form(given[alone])}), expected), f"{name}: {alone}"


EXTRA: dict[str, dict[str, Any]] = {
    "bootstrap_interval": {
        "measure": sy.savings_score,
        "costs": [[0, 1], [5, 0]],
        "n_resamples": 100,
        "random_state": 0,
    },
    "threshold_curve": {"measure": sy.mean_cost, "costs": [[0, 1], [5, 0]]},
    "compare_costs": {"n_resamples": 100, "random_state": 0},
    "compare_learners": {"costs": [[0, 1], [5, 0]], "n_resamples": 100, "random_state": 0},
    "random_costs": {"random_state": 0},
    "as_costs": {"costs": sy.InverseFrequency(), "classes": ["no", "yes"]},
    "rho_curves": {"model": sy.CSLDMClassifier(), "X": X, "X_test": X, "rhos": [0.0, 0.5]},
    "tune_stream": {"estimator": sy.OnlineClassifier(), "grid": {"threshold": [0.0, 0.1]}, "X": X, "random_state": 0},
}
ELSEWHERE = {
    **dict.fromkeys(
        ("cost_bound", "error_bound", "mistake_bound", "one_sided_bound", "regret_bound", "sum_bound"),
        "fits the model that it is given, whose labels are tested with the estimators",
    ),
    "compare": "reads tables itself; see the tests of its data",
    "nested_evaluate": "fits searches, whose labels are tested with the estimators",
    "compare_runs": "its numbers are of runs, not of examples",
}


def functions() -> list[str]:
    found = []
    for name in sy.__all__:
        thing = getattr(sy, name)
        if (
            inspect.isfunction(thing)
            and set(inspect.signature(thing).parameters) & set(GIVEN)
            and name not in ELSEWHERE
        ):
            found.append(name)
    return found


@pytest.mark.parametrize("name", functions())
def test_functions(name: str) -> None:
    function = getattr(sy, name)
    extra = dict(EXTRA.get(name, {}))
    accepted = inspect.signature(function).parameters
    given = {k: a for k, a in GIVEN.items() if k in accepted}
    if name == "bootstrap_interval":
        given["sample_weight"] = GIVEN["sample_weight"]
    if name == "brier_curve":
        given["y_proba"] = CHANCE
    if "costs" in accepted and "costs" not in extra:
        extra["costs"] = [[0, 1], [5, 0]]
    check(lambda **arguments: function(**extra, **arguments), given)


@pytest.mark.parametrize("name", [n for n in functions() if "costs" in inspect.signature(getattr(sy, n)).parameters])
def test_costs_of_rows_in_measures(name: str) -> None:
    """Costs that were given row by row go by position as well."""
    function, extra = getattr(sy, name), dict(EXTRA.get(name, {}))
    if name in ("as_costs", "brier_curve", "cost_curve", "roc_hull", "rho_curves"):
        pytest.skip("takes costs of classes")
    extra.pop("costs", None)
    given = {k: a for k, a in GIVEN.items() if k in inspect.signature(function).parameters} | {"costs": ROW_COSTS}

    def call(costs: Any, **arguments: Any) -> Any:
        return function(costs=sy.Costs.from_rows(costs, classes=["no", "yes"]), **extra, **arguments)

    check(call, given)


def test_a_measure_of_the_users_own_gets_arrays() -> None:
    def own(y_true: Any, y_pred: Any, *, sample_weight: Any) -> float:
        assert isinstance(sample_weight, np.ndarray)
        return float(np.average(np.asarray(y_true) == np.asarray(y_pred), weights=sample_weight))

    given = {k: GIVEN[k] for k in ("y_true", "y_pred", "sample_weight")}
    check(lambda **arguments: sy.bootstrap_interval(own, **arguments, n_resamples=100, random_state=0), given)


def estimators() -> list[str]:
    found = []
    for name in sy.__all__:
        thing = getattr(sy, name)
        if inspect.isclass(thing) and issubclass(thing, BaseEstimator) and hasattr(thing, "predict"):
            found.append(name)
    return found


def made(name: str) -> Any:
    kind = getattr(sy, name)
    if name == "ExpectedCostClassifier":
        return kind(LogisticRegression())
    if name == "CostSearchCV":
        return kind(sy.AdaC2Classifier(n_estimators=3), n_trials=3, cv=2, random_state=0)
    quick = {"n_estimators": 3, "cv": 2, "random_state": 0}
    known = kind().get_params(deep=False)
    return kind(**{k: value for k, value in quick.items() if k in known})


def answers(model: Any) -> list[Any]:
    told = ("predict", "decision_function", "predict_proba")
    return [getattr(model, method)(X) for method in told if hasattr(model, method)]


METHODS = ("fit", "partial_fit", "run", "score", "staged_score", "predict", "expected_costs")


def methods() -> list[tuple[str, str]]:
    found = []
    for name in estimators():
        for method in METHODS:
            call = getattr(getattr(sy, name), method, None)
            if call is not None and set(inspect.signature(call).parameters) & {*GIVEN, "costs"}:
                found.append((name, method))
    return found


@pytest.mark.parametrize(("name", "method"), methods())
def test_methods_of_estimators(name: str, method: str) -> None:
    model = made(name)
    accepted = inspect.signature(getattr(model, method)).parameters
    given = {k: a for k, a in GIVEN.items() if k in accepted}
    if is_regressor(model):
        given["y"] = X[:, 0] + 0.1
    before_the_truth = name == "ExpectedCostClassifier" and method != "fit"
    if "costs" in accepted:
        given["costs"] = GIVEN["sample_weight"] if before_the_truth else ROW_COSTS
        given.pop("sample_weight", None) if name.startswith("Online") else None
    fitted = None if method in ("fit", "partial_fit", "run") else clone(model).fit(X, given.get("y", LABELS))

    def call(**arguments: Any) -> Any:
        if before_the_truth:
            arguments["costs"] = sy.Costs.binary(fn=arguments["costs"], fp=1, classes=["no", "yes"])
        if fitted is not None:
            told = getattr(fitted, method)(X, **arguments)
            return list(told) if inspect.isgenerator(told) else told
        new = clone(model)
        classes = {"classes": ["no", "yes"]} if "classes" in accepted else {}
        told = getattr(new, method)(X, **arguments, **classes)
        return [*answers(new), *(told if method == "run" else ())]

    check(call, given, each=False)


def costs_methods() -> list[tuple[str, str]]:
    names = ("bind", "class_means", "decide", "encode", "expected", "per_example")
    return [(kind, name) for kind in ("Costs", "ExampleCosts") for name in names if hasattr(getattr(sy, kind), name)]


@pytest.mark.parametrize(("kind", "name"), costs_methods())
def test_methods_of_costs(kind: str, name: str) -> None:
    fixed = sy.Costs.from_matrix([[0, 1], [5, 0]], classes=["no", "yes"])
    costs = fixed if kind == "Costs" else sy.Costs.from_rows(ROW_COSTS, classes=["no", "yes"])
    if kind == "ExampleCosts" and name in ("decide", "expected"):
        costs = sy.Costs.binary(fn=GIVEN["a"], fp=1, classes=["no", "yes"])
    method = getattr(costs, name)
    given = {k: a for k, a in GIVEN.items() if k in inspect.signature(method).parameters}
    if name == "bind":
        check(lambda **arguments: method(**arguments).per_example(LABELS), given)
    else:
        check(method, given)


@pytest.mark.parametrize("rule", [sy.Balanced(), sy.InverseFrequency()])
def test_rules_that_read_labels(rule: Any) -> None:
    check(lambda y: rule.costs_for(y).matrix, {"y": LABELS})
