"""The C4.5 kernel grows the same trees as a slow twin that does one thing after the other: grow, collapse, prune."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import pairwise
from math import isnan, log2
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard import C45Classifier
from steelyard.tree.model import SplitKind as Kind

pytestmark = pytest.mark.kernel
TOLERANCE = 1e-6  # a smaller weight is none
Example = tuple[tuple[float, ...], int, float]  # values, class, weight


@dataclass
class Node:
    examples: list[Example]
    question: tuple[str, int, float] | None = None  # kind, column, threshold or category
    children: dict[Hashable, Node] = field(default_factory=dict)

    def replace_by(self, other: Node) -> None:
        self.question, self.children = other.question, other.children


@dataclass
class Twin:
    nominal: list[bool]
    n_classes: int
    min_obj: float = 2
    confidence: float = 0.25
    unpruned: bool = False
    collapse: bool = True
    raising: bool = True
    binary_nominal: bool = False

    def fit(self, examples: list[Example]) -> Node:
        self.training = [e for e in examples if e[2] > 0]
        total = sum(w for _, _, w in self.training)
        few = [
            not nominal or len(self.values(self.training, a)) < 0.3 * total - TOLERANCE
            for a, nominal in enumerate(self.nominal)
        ]
        self.in_the_mean = few if any(few) else [True] * len(few)
        root = self.grow(self.training)
        if self.collapse:
            self.collapse_below(root)
        if not self.unpruned:
            self.prune(root)
        self.drop_empty_branches(root)
        return root

    def drop_empty_branches(self, node: Node) -> None:
        """Categories of no weight to speak of are answered by the node itself."""
        if node.question is not None and node.question[0] == "each":
            node.children = {k: child for k, child in node.children.items() if self.weight(child.examples) >= TOLERANCE}
        for child in node.children.values():
            self.drop_empty_branches(child)

    def weight(self, examples: list[Example]) -> float:
        return sum(self.classes(examples))

    def classes(self, examples: list[Example]) -> list[float]:
        return [sum(w for _, c, w in examples if c == k) for k in range(self.n_classes)]

    def errors(self, examples: list[Example]) -> float:
        classes = self.classes(examples)
        return sum(classes) - max(classes)

    @staticmethod
    def values(examples: list[Example], a: int) -> list[float]:
        return sorted({x[a] for x, _, _ in examples if not isnan(x[a])})

    def grow(self, examples: list[Example]) -> Node:
        node = Node(examples)
        total = sum(w for _, _, w in examples)
        if total >= 2 * self.min_obj - TOLERANCE and self.errors(examples) > TOLERANCE:
            node.question = self.best_question(examples)
        if node.question is not None:
            node.children = {key: self.grow(part) for key, part in self.divide(node.question, examples).items()}
        return node

    def divide(self, question: tuple[str, int, float], examples: list[Example]) -> dict[Hashable, list[Example]]:
        known: dict[Hashable, list[Example]] = {}
        missing = []
        kind, a, value = question
        for x, c, w in examples:
            if isnan(x[a]):
                missing.append((x, c, w))
            else:
                key = x[a] if kind == "each" else x[a] > value if kind == "at most" else x[a] != value
                known.setdefault(key, []).append((x, c, w))
        total = sum(w for part in known.values() for _, _, w in part)
        shares = {key: sum(w for _, _, w in part) / total for key, part in known.items()}
        return {
            key: known[key] + [(x, c, w * shares[key]) for x, c, w in missing if shares[key] > TOLERANCE]
            for key in sorted(known)
        }

    def best_question(self, examples: list[Example]) -> tuple[str, int, float] | None:
        found = []
        for a, nominal in enumerate(self.nominal):
            ways = self.categories(examples, a) if nominal else self.cuts(examples, a)
            if ways is not None:
                found.append((a, *ways))
        gains = [gain for a, _, gain, _ in found if self.in_the_mean[a]]
        best, best_ratio = None, 0.0
        for _, question, gain, ratio in found:
            if gains and gain >= sum(gains) / len(gains) - 1e-3 and ratio > best_ratio + TOLERANCE:
                best, best_ratio = question, ratio
        return best

    def gain(self, question: tuple[str, int, float], examples: list[Example]) -> float:
        known = [e for e in examples if not isnan(e[0][question[1]])]
        parts = self.divide(question, known).values()
        saved = self.bits(known) - sum(self.bits(part) for part in parts)
        return 0.0 if abs(saved) < TOLERANCE else saved / sum(w for _, _, w in examples)

    def ratio(self, question: tuple[str, int, float], examples: list[Example], gain: float) -> float:
        known = [e for e in examples if not isnan(e[0][question[1]])]
        sizes = [sum(w for _, _, w in part) for part in self.divide(question, known).values()]
        total = sum(w for _, _, w in examples)
        bits = x_log_x(total) - sum(map(x_log_x, [*sizes, total - sum(sizes)]))
        return 0.0 if abs(bits) < TOLERANCE else gain / (bits / total)

    def bits(self, examples: list[Example]) -> float:
        classes = self.classes(examples)
        return x_log_x(sum(classes)) - sum(map(x_log_x, classes))

    def large(self, part: list[Example], limit: float) -> bool:
        return sum(w for _, _, w in part) >= max(limit - TOLERANCE, TOLERANCE)

    def categories(self, examples: list[Example], a: int) -> Any:
        known = [e for e in examples if not isnan(e[0][a])]
        questions = [("equals", a, v) for v in self.values(known, a)] if self.binary_nominal else [("each", a, 0.0)]
        best = None
        for question in questions:
            if sum(self.large(part, self.min_obj) for part in self.divide(question, known).values()) >= 2:
                gain = self.gain(question, examples)
                ratio = self.ratio(question, examples, gain)
                if best is None or ratio > best[2] + TOLERANCE:
                    best = (question, gain, ratio)
        return best

    def cuts(self, examples: list[Example], a: int) -> Any:
        known = [e for e in examples if not isnan(e[0][a])]
        limit = max(self.min_obj, min(25, 0.1 * sum(w for _, _, w in known) / self.n_classes))
        values = self.values(known, a)
        best, best_gain, n = None, 0.0, 0
        for low, high in pairwise(values):
            question = ("at most", a, low)
            if all(self.large(part, limit) for part in self.divide(question, known).values()):
                n += 1
                gain = self.gain(question, examples)
                if gain > best_gain + TOLERANCE:
                    best, best_gain = (low + high) / 2, gain
        paid = best_gain - log2(n) / sum(w for _, _, w in examples) if best is not None else 0.0
        if best is None or paid < TOLERANCE:
            return None
        question = ("at most", a, max(v for v in self.values(self.training, a) if v <= best))
        return question, paid, self.ratio(question, examples, paid)

    def collapse_below(self, node: Node) -> None:
        if node.children and self.training_errors(node) >= self.errors(node.examples) - 1e-3:
            node.replace_by(Node([]))
        for child in node.children.values():
            self.collapse_below(child)

    def training_errors(self, node: Node) -> float:
        if not node.children:
            return self.errors(node.examples)
        return sum(self.training_errors(child) for child in node.children.values())

    def prune(self, node: Node) -> None:
        for child in node.children.values():
            self.prune(child)
        if not node.children:
            return
        sizes = {key: sum(w for _, _, w in child.examples) for key, child in node.children.items()}
        largest = node.children[max(k for k in sizes if sizes[k] > max(sizes.values()) - TOLERANCE)]
        as_leaf = self.pessimistic(node.examples)
        as_tree = self.estimate(node, node.examples)
        as_branch = self.estimate(largest, node.examples) if self.raising else float("inf")
        if as_leaf <= as_tree + 0.1 + TOLERANCE and as_leaf <= as_branch + 0.1 + TOLERANCE:
            node.replace_by(Node([]))
        elif as_branch <= as_tree + 0.1 + TOLERANCE:
            node.replace_by(largest)
            self.send_down(node, node.examples)
            self.prune(node)

    def estimate(self, node: Node, examples: list[Example]) -> float:
        if node.question is None:
            return self.pessimistic(examples)
        parts = self.divide(node.question, examples)
        return sum(self.estimate(node.children.get(key, Node([])), part) for key, part in parts.items())

    def send_down(self, node: Node, examples: list[Example]) -> None:
        node.examples = examples
        if node.question is not None:
            parts = self.divide(node.question, examples)
            node.children = {key: node.children.get(key, Node([])) for key in parts}
            for key, part in parts.items():
                self.send_down(node.children[key], part)

    def pessimistic(self, examples: list[Example]) -> float:
        n, e = sum(self.classes(examples)), self.errors(examples)
        return e + self.added(n, e) if n >= TOLERANCE else 0.0

    def added(self, n: float, e: float) -> float:
        if e < 1:
            none = n * (1 - self.confidence ** (1 / n))
            return none if e == 0 else none + e * (self.added(n, 1) - none)
        if e + 0.5 >= n:
            return max(n - e, 0.0)
        z, f = NormalDist().inv_cdf(1 - self.confidence), (e + 0.5) / n
        limit = f + z * z / (2 * n) + z * (f / n - f * f / n + z * z / (4 * n * n)) ** 0.5
        return n * limit / (1 + z * z / n) - e

    def chances(self, node: Node, x: tuple[float, ...]) -> np.ndarray:
        here = np.array(self.classes(node.examples))
        if node.question is None:
            return here / here.sum()
        kind, a, value = node.question
        if isnan(x[a]):
            sizes = {k: sum(w for _, _, w in child.examples) for k, child in node.children.items()}
            whole = sum(sizes.values())
            parts = [sizes[k] / whole * self.chances(child, x) for k, child in node.children.items()]
            return np.sum(parts, axis=0)
        key = x[a] if kind == "each" else x[a] > value if kind == "at most" else x[a] != value
        return self.chances(node.children[key], x) if key in node.children else here / here.sum()


def x_log_x(x: float) -> float:
    return x * log2(x) if x >= TOLERANCE else 0.0


def skeleton(twin: Twin, node: Node) -> Any:
    """Questions and class weights, to be compared with the kernel's."""
    below = [(key, skeleton(twin, child)) for key, child in node.children.items()]
    return node.question, np.round(twin.classes(node.examples), 6).tolist(), below


