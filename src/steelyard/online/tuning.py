"""Parameters of a stream learner chosen on a validation part; the best one streams the rest. Paper 001, sec. 5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.parallel import Parallel, delayed

from ..evaluate import f_score, g_mean_score, mean_cost, prequential_score
from ..trace import Trace
from ..validation.arrays import check_same_length, take_rows
from ..validation.values import check_choice, check_count, check_jobs, check_number, invalid

MEASURES: Mapping[str, tuple[Any, bool]] = {  # and whether lower is better
    "f1": (f_score, False),
    "g_mean": (g_mean_score, False),
    "mean_cost": (mean_cost, True),
}


@dataclass(frozen=True, eq=False)
class TunedStream:
    """What :func:`tune_stream` found.

    Parameters
    ----------
    best_params_ : dict
        The parameters with the best mean over the validation runs.
    best_estimator_ : estimator
        A clone with these parameters after its pass over the rest.
    table_ : list of dict
        One entry for each point of the grid: ``params``, ``mean``, ``standard_error`` and ``values`` of the runs.
    trace_ : Trace
        The pass of ``best_estimator_`` over the rest.
    """

    best_params_: dict[str, Any]
    best_estimator_: Any
    table_: list[dict[str, Any]]
    trace_: Trace


def tune_stream(
    estimator: Any,
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
    X: Any,
    y: Any,
    *,
    measure: str = "f1",
    shown: str = "push",
    validation: float = 2 / 3,
    runs: int = 10,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> TunedStream:
    """Choose parameters of a stream learner on a validation part and stream the rest with the best.

    The rows are split at random. Every point of the grid is run over ``runs`` random orders of the validation part,
    the same for all points; the rest is not looked at until the choice is made.

    Parameters
    ----------
    estimator : OnlineClassifier or OnlineCostClassifier
        It is cloned.
    grid : mapping of lists, or a sequence of such
        Names as of ``set_params``: ``threshold``, ``query__c_pos``, ``update__eta``.
    X, y : array-like
        Rows and labels.
    measure : {"f1", "g_mean", "mean_cost"}
        Of the whole pass.
    shown : {"push", "push_and_query"}
        What counts as a positive answer, as in :func:`prequential_score`.
    validation : float
        Share of the rows to choose on, above 0 and below 1.
    runs : int
        Random orders of the validation part.
    random_state : int
        Seed of the split, the orders and the queries.
    n_jobs : int, optional
        Points of the grid side by side.

    Returns
    -------
    tuned : TunedStream
        The best parameters, what each setting was worth, and the stream they give.

    Examples
    --------
    >>> from steelyard import AskAsymmetric, OnlineClassifier, Perceptron, load_dataset
    >>> german = load_dataset("german")
    >>> model = OnlineClassifier(Perceptron(), query=AskAsymmetric(c_pos=0.1, c_neg=0.1), budget=50)
    >>> found = tune_stream(model, {"query__c_pos": [0.01, 1.0]}, german.X, german.y, runs=2)
    >>> sorted(found.best_params_), len(found.trace_.y)
    (['query__c_pos'], 333)
    """
    function, lower = MEASURES[check_choice("measure", measure, tuple(MEASURES))]
    check_choice("shown", shown, ("push", "push_and_query"))
    share = check_number("validation", validation, above=0, below=1)
    count, seed = check_count("runs", runs), check_count("random_state", random_state, at_least=0)
    points, labels = list(ParameterGrid(grid)), np.asarray(y)
    if any("seed" in point for point in points):
        raise invalid("grid", "leave out the seed", grid, "It is that of random_state and the run.")
    check_same_length(X=X, y=labels)
    cut = round(share * len(labels))
    if not points or not 0 < cut < len(labels):
        raise invalid("validation", "leave rows on both sides", validation)
    order = np.random.default_rng(seed).permutation(len(labels))
    known, rest = order[:cut], order[cut:]
    classes = np.unique(labels)  # also those that are too rare for the validation part
    if measure == "f1" and len(classes) > 2:
        raise invalid("measure", "be 'g_mean' or 'mean_cost' with more than two classes", measure)
    orders = [known[np.random.default_rng([seed, run]).permutation(cut)] for run in range(count)]
    given: dict[str, Any] = {"classes": classes, "costs": estimator.costs if lower else None}

    jobs, found = check_jobs(n_jobs), np.empty((len(points), count))
    for run, rows in enumerate(orders):  # the rows of an order are copied once for all points
        X_run, y_run = take_rows(X, rows), labels[rows]

        def value_of(point: Mapping[str, Any], run: int = run, X_run: Any = X_run, y_run: Any = y_run) -> float:
            trace = _model(estimator, point, seed + run).run(X_run, y_run, classes=classes)
            return prequential_score(function, trace, shown=shown, **given)

        found[:, run] = Parallel(n_jobs=jobs)(delayed(value_of)(point) for point in points)
    table = [_entry(point, values) for point, values in zip(points, found.tolist(), strict=True)]
    best = (min if lower else max)(table, key=lambda entry: entry["mean"])["params"]
    model = _model(estimator, best, seed)
    return TunedStream(best, model, table, model.run(take_rows(X, rest), labels[rest], classes=classes))


def _model(estimator: Any, point: Mapping[str, Any], seed: int) -> Any:
    return clone(estimator).set_params(**point, seed=seed)


def _entry(point: Mapping[str, Any], values: Sequence[float]) -> dict[str, Any]:
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    mean = float(np.mean(values))
    return {"params": dict(point), "mean": mean, "standard_error": spread / len(values) ** 0.5, "values": list(values)}
