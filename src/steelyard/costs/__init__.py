"""What does answer k cost? One value for pairs, matrices and per-example costs; nothing about learning.

Cost matrices are always ``C[true, predicted]``.
"""

from ._costs import Costs
from ._example_costs import ExampleCosts
from .random import random_costs
from .rules import Balanced, CostRule, InverseFrequency, as_costs

__all__ = ["Balanced", "CostRule", "Costs", "ExampleCosts", "InverseFrequency", "as_costs", "random_costs"]
