"""Scaling and imputation: transformers of scikit-learn whose fitted state is a few columns of numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

from ...errors import StateError
from ...files import LARGEST, Fields, Node, plain_settings
from .kind import Kind, State, Write, feature_params, fitted_features

__all__ = ["KINDS"]

# Rows are divided by a scale, so it is not too small either; what is not named here is shown and not used.
_BOUNDS = {"scale_": (1.0 / LARGEST, LARGEST), "mean_": (-LARGEST, LARGEST), "min_": (-LARGEST, LARGEST)}
_ANY = (-math.inf, math.inf)
# Fitted columns of each scaler, and whether they are there in every one.
_SCALERS: dict[type, dict[str, bool]] = {
    StandardScaler: {"mean_": False, "var_": False, "scale_": False},
    MinMaxScaler: {"min_": True, "scale_": True, "data_min_": True, "data_max_": True, "data_range_": True},
    MaxAbsScaler: {"scale_": True, "max_abs_": True},
}


def _scaler(kind: type) -> Kind:
    columns = _SCALERS[kind]

    def write(model: Any, write: Write) -> Node:
        params, arrays = feature_params(model)
        params["n_samples_seen_"] = int(np.max(model.n_samples_seen_))
        if isinstance(model, MinMaxScaler):
            params["feature_range"] = [float(bound) for bound in model.feature_range]
        found = {name: np.asarray(getattr(model, name)) for name in columns if getattr(model, name, None) is not None}
        return Node(f"{kind.__name__}/1", plain_settings(model) | params, arrays | found)

    def check(fields: Fields) -> State:
        features = fields.features()
        found = {
            name: fields.floats(name, "features", low=low, high=high)
            for name, due in columns.items()
            for low, high in [_BOUNDS.get(name, _ANY)]
            if due or fields.has(name)
        }
        seen = fields.integer("n_samples_seen_")
        given = {"feature_range": _bounds(fields)} if fields.has("feature_range") else {}
        settings = given | fields.settings(kind)
        if (settings.get("with_mean") and "mean_" not in found) or (settings.get("with_std") and "scale_" not in found):
            fields.refuse("mean_ and scale_", "are there where they are used", "none")
        fields.done(parts=0)
        return {"settings": settings, "fitted": found | {"n_samples_seen_": seen} | features}

    def build(state: State, parts: list[Any]) -> Any:
        made = kind(**state["settings"])
        for name in columns:
            setattr(made, name, None)
        return fitted_features(made, state["fitted"])

    return Kind(f"{kind.__name__}/1", (kind,), write, check, build)


def _bounds(fields: Fields) -> tuple[float, float]:
    bounds = fields.param("feature_range")
    if not isinstance(bounds, list) or len(bounds) != 2 or any(type(b) is not float for b in bounds):
        fields.refuse("feature_range", "is two numbers", bounds)
    return bounds[0], bounds[1]


# -- without state ---------------------------------------------------------------------------------------------------


def _write_normalizer(model: Any, write: Write) -> Node:
    params, arrays = feature_params(model)
    return Node("Normalizer/1", {"norm": model.norm, "copy": True} | params, arrays)


def _check_normalizer(fields: Fields) -> State:
    state: State = {"features": fields.features(), "norm": fields.choice("norm", "l1", "l2", "max")}
    fields.flag("copy")
    fields.done(parts=0)
    return state


def _build_normalizer(state: State, parts: list[Any]) -> Normalizer:
    return fitted_features(Normalizer(norm=state["norm"]), state["features"])


def _write_identity(model: Any, write: Write) -> Node:
    if model.func is not None or model.inverse_func is not None:
        raise StateError(f"a function must not be part of a model that is saved; got {model.func!r}.")
    params, arrays = feature_params(model)
    return Node("Identity/1", {"accept_sparse": bool(model.accept_sparse)} | params, arrays)


def _check_identity(fields: Fields) -> State:
    state: State = {"features": fields.features(), "accept_sparse": fields.flag("accept_sparse")}
    fields.done(parts=0)
    return state


def _build_identity(state: State, parts: list[Any]) -> FunctionTransformer:
    return fitted_features(FunctionTransformer(accept_sparse=state["accept_sparse"]), state["features"])


# -- imputation ------------------------------------------------------------------------------------------------------


def _write_imputer(model: Any, write: Write) -> Node:
    if not (isinstance(model.missing_values, float) and np.isnan(model.missing_values)):
        raise StateError(f"an imputer must fill NaN to be saved; got missing_values={model.missing_values!r}.")
    if np.asarray(model.statistics_).dtype.kind != "f" or model.strategy not in ("mean", "median"):
        raise StateError(f"an imputer must fill numbers by mean or median to be saved; got {model.strategy!r}.")
    params, arrays = feature_params(model)
    params |= {"add_indicator": bool(model.add_indicator), "keep_empty_features": bool(model.keep_empty_features)}
    arrays["statistics"] = np.asarray(model.statistics_, dtype=np.float64)
    marked = model.indicator_.features_ if model.add_indicator else np.empty(0)
    arrays["marked"] = np.asarray(marked, dtype=np.int64)
    return Node("SimpleImputer/1", params | {"strategy": model.strategy}, arrays)


def _check_imputer(fields: Fields) -> State:
    features = fields.features()
    state: State = {
        "features": features,
        "statistics": fields.floats("statistics", "features", nan=True, low=-math.inf, high=math.inf),
    }
    width = len(state["statistics"])
    state["marked"] = fields.integers("marked", None, low=0, high=width - 1)
    if (np.diff(state["marked"]) <= 0).any():
        fields.refuse("marked", "is sorted", state["marked"][:5])
    state["settings"] = {name: fields.flag(name) for name in ("add_indicator", "keep_empty_features")}
    state["settings"]["strategy"] = fields.choice("strategy", "mean", "median")
    fields.done(parts=0)
    return state


def _build_imputer(state: State, parts: list[Any]) -> SimpleImputer:
    """Fitted anew on two rows of zeros, with holes where it marks them or saw nothing else; a mean might overflow."""
    rows = np.tile(np.where(np.isnan(state["statistics"]), np.nan, 0.0), (2, 1)).astype(state["statistics"].dtype)
    rows[1, state["marked"]] = np.nan
    made = SimpleImputer(**state["settings"]).fit(rows)
    made.statistics_ = state["statistics"]
    return fitted_features(made, state["features"])


KINDS = (
    *(_scaler(kind) for kind in _SCALERS),
    Kind("Normalizer/1", (Normalizer,), _write_normalizer, _check_normalizer, _build_normalizer),
    Kind("Identity/1", (FunctionTransformer,), _write_identity, _check_identity, _build_identity),
    Kind("SimpleImputer/1", (SimpleImputer,), _write_imputer, _check_imputer, _build_imputer),
)
