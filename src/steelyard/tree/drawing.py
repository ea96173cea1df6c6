"""A tree drawn with matplotlib."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ..validation.values import require
from .encoding import Encoding
from .export import answer_of, counts, parents, summary
from .model import Tree


def draw_tree(tree: Tree, encoding: Encoding, classes: NDArray[Any], ax: Any = None) -> Any:
    """Nodes as boxes, leaves side by side, parents above the middle of their children."""
    pyplot = require("matplotlib.pyplot", why="plot")
    place = layout(tree)
    if ax is None:
        wide = max(x for x, _ in place.values()) + 1
        deep = 1 - min(y for _, y in place.values())
        ax = pyplot.subplots(figsize=(min(1.4 * wide + 1, 60), min(1.2 * deep + 1, 40)), layout="constrained")[1]
    for child, node in parents(tree).items():
        (x0, y0), (x1, y1) = place[node], place[child]
        ax.plot([x0, x1], [y0, y1], color="0.6", linewidth=0.8, zorder=1)
        ax.text((x0 + 2 * x1) / 3, (y0 + 2 * y1) / 3, answer_of(tree, encoding, node, child), **_CENTRED, fontsize=7)
    for node, (x, y) in place.items():
        label, weight, errors = summary(tree, node, classes)
        leaf = tree.is_leaf(node)
        text = f"{label}\n{counts(weight, errors)}" if leaf else encoding.names[tree.column[node]]
        box = {"boxstyle": "round" if leaf else "square", "facecolor": "white", "edgecolor": "C0" if leaf else "0.3"}
        ax.text(x, y, text, **_CENTRED, fontsize=8, bbox=box, zorder=2)
    ax.set_axis_off()
    return ax


_CENTRED = {"horizontalalignment": "center", "verticalalignment": "center"}


def layout(tree: Tree) -> dict[int, tuple[float, float]]:
    """Position of every node: leaves at x = 0, 1, 2, ...; y is minus the depth."""
    order = list(tree.walk())
    x: dict[int, float] = {}
    for node, _ in order:
        if tree.is_leaf(node):
            x[node] = float(len(x))
    for node, _ in reversed(order):
        if not tree.is_leaf(node):
            below = tree.children(node)
            x[node] = (x[below.start] + x[below.stop - 1]) / 2
    return {node: (x[node], -float(depth)) for node, depth in order}
