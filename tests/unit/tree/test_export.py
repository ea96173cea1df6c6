"""A tree as text, dot and rules."""

from __future__ import annotations

import numpy as np

from steelyard import C45Classifier

X = np.array([["hot", 1], ["hot", 2], ["hot", 7], ["hot", 8], ["cold", 1], ["cold", 9]] * 3, dtype=object)
Y = np.array(["stay", "stay", "go", "go", "stay", "stay"] * 3)


def tree() -> C45Classifier:
    return C45Classifier(unpruned=True).fit(X, Y)


def test_text_is_in_the_notation_of_c45() -> None:
    expected = "x1 <= 2: stay (9)\nx1 > 2\n|   x0 = cold: stay (3)\n|   x0 = hot: go (6)"
    assert tree().export_text() == expected


def test_a_leaf_shows_weight_and_errors() -> None:
    weight = np.linspace(0.1, 1, len(Y))
    text = C45Classifier(max_depth=0).fit(X, Y, weight).export_text()
    assert text == f"stay ({round(weight.sum(), 2):g}/{round(weight[Y == 'go'].sum(), 2):g})"


def test_rules_hold_for_exactly_their_rows() -> None:
    rules = tree().export_rules()
    assert [str(rule) for rule in rules] == [
        "if x1 <= 2 then stay (9)",
        "if x1 > 2 and x0 = cold then stay (3)",
        "if x1 > 2 and x0 = hot then go (6)",
    ]
    assert sum(rule.weight for rule in rules) == len(Y)
    assert str(C45Classifier(max_depth=0).fit(X, Y).export_rules()[0]) == "if always then stay (18/6)"


def test_graphviz_has_a_line_per_node_and_edge_and_quotes_its_text() -> None:
    rows = np.where(X == "hot", 'h"o\\t', X)
    dot = C45Classifier(unpruned=True).fit(rows, Y).export_graphviz()
    assert dot.startswith("digraph C45 {")
    assert dot.count("->") == 4
    assert '[label="= h\\"o\\\\t"]' in dot
    assert 'n0 [label="x1", shape=ellipse];' in dot


def test_binary_questions_say_equal_and_unequal() -> None:
    text = C45Classifier(unpruned=True, binary_nominal=True).fit(X, Y).export_text()
    assert text.splitlines()[2:] == ["|   x0 = cold: stay (3)", "|   x0 != cold: go (6)"]
