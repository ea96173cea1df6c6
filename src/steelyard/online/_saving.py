"""The state of a stream as plain arrays and JSON, and a file of both that runs no code when it is read."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .. import active
from .. import costs as costs_room
from .._version import __version__
from ..active import Budget
from ..costs import Balanced, Costs, ExampleCosts, InverseFrequency
from ..errors import StateError
from ..files import MAX_BYTES, Fields, Node, read_container, reading, write_container, write_labels
from ..rules import Rule
from . import adaptive, second_order, updates
from ._binary_stream import BinaryStream, StreamConfig, check_query
from .adaptive import ClassCosts

FORMAT = "steelyard.OnlineClassifier"
VERSION = 1
COST_RULES = (Balanced, InverseFrequency, adaptive.AdaptiveBalanced)
ARRAYS = ("classes", "weights", "sums", "factors", "spread")


class SaveLoadMixin:
    """Adds ``save`` and ``load`` to a class that has ``state`` and ``from_state``; a failed call leaves no trace."""

    STORED: ClassVar[tuple[str, ...]]  # names of the arrays of its state, the classes first
    state: Any
    from_state: Any
    classes_: NDArray[Any]

    @classmethod
    def kind(cls) -> str:
        """What a file calls an object of this class."""
        return f"{cls.__name__}/1"

    def to_node(self) -> Node:
        """The state as a file holds it."""
        state = self.state()
        arrays = {name: array for name, array in state["arrays"].items() if name != "classes"}
        params = {name: state[name] for name in state if name not in ("arrays", "format", "version")}
        return Node(self.kind(), params, arrays | write_labels("classes", self.classes_))

    @classmethod
    def check_node(cls, fields: Fields) -> dict[str, Any]:
        """The state that a node holds, once its parameters and arrays are what they should be.

        Parameters
        ----------
        fields : Fields
            The node of a file.

        Returns
        -------
        dict
            What ``from_state`` takes.
        """
        state: dict[str, Any] = {name: fields.param(name) for name in cls.FIELDS}
        for name in ("params", "setting"):
            if not isinstance(state.get(name, {}), dict):
                fields.refuse(name, "is names and values", state[name])
        if not isinstance(state["feature_names"], list) or not all(isinstance(n, str) for n in state["feature_names"]):
            fields.refuse("feature_names", "are texts", state["feature_names"])
        counts = state["counts"]
        if not isinstance(counts, list) or not all(type(count) is int and 0 <= count < 1 << 63 for count in counts):
            fields.refuse("counts", "are whole numbers from 0 on", counts)
        arrays = {"classes": fields.classes(at_most=cls.MOST_CLASSES)}
        for name in cls.STORED[1:]:
            arrays[name] = (
                fields.array(name, "L", None)
                if name == "seen"
                else fields.floats(name, *_shape(name), low=-math.inf, high=math.inf)
            )
        fields.done(parts=0)
        return state | {"format": cls.FORMAT, "version": cls.VERSION, "arrays": arrays}

    FIELDS: ClassVar[tuple[str, ...]]  # names of the other fields
    MOST_CLASSES: ClassVar[int | None] = None
    FORMAT: ClassVar[str]
    VERSION: ClassVar[int]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a `.steelyard` file; the old one stays until the new one is complete.

        Parameters
        ----------
        path : path-like
            Where to write it.
        """
        write_container(path, self.to_node(), version=__version__)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES, **rules: Any) -> Self:
        """Resume from a file written by :meth:`save`. Nothing in the file is run.

        Parameters
        ----------
        path : path-like
            The file.
        max_bytes : int
            The largest size it may unpack to.
        **rules : Any
            Rules of your own, by name, such as ``update=``.

        Returns
        -------
        Self
            The estimator as it was.
        """
        node = read_container(path, max_bytes=max_bytes)
        with reading(path):
            if node.kind != cls.kind():
                raise StateError(f"must be a file written by {cls.__name__}.save(); it holds {node.kind[:80]!r}.")
            return cls.from_state(cls.check_node(Fields(node)), **rules)  # type: ignore[no-any-return]


