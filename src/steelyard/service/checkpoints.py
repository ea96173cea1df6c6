"""A project's state as bytes that hold no code, and the start from the newest of them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from ..errors import StateError
from ..online import StreamScaler
from .champion import ChampionHead
from .expected import FittedPair
from .questions import Question
from .reducer import State
from .settings import ProjectSettings
from .shadows import Shadow
from .training import Example, Training

_SHORT = 1024  # arrays below this length are written whole
_FILLS = (0.0, 1.0)  # what most of a wide array that has learned little consists of


def pack_state(state: State) -> bytes:
    """The state as one block: arrays as safetensors, everything else as JSON beside them."""
    learner = state.learner.state()
    arrays: dict[str, NDArray[Any]] = {}
    for name, array in learner.pop("arrays").items():
        _put(arrays, f"learner.{name}", array)
    shadows = {slot: shadow.learner.state() for slot, shadow in state.shadows.items()}
    for slot, known in shadows.items():
        for name, array in known.pop("arrays").items():
            _put(arrays, f"shadow{slot}.{name}", array)
    scaler = state.encoder.scaler
    if scaler is not None:
        for name, array in scaler.state()["arrays"].items():
            _put(arrays, f"scaler.{name}", array)
    scaling = None if scaler is None else {k: v for k, v in scaler.state().items() if k != "arrays"}
    rows = {str(item): state.encoder.pack(row) for item, row in state.open_rows.items()}
    for item, raw in rows.items():
        arrays[f"row.{item}"] = np.frombuffer(raw, dtype=np.uint8)
    head = {"learner": learner, "shadows": shadows, "scaler": scaling, "plain": state.plain()}
    arrays["head"] = np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)
    return bytes(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))


def unpack_state(raw: bytes) -> State:
    """The state as it was; raises StateError if the bytes are not one."""
    try:
        arrays = load(raw)
        head = json.loads(arrays.pop("head").tobytes())
        plain = head["plain"]
        settings = msgspec.convert(plain["settings"], ProjectSettings)
        state = State(settings)
        _restore_learner(state, head["learner"], _taken(arrays, "learner."))
        for slot, update, since, reach, ended in plain.get("shadows", []):  # the first versions had none
            known = head["shadows"][str(slot)] | {"arrays": _taken(arrays, f"shadow{slot}.")}
            learner = type(state.learner).from_state(known)
            state.shadows[slot] = Shadow(slot, update, learner, since, reach, ended)
        if head["scaler"] is not None:
            written = head["scaler"] | {"arrays": _taken(arrays, "scaler.")}
            state.encoder.records.scaler = StreamScaler.from_state(written)
        for name, raw_row in _taken(arrays, "row.").items():
            state.open_rows[int(name)] = state.encoder.unpack(raw_row.tobytes())
        _restore_plain(state, plain)
    except (SafetensorError, KeyError, TypeError, ValueError, IndexError, msgspec.MsgspecError) as error:
        raise StateError(f"a checkpoint must be whole; {type(error).__name__}: {error}.") from error
    return state


def _restore_learner(state: State, written: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    state.learner = type(state.learner).from_state(written | {"arrays": arrays})
    state.query = state.learner.query or state.query


def _restore_plain(state: State, plain: dict[str, Any]) -> None:
    state.seq, state.model, state.reach = plain["seq"], plain["model"], plain["reach"]
    state.outcomes, state.settings_seq = plain["outcomes"], plain["settings_seq"]
    scores, state.pace.due = plain["pace"]
    state.pace.scores.extend(scores)
    state.budget.limit, state.budget.spent, state.budget.reserved = plain["budget"]
    for values in plain["questions"]:
        question = Question.from_list(values)
        state.questions[question.item] = question
    if plain.get("champion") is not None:
        sha256, *rest = plain["champion"]
        state.champion = ChampionHead(bytes.fromhex(sha256), *rest)
    state.tails = {bytes.fromhex(path): (bytes.fromhex(file), end) for path, file, end in plain.get("tails", [])}
    state.fits = [FittedPair(*values) for values in plain.get("fits", [])]  # the first versions had none
    state.fit_after, state.renewed = (tuple(plain.get(name, (0, 0))) for name in ("fit_after", "renewed"))
    state.training = Training()
    state.training.examples = [Example(*values) for values in plain["training"]]


def _put(arrays: dict[str, NDArray[Any]], name: str, array: NDArray[Any]) -> None:
    """Whole, or by index and value where less than half of it differs from what it began as."""
    if array.dtype == np.float64 and len(array) >= _SHORT:
        for fill in _FILLS:
            other = np.flatnonzero(array.view(np.int64) != np.float64(fill).view(np.int64))
            if 2 * len(other) < len(array):
                arrays[f"{name}|at"] = other
                arrays[f"{name}|values"] = array[other]
                arrays[f"{name}|rest"] = np.array([fill, len(array)])
                return
    arrays[name] = array


def _taken(arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}
    for key in [key for key in arrays if key.startswith(prefix)]:
        name, _, part = key.removeprefix(prefix).partition("|")
        if not part:
            found[name] = arrays[key]
        elif part == "rest":
            fill, length = arrays[key]
            whole = np.full(int(length), fill)
            whole[arrays[f"{prefix}{name}|at"]] = arrays[f"{prefix}{name}|values"]
            found[name] = whole
    return found
