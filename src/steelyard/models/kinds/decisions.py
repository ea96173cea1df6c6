"""What stands around a classifier: pipelines, thresholds, frozen parts, expected cost, and the costs themselves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline

from ...costs import Costs
from ...decision import ExpectedCostClassifier
from ...decision.blending import AnswerClassifier, BlendClassifier, ScoredClassifier
from ...decision.calibration import CalibratedClassifier, Calibration
from ...errors import StateError
from ...files import Fields, Node, plain_settings, write_labels
from .kind import Kind, State, Write, check_part, feature_params, fitted_features

__all__ = ["KINDS"]


def _write_pipeline(model: Any, write: Write) -> Node:
    """Steps that only change the training rows are left out: they have nothing to say of new ones."""
    real = [(name, step) for name, step in model.steps if step is not None and not isinstance(step, str)]
    steps = [(name, step) for name, step in real if not hasattr(step, "fit_resample")]
    return Node("Pipeline/1", {"names": [name for name, _ in steps]}, {}, [write(step) for _, step in steps])


def _check_pipeline(fields: Fields) -> State:
    names = fields.texts("names", fields.parts)
    if not names or len(set(names)) != len(names) or any("__" in name or not name for name in names):
        fields.refuse("names", "differ and are there", names)
    fields.done()
    return {"names": names}


def _build_pipeline(state: State, parts: list[Any]) -> Pipeline:
    for part in parts[:-1]:
        check_part("Pipeline/1", part, "transform")
    check_part("Pipeline/1", parts[-1], "predict", "transform")
    return Pipeline(list(zip(state["names"], parts, strict=True)))


def _write_frozen(model: FrozenEstimator, write: Write) -> Node:
    return Node("Frozen/1", {}, {}, [write(model.estimator)])


def _check_one_part(fields: Fields) -> State:
    fields.done(parts=1)
    return {}


def _build_frozen(state: State, parts: list[Any]) -> FrozenEstimator:
    check_part("Frozen/1", parts[0], "predict", "transform")
    return FrozenEstimator(parts[0])


# -- threshold -------------------------------------------------------------------------------------------------------


def _write_threshold(model: FixedThresholdClassifier, write: Write) -> Node:
    classes = np.asarray(model.classes_)
    positive = len(classes) - 1 if model.pos_label is None else int(np.flatnonzero(classes == model.pos_label)[0])
    params = {"threshold": model.threshold, "positive": positive, "response_method": model.response_method}
    if model.threshold != "auto":
        params["threshold"] = float(model.threshold)
    return Node("FixedThreshold/1", params, write_labels("classes", classes), [write(model.estimator_)])


def _check_threshold(fields: Fields) -> State:
    classes = fields.classes(at_most=2)
    state: State = {"positive": classes[fields.integer("positive", 0, 1)], "classes": classes}
    state["response_method"] = fields.choice("response_method", "auto", "predict_proba", "decision_function")
    threshold = fields.param("threshold")
    if threshold != "auto" and type(threshold) is not float:
        fields.refuse("threshold", "is a number", threshold)
    state["threshold"] = threshold
    fields.done(parts=1)
    return state


def _build_threshold(state: State, parts: list[Any]) -> FixedThresholdClassifier:
    method = state["response_method"]
    check_part(
        "FixedThreshold/1", parts[0], *(["predict_proba", "decision_function"] if method == "auto" else [method])
    )
    if not np.array_equal(getattr(parts[0], "classes_", ()), state["classes"]):
        raise StateError("must decide between the classes of its classifier; they differ.")
    settings = {name: state[name] for name in ("threshold", "response_method")}
    made = FixedThresholdClassifier(parts[0], pos_label=state["positive"], **settings)
    made.estimator_ = parts[0]
    return fitted_features(made, _features_of(parts[0]))


def _features_of(model: Any) -> dict[str, Any]:
    return {name: getattr(model, name) for name in ("n_features_in_", "feature_names_in_") if hasattr(model, name)}


# -- calibration -----------------------------------------------------------------------------------------------------


def _write_calibrated(model: CalibratedClassifier, write: Write) -> Node:
    slopes, offsets = model.calibration_
    arrays = write_labels("classes", model.classes_) | {"slopes": np.asarray(slopes, dtype=np.float64)}
    if offsets is not None:
        arrays["offsets"] = np.asarray(offsets, dtype=np.float64)
    method = "temperature" if model.calibration_.is_temperature else "sigmoid"
    params = {"method": method if offsets is None or method == "sigmoid" else "temperature with shares"}
    return Node("CalibratedClassifier/1", params, arrays, [write(model.classifier)])


def _check_calibrated(fields: Fields) -> State:
    classes = fields.classes()
    method = fields.choice("method", "temperature", "temperature with shares", "sigmoid")
    n_curves = 1 if method != "sigmoid" or len(classes) == 2 else len(classes)
    slopes = fields.floats("slopes", n_curves)
    n_offsets = len(classes) if method == "temperature with shares" else n_curves
    offsets = None if method == "temperature" else fields.floats("offsets", n_offsets)
    fields.done(parts=1)
    return {"classes": classes, "calibration": Calibration(slopes, offsets)}


def _build_calibrated(state: State, parts: list[Any]) -> CalibratedClassifier:
    check_part("CalibratedClassifier/1", parts[0], "predict_proba")
    if not np.array_equal(getattr(parts[0], "classes_", ()), state["classes"]):
        raise StateError("must calibrate the classes of its classifier; they differ.")
    return CalibratedClassifier(parts[0]).with_calibration(state["calibration"])


def _write_scored(model: ScoredClassifier, write: Write) -> Node:
    return Node("ScoredClassifier/1", {}, {}, [write(model.classifier)])


def _build_scored(state: State, parts: list[Any]) -> ScoredClassifier:
    check_part("ScoredClassifier/1", parts[0], "decision_function")
    return ScoredClassifier(parts[0])


def _write_answer(model: AnswerClassifier, write: Write) -> Node:
    return Node("AnswerClassifier/1", {}, {}, [write(model.classifier)])


def _build_answer(state: State, parts: list[Any]) -> AnswerClassifier:
    check_part("AnswerClassifier/1", parts[0], "predict")
    if not hasattr(parts[0], "classes_"):
        raise StateError("must have a classifier that answers; it has something else.")
    return AnswerClassifier(parts[0])


# -- blends ----------------------------------------------------------------------------------------------------------


def _write_blend(model: BlendClassifier, write: Write) -> Node:
    arrays = write_labels("classes", model.classes_) | {"weights": np.asarray(model.weights, dtype=np.float64)}
    names = [name for name, _ in model.members]
    return Node("BlendClassifier/1", {"names": names}, arrays, [write(member) for _, member in model.members])


def _check_blend(fields: Fields) -> State:
    names = fields.texts("names", fields.parts)
    weights = fields.floats("weights", len(names))
    if not names or (weights <= 0).any() or abs(float(weights.sum()) - 1.0) > 1e-9:
        fields.refuse("weights", "are positive and sum to one", weights[:5])
    classes = fields.classes()
    fields.done()
    return {"names": names, "weights": weights, "classes": classes}


def _build_blend(state: State, parts: list[Any]) -> BlendClassifier:
    for part in parts:
        check_part("BlendClassifier/1", part, "predict_proba")
        codes = np.asarray(getattr(part, "classes_", ()))
        known = codes.dtype.kind in "iu" and codes.size and 0 <= codes.min() <= codes.max() < len(state["classes"])
        if not known:
            raise StateError("must blend classifiers of its classes; one is of others.")
    return BlendClassifier(list(zip(state["names"], parts, strict=True)), state["weights"], state["classes"])


# -- costs -----------------------------------------------------------------------------------------------------------


def _write_costs(costs: Costs, write: Write) -> Node:
    if type(costs) is not Costs or costs.matrix is None or costs.classes is None:
        raise StateError("costs must be a matrix over named classes to be saved; these differ from row to row.")
    positive = None if costs.positive is None else int(costs.positive_index())
    arrays = write_labels("classes", costs.classes) | {"matrix": np.asarray(costs.matrix, dtype=np.float64)}
    params: dict[str, Any] = {"positive": positive}
    if costs.currency is not None:
        params["currency"] = costs.currency
    if costs.abstain is not None:
        params |= {"abstain": float(costs.abstain), "abstain_label": costs.abstain_label}
    return Node("Costs/1", params, arrays)


def _check_costs(fields: Fields) -> State:
    classes = fields.classes()
    matrix = fields.floats("matrix", "classes", "classes", low=-math.inf, high=math.inf)
    positive = fields.param("positive")
    if positive is not None and (type(positive) is not int or not 0 <= positive < len(classes) or len(classes) != 2):
        fields.refuse("positive", "is one of two classes", positive)
    state: State = {"classes": classes, "matrix": matrix}
    state["positive"] = None if positive is None else classes[positive]
    state["currency"] = fields.text("currency") if fields.has("currency") else None
    if fields.has("abstain"):
        state |= {"abstain": fields.number("abstain"), "abstain_label": fields.text("abstain_label")}
    fields.done(parts=0)
    return state


def _build_costs(state: State, parts: list[Any]) -> Costs:
    positive = state["positive"]
    label = positive.item() if isinstance(positive, np.generic) else positive
    made = Costs(state["classes"], state["matrix"], label, state["currency"])
    return made.with_abstain(state["abstain"], label=state["abstain_label"]) if "abstain" in state else made


def _write_expected(model: ExpectedCostClassifier, write: Write) -> Node:
    params, arrays = feature_params(model)
    params |= plain_settings(model, "cv", "estimator", "costs")
    arrays |= write_labels("classes", model.classes_)
    return Node("ExpectedCostClassifier/1", params, arrays, [write(model.estimator_), write(model.costs_)])


def _check_expected(fields: Fields) -> State:
    features = fields.features()
    state: State = {"features": features, "classes": fields.classes()}
    state["settings"] = fields.settings(ExpectedCostClassifier)
    fields.done(parts=2)
    return state


def _build_expected(state: State, parts: list[Any]) -> ExpectedCostClassifier:
    classifier, costs = parts
    classes = state["classes"]
    check_part("ExpectedCostClassifier/1", classifier, "predict_proba")
    if not isinstance(costs, Costs) or not np.array_equal(costs.classes, classes):  # type: ignore[arg-type]
        raise StateError("must have costs for the classes of its classifier; they differ.")
    if not np.array_equal(getattr(classifier, "classes_", ()), classes):
        raise StateError("must decide between the classes of its classifier; they differ.")
    made = fitted_features(ExpectedCostClassifier(classifier, costs=costs, **state["settings"]), state["features"])
    made.estimator_, made.classes_, made.costs_ = classifier, classes, costs
    return made  # type: ignore[no-any-return]


KINDS = (
    Kind(
        "Pipeline/1",
        (Pipeline, "imblearn.pipeline.Pipeline"),
        _write_pipeline,
        _check_pipeline,
        _build_pipeline,
    ),
    Kind("Frozen/1", (FrozenEstimator,), _write_frozen, _check_one_part, _build_frozen),
    Kind("FixedThreshold/1", (FixedThresholdClassifier,), _write_threshold, _check_threshold, _build_threshold),
    Kind("CalibratedClassifier/1", (CalibratedClassifier,), _write_calibrated, _check_calibrated, _build_calibrated),
    Kind("ScoredClassifier/1", (ScoredClassifier,), _write_scored, _check_one_part, _build_scored),
    Kind("AnswerClassifier/1", (AnswerClassifier,), _write_answer, _check_one_part, _build_answer),
    Kind("BlendClassifier/1", (BlendClassifier,), _write_blend, _check_blend, _build_blend),
    Kind("Costs/1", (Costs,), _write_costs, _check_costs, _build_costs),
    Kind("ExpectedCostClassifier/1", (ExpectedCostClassifier,), _write_expected, _check_expected, _build_expected),
)