def _shape(name: str) -> tuple[Any, ...]:
    return ("classes", "classes") if name == "costs" else (None,)


class BinaryStateMixin(SaveLoadMixin):
    """Adds ``state``, ``from_state``, ``save`` and ``load`` to the classifier."""

    STORED = ARRAYS
    FIELDS = ("params", "setting", "counts", "labels", "feature_names")
    MOST_CLASSES = 2
    FORMAT, VERSION = FORMAT, VERSION
    _stream: BinaryStream
    classes_: NDArray[Any]
    n_features_in_: int
    _running: Any

    def state(self) -> dict[str, Any]:
        """All that a resumed stream needs: arrays under ``"arrays"``, everything else JSON."""
        engine = self._running()
        weights, sums, factors, counts = engine.stream.arrays()
        return {
            "format": FORMAT,
            "version": VERSION,
            "params": params_written(self),
            "setting": _setting_written(engine.setting),
            "counts": list(counts),
            "labels": self.classes_.dtype.kind,
            "feature_names": getattr(self, "feature_names_in_", np.empty(0)).tolist(),
            "arrays": {
                "classes": classes_written(self.classes_),
                "weights": weights,
                "sums": sums,
                "factors": factors,
                "spread": engine.stream.covariance(),
            },
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], **rules: Any) -> Self:
        """The estimator as it was: it goes on with the same bits.

        Parameters
        ----------
        state : dict
            What :meth:`state` gave.
        **rules : Any
            Rules of your own, by name, such as ``update=``.

        Returns
        -------
        Self
            The estimator, ready to go on.
        """
        if not isinstance(state, dict) or state.get("format") != FORMAT or state.get("version") != VERSION:
            raise StateError(f"state must be one of {FORMAT}, version {VERSION}; got {described(state)}.")
        try:
            made: Any = cls(**params_read(state["params"], rules))
            arrays = {name: np.ascontiguousarray(state["arrays"][name]) for name in ARRAYS}
            classes = arrays.pop("classes")
            setting, update, query = _setting_read(state["setting"]), made.update or updates.CSOGD2(), made.query
            if setting.n_features != len(arrays["weights"]):
                raise StateError(f"state must have {setting.n_features} weights; got {len(arrays['weights'])}.")
            update.validate()
            check_query(query or active.AskAll())
            engine = BinaryStream(setting, update, query or active.AskAll())
            *vectors, spread = (arrays[name].astype(np.float64) for name in ARRAYS[1:])
            engine.stream.restore(*vectors, state["counts"])
            engine.stream.restore_covariance(spread)
        except StateError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise StateError(f"state must be complete and unchanged; got {type(error).__name__}: {error}.") from error
        made._stream = engine
        made.n_features_in_ = engine.setting.n_features
        if state["feature_names"]:
            made.feature_names_in_ = np.array(state["feature_names"], dtype=object)
        made._name_classes(classes_read(classes, state["labels"]))
        return made  # type: ignore[no-any-return]


def classes_written(classes: NDArray[Any]) -> NDArray[Any]:
    """Labels as an array that needs no pickle; their kind is kept beside it."""
    return classes.astype(str) if classes.dtype.kind == "O" else classes


def classes_read(classes: NDArray[Any], kind: str) -> NDArray[Any]:
    """The labels as they were."""
    return classes.astype(object) if kind == "O" else classes


def params_written(estimator: Any) -> dict[str, Any]:
    """The parameters of an estimator in JSON."""
    return {name: _written(value) for name, value in estimator.get_params(deep=False).items()}


