"""What a file is about as a whole: a model of `compare`, or the state of `stream`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...costs import Costs
from ...errors import StateError
from ...files import Fields, Node, write_labels
from ...online import OnlineClassifier, OnlineCostClassifier
from ..awaited import read_awaited, write_awaited
from ..model import Model
from ..records import RecordEncoder
from ..schema import Columns
from ..stream_state import StreamState
from ..training import TrainingSummary
from .kind import Kind, State, Write, check_part

__all__ = ["KINDS"]


_ROLES = ("numeric", "nominal", "many", "dates", "texts")


def _write_model(model: Model, write: Write) -> Node:
    columns = model.columns
    params: dict[str, Any] = {"name": model.name, "sparse": bool(columns.sparse)}
    params["left_out"] = [[str(name), str(why)] for name, why in columns.left_out.items()]
    arrays: dict[str, Any] = {}
    for role in _ROLES:
        arrays |= _names(role, getattr(columns, role))
    params["repriced"] = bool(model.repriced)
    remembered = [] if model.training is None else [write(model.training)]
    return Node("Model/1", params, arrays, [write(model.estimator), write(model.costs), *remembered])


def _names(role: str, names: Sequence[Any]) -> dict[str, NDArray[Any]]:
    if isinstance(names, range) or not names:
        return write_labels(role, np.arange(len(names), dtype=np.int64))
    return write_labels(role, list(names))


def _check_model(fields: Fields) -> State:
    state: State = {"name": fields.text("name"), "sparse": fields.flag("sparse"), "repriced": fields.flag("repriced")}
    left_out = fields.param("left_out")
    if not isinstance(left_out, list) or not all(_is_pair(pair) for pair in left_out):
        fields.refuse("left_out", "names columns and reasons", left_out)
    state["left_out"] = dict(left_out)
    for role in _ROLES:
        names = fields.labels(role)
        if names.dtype.kind not in "Ui" or (names.dtype.kind == "i" and names.size and names.min() < 0):
            fields.refuse(role, "are names or positions", names[:3])
        state[role] = tuple(names.tolist())
    used = sum((state[role] for role in ("numeric", "nominal", "dates", "texts")), ())
    if not used or len(set(used)) != len(used) or len({type(name) for name in used}) != 1:
        fields.refuse("roles", "are different columns, all named or all numbered", used[:5])
    fields.done(parts=3 if fields.parts == 3 else 2)
    return state


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(isinstance(text, str) for text in pair)


def _build_model(state: State, parts: list[Any]) -> Model:
    estimator, costs, *rest = parts
    training = rest[0] if rest else None
    if training is not None and not isinstance(training, TrainingSummary):
        raise StateError("must remember its training data by their summary; it is something else.")
    check_part("Model/1", estimator, "predict")
    if not isinstance(costs, Costs):
        raise StateError("must be a classifier and its costs; it is something else.")
    found = getattr(estimator, "classes_", None)
    if found is None or not set(np.asarray(found).tolist()) <= set(costs.classes.tolist()):  # type: ignore[union-attr]
        raise StateError("must have costs for every class it may answer; some have none.")
    columns = Columns(left_out=state["left_out"], sparse=state["sparse"], **{role: state[role] for role in _ROLES})
    if training is not None and len(training.medians) != len(columns.numeric):
        raise StateError("must remember every numeric column; some are missing.")
    if training is not None and len(training.shares) != len(costs.classes):  # type: ignore[arg-type]
        raise StateError("must remember the share of every class; some are missing.")
    return Model(state["name"], estimator, columns, costs, training, state["repriced"])


def _write_state(state: StreamState, write: Write) -> Node:
    labels = np.empty(len(state.labels), dtype=object)
    labels[:] = state.labels
    params, arrays = write_awaited(state.awaited, state.settled)
    params |= {"log": dict(state.log)} | ({"notes": dict(state.notes)} if state.notes else {})
    arrays |= write_labels("classes", labels) | {"counts": np.asarray(state.counts, dtype=np.int64)}
    return Node("StreamState/1", params, arrays, [write(state.learner), write(state.encoder)])


def _check_state(fields: Fields) -> State:
    labels = fields.classes()
    counts = fields.integers("counts", "classes", "classes", low=0, high=1 << 53)
    plain = {"log": fields.param("log"), "notes": fields.param("notes") if fields.has("notes") else {}}
    for name, values in plain.items():
        if not isinstance(values, dict) or any(isinstance(value, (dict, list)) for value in values.values()):
            fields.refuse(name, "is plain values", values)
    awaited, settled = read_awaited(fields, len(labels))
    fields.done(parts=2)
    late = {"awaited": awaited, "settled": settled}
    return {"labels": tuple(labels.tolist()), "counts": counts} | plain | late


def _build_state(state: State, parts: list[Any]) -> StreamState:
    learner, encoder = parts
    kind = OnlineClassifier if len(state["labels"]) == 2 else OnlineCostClassifier
    if not isinstance(learner, kind) or not isinstance(encoder, RecordEncoder):
        raise StateError("must be a learner of its labels and what reads its rows; it is something else.")
    learned = learner.classes_  # 0.0 and False are equal to 0
    if learned.dtype.kind != "i" or learned.tolist() != list(range(len(state["labels"]))):
        raise StateError("must have learned the classes 0, 1, .. of its labels; it learned others.")
    if any(entry.row.shape[1] != learner.n_features_in_ for entry in state["awaited"]):
        raise StateError("must await labels of rows as wide as its learner's; some are not.")
    if len(state["awaited"]) > learner.n_reserved_ or any(e.t >= learner.n_rounds_ for e in state["awaited"]):
        raise StateError("must await labels that its learner asked for; there are others.")
    return StreamState(learner, encoder, **state)


KINDS = (
    Kind("Model/1", (Model,), _write_model, _check_model, _build_model),
    Kind("StreamState/1", (StreamState,), _write_state, _check_state, _build_state),
)
