"""Trees that other libraries have grown in this process, read once, when they are saved.

Their own files and loaders are never used: what is read here comes from a model in memory, what is read later is ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import StateError
from .nodes import CATEGORICAL, MISSING_LEFT, NAN_IS_ZERO, ZERO_IS_MISSING, Nodes

__all__ = ["from_hist_gradient_boosting", "from_lightgbm", "from_sklearn_forest"]

Settings = dict[str, Any]


def from_sklearn_forest(model: Any) -> tuple[Nodes, Settings]:
    """A random forest, extra trees, a balanced forest, or a single tree of scikit-learn's making."""
    if getattr(model, "n_outputs_", 1) != 1:
        raise StateError("a forest must have one output to be saved; it has several.")
    trees = []
    for each in getattr(model, "estimators_", [model]):
        tree = each.tree_
        flags = np.where(tree.missing_go_to_left, MISSING_LEFT, 0)
        children = tree.children_left, tree.children_right
        trees.append(Nodes.of_tree(tree.feature, tree.threshold, children, flags, tree.value[:, 0, :]))
    return Nodes.joined(trees), {"link": "mean", "single": True}


def from_hist_gradient_boosting(model: Any) -> tuple[Nodes, Settings]:
    """scikit-learn's histogram boosting, numeric thresholds and sets of categories alike."""
    order, categories = _boosting_columns(model)
    trees = [_boosted_tree(predictor, order) for round_ in model._predictors for predictor in round_]
    baseline = np.asarray(model._baseline_prediction, dtype=np.float64).ravel()
    link = "logistic" if model.n_trees_per_iteration_ == 1 else "softmax"
    return Nodes.joined(trees), {"link": link, "baseline": baseline, "categories": categories}


def _boosting_columns(model: Any) -> tuple[NDArray[np.intp], dict[int, NDArray[Any]]]:
    """The user's column behind each column of the trees, which have the categorical ones first."""
    flags = model.is_categorical_
    if flags is None:
        return np.arange(model.n_features_in_), {}
    columns = np.flatnonzero(flags)
    encoder = model._preprocessor.named_transformers_["encoder"]
    found = {}
    for column, known in zip(columns.tolist(), encoder.categories_, strict=True):
        if np.asarray(known).dtype.kind not in "biuf":
            raise StateError("categories of gradient boosting must be numbers to be saved; encode texts before it.")
        values = np.asarray(known, dtype=np.float64)
        found[column] = values[~np.isnan(values)]
    return np.concatenate([columns, np.flatnonzero(~flags)]), found


def _boosted_tree(predictor: Any, order: NDArray[np.intp]) -> Nodes:
    nodes, bits = predictor.nodes, predictor.raw_left_cat_bitsets
    leaf, by_set = nodes["is_leaf"] != 0, nodes["is_categorical"] != 0
    children = tuple(np.where(leaf, -1, nodes[side].astype(np.int64)) for side in ("left", "right"))
    flags = np.where(by_set, CATEGORICAL, 0) | np.where(nodes["missing_go_to_left"] != 0, MISSING_LEFT, 0)
    threshold = np.where(by_set, nodes["bitset_idx"], nodes["num_threshold"])
    ends = np.arange(1, len(bits) + 1) * bits.shape[1]
    column = order[np.where(leaf, 0, nodes["feature_idx"])]
    return Nodes.of_tree(column, threshold, children, flags, nodes["value"][:, None], (ends, bits.ravel()))  # type: ignore[arg-type]


def from_lightgbm(model: Any) -> tuple[Nodes, Settings]:
    """LightGBM's trees from the text it writes of them: flat lists of numbers with all their digits."""
    if not isinstance(model._le.classes_, np.ndarray) or getattr(model.booster_, "pandas_categorical", None):
        raise StateError("LightGBM must be fitted on numbers to be saved; encode categorical columns before it.")
    head, *blocks = model.booster_.model_to_string().split("\n\nTree=")
    about = _pairs(head)
    name, _, sigmoid = about["objective"].partition(" sigmoid:")
    link = {"binary": "logistic", "multiclass": "softmax"}.get(name.partition(" ")[0])
    if link is None or "average_output" in head.split("\n"):
        raise StateError(f"LightGBM must boost for binary or multiclass to be saved; got {about['objective']!r}.")
    trees = [_lightgbm_tree(_pairs(block.partition("\n\n")[0])) for block in blocks]
    return Nodes.joined(trees), {"link": link, "scale": float(sigmoid or 1.0)}


def _pairs(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.split("\n") if "=" in line)


def _lightgbm_tree(tree: dict[str, str]) -> Nodes:
    if tree.get("is_linear", "0") != "0":
        raise StateError("LightGBM must have constant leaves to be saved; this one has linear trees.")

    def numbers(name: str, dtype: Any) -> NDArray[Any]:
        return np.array(tree.get(name, "").split(), dtype=dtype)

    values = numbers("leaf_value", np.float64)
    column, kind = numbers("split_feature", np.int64), numbers("decision_type", np.int64)
    inner = len(column)  # leaves stand behind the inner nodes; their children are given as ~leaf
    sides = [numbers(name, np.int64) for name in ("left_child", "right_child")]
    none = np.full(len(values), -1)
    children = tuple(np.concatenate([np.where(side < 0, inner + ~side, side), none]) for side in sides)
    padding = np.zeros(len(values))
    ends = numbers("cat_boundaries", np.int64)[1:]
    return Nodes.of_tree(
        np.concatenate([column, padding]),
        np.concatenate([numbers("threshold", np.float64), padding]),
        children,  # type: ignore[arg-type]
        np.concatenate([_lightgbm_flags(kind), padding]).astype(np.int64),
        np.concatenate([np.zeros(inner), values])[:, None],
        (ends, numbers("cat_threshold", np.uint32)),
    )


def _lightgbm_flags(kind: NDArray[np.int64]) -> NDArray[np.int64]:
    """Its decision types: bit 0 a set, bit 1 the default side, bits 2 and 3 what is missing (none, zero, NaN)."""
    missing = kind >> 2 & 3
    numeric = np.where(kind & 2, MISSING_LEFT, 0)
    numeric = numeric | np.where(missing != 2, NAN_IS_ZERO, 0) | np.where(missing == 1, ZERO_IS_MISSING, 0)
    return np.where(kind & 1, CATEGORICAL, numeric)  # a missing category goes right, whatever the bits say