def params_read(written: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Parameters from JSON. Those ``given`` are not read, so they may be rules of one's own, but must be the same."""
    for name, value in given.items():
        if name not in written:
            raise StateError(f"{name} must be a parameter of the state, one of {', '.join(written)}; got {value!r}.")
        if _written(value) != written[name]:
            hint = "Leave it out; changed() gives a running stream other rules."
            raise StateError(f"{name} must be that of the state, {written[name]!r}; got {value!r}. {hint}")
    return {name: _read(value) for name, value in written.items() if name not in given} | given


def described(state: Any) -> str:
    if isinstance(state, dict):
        return f"format {state.get('format')!r}, version {state.get('version')!r}"
    return type(state).__name__


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else value


def _setting_written(setting: StreamConfig) -> dict[str, Any]:
    written = setting._asdict()
    written["budget"] = [_finite(value) for value in setting.budget]
    written["costs"] = list(setting.costs)
    return written


def _setting_read(written: dict[str, Any]) -> StreamConfig:
    budget = Budget(*(math.inf if value is None else value for value in written["budget"]))
    return StreamConfig(**{**written, "budget": budget, "costs": ClassCosts(*written["costs"])})


def _written(value: Any) -> Any:
    """A parameter in JSON; rules, costs and mappings of labels that are no texts as {"use": name, parameter: value}."""
    if isinstance(value, Rule):
        return {"use": type(value).__name__} | {k: _written(v) for k, v in value.get_params(deep=False).items()}
    if isinstance(value, (Balanced, InverseFrequency)):
        return {"use": type(value).__name__} | {k: _written(v) for k, v in asdict(value).items()}
    if isinstance(value, Budget):
        return {"use": "Budget", "limit": _finite(value.limit), "rate": _finite(value.rate)}
    if isinstance(value, Costs) and not isinstance(value, ExampleCosts):
        return _costs_written(value)
    if isinstance(value, Mapping):
        labels = [_plain(label) for label in value]
        inner = [_written(each) for each in value.values()]
        if "use" in labels or not all(type(label) is str for label in labels):  # JSON has keys of text alone
            return {"use": "mapping", "pairs": [list(pair) for pair in zip(labels, inner, strict=True)]}
        return dict(zip(labels, inner, strict=True))
    value = _plain(value)
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise StateError(f"a parameter must be plain data, a rule or Costs to be saved; got {value!r}.") from None
    return value


def _costs_written(costs: Costs) -> dict[str, Any]:
    assert costs.matrix is not None
    classes = None if costs.classes is None else costs.classes.tolist()
    written = {"use": "Costs", "C": costs.matrix.tolist(), "classes": classes, "positive": _plain(costs.positive)}
    if costs.currency is not None:
        written["currency"] = costs.currency
    if costs.abstain is not None:
        written |= {"abstain": costs.abstain, "abstain_label": costs.abstain_label}
    return written


def _costs_read(C: Any, *, abstain: float | None = None, abstain_label: str = "", **stated: Any) -> Costs:
    costs = Costs.from_matrix(C, **stated)
    return costs if abstain is None else costs.with_abstain(abstain, label=abstain_label)


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value


def _read(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "use" not in value:
        return {name: _read(inner) for name, inner in value.items()}
    parameters = {name: _read(inner) for name, inner in value.items() if name != "use"}
    if value["use"] == "Costs":
        return _costs_read(**parameters)
    if value["use"] == "mapping":
        return {label: _read(inner) for label, inner in parameters["pairs"]}
    if value["use"] == "Budget":
        return Budget(*(math.inf if v is None else v for v in (parameters["limit"], parameters["rate"])))
    rule = _RULES.get(value["use"]) if isinstance(value["use"], str) else None
    if rule is None:
        raise StateError(
            f"state must use rules of this library; got {value['use']!r}. "
            "Give the rule itself to load() or from_state() of the estimator, e.g. update=MyRule()."
        )
    return rule(**parameters)


# Every rule that a state may name; the names come from here, never from the state.
_RULES: dict[str, Any] = {
    name: rule
    for room in (updates, second_order, active, adaptive, costs_room)
    for name, rule in vars(room).items()
    if name in room.__all__ and isinstance(rule, type) and issubclass(rule, (Rule, *COST_RULES))
}
