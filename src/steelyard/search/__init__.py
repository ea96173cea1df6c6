"""Search of class costs for any estimator. Paper 003."""

from .cost_search import CostSearchCV
from .nested import NestedEvaluation, nested_evaluate

__all__ = ["CostSearchCV", "NestedEvaluation", "nested_evaluate"]
