"""The one closed table of what a `.steelyard` file may hold, and the two ways through it.

A file names kinds; a kind is a key of :data:`TABLE`, which is put together here and nowhere else. To add a class, give
it a :class:`~steelyard.models.kinds.kind.Kind` in the file of its like.

Tested in ``tests/adversarial/test_model_files.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import StateError
from ...files import Fields, Node, Room
from . import (
    c45,
    cells,
    columns,
    decisions,
    file_kinds,
    forest,
    levels,
    linear,
    online,
    preprocessing,
    reductions,
    support_vectors,
    training,
)
from .kind import Kind

__all__ = ["TABLE", "is_known", "read_node", "write_node"]

TABLE: dict[str, Kind] = {
    kind.name: kind
    for room in (
        c45,
        cells,
        columns,
        decisions,
        forest,
        levels,
        linear,
        online,
        preprocessing,
        reductions,
        support_vectors,
        training,
        file_kinds,
    )
    for kind in room.KINDS
}
MOST_WITHIN = 4  # scikit-learn asks a pipeline's last step three times a call, so that thirty levels never answer
_OF_TYPE: dict[type | str, Kind] = {known: kind for kind in TABLE.values() for known in kind.types}


def _kind_of(kind: type) -> Kind | None:
    return _OF_TYPE.get(kind) or _OF_TYPE.get(f"{kind.__module__}.{kind.__qualname__}")


def is_known(kind: type) -> bool:
    """Whether objects of a class can be written."""
    return _kind_of(kind) is not None


def write_node(model: Any) -> Node:
    """A fitted object and its parts as nodes, checked as they will be when they are read."""
    kind = type(model)
    known = _kind_of(kind)
    if known is None:
        raise StateError(f"a model must be made of kinds that can be saved; got {kind.__module__}.{kind.__qualname__}.")
    node: Node = known.write(model, write_node)
    known.check(Fields(node))
    return node


def read_node(node: Node) -> Any:
    """The object that a node describes. Everything is checked before anything is built, the parts first."""
    _check(node)
    with np.errstate(all="ignore"):  # the checks look at what became of a sum; a warning would say less
        return _built(node, Room())


def _check(node: Node, around: tuple[str, ...] = ()) -> None:
    known = TABLE.get(node.kind)
    if known is None:
        raise StateError(
            f"cannot be trusted: it names {node.kind[:200]!r}, which no Steelyard model contains. Nothing was run."
        )
    if around.count(node.kind) > MOST_WITHIN:
        raise StateError(f"must hold {node.kind} at most {MOST_WITHIN} times within itself; got more.")
    for part in node.parts:
        _check(part, (*around, node.kind))


def _built(node: Node, room: Room) -> Any:
    known = TABLE[node.kind]
    state = known.check(Fields(node, room))
    return known.build(state, [_built(part, room) for part in node.parts])
