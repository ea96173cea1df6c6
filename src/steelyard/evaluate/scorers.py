"""scikit-learn scorers for every measure, with costs carried as metadata."""

from __future__ import annotations

from typing import Any

import sklearn
from sklearn import metrics

from ..validation.values import invalid
from . import measures  # noqa: F401 - fills MEASURES
from ._measure_forms import MEASURES


def get_scorer(name: str, *, costs: Any = None, **params: Any) -> Any:
    """A scikit-learn scorer by the name of its measure; higher is better, so costs come out negative.

    scikit-learn has no public register of names: pass ``scoring=get_scorer("mean_cost")``, not the bare string.

    Parameters
    ----------
    name : str
        A measure of this package ("mean_cost", "savings_score", ...) or a name scikit-learn knows ("accuracy",
        ...).
    costs : Costs, cost rule, mapping, array-like or None
        Class-level costs or a rule. Left out, costs are taken from metadata when scikit-learn's metadata routing is
        on: ``cross_validate(..., params={"costs": costs})`` then cuts per-example costs along with the rows.
    **params : Any
        Further parameters of the measure (``positive``, ``classes``, ``beta``, ...).

    Returns
    -------
    callable
        A scikit-learn scorer.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> scorer = get_scorer("mean_cost", costs={0: 1, 1: 5})
    >>> scorer(DummyClassifier().fit([[0], [0], [0]], [0, 0, 1]), [[0], [0]], [0, 1])
    -2.5
    """
    measure = MEASURES.get(name)
    if measure is None:
        return _of_scikit_learn(name, costs, params)
    if costs is not None:
        params = {**params, "costs": costs}
    scorer = metrics.make_scorer(measure, greater_is_better=name.endswith("_score"), **params)
    if costs is None and sklearn.get_config()["enable_metadata_routing"]:
        scorer = scorer.set_score_request(costs=True)
    return scorer


def _of_scikit_learn(name: str, costs: Any, params: dict[str, Any]) -> Any:
    if name not in metrics.get_scorer_names():
        known = ", ".join(sorted(MEASURES))
        raise invalid("name", f"be one of {known}, or a scorer of scikit-learn", name)
    if costs is not None or params:
        raise invalid("name", "be a measure of this package to take costs or parameters", name)
    return metrics.get_scorer(name)


def get_scorer_names() -> list[str]:
    """Names that :func:`get_scorer` takes, scikit-learn's included.

    Returns
    -------
    list of str
        All names, sorted.

    Examples
    --------
    >>> "savings_score" in get_scorer_names() and "accuracy" in get_scorer_names()
    True
    """
    return sorted({*MEASURES, *metrics.get_scorer_names()})
