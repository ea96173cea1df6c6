"""Estimators that a user brings: candidates like all others, on rows that are imputed, scaled and encoded for them."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from ..decision.blending import AnswerClassifier
from ..models.kinds import is_known
from ..validation.values import invalid
from .candidates import Candidate, Kind, TrainingRows

__all__ = ["check_portable", "given_candidates"]


@dataclass(frozen=True)
class _Fit:
    """Fits a copy; costs and weights of rows go along where ``fit`` takes them."""

    estimator: Any

    def __call__(self, params: dict[str, Any], rows: TrainingRows, weighted: bool) -> tuple[Any, int | None]:
        model = clone(self.estimator)
        priced = "costs" in inspect.signature(model.fit).parameters
        given = {"costs": rows.cost_table} if priced else {}
        if rows.data.weights is not None and (name := weight_argument(model)) is not None:
            given[name] = rows.data.weights
        if hasattr(rows.X, "tocsr") and not get_tags(model).input_tags.sparse:
            dense = FunctionTransformer(_as_array, accept_sparse=True)
            return _with_scores(
                Pipeline([("dense", dense), ("model", model)]), rows, {f"model__{k}": v for k, v in given.items()}
            )
        return _with_scores(model, rows, given)


def weight_argument(estimator: Any) -> str | None:
    """The keyword by which ``fit`` takes weights of rows, in a pipeline that of its last step; None without one."""
    if isinstance(estimator, Pipeline):
        inner = weight_argument(estimator[-1])
        return None if inner is None else f"{estimator.steps[-1][0]}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def check_portable(estimators: Mapping[str, Any] | None) -> None:
    """Estimators that other processes can be given: a class of a notebook or script is known there alone."""
    for name, estimator in (estimators or {}).items():
        hint = "Move what it needs into a module that can be imported, or use n_jobs=1 without isolate."
        try:
            content = pickle.dumps(estimator)
        except Exception as error:  # other people's objects may raise anything at all
            raise invalid(f"estimator {name!r}", "go to other processes", str(error), hint) from error
        if b"__main__" in content:
            raise invalid(f"estimator {name!r}", "go to other processes", "something of __main__", hint)


def _with_scores(model: Any, rows: TrainingRows, given: dict[str, Any]) -> tuple[Any, int | None]:
    model.fit(rows.X, rows.data.codes, **given)
    if hasattr(model, "predict_proba") or hasattr(model, "decision_function"):
        return model, None
    return AnswerClassifier(model), None


def _as_array(X: Any) -> Any:
    return X.toarray() if hasattr(X, "tocsr") else np.asarray(X)


def given_candidates(estimators: Mapping[str, Any] | None, known: Collection[str]) -> list[Candidate]:
    """One candidate an estimator.

    Parameters
    ----------
    estimators : mapping of str to estimator or None
        By the names they are to have.
    known : collection of str
        Names that are taken.

    Returns
    -------
    list of Candidate
        Those whose class cannot be saved are compared, and neither named nor blended.
    """
    found = []
    for name, estimator in (estimators or {}).items():
        if not isinstance(name, str) or not name or name in known:
            raise invalid("estimators", "have names of their own", name)
        if isinstance(estimator, type) or not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
            raise invalid(f"estimator {name!r}", "be a classifier with fit and predict", estimator)
        weighs = weight_argument(estimator) is not None
        priced = "costs" in inspect.signature(estimator.fit).parameters
        savable = is_known(type(estimator))
        kind = Kind(_Fit(estimator), "scaled", savable=savable, takes_weights=weighs, sees_costs=priced)
        found.append(Candidate(name, kind, {"estimator": repr(estimator)}, requested=True))
    return found
