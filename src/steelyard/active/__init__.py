"""Which labels to ask for, and how many. Paper 001; policies only: no model, no data, no clock."""

from . import queries
from .budget import Budget
from .draws import draw
from .queries import *

__all__ = ["Budget", "draw"]
__all__ += queries.__all__
