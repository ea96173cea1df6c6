"""C4.5 as a scikit-learn classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..validation.types import ArrayLike, LabelsLike, MatrixLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._native import TreeOptions, TreeTable
from ..evaluate.classifier_mixin import CostClassifierMixin
from ..validation.arrays import (
    check_labels,
    check_same_length,
    check_sample_weight,
    in_class_order,
    unchanged_on_error,
)
from ..validation.docstrings import documented
from ..validation.values import check_count, check_flag, check_number, invalid
from . import export
from .encoding import Encoding, encode
from .model import Tree, first_largest

LARGEST_WEIGHT = 1e300  # of all rows together: keeps w log w finite


@dataclass(frozen=True, eq=False)
class Prepared:
    """Training data encoded and sorted once, for any number of trees with other weights."""

    encoding: Encoding
    classes: NDArray[Any]
    codes: NDArray[np.int32]
    table: TreeTable


class C45Classifier(CostClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """C4.5 decision tree (Quinlan 1993), the base learner of paper 003, with sample weights everywhere.

    A node asks the question with the best gain ratio among those whose information gain reaches the mean. Numeric
    columns are cut in two, nominal ones get a branch per category. A missing value (NaN, None) follows all branches by
    their weight. A category whose training weight at a node is below 1e-6 gets the class distribution of that node.

    Parameters
    ----------
    min_obj : float above 0
        Weight that at least two branches of a split must hold. Weights count as objects: a weight of 2 is two equal
        rows, so weights that sum to 1 give no split.
    confidence : float in (0, 0.5]
        Of the error estimate that prunes; smaller prunes more.
    unpruned : bool
        Keep the tree as grown (and collapsed).
    collapse : bool
        Drop splits that save no training error.
    raising : bool
        Let pruning replace a node by its largest branch.
    binary_nominal : bool
        Ask for one category against the rest.
    nominal : sequence of int or str, or None
        Positions or names of nominal columns. Columns of strings, booleans and categoricals are nominal anyway; dates
        are numbers, seconds since 1970, and durations are seconds.
    max_depth : int or None
        Largest number of questions on a path; any if None.
    classes : sequence of labels or None
        All labels in the order in which ties between classes are decided, the first wins; sorted if None.

    Examples
    --------
    >>> tree = C45Classifier().fit([["dry", 1], ["dry", 2], ["wet", 1], ["wet", 3]] * 2, [0, 0, 1, 1] * 2)
    >>> print(tree.export_text())
    x0 = dry: 0 (4)
    x0 = wet: 1 (4)
    """

    def __init__(
        self,
        *,
        min_obj: float = 2,
        confidence: float = 0.25,
        unpruned: bool = False,
        collapse: bool = True,
        raising: bool = True,
        binary_nominal: bool = False,
        nominal: Sequence[int | str] | None = None,
        max_depth: int | None = None,
        classes: LabelsLike | None = None,
    ) -> None:
        self.min_obj = min_obj
        self.confidence = confidence
        self.unpruned = unpruned
        self.collapse = collapse
        self.raising = raising
        self.binary_nominal = binary_nominal
        self.nominal = nominal
        self.max_depth = max_depth
        self.classes = classes

    def fit(self, X: MatrixLike, y: LabelsLike, sample_weight: ArrayLike | None = None) -> C45Classifier:
        """Grow and prune a tree."""
        with unchanged_on_error(self):
            return self.fit_prepared(self.prepare(X, y), sample_weight)

    @documented()
    def prepare(self, X: MatrixLike, y: LabelsLike) -> Prepared:
        """Encode and sort the data once, for several calls of ``fit_prepared`` with other weights or parameters.

        Returns
        -------
        Prepared
            The data, encoded and sorted.
        """
        classes, found = check_labels(y)
        if self.classes is not None:
            classes, found = in_class_order(classes, found, self.classes)
        matrix, encoding = encode(self, X, self.nominal)
        check_same_length(X=matrix, y=found)
        codes: NDArray[np.int32] = found.astype(np.int32)
        return Prepared(encoding, classes, codes, TreeTable(matrix, encoding.nominal, codes, len(classes)))

    @documented()
    def fit_prepared(self, prepared: Prepared, sample_weight: ArrayLike | None = None) -> C45Classifier:
        """Grow and prune a tree on data from ``prepare``.

        Parameters
        ----------
        prepared : Prepared
            What :meth:`prepare` gave.

        Returns
        -------
        C45Classifier
            The fitted tree.
        """
        weight = check_sample_weight(sample_weight, len(prepared.codes))
        if not weight.sum() <= LARGEST_WEIGHT:
            raise invalid("sample_weight", f"sum to at most {LARGEST_WEIGHT:g}", float(weight.max()), "Scale it down.")
        arrays, _ = prepared.table.grow(weight, self.native_options())
        return self.from_arrays(prepared, arrays)

    def from_arrays(self, prepared: Prepared, arrays: tuple[NDArray[Any], ...]) -> C45Classifier:
        """Become the fitted classifier of a tree that a kernel grew on the prepared data.

        Parameters
        ----------
        prepared : Prepared
            What :meth:`prepare` gave.
        arrays : tuple of ndarray
            The nodes of a tree grown on it.

        Returns
        -------
        C45Classifier
            The fitted tree.
        """
        self.classes_ = prepared.classes
        self.n_features_in_ = len(prepared.encoding.names)
        self.encoding_ = prepared.encoding
        self.tree_ = Tree(*arrays)
        return self

    def native_options(self) -> TreeOptions:
        """The checked parameters as the kernel reads them."""
        depth = None if self.max_depth is None else check_count("max_depth", self.max_depth, at_least=0)
        return TreeOptions(
            min_obj=check_number("min_obj", self.min_obj, above=0),
            confidence=check_number("confidence", self.confidence, above=0, at_most=0.5),
            prune=not check_flag("unpruned", self.unpruned),
            collapse=check_flag("collapse", self.collapse),
            raising=check_flag("raising", self.raising),
            binary_nominal=check_flag("binary_nominal", self.binary_nominal),
            max_depth=sys.maxsize if depth is None else min(depth, sys.maxsize),
        )

    def predict_proba(self, X: MatrixLike) -> NDArray[np.float64]:
        """Class shares of the leaf, averaged over the leaves that a missing value leads to."""
        check_is_fitted(self)
        return self.tree_.probabilities(self.encoding_.matrix(self, X))

    def predict(self, X: MatrixLike) -> NDArray[Any]:
        """The class with the largest share; ties go to the first class."""
        share = self.predict_proba(X)
        return self.classes_[first_largest(share)]

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each column in the class information (bits) that the tree saves on its training data."""
        check_is_fitted(self)
        return self.tree_.importances(self.n_features_in_)

    def get_depth(self) -> int:
        """The largest number of questions on a path."""
        check_is_fitted(self)
        return max(depth for _, depth in self.tree_.walk())

    def get_n_leaves(self) -> int:
        """Number of leaves; branches whose training weight is below 1e-6 are not stored."""
        check_is_fitted(self)
        return int((self.tree_.n_children == 0).sum())

    def export_text(self) -> str:
        """The tree in C4.5's own notation: a leaf shows its class and (weight/errors)."""
        check_is_fitted(self)
        return export.as_text(self.tree_, self.encoding_, self.classes_)

    def export_graphviz(self) -> str:
        """The tree in the dot language of Graphviz."""
        check_is_fitted(self)
        return export.as_graphviz(self.tree_, self.encoding_, self.classes_)

    def export_rules(self) -> list[export.LeafRule]:
        """One rule per leaf: its conditions, class, weight and errors."""
        check_is_fitted(self)
        return export.as_rules(self.tree_, self.encoding_, self.classes_)

    @documented()
    def plot(self, ax: Axes | None = None) -> Any:
        """Draw the tree with matplotlib; returns the axes.

        Returns
        -------
        matplotlib axes
            Where it was drawn.
        """
        check_is_fitted(self)
        from .drawing import draw_tree

        return draw_tree(self.tree_, self.encoding_, self.classes_, ax)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
