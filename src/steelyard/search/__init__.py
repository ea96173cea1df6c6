"""Search of class costs for any estimator. Paper 003."""

from .cost_search import CostSearchCV

__all__ = ["CostSearchCV"]
