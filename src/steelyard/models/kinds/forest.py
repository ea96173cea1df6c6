"""Forests and boosted trees of any library as one kind: checked node arrays, predicted by one native kernel."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._native import Forest
from ...errors import StateError
from ...evaluate.classifier_mixin import CostClassifierMixin
from ...files import Fields, Node, write_labels
from ...validation.arrays import check_scores
from .foreign_trees import from_hist_gradient_boosting, from_lightgbm, from_sklearn_forest
from .kind import Kind, State, Write, feature_params, fitted_features
from .nodes import Nodes, check_nodes

__all__ = ["KINDS", "ForestClassifier"]

LINKS = ("mean", "logistic", "softmax")
_NODE_ARRAYS = ("column", "threshold", "left", "right", "flags", "tree_ends", "set_ends", "words", "values")


class ForestClassifier(CostClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted forest or fitted boosted trees, whoever grew them; it answers as the original did and cannot learn.

    Parameters
    ----------
    nodes : Nodes
        The trees.
    link : {"mean", "logistic", "softmax"}
        Probabilities are the mean of the trees' leaves, or a function of their sum.
    scale : float
        Factor of the sum before the link.
    single : bool
        Whether rows are compared in single precision, as scikit-learn's forests do.
    baseline : array of shape (n_outputs,)
        Where the sum starts.
    categories : {column: sorted numbers}
        Columns whose cells are replaced by their position among these; others, and NaN, are missing.
    """

    classes_: NDArray[Any]
    n_features_in_: int
    forest_: Forest

    def __init__(
        self,
        nodes: Nodes,
        *,
        link: str = "mean",
        scale: float = 1.0,
        single: bool = False,
        baseline: NDArray[np.float64] | None = None,
        categories: dict[int, NDArray[Any]] | None = None,
    ) -> None:
        self.nodes = nodes
        self.link = link
        self.scale = scale
        self.single = single
        self.baseline = baseline
        self.categories = categories

    @classmethod
    def fitted(cls, classes: NDArray[Any], features: dict[str, Any], nodes: Nodes, **settings: Any) -> Self:
        """The classifier of these trees; the kernel looks at them once more before it takes them."""
        made = cls(nodes, **settings)
        made.classes_ = classes
        fitted_features(made, features)
        made.forest_ = nodes.native(made.n_features_in_, made.n_outputs)
        return made

    @property
    def n_outputs(self) -> int:
        """Sums that are kept for a row: one for two classes of boosting, else one a class."""
        return 1 if self.link == "logistic" else len(self.classes_)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Not possible: only what was learned elsewhere is here."""
        raise StateError("a loaded forest cannot be fitted; fit the estimator it came from.")

    def raw_predict(self, X: Any) -> NDArray[np.float64]:
        """The summed leaves of every row, (n, n_outputs)."""
        check_is_fitted(self)
        dtype = np.float32 if self.single else np.float64
        rows = validate_data(self, X, reset=False, dtype=dtype, accept_sparse="csr", ensure_all_finite="allow-nan")
        rows = self._encoded(rows)
        out = np.zeros((rows.shape[0], self.n_outputs))
        if self.baseline is not None:
            out += self.baseline
        if hasattr(rows, "indptr"):
            self.forest_.add_csr(rows.data, rows.indices, rows.indptr, out)
        else:
            self.forest_.add(np.ascontiguousarray(rows), out)
        return check_scores(out)

    @available_if(lambda self: self.link != "mean")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The sum of the boosted trees: (n,) for two classes, positive for the second, else (n, K)."""
        raw = self.raw_predict(X)
        return raw[:, 0] if self.link == "logistic" else raw

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities, columns as in ``classes_``."""
        raw = self.raw_predict(X)
        if self.link == "mean":
            return np.asarray(raw / len(self.nodes.tree_ends))
        if self.link == "softmax":
            return np.asarray(softmax(check_scores(self.scale * raw), axis=1))
        positive = expit(self.scale * raw[:, 0])
        return np.column_stack([1.0 - positive, positive])

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class; ties go to the first."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _encoded(self, rows: Any) -> Any:
        if not self.categories:
            return rows
        rows = rows.toarray() if hasattr(rows, "toarray") else rows.copy()
        for column, known in self.categories.items():
            cells = rows[:, column]
            at = np.minimum(np.searchsorted(known, cells), len(known) - 1)
            rows[:, column] = np.where(known[at] == cells, at, np.nan)
        return rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def _write(model: Any, write: Write) -> Node:
    if not isinstance(model, ForestClassifier):
        model = _as_forest(model)
    params, arrays = feature_params(model)
    params |= {"link": model.link, "scale": float(model.scale), "single": bool(model.single)}
    params["categories"] = sorted(model.categories or ())
    arrays |= write_labels("classes", model.classes_)
    arrays |= {name: getattr(model.nodes, name) for name in _NODE_ARRAYS}
    if model.baseline is not None:
        arrays["baseline"] = model.baseline
    arrays |= {f"categories.{column}": known for column, known in (model.categories or {}).items()}
    return Node("Forest/1", params, arrays)


def _as_forest(model: Any) -> ForestClassifier:
    name = type(model).__name__
    features = {key: getattr(model, key) for key in ("n_features_in_", "feature_names_in_") if hasattr(model, key)}
    if name == "LGBMClassifier":
        nodes, settings = from_lightgbm(model)
        features.pop("feature_names_in_", None)  # LightGBM makes names up for rows that have none
    elif name == "HistGradientBoostingClassifier":
        nodes, settings = from_hist_gradient_boosting(model)
    else:
        nodes, settings = from_sklearn_forest(model)
    return ForestClassifier.fitted(np.asarray(model.classes_), features, nodes, **settings)


def _check(fields: Fields) -> State:
    features = fields.features()
    if "n_features_in_" not in features:
        fields.refuse("n_features_in_", "is there", "nothing")
    classes = fields.classes(at_least=1)
    link = fields.choice("link", *LINKS)
    if link == "logistic" and len(classes) != 2:
        fields.refuse("classes", "are two for a logistic link", len(classes))
    outputs = 1 if link == "logistic" else len(classes)
    state: State = {"features": features, "classes": classes, "link": link}
    state |= {"scale": fields.number("scale", 0.0), "single": fields.flag("single")}
    state["nodes"] = check_nodes(fields, features["n_features_in_"], outputs, votes=link == "mean")
    state["baseline"] = fields.floats("baseline", outputs) if fields.has("baseline") else None
    if state["baseline"] is not None and state["baseline"].dtype != np.float64:
        fields.refuse("baseline", "has dtype float64", state["baseline"].dtype)
    state["categories"] = _check_categories(fields, features["n_features_in_"])
    fields.done(parts=0)
    return state


def _check_categories(fields: Fields, width: int) -> dict[int, NDArray[Any]]:
    columns = fields.param("categories")
    if not isinstance(columns, list) or any(type(c) is not int or not 0 <= c < width for c in columns):
        fields.refuse("categories", "names columns", columns)
    found = {}
    for column in dict.fromkeys(columns):
        known = fields.floats(f"categories.{column}", None, low=-math.inf, high=math.inf)
        if len(known) == 0 or (np.diff(known) <= 0).any():
            fields.refuse(f"categories.{column}", "is sorted", known[:5])
        found[column] = known
    return found


def _build(state: State, parts: list[Any]) -> ForestClassifier:
    return ForestClassifier.fitted(**state)


KINDS = (
    Kind(
        "Forest/1",
        (
            ForestClassifier,
            "sklearn.ensemble._forest.RandomForestClassifier",
            "sklearn.ensemble._forest.ExtraTreesClassifier",
            "sklearn.tree._classes.DecisionTreeClassifier",
            "sklearn.tree._classes.ExtraTreeClassifier",
            "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingClassifier",
            "imblearn.ensemble._forest.BalancedRandomForestClassifier",
            "lightgbm.sklearn.LGBMClassifier",
        ),
        _write,
        _check,
        _build,
    ),
)
