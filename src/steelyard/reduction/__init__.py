"""Many classes into few problems, with a cost for every answer. Paper 002."""

from .all_pairs import AllPairsClassifier, AllPairsClassifierCV
from .base import PAPER_LAMS as PAPER_LAMS
from .filter_tree import FilterTreeClassifier, FilterTreeClassifierCV
from .one_sided import OneSidedClassifier, OneSidedClassifierCV
from .one_vs_all import OneVsAllClassifier, OneVsAllClassifierCV
from .secoc import SECOCClassifier, SECOCClassifierCV

__all__ = [
    "AllPairsClassifier",
    "AllPairsClassifierCV",
    "FilterTreeClassifier",
    "FilterTreeClassifierCV",
    "OneSidedClassifier",
    "OneSidedClassifierCV",
    "OneVsAllClassifier",
    "OneVsAllClassifierCV",
    "SECOCClassifier",
    "SECOCClassifierCV",
]
