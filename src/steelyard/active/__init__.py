"""Which labels to ask for, and how many. Paper 001; policies only: no model, no data, no clock."""

from .budget import Budget
from .draws import draw
from .queries import (
    AskAll,
    AskAsymmetric,
    AskAtLeast,
    AskFirst,
    AskPredictedPositive,
    AskRandom,
    AskSymmetric,
    AskUncertain,
    QueryInput,
    QueryRule,
)

__all__ = [
    "AskAll",
    "AskAsymmetric",
    "AskAtLeast",
    "AskFirst",
    "AskPredictedPositive",
    "AskRandom",
    "AskSymmetric",
    "AskUncertain",
    "Budget",
    "QueryInput",
    "QueryRule",
    "draw",
]
