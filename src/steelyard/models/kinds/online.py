"""Online learners and what prepares rows for them: states that a stream resumes from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...files import Fields, Node
from ...online import OnlineClassifier, OnlineCostClassifier, RecordHasher, StreamScaler
from ..records import RecordEncoder
from .kind import Kind, State, Write, feature_params, fitted_features

__all__ = ["KINDS"]

_WIDEST = 30  # bits of a hash: more columns than that have no indices


def _learner(kind: Any) -> Kind:
    return Kind(
        kind.kind(),
        (kind,),
        lambda model, write: model.to_node(),
        kind.check_node,
        lambda state, parts: kind.from_state(state),
    )


def _write_scaler(model: StreamScaler, write: Write) -> Node:
    params, arrays = feature_params(model)
    arrays |= {"counts": model.counts_, "mean": model.mean_, "squares": model.squares_}
    return Node("StreamScaler/1", {"unit_norm": bool(model.unit_norm)} | params, arrays)


def _check_scaler(fields: Fields) -> State:
    state: State = {"counts_": fields.floats("counts", "features", low=0.0, high=math.inf)}
    state |= {
        "mean_": fields.floats("mean", "features", low=-math.inf, high=math.inf),
        "squares_": fields.floats("squares", "features", low=0.0, high=math.inf),
    }
    if any(array.dtype != np.float64 for array in state.values()):
        fields.refuse("counts, mean and squares", "have dtype float64", "another")
    state |= {"unit_norm": fields.flag("unit_norm")} | fields.features()
    fields.done(parts=0)
    return state


def _build_scaler(state: State, parts: list[Any]) -> StreamScaler:
    return fitted_features(StreamScaler(unit_norm=state.pop("unit_norm")), state)  # type: ignore[no-any-return]


def _write_hasher(model: RecordHasher, write: Write) -> Node:
    texts = {"text": list(model.text), "url": list(model.url)}
    return Node("RecordHasher/1", {"n_features": int(model.n_features)} | texts)


def _check_hasher(fields: Fields) -> State:
    state: State = {"n_features": fields.integer("n_features", 1, 1 << _WIDEST)}
    state |= {name: _column_names(fields, name) for name in ("text", "url")}
    fields.done(parts=0)
    return state


def _column_names(fields: Fields, name: str) -> tuple[str, ...]:
    """Names of columns; none in files that were written before there were any."""
    names = fields.param(name) if fields.has(name) else []
    if not isinstance(names, list) or not all(isinstance(text, str) for text in names):
        fields.refuse(name, "are texts", names)
    return tuple(names)


def _write_encoder(model: RecordEncoder, write: Write) -> Node:
    params: dict[str, Any] = {"scale": model.scale, "hash_bits": model.hash_bits}
    params["columns"] = list(model.columns) if isinstance(model.columns, tuple) else model.columns
    params |= {"text": list(model.text), "url": list(model.url), "nominal": list(model.nominal)}
    return Node("RecordEncoder/1", params, {}, [] if model.scaler is None else [write(model.scaler)])


def _check_encoder(fields: Fields) -> State:
    state: State = {"scale": fields.text("scale"), "hash_bits": fields.param("hash_bits")}
    bits, columns = state["hash_bits"], fields.param("columns")
    if bits is not None and (type(bits) is not int or not 1 <= bits <= _WIDEST):
        fields.refuse("hash_bits", f"lies within [1, {_WIDEST}]", bits)
    named = isinstance(columns, list) and all(isinstance(name, str) for name in columns)
    if columns is not None and not named and not (type(columns) is int and columns >= 0):
        fields.refuse("columns", "are texts or their number", columns)
    state |= {name: _column_names(fields, name) for name in ("text", "url", "nominal")}
    if columns is not None and not {*state["text"], *state["url"], *state["nominal"]} <= set(columns if named else ()):
        fields.refuse("text, url and nominal", "are columns", columns)
    fields.done(parts=min(fields.parts, 1))
    return state | {"columns": tuple(columns) if named else columns}


def _build_encoder(state: State, parts: list[Any]) -> RecordEncoder:
    made = RecordEncoder(state["scale"], state["hash_bits"], text=state["text"], url=state["url"])
    if state["columns"] is not None:
        made._keep(state["columns"], state["nominal"])
    if parts and not isinstance(parts[0], StreamScaler):
        raise TypeError("rows are scaled by a StreamScaler")
    made.scaler = parts[0] if parts else None
    return made


KINDS = (
    _learner(OnlineClassifier),
    _learner(OnlineCostClassifier),
    Kind("StreamScaler/1", (StreamScaler,), _write_scaler, _check_scaler, _build_scaler),
    Kind("RecordHasher/1", (RecordHasher,), _write_hasher, _check_hasher, lambda state, parts: RecordHasher(**state)),
    Kind("RecordEncoder/1", (RecordEncoder,), _write_encoder, _check_encoder, _build_encoder),
)
