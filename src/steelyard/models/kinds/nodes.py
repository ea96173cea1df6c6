"""Binary trees as columns of nodes, and what must hold of them before any native code sees them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..._native import Forest
from ...files import Fields
from ...validation.types import Floats

__all__ = [
    "CATEGORICAL",
    "DEEPEST",
    "MISSING_LEFT",
    "NAN_IS_ZERO",
    "ZERO_IS_MISSING",
    "Nodes",
    "check_nodes",
    "depth_of",
    "expanded",
]

CATEGORICAL, MISSING_LEFT, NAN_IS_ZERO, ZERO_IS_MISSING = 1, 2, 4, 8  # forest::Flag
DEEPEST = 10_000
_FLAGS = 15
Ints: TypeAlias = NDArray[np.int32]
Places: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Nodes:
    """Trees one behind the other, the root of each first.

    ``left`` and ``right`` say how far behind a node its children stand; both are 0 in a leaf. A node asks whether
    ``column`` is at most ``threshold`` or, if ``flags`` say so, whether its whole part is in the set of that number,
    whose bits are ``words[set_ends[s - 1] : set_ends[s]]``. ``values`` holds a row for every leaf, in their order.
    """

    column: Ints
    threshold: Floats
    left: Ints
    right: Ints
    flags: NDArray[np.uint8]
    tree_ends: Places
    set_ends: Places
    words: NDArray[np.uint32]
    values: Floats

    @classmethod
    def joined(cls, trees: Sequence[Nodes]) -> Nodes:
        """Several forests as one."""
        sets = np.cumsum([0, *(len(tree.set_ends) for tree in trees)])
        words = np.cumsum([0, *(len(tree.words) for tree in trees)])
        sizes = np.cumsum([0, *(len(tree.column) for tree in trees)])
        thresholds = [
            np.where(tree.flags & CATEGORICAL, tree.threshold + before, tree.threshold)
            for tree, before in zip(trees, sets, strict=False)
        ]
        plain = {
            name: np.concatenate([getattr(t, name) for t in trees]) for name in ("column", "left", "right", "flags")
        }
        return cls(
            threshold=np.concatenate(thresholds),
            tree_ends=np.concatenate([t.tree_ends + n for t, n in zip(trees, sizes, strict=False)]),
            set_ends=np.concatenate([t.set_ends + n for t, n in zip(trees, words, strict=False)]),
            words=np.concatenate([t.words for t in trees]),
            values=np.concatenate([t.values for t in trees]),
            **plain,
        )

    @classmethod
    def of_tree(
        cls,
        column: Any,
        threshold: Any,
        children: tuple[Any, Any],
        flags: Any,
        values: Any,
        sets: tuple[Any, Any] = ((), ()),
    ) -> Nodes:
        """One tree whose ``children`` are positions, negative in leaves; ``values`` has a row for every node."""
        here, leaf = np.arange(len(column)), np.asarray(children[0]) < 0
        left, right = (np.where(leaf, 0, np.asarray(side, dtype=np.int64) - here).astype(np.int32) for side in children)
        return cls(
            np.where(leaf, 0, column).astype(np.int32),
            np.where(leaf, 0.0, threshold),
            left,
            right,
            np.where(leaf, 0, flags).astype(np.uint8),
            np.array([len(here)], dtype=np.int64),
            np.asarray(sets[0], dtype=np.int64),
            np.asarray(sets[1], dtype=np.uint32),
            np.ascontiguousarray(np.asarray(values, dtype=np.float64)[leaf]),
        )

    def native(self, n_features: int, n_outputs: int) -> Forest:
        """The same for the kernel."""
        return Forest(**vars(self), n_features=n_features, n_outputs=n_outputs)


def check_nodes(fields: Fields, n_features: int, n_outputs: int, *, votes: bool) -> Nodes:
    """The trees of a file: every child behind its parent and within its tree, each node below one other alone."""
    left, right = fields.array("left", "i", "nodes"), fields.array("right", "i", "nodes")
    ends = fields.integers("tree_ends", "trees", low=1, high=len(left), dtypes="l")
    if len(ends) == 0 or ends[-1] != len(left) or (np.diff(ends) <= 0).any():
        fields.refuse("tree_ends", "cuts the nodes into trees", ends[-3:])
    if len(ends) % (1 if votes else n_outputs):
        fields.refuse("tree_ends", f"has as many trees for each of {n_outputs} outputs", len(ends))
    inner = (left != 0) | (right != 0)
    room = np.repeat(ends, np.diff(ends, prepend=0)) - np.arange(len(left))
    for name, side in (("left", left), ("right", right)):
        if ((side <= 0) & inner).any():
            fields.refuse(name, "has every child behind its parent", int(side[inner].min()))
        if ((side >= room) & inner).any():
            fields.refuse(name, "has every child within its tree", int(side[inner].max()))
    here = np.flatnonzero(inner)
    _check_shape(fields, here, left, right, ends)
    column = fields.integers("column", "nodes", low=0, high=max(0, n_features - 1), dtypes="i")
    flags = fields.integers("flags", "nodes", low=0, high=_FLAGS, dtypes="B")
    threshold = fields.array("threshold", "d", "nodes")
    if np.isnan(threshold).any():
        fields.refuse("threshold", "is a number", "NaN")
    if n_features == 0 and len(here):
        fields.refuse("column", "exists", 0)
    set_ends, words = _check_sets(fields, threshold[here][flags[here] & CATEGORICAL > 0])
    if votes:  # their sum is looked at below
        values = fields.floats("values", len(left) - len(here), n_outputs, low=0.0, high=math.inf)
    else:
        values = fields.floats("values", len(left) - len(here), 1)
    if values.dtype != np.float64:
        fields.refuse("values", "are in double precision", values.dtype)
    total = values.sum(axis=1)
    if votes and not ((total > 0) & (total < np.inf)).all():
        fields.refuse("values", "are weights of classes with a positive finite sum in every leaf", total.min())
    return Nodes(column, threshold, left, right, flags, ends, set_ends, words, values)


def _check_sets(fields: Fields, used: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    words = fields.array("words", "I", None)
    ends = fields.integers("set_ends", None, low=0, high=len(words), dtypes="l")
    if (np.diff(ends) < 0).any() or (ends[-1] if len(ends) else 0) != len(words):
        fields.refuse("set_ends", "cuts the words into sets", ends[-3:])
    if not ((used >= 0) & (used < len(ends)) & (used == np.floor(used))).all():
        fields.refuse("threshold", f"names one of {len(ends)} sets of categories", used.max())
    return ends, words


def _check_shape(
    fields: Fields, here: NDArray[np.intp], left: NDArray[Any], right: NDArray[Any], ends: NDArray[np.int64]
) -> None:
    """Every node but the roots has one parent; no tree is deeper than can be walked."""
    below = np.concatenate([here + left[here], here + right[here]])
    roots = np.concatenate([[0], ends[:-1]])
    others = np.delete(np.arange(len(left)), roots)
    if not np.array_equal(np.sort(below), others):
        fields.refuse("left and right", "give every node one parent", "another number")
    firsts = np.where(left != 0, np.arange(len(left)) + left, 0)
    counts = np.where(left != 0, 1, 0)
    seconds = np.where(left != 0, np.arange(len(left)) + right, 0)
    if depth_of(roots, [(firsts, counts), (seconds, counts)]) > DEEPEST:
        fields.refuse("left and right", f"are at most {DEEPEST} nodes deep", "more")


def depth_of(roots: NDArray[Any], children: Sequence[tuple[NDArray[Any], NDArray[Any]]]) -> int:
    """Levels below the roots, up to one more than the deepest that is allowed; every node has one parent.

    ``children`` are pairs of columns: the first child of each node and how many stand side by side there.
    """
    level = np.asarray(roots)
    for depth in range(DEEPEST + 1):
        found = [expanded(first[level], count[level]) for first, count in children]
        level = np.concatenate(found)
        if len(level) == 0:
            return depth
    return DEEPEST + 1


def expanded(first: NDArray[Any], count: NDArray[Any]) -> NDArray[np.int64]:
    """The positions first, first + 1, .. of all ranges."""
    total = int(count.sum())
    starts = np.repeat(np.cumsum(count) - count, count)
    return np.asarray(np.repeat(first, count) + np.arange(total) - starts, dtype=np.int64)
