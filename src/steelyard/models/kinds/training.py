"""What a model remembers of its training data, as a part of its file."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

import numpy as np

from ...costs.spec import CostSpec
from ...errors import CostsError
from ...files import Fields, Node
from ..training import MOST_LEVELS_KEPT, TrainingSummary
from .kind import Kind, State, Write

__all__ = ["KINDS"]

_MOST_CARD = 1_000_000  # characters


def _write_training(training: TrainingSummary, write: Write) -> Node:
    spec = training.cost_spec
    stated = None if spec is None else asdict(spec)
    if stated is not None and isinstance(stated["positive"], np.generic):
        stated["positive"] = stated["positive"].item()
    arrays = {name: np.asarray(getattr(training, name), dtype=np.float64) for name in ("shares", *_STATISTICS)}
    levels = [None if seen is None else list(seen) for seen in training.levels]
    card = json.loads(json.dumps(training.card, default=str, allow_nan=False))
    return Node("TrainingSummary/1", {"levels": levels, "cost_spec": stated, "card": card}, arrays)


_STATISTICS = ("medians", "lows", "highs")


def _check_training(fields: Fields) -> State:
    shares = fields.floats("shares", None, low=0.0, high=1.0)
    state: State = {"shares": shares}
    for name in _STATISTICS:
        state[name] = fields.floats(name, None, nan=True, low=-math.inf, high=math.inf)
    if len({len(state[name]) for name in _STATISTICS}) != 1:
        fields.refuse("medians", "are as many as lows and highs", len(state["medians"]))
    levels = fields.param("levels")
    if not isinstance(levels, list) or not all(seen is None or _are_texts(seen) for seen in levels):
        fields.refuse("levels", "are texts, or null", levels)
    state["levels"] = tuple(None if seen is None else tuple(seen) for seen in levels)
    card = fields.param("card")
    if not isinstance(card, dict) or len(json.dumps(card)) > _MOST_CARD:
        fields.refuse("card", "is a small table", card)
    state["card"] = card
    state["cost_spec"] = _spec(fields)
    fields.done(parts=0)
    return state


def _are_texts(seen: Any) -> bool:
    return isinstance(seen, list) and len(seen) <= MOST_LEVELS_KEPT and all(isinstance(text, str) for text in seen)


def _spec(fields: Fields) -> CostSpec | None:
    stated = fields.param("cost_spec")
    if stated is None:
        return None
    known = {"fn", "fp", "tp", "tn", "abstain", "positive", "currency"}
    if not isinstance(stated, dict) or set(stated) != known:
        fields.refuse("cost_spec", "states costs", stated)
    for role in ("fn", "fp", "tp", "tn", "abstain"):
        value = stated[role]
        if isinstance(value, bool) or not (
            isinstance(value, (int, float, str)) or (role == "abstain" and value is None)
        ):
            fields.refuse("cost_spec", "holds numbers and names of columns", value)
    if not (stated["currency"] is None or isinstance(stated["currency"], str)):
        fields.refuse("cost_spec", "has a text as currency", stated["currency"])
    if isinstance(stated["positive"], (list, dict)):
        fields.refuse("cost_spec", "has a label as positive", stated["positive"])
    try:
        return CostSpec(**stated)
    except CostsError as error:
        fields.refuse("cost_spec", "states costs", str(error))


def _build_training(state: State, parts: list[Any]) -> TrainingSummary:
    return TrainingSummary(**state)


KINDS = (Kind("TrainingSummary/1", (TrainingSummary,), _write_training, _check_training, _build_training),)
