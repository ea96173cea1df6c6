"""Search of class costs for any estimator. Paper 003."""

from .cost_search import CostSearchCV
from .genetic import GeneticSampler
from .nested import NestedEvaluation, nested_evaluate

__all__ = ["CostSearchCV", "GeneticSampler", "NestedEvaluation", "nested_evaluate"]
