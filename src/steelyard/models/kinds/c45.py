"""C4.5 trees and everything boosted on them: our own node arrays, with branches for every category."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...boosting import (
    AdaBoostM1Classifier,
    AdaC1Classifier,
    AdaC2Classifier,
    AdaC2M1Classifier,
    AdaC3Classifier,
    AdaCostClassifier,
    CSB0Classifier,
    CSB1Classifier,
    CSB2Classifier,
)
from ...errors import StateError
from ...files import Fields, Node, plain_settings, write_labels
from ...tree import C45Classifier
from ...tree.encoding import Encoding
from ...tree.model import Tree
from .kind import Kind, State, Write, check_part, feature_params, fitted_features
from .nodes import DEEPEST, depth_of, expanded

__all__ = ["KINDS"]

_BOOSTING = (
    AdaBoostM1Classifier,
    AdaC1Classifier,
    AdaC2Classifier,
    AdaC2M1Classifier,
    AdaC3Classifier,
    AdaCostClassifier,
    CSB0Classifier,
    CSB1Classifier,
    CSB2Classifier,
)
_LEAF, _AT_MOST, _EACH, _EQUALS = range(4)  # of the kernel
MOST_TREES = 1 << 16  # each becomes an object
_STOPS = ("n_estimators", "perfect", "weak")


# -- trees -----------------------------------------------------------------------------------------------------------


def _write_trees(trees: list[Tree]) -> dict[str, NDArray[Any]]:
    """Trees one behind the other; children are counted from the root of their own tree."""
    names = ("test", "column", "threshold", "first_child", "n_children", "branch", "weight")
    arrays = {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in names}
    return arrays | {"tree_ends": np.cumsum([len(tree) for tree in trees], dtype=np.int64)}


def _check_trees(fields: Fields, n_features: int) -> list[Tree]:
    """Every tree of a file, its children behind their parent and side by side, each below one node alone."""
    test = fields.integers("test", "nodes", low=_LEAF, high=_EQUALS, dtypes="B")
    leaf = test == _LEAF
    column = fields.integers("column", "nodes", low=-1, high=n_features - 1, dtypes="i")
    if ((column < 0) != leaf).any():
        fields.refuse("column", "exists where it is tested, and only there", int(column.max()))
    threshold = fields.floats("threshold", "nodes", nan=True, low=-math.inf, high=math.inf)
    if not np.isfinite(threshold[(test == _AT_MOST) | (test == _EQUALS)]).all():
        fields.refuse("threshold", "is finite where it is compared with", "NaN")
    first, count = (fields.array(name, "i", "nodes") for name in ("first_child", "n_children"))
    branch = fields.floats("branch", "nodes", nan=True, low=-math.inf, high=math.inf)
    weight = fields.floats("weight", "nodes", "classes", low=0.0, high=math.inf)
    total = weight.sum(axis=1)
    if weight.dtype != np.float64 or not ((total > 0) & np.isfinite(total)).all():
        fields.refuse("weight", "has a positive finite sum at every node", total.min() if len(total) else 0)
    if threshold.dtype != np.float64 or branch.dtype != np.float64:
        fields.refuse("threshold and branch", "have dtype float64", threshold.dtype)
    ends = fields.integers("tree_ends", "trees", low=1, high=len(test), dtypes="l")
    if len(ends) > MOST_TREES:
        fields.refuse("tree_ends", f"has at most {MOST_TREES:,} trees", f"{len(ends):,}")
    if len(ends) == 0 or ends[-1] != len(test) or (np.diff(ends) <= 0).any():
        fields.refuse("tree_ends", "cuts the nodes into trees", ends[-3:])
    arrays = (test, column, threshold, first, count, branch, weight)
    _check_children(fields, Tree(*arrays), ends)
    starts = np.concatenate([[0], ends[:-1]])
    return [Tree(*(array[a:b] for array in arrays)) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]


def _check_children(fields: Fields, trees: Tree, ends: NDArray[np.int64]) -> None:
    """All trees at once: a look at each of many small or deep ones would take minutes."""
    n, leaf, each = len(trees), trees.test == _LEAF, trees.test == _EACH
    starts, lengths = np.concatenate([[0], ends[:-1]]), np.diff(ends, prepend=0)
    first, count = trees.first_child + np.repeat(starts, lengths), trees.n_children.astype(np.int64)
    if (count[leaf] != 0).any() or (count[~leaf & ~each] != 2).any() or (count[each] < 1).any():
        fields.refuse("n_children", "fits what the node asks", count.max())
    inner = np.flatnonzero(~leaf)
    if (first[inner] <= inner).any():
        fields.refuse("first_child", "stands behind its parent", int(trees.first_child[inner].min()))
    if (first[inner] + count[inner] > np.repeat(ends, lengths)[inner]).any():
        fields.refuse("first_child", "stands within its tree", int(trees.first_child[inner].max()))
    if count[inner].sum() != n - len(ends):
        fields.refuse("n_children", f"adds up to {n - len(ends)}", int(count[inner].sum()))
    below = expanded(first[inner], count[inner])
    if not np.array_equal(np.sort(below), np.delete(np.arange(n), starts)):
        fields.refuse("first_child", "gives every node one parent", "another number")
    branches = trees.branch[expanded(first[each], count[each])]
    rises = np.diff(branches, prepend=-math.inf) > 0
    rises[np.cumsum(count[each]) - count[each]] = True  # the first below its node
    if not (np.isfinite(branches) & rises).all():
        fields.refuse("branch", "is sorted below its node", branches[:5])
    if depth_of(starts, [(np.where(leaf, 0, first), count)]) > DEEPEST:
        fields.refuse("first_child", f"is at most {DEEPEST} nodes deep", "more")


# -- how rows are read -----------------------------------------------------------------------------------------------


def _write_encoding(encoding: Encoding) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    arrays = {"nominal": np.asarray(encoding.nominal, dtype=np.uint8)} | write_labels("names", list(encoding.names))
    for j, known in enumerate(encoding.categories):
        if known is not None:
            arrays |= write_labels(f"categories.{j}", np.array(known, dtype=object))
    return {"named": [j for j, known in enumerate(encoding.categories) if known is not None]}, arrays


def _check_encoding(fields: Fields) -> Encoding:
    nominal = fields.integers("nominal", "features", low=0, high=1, dtypes="B")
    width = len(nominal)
    names = tuple(map(str, fields.labels("names", width, distinct=False).tolist()))
    named = fields.param("named")
    if not isinstance(named, list) or any(type(j) is not int or not 0 <= j < width for j in named):
        fields.refuse("named", f"lists columns below {width}", named)
    categories: list[tuple[Any, ...] | None] = [None] * width
    for j in dict.fromkeys(named):
        categories[j] = tuple(fields.labels(f"categories.{j}").tolist())
    return Encoding(nominal, tuple(categories), names)


# -- estimators ------------------------------------------------------------------------------------------------------


def _write_tree(model: C45Classifier, write: Write) -> Node:
    params, arrays = feature_params(model)
    more, read = _write_encoding(model.encoding_)
    arrays |= read | _write_trees([model.tree_]) | write_labels("classes", model.classes_)
    return Node("C45Classifier/1", plain_settings(model, "nominal", "classes") | params | more, arrays)


def _check_one_tree(fields: Fields) -> State:
    state = _check_trees_and_columns(fields)
    if len(state["trees"]) != 1:
        fields.refuse("tree_ends", "is one tree", len(state["trees"]))
    state["settings"] = fields.settings(C45Classifier)
    fields.done(parts=0)
    return state


def _check_trees_and_columns(fields: Fields) -> State:
    encoding = _check_encoding(fields)
    state: State = {"encoding": encoding, "features": fields.features(), "classes": fields.classes(at_least=1)}
    state["trees"] = _check_trees(fields, len(encoding.names))
    return state


def _tree_of(state: State, tree: Tree, settings: dict[str, Any]) -> C45Classifier:
    made = fitted_features(C45Classifier(**settings, nominal=_nominal(state)), state["features"])
    made.classes_, made.encoding_, made.tree_ = state["classes"], state["encoding"], tree
    return made  # type: ignore[no-any-return]


def _nominal(state: State) -> list[int] | None:
    return np.flatnonzero(state["encoding"].nominal).tolist() or None


def _write_boosting(model: Any, write: Write) -> Node:
    params, arrays = feature_params(model)
    params |= plain_settings(model, "estimator", "costs", "classes", "random_state") | {
        "stop_reason_": model.stop_reason_
    }
    arrays |= write_labels("classes", model.classes_)
    arrays["votes"] = np.asarray(model.estimator_weights_, dtype=np.float64)
    first = model.estimators_[0]
    if type(first) is not C45Classifier:
        parts = [write(each) for each in model.estimators_]
        return Node(f"{type(model).__name__}/1", params | {"tree": None}, arrays, parts)
    more, read = _write_encoding(first.encoding_)
    arrays |= read | _write_trees([each.tree_ for each in model.estimators_])
    return Node(
        f"{type(model).__name__}/1", params | more | {"tree": plain_settings(first, "nominal", "classes")}, arrays
    )


def _check_boosting(fields: Fields, kind: type) -> State:
    votes = fields.floats("votes", "trees", low=0.0, high=math.inf)
    if len(votes) == 0 or not 0 < votes.sum() < np.inf:
        fields.refuse("votes", "have a positive finite sum", votes[:3])
    tree = fields.param("tree")
    state: State = {"stop_reason_": fields.choice("stop_reason_", *_STOPS), "tree": None}
    if tree is None:
        state |= {"features": fields.features(), "classes": fields.classes()}
    elif isinstance(tree, dict):
        state |= _check_trees_and_columns(fields)
        state["tree"] = Fields(Node("C45Classifier/1", tree)).settings(C45Classifier)
    else:
        fields.refuse("tree", "is settings", tree)
    state |= {"votes": votes, "settings": fields.settings(kind)}
    fields.done(parts=len(votes) if tree is None else 0)
    return state


def _build_boosting(state: State, parts: list[Any], kind: type) -> Any:
    classes = state["classes"]
    for part in parts:
        check_part(f"{kind.__name__}/1", part, "predict")
    if state["tree"] is not None:
        parts = [_tree_of(state, tree, state["tree"]) for tree in state["trees"]]
    elif any(not np.array_equal(getattr(part, "classes_", ()), classes) for part in parts):
        raise StateError("must boost classifiers of its own classes; they differ.")
    base = None if state["tree"] is None else C45Classifier(**state["tree"], nominal=_nominal(state))
    made = fitted_features(kind(base, **state["settings"]), state["features"])
    made.classes_, made.n_classes_ = classes, len(classes)
    made.estimators_, made.estimator_weights_, made.stop_reason_ = parts, state["votes"], state["stop_reason_"]
    return made


def _boosting(kind: type) -> Kind:
    return Kind(
        f"{kind.__name__}/1",
        (kind,),
        _write_boosting,
        lambda fields: _check_boosting(fields, kind),
        lambda state, parts: _build_boosting(state, parts, kind),
    )


KINDS = (
    Kind(
        "C45Classifier/1",
        (C45Classifier,),
        _write_tree,
        _check_one_tree,
        lambda state, parts: _tree_of(state, state["trees"][0], state["settings"]),
    ),
    *(_boosting(kind) for kind in _BOOSTING),
)
