"""One entry of the table of kinds: how an object becomes a node, what is checked, and how a node becomes an object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator

from ...errors import StateError
from ...files import Fields, Node, write_labels

__all__ = ["Kind", "State", "Write", "check_part", "feature_params", "fitted_features"]

State = dict[str, Any]
Write = Callable[[Any], Node]


@dataclass(frozen=True)
class Kind:
    """A class of objects that files may hold.

    ``types`` are what is written as this kind: classes, or their full names where the library may be absent.
    ``write`` turns such an object into a node and is given the writer of its parts. ``check`` asks a node for
    everything it holds and refuses what cannot be; no native code runs before it has. ``build`` makes the object
    of what was checked and of its parts, by calling classes that stand in the source.
    """

    name: str
    types: tuple[type | str, ...]
    write: Callable[[Any, Write], Node]
    check: Callable[[Fields], State]
    build: Callable[[State, list[Any]], Any]


def feature_params(estimator: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Number and names of the columns an estimator was fitted on, as parameters and arrays."""
    if not hasattr(estimator, "n_features_in_"):
        return {}, {}
    names = [str(name) for name in getattr(estimator, "feature_names_in_", ())]
    arrays = write_labels("feature_names_in_", names) if names else {}
    return {"n_features_in_": int(estimator.n_features_in_)}, arrays


def fitted_features(estimator: Any, found: dict[str, Any]) -> Any:
    """The estimator with the columns it was fitted on."""
    for name, value in found.items():
        setattr(estimator, name, value)
    return estimator


def check_part(kind: str, part: Any, *methods: str) -> None:
    """Refuse a part that has none of the methods by which the object of ``kind`` will ask it."""
    if not isinstance(part, BaseEstimator) or not any(hasattr(part, method) for method in methods):
        wanted = " or ".join(methods)
        raise StateError(f"must hold parts of {kind} that have {wanted}; one is a {type(part).__name__}.")
