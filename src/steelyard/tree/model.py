"""A grown tree: the kernel's arrays and what can be read off them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from .._native import tree_predict
from ..errors import StateError


class SplitKind(IntEnum):
    """What a node asks; the numbers are the kernel's."""

    LEAF = 0
    AT_MOST = 1
    EACH = 2
    EQUALS = 3


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes as columns. Node 0 is the root; the children of a node stand side by side behind it.

    ``weight[i, k]`` is the training weight of class k at node i. ``branch`` is the category that leads from an EACH
    node to its child. Categories whose training weight at a node is below 1e-6 have no branch
    there: the node answers for them.
    """

    test: NDArray[np.uint8]
    column: NDArray[np.int32]
    threshold: NDArray[np.float64]
    first_child: NDArray[np.int32]
    n_children: NDArray[np.int32]
    branch: NDArray[np.float64]
    weight: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.test)

    def children(self, node: int) -> range:
        """The nodes below a node; empty for a leaf."""
        first = int(self.first_child[node])
        return range(first, first + int(self.n_children[node]))

    def is_leaf(self, node: int) -> bool:
        """True if the node asks nothing."""
        return bool(self.test[node] == SplitKind.LEAF)

    def probabilities(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Class probabilities of encoded rows."""
        out = np.empty((X.shape[0], self.weight.shape[1]))
        tree_predict(
            self.test,
            self.column,
            self.threshold,
            self.first_child,
            self.n_children,
            self.branch,
            self.weight,
            X,
            out,
        )
        return out

    def walk(self) -> Iterator[tuple[int, int]]:
        """Nodes with their depth, parents first, left to right."""
        pending, walked = [(0, 0)], 0
        while pending:
            node, depth = pending.pop()
            yield node, depth
            below = self.children(node)
            walked += len(below)
            if below and (not node < below.start < below.stop <= len(self) or walked >= len(self)):
                raise StateError("a tree must have every node once, behind its parent.")
            pending.extend((child, depth + 1) for child in reversed(below))

    def importances(self, n_features: int) -> NDArray[np.float64]:
        """Bits of class information that each column saves on the training data, as shares of the sum."""
        total = self.weight.sum(axis=1)
        share = np.where(self.weight > 0, self.weight, 1.0) / total[:, None]
        bits = -(self.weight * np.log2(share)).sum(axis=1)
        saved = np.zeros(n_features)
        for node in np.flatnonzero(self.test != SplitKind.LEAF):
            below = self.children(int(node))
            saved[self.column[node]] += max(bits[node] - bits[below.start : below.stop].sum(), 0.0)
        return saved / saved.sum() if saved.sum() > 0 else saved


def first_largest(share: NDArray[np.float64]) -> NDArray[np.intp]:
    """The first class whose share is the largest, rounding apart; the kernel decides alike."""
    reached: NDArray[np.bool_] = share >= share.max(axis=-1, keepdims=True) * (1 - 1e-9)
    return np.asarray(reached.argmax(axis=-1))
