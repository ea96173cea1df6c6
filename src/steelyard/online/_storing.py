"""The state of a stream as plain arrays and JSON, and a file of both that runs no code when it is read."""

from __future__ import annotations

import json
import math
import os
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .. import active
from .. import costs as costs_room
from ..active import Budget
from ..costs import Balanced, Costs, ExampleCosts, InverseFrequency
from ..errors import StateError
from ..rules import Rule
from . import adaptive, second_order, updates
from ._engine import Engine, Setting
from .adaptive import ClassCosts

FORMAT = "steelyard.OnlineClassifier"
VERSION = 1
ARRAYS = ("classes", "weights", "sums", "factors", "spread")


class Saved:
    """Adds ``save`` and ``load`` to a class that has ``state`` and ``from_state``; a failed call leaves no trace."""

    STORED: ClassVar[tuple[str, ...]]  # names of the arrays of its state
    state: Any
    from_state: Any

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file; the old one stays until the new one is complete."""
        state = self.state()
        arrays = state.pop("arrays")
        text = np.frombuffer(json.dumps(state, allow_nan=False).encode(), dtype=np.uint8)
        target = Path(path)
        partial = target.with_name(target.name + ".part")
        with partial.open("wb") as file:
            np.savez(file, state=text, **arrays)
        partial.replace(target)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **rules: Any) -> Self:
        """Resume from a file written by :meth:`save`. Nothing in the file is run."""
        try:
            with np.load(path, allow_pickle=False) as file:
                state = json.loads(file["state"].tobytes())
                state["arrays"] = {name: file[name] for name in cls.STORED}
        except FileNotFoundError:
            raise
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise StateError(f"{os.fspath(path)} must be a file written by save(); got {error}.") from error
        return cls.from_state(state, **rules)  # type: ignore[no-any-return]


class Stored(Saved):
    """Adds ``state``, ``from_state``, ``save`` and ``load`` to the classifier."""

    STORED = ARRAYS
    _engine: Engine
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
        """The estimator as it was: it goes on with the same bits. Rules of your own are given by name, ``update=``."""
        if not isinstance(state, dict) or state.get("format") != FORMAT or state.get("version") != VERSION:
            raise StateError(f"state must be one of {FORMAT}, version {VERSION}; got {described(state)}.")
        try:
            made: Any = cls(**params_read(state["params"], rules))
            arrays = {name: np.ascontiguousarray(state["arrays"][name]) for name in ARRAYS}
            classes = arrays.pop("classes")
            engine = Engine(
                _setting_read(state["setting"]), made.update or updates.CSOGD2(), made.query or active.AskAll()
            )
            *vectors, spread = (arrays[name].astype(np.float64) for name in ARRAYS[1:])
            engine.stream.restore(*vectors, state["counts"])
            engine.stream.restore_covariance(spread)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StateError(f"state must be complete and unchanged; got {type(error).__name__}: {error}.") from error
        made._engine = engine
        made.n_features_in_ = engine.setting.n_features
        if state["feature_names"]:
            made.feature_names_in_ = np.array(state["feature_names"], dtype=object)
        made._adopt(classes_read(classes, state["labels"]))
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
    """Parameters from JSON; those ``given`` win and are not read."""
    return {name: _read(value) for name, value in written.items() if name not in given} | given


def described(state: Any) -> str:
    if isinstance(state, dict):
        return f"format {state.get('format')!r}, version {state.get('version')!r}"
    return type(state).__name__


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else value


def _setting_written(setting: Setting) -> dict[str, Any]:
    written = setting._asdict()
    written["budget"] = [_finite(value) for value in setting.budget]
    written["costs"] = list(setting.costs)
    return written


def _setting_read(written: dict[str, Any]) -> Setting:
    budget = Budget(*(math.inf if value is None else value for value in written["budget"]))
    return Setting(**{**written, "budget": budget, "costs": ClassCosts(*written["costs"])})


def _written(value: Any) -> Any:
    """A parameter in JSON; rules and costs as {"use": public name, parameter: value}."""
    if isinstance(value, Rule):
        return {"use": type(value).__name__} | {k: _written(v) for k, v in value.get_params(deep=False).items()}
    if isinstance(value, (Balanced, InverseFrequency)):
        return {"use": type(value).__name__} | {k: _written(v) for k, v in asdict(value).items()}
    if isinstance(value, Budget):
        return {"use": "Budget", "limit": _finite(value.limit), "rate": _finite(value.rate)}
    if isinstance(value, Costs) and not isinstance(value, ExampleCosts):
        assert value.matrix is not None
        classes = None if value.classes is None else value.classes.tolist()
        return {"use": "Costs", "C": value.matrix.tolist(), "classes": classes, "positive": _plain(value.positive)}
    value = _plain(value)
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise StateError(f"a parameter must be plain data, a rule or Costs to be saved; got {value!r}.") from None
    return value


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value


def _read(value: Any) -> Any:
    if not isinstance(value, dict) or "use" not in value:
        return value
    parameters = {name: _read(inner) for name, inner in value.items() if name != "use"}
    if value["use"] == "Costs":
        return Costs.from_matrix(**parameters)
    if value["use"] == "Budget":
        return Budget(*(math.inf if v is None else v for v in (parameters["limit"], parameters["rate"])))
    for room in (updates, second_order, active, adaptive, costs_room):
        if value["use"] in room.__all__:
            return getattr(room, value["use"])(**parameters)
    raise StateError(
        f"state must use rules of this library; got {value['use']!r}. Give the rule to from_state(), e.g. update=."
    )
