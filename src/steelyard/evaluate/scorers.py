"""scikit-learn scorers for every measure, with costs carried as metadata to the measure and to ``predict``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import sklearn
from sklearn import metrics
from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object

from ..costs import CostRule
from ..costs.rules import CostsLike, stated_costs
from ..validation.types import LabelsLike, MatrixLike
from ..validation.values import invalid
from . import measures  # noqa: F401 - fills MEASURES
from ._measure_forms import MEASURES, Measure


class CostScorer:
    """A scorer whose ``costs`` reach the measure and, where the estimator requests them there, ``predict``.

    scikit-learn's own scorers hand metadata to the measure only, so a model that decides row by row could not be scored
    by its decisions. Higher is better: measures of cost come out negative. Made by :func:`cost_scorer`.

    Parameters
    ----------
    name : str
        A measure of this package.
    costs : Costs, cost rule, mapping, array-like or None
        As for :func:`cost_scorer`.
    params : dict or None
        Further parameters of the measure.
    """

    def __init__(self, name: str, *, costs: CostsLike | None = None, params: dict[str, Any] | None = None) -> None:
        self.name = name
        self.costs = costs
        self.params = {} if params is None else params
        self._request = MetadataRequest(owner=self)
        self._request.score.add_request(param="costs", alias=True if costs is None else None)
        self._request.score.add_request(param="sample_weight", alias=None)

    def __call__(
        self,
        estimator: Any,
        X: MatrixLike,
        y: LabelsLike,
        *,
        costs: CostsLike | None = None,
        sample_weight: LabelsLike | None = None,
    ) -> float:
        """The measure of the estimator's decisions on these rows, minus it where less is better."""
        answers = predict_with_costs(estimator, X, costs)
        known = self.costs if costs is None else costs
        params = {"classes": own_classes(estimator, y, known)} | self.params
        value = MEASURES[self.name](y, answers, costs=known, sample_weight=sample_weight, **params)
        return self._sign * float(value)

    # What scikit-learn reads off its own scorers to tune a threshold by them, and to hand them the weights of a search.

    @property
    def _score_func(self) -> Measure:
        return MEASURES[self.name]

    @property
    def _sign(self) -> int:
        return 1 if self.name.endswith("_score") else -1

    @property
    def _kwargs(self) -> dict[str, Any]:
        return self.params if self.costs is None else {"costs": self.costs} | self.params

    def _accept_sample_weight(self) -> bool:
        return True

    def set_score_request(self, *, costs: bool | str | None = None, sample_weight: bool | str | None = None) -> Self:
        """What to be given by scikit-learn's metadata routing, as for its own scorers.

        Parameters
        ----------
        costs : bool, str or None
            Whether, or under which name, costs are wanted; None changes nothing.
        sample_weight : bool, str or None
            The same for weights.

        Returns
        -------
        CostScorer
            The scorer itself.
        """
        for name, alias in (("costs", costs), ("sample_weight", sample_weight)):
            if alias is not None:
                self._request.score.add_request(param=name, alias=alias)
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """The requests, as scikit-learn asks for them."""
        return self._request

    def __repr__(self) -> str:
        stated = [f"costs={self.costs!r}"] if self.costs is not None else []
        return f"cost_scorer({', '.join([repr(self.name), *stated, *(f'{k}={v!r}' for k, v in self.params.items())])})"


def predict_with_costs(estimator: Any, X: MatrixLike, costs: CostsLike | None) -> Any:
    """Decisions for rows whose costs are known, where the estimator takes them.

    With metadata routing on, costs go to ``predict`` where the estimator, or the last step of a pipeline, requests
    them; without it, where its ``predict`` has the parameter. A search predicts by its best estimator.
    """
    deciding = getattr(estimator, "best_estimator_", estimator)
    if costs is None or not _takes_costs(deciding):
        return estimator.predict(X)
    return deciding.predict(X, costs=costs)


def _takes_costs(estimator: Any) -> bool:
    if sklearn.get_config()["enable_metadata_routing"]:
        return bool(get_routing_for_object(estimator).consumes("predict", ["costs"]))
    last = estimator
    while hasattr(last, "steps"):
        last = last.steps[-1][1]
    return hasattr(last, "predict") and takes_costs(last.predict)


def own_classes(estimator: Any, y: Any, costs: Any) -> Any:
    """The classes of a fitted estimator where costs do not name theirs, else None: few rows may lack some of them."""
    classes = getattr(estimator, "classes_", None)
    if classes is None or isinstance(costs, (Mapping, CostRule)):
        return None
    stated = None if costs is None else stated_costs(costs, y)
    if stated is not None and (stated.classes is not None or stated.n_classes != len(classes)):
        return None
    known = set(np.asarray(classes).tolist())
    return classes if known.issuperset(np.asarray(y).ravel().tolist()) else None


def takes_costs(predict: Callable[..., Any]) -> bool:
    """Whether a method has the parameter ``costs``."""
    return "costs" in inspect.signature(predict).parameters


def cost_scorer(name: str = "mean_cost", *, costs: CostsLike | None = None, **params: Any) -> CostScorer:
    """A scikit-learn scorer for a measure of this package; higher is better, so costs come out negative.

    Parameters
    ----------
    name : str
        A measure of this package: "mean_cost", "total_cost", "savings_score", ...
    costs : Costs, cost rule, mapping, array-like or None
        Class-level costs or a rule. Left out, they come from metadata when scikit-learn's metadata routing is on:
        ``cross_validate(..., params={"costs": costs})`` cuts costs per example along with the rows, and the scorer
        hands them to the measure and to the ``predict`` of an estimator with ``set_predict_request(costs=True)``.
    **params : Any
        Further parameters of the measure (``positive``, ``classes``, ``beta``, ...).

    Returns
    -------
    CostScorer
        What ``scoring=`` takes.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> scorer = cost_scorer("mean_cost", costs={0: 1, 1: 5})
    >>> scorer(DummyClassifier().fit([[0], [0], [0]], [0, 0, 1]), [[0], [0]], [0, 1])
    -2.5
    """
    if name not in MEASURES:
        raise invalid("name", f"be one of {', '.join(sorted(MEASURES))}", name)
    return CostScorer(name, costs=costs, params=params)


def get_scorer(name: str, *, costs: CostsLike | None = None, **params: Any) -> Any:
    """:func:`cost_scorer` for the measures of this package, else the scorer scikit-learn has under this name.

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
    """
    return cost_scorer(name, costs=costs, **params) if name in MEASURES else _of_scikit_learn(name, costs, params)


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
