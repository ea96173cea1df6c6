"""Linear classifiers and constant answers of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from ...errors import StateError
from ...files import Fields, Node, plain_settings, write_labels
from .kind import Kind, State, Write, feature_params, fitted_features

__all__ = ["KINDS"]


def _write(model: Any, write: Write) -> Node:
    params, arrays = feature_params(model)
    arrays |= write_labels("classes", model.classes_)
    arrays |= {"coef": np.asarray(model.coef_), "intercept": np.atleast_1d(model.intercept_)}
    return Node(f"{type(model).__name__}/1", plain_settings(model, "n_jobs", "verbose") | params, arrays)


def _check(fields: Fields, kind: type) -> State:
    classes = fields.classes()
    rows = 1 if len(classes) == 2 else len(classes)
    state: State = {"classes": classes, "coef": fields.floats("coef", rows, "features"), "features": fields.features()}
    intercept = fields.floats("intercept", None)
    if len(intercept) not in (1, rows):
        fields.refuse("intercept", f"has 1 or {rows} entries", len(intercept))
    state["intercept"], state["settings"] = intercept, fields.settings(kind)
    fields.done(parts=0)
    return state


def _build(state: State, kind: type) -> Any:
    made = fitted_features(kind(**state["settings"]), state["features"])
    made.classes_, made.coef_, made.intercept_ = state["classes"], state["coef"], state["intercept"]
    return made


def _linear(kind: type) -> Kind:
    return Kind(
        f"{kind.__name__}/1",
        (kind,),
        _write,
        lambda fields: _check(fields, kind),
        lambda state, parts: _build(state, kind),
    )


def _write_constant(model: Any, write: Write) -> Node:
    if model.strategy not in ("constant", "most_frequent", "prior") or model.n_outputs_ != 1:
        raise StateError(f"a dummy classifier must give a constant answer to be saved; got {model.strategy!r}.")
    answer = int(np.flatnonzero(model.classes_ == model.predict([[0.0]])[0])[0])
    arrays = write_labels("classes", model.classes_) | {"prior": model.predict_proba([[0.0]])[0].astype(np.float64)}
    return Node("Constant/1", {"answer": answer}, arrays)


def _check_constant(fields: Fields) -> State:
    classes = fields.classes(at_least=1)
    state: State = {"classes": classes, "prior": fields.floats("prior", "classes", low=0.0, high=1.0)}
    if abs(state["prior"].sum() - 1.0) > 1e-6:
        fields.refuse("prior", "sums to one", state["prior"].sum())
    state["answer"] = fields.integer("answer", 0, len(classes) - 1)
    fields.done(parts=0)
    return state


def _build_constant(state: State, parts: list[Any]) -> DummyClassifier:
    """Fitted anew, on one row a class: its answer is a parameter, its shares are weights."""
    classes, prior = state["classes"], state["prior"]
    constant = prior.max() == 1.0 and prior.argmax() == state["answer"]
    kind = {"strategy": "constant", "constant": classes[state["answer"]]} if constant else {"strategy": "prior"}
    return DummyClassifier(**kind).fit(np.zeros((len(classes), 1)), classes, sample_weight=prior)


KINDS = (
    _linear(LogisticRegression),
    _linear(LinearSVC),
    Kind("Constant/1", (DummyClassifier,), _write_constant, _check_constant, _build_constant),
)
