"""C4.5 decision trees with sample weights, nominal attributes and missing values. Paper 003."""

from .c45 import C45Classifier

__all__ = ["C45Classifier"]
