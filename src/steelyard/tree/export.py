"""A tree for people to read: text, Graphviz, rules."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from .encoding import Encoding
from .model import SplitKind, Tree, first_largest


class LeafRule(NamedTuple):
    """IF all conditions THEN label; ``weight`` objects of the training data lie here, ``errors`` of them wrongly."""

    conditions: tuple[str, ...]
    label: Any
    weight: float
    errors: float

    def __str__(self) -> str:
        condition = " and ".join(self.conditions) or "always"
        return f"if {condition} then {self.label} {counts(self.weight, self.errors)}"


def as_text(tree: Tree, encoding: Encoding, classes: NDArray[Any]) -> str:
    """The tree in C4.5's own notation, one line per branch."""
    if tree.is_leaf(0):
        return _leaf(tree, 0, classes)
    lines = []
    parent = parents(tree)
    for node, depth in tree.walk():
        if node > 0:
            line = "|   " * (depth - 1) + condition(tree, encoding, parent[node], node)
            lines.append(line + (f": {_leaf(tree, node, classes)}" if tree.is_leaf(node) else ""))
    return "\n".join(lines)


def as_graphviz(tree: Tree, encoding: Encoding, classes: NDArray[Any]) -> str:
    """The tree in the dot language."""
    lines = ["digraph C45 {", "  node [fontname=Helvetica]; edge [fontname=Helvetica];"]
    parent = parents(tree)
    for node, _ in tree.walk():
        leaf = tree.is_leaf(node)
        label = _leaf(tree, node, classes) if leaf else encoding.names[tree.column[node]]
        lines.append(f"  n{node} [label={_quoted(label)}, shape={'box' if leaf else 'ellipse'}];")
        if node > 0:
            answer = answer_of(tree, encoding, parent[node], node)
            lines.append(f"  n{parent[node]} -> n{node} [label={_quoted(answer)}];")
    return "\n".join([*lines, "}"])


def as_rules(tree: Tree, encoding: Encoding, classes: NDArray[Any]) -> list[LeafRule]:
    """One rule per leaf, left to right."""
    parent = parents(tree)
    conditions: dict[int, tuple[str, ...]] = {0: ()}
    rules = []
    for node, _ in tree.walk():
        if node > 0:
            conditions[node] = (*conditions[parent[node]], condition(tree, encoding, parent[node], node))
        if tree.is_leaf(node):
            label, weight, errors = summary(tree, node, classes)
            rules.append(LeafRule(conditions[node], label, weight, errors))
    return rules


def parents(tree: Tree) -> dict[int, int]:
    """Child -> parent."""
    return {child: node for node in range(len(tree)) for child in tree.children(node)}


def condition(tree: Tree, encoding: Encoding, parent: int, child: int) -> str:
    """What leads from a node to its child, e.g. ``age <= 30``."""
    return f"{encoding.names[tree.column[parent]]} {answer_of(tree, encoding, parent, child)}"


def answer_of(tree: Tree, encoding: Encoding, parent: int, child: int) -> str:
    """The answer that leads from a node to its child, e.g. ``<= 30``."""
    first = child == tree.first_child[parent]
    column = int(tree.column[parent])
    match SplitKind(tree.test[parent]):
        case SplitKind.AT_MOST:
            return f"{'<=' if first else '>'} {_shown(tree.threshold[parent])}"
        case SplitKind.EQUALS:
            return f"{'=' if first else '!='} {_shown(encoding.category(column, tree.threshold[parent]))}"
        case _:
            return f"= {_shown(encoding.category(column, tree.branch[child]))}"


def summary(tree: Tree, node: int, classes: NDArray[Any]) -> tuple[Any, float, float]:
    """Class, weight and errors of a node as a leaf."""
    weight = tree.weight[node]
    label = int(first_largest(weight))
    return classes[label], float(weight.sum()), float(weight.sum() - weight[label])


def counts(weight: float, errors: float) -> str:
    """``(weight)`` or ``(weight/errors)``, to two decimals."""
    shown = [f"{round(v, 2):.10g}" for v in (weight, errors)]
    return f"({shown[0]})" if shown[1] == "0" else f"({shown[0]}/{shown[1]})"


def _leaf(tree: Tree, node: int, classes: NDArray[Any]) -> str:
    label, weight, errors = summary(tree, node, classes)
    return f"{label} {counts(weight, errors)}"


def _shown(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
