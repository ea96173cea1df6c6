"""Steelyard: classification where mistakes are not equal.

``__all__`` is the only registry of public names; the table in README.md says what each is for.
"""

from .costs import Balanced, CostRule, Costs, ExampleCosts, InverseFrequency
from .errors import (
    ChecksumError,
    CostsError,
    CostsWarning,
    DataFileError,
    DataNotFoundError,
    InvalidInputError,
    MissingDependencyError,
    StateError,
    SteelyardError,
)
from .trace import Decision, Trace

__version__ = "0.1.0"

__all__ = [
    "Balanced",
    "ChecksumError",
    "CostRule",
    "Costs",
    "CostsError",
    "CostsWarning",
    "DataFileError",
    "DataNotFoundError",
    "Decision",
    "ExampleCosts",
    "InvalidInputError",
    "InverseFrequency",
    "MissingDependencyError",
    "StateError",
    "SteelyardError",
    "Trace",
]