def skeleton_of(tree: Any, node: int = 0) -> Any:
    kind = Kind(tree.test[node])
    weights = np.round(tree.weight[node], 6).tolist()
    if kind == Kind.LEAF:
        return None, weights, []
    name = {Kind.AT_MOST: "at most", Kind.EACH: "each", Kind.EQUALS: "equals"}[kind]
    keys = [tree.branch[c] if kind == Kind.EACH else bool(k) for k, c in enumerate(tree.children(node))]
    below = [(key, skeleton_of(tree, c)) for key, c in zip(keys, tree.children(node), strict=True)]
    return (name, int(tree.column[node]), float(tree.threshold[node])), weights, below


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[bool]]:
    """Rows whose class leans on the values, so that trees are deep enough to be pruned and raised."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n, d, k = draw(st.integers(4, 70)), draw(st.integers(1, 4)), draw(st.integers(2, 5))
    nominal = draw(st.lists(st.booleans(), min_size=d, max_size=d))
    X = rng.integers(0, draw(st.integers(2, 9)), size=(n, d)).astype(float)
    y = (X @ rng.integers(0, 3, size=d) // 3 + (rng.random(n) < draw(st.sampled_from([0, 0.1, 0.4])))).astype(int) % k
    X[rng.random((n, d)) < draw(st.sampled_from([0, 0, 0.05, 0.3]))] = np.nan
    kind = draw(st.sampled_from(["ones", "whole", "real", "steep"]))
    real = rng.exponential(size=n)
    faint = (X[:, 0] == 1) | (y == 0) & (rng.random(n) < 0.9)  # whole branches of next to no weight
    steep = np.where(faint, real * 10.0 ** rng.choice([-5, -7, -9, -60]), real)
    whole = rng.integers(0, 4, n).astype(float)
    weight = {"ones": np.ones(n), "whole": whole, "real": real, "steep": steep}[kind]
    weight[0] += 1
    return X, y, weight, nominal


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "min_obj": st.sampled_from([1, 3, 0.5, 1e-8]),
        "confidence": st.sampled_from([0.01, 0.1, 0.5]),
        "unpruned": st.just(True),
        "collapse": st.just(False),
        "raising": st.just(False),
        "binary_nominal": st.just(True),
    },
)


@settings(max_examples=150)
@given(problems(), OPTIONS)
def test_same_tree_and_same_probabilities(problem: Any, options: dict[str, Any]) -> None:
    X, y, weight, nominal = problem
    classes, codes = np.unique(y, return_inverse=True)
    twin = Twin(nominal, len(classes), **options)
    rows = [tuple(map(float, x)) for x in X]
    root = twin.fit(list(zip(rows, codes.tolist(), weight.tolist(), strict=True)))
    ours = C45Classifier(nominal=np.flatnonzero(nominal).tolist(), **options).fit(X, y, weight)
    assert skeleton_of(ours.tree_) == skeleton(twin, root)
    unseen = [tuple(x) for x in np.where(np.random.default_rng(0).random(X.shape) < 0.2, 99.0, X)[:10]]
    expected = np.array([twin.chances(root, x) for x in rows[:20] + unseen])
    np.testing.assert_allclose(ours.predict_proba(np.array(rows[:20] + unseen)), expected, atol=1e-9)
