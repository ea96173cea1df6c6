"""Many classes into few problems, with a cost for every answer. Paper 002."""

from ._classifier import PAPER_LAMS as PAPER_LAMS
from .all_pairs import AllPairsClassifier, AllPairsClassifierCV
from .expected_cost import ExpectedCostClassifier
from .filter_tree import FilterTreeClassifier, FilterTreeClassifierCV
from .one_sided import OneSidedClassifier, OneSidedClassifierCV
from .one_vs_all import OneVsAllClassifier, OneVsAllClassifierCV
from .secoc import SECOCClassifier, SECOCClassifierCV

__all__ = [
    "AllPairsClassifier",
    "AllPairsClassifierCV",
    "ExpectedCostClassifier",
    "FilterTreeClassifier",
    "FilterTreeClassifierCV",
    "OneSidedClassifier",
    "OneSidedClassifierCV",
    "OneVsAllClassifier",
    "OneVsAllClassifierCV",
    "SECOCClassifier",
    "SECOCClassifierCV",
]
