"""The exceptions and warnings of Steelyard. Each also derives from the built-in a caller would expect.

Tested in ``tests/unit/data/test_fetch.py``.
"""

__all__ = [
    "ChecksumError",
    "ClusterLost",
    "CostsError",
    "CostsWarning",
    "CoverageWarning",
    "DataFileError",
    "DataNotFoundError",
    "DivergedError",
    "InvalidInputError",
    "InvalidTypeError",
    "MissingDependencyError",
    "NotEstimableError",
    "StateError",
    "SteelyardError",
]


class SteelyardError(Exception):
    """Base of every error this library raises on purpose."""


class InvalidInputError(SteelyardError, ValueError):
    """An argument or array that cannot be used; the message names it, its value and what to do."""


class InvalidTypeError(InvalidInputError, TypeError):
    """An argument of a kind that cannot be read, such as a dict in a cell or a sparse matrix where none is taken."""


class CostsError(InvalidInputError):
    """Costs that contradict themselves, the labels or the task."""


class NotEstimableError(InvalidInputError):
    """A stream whose labels were asked in a way that nothing can be concluded about the rest."""


class DivergedError(InvalidInputError, OverflowError):
    """Weights or scores that have left the range of floating-point numbers; nothing was learned."""


class StateError(SteelyardError, ValueError):
    """A saved state that does not fit the object asked to resume from it."""


class DataFileError(SteelyardError, ValueError):
    """A file whose content cannot be read; the message gives file, line and what was expected."""


class DataNotFoundError(SteelyardError, FileNotFoundError):
    """A data set that is not on this machine and cannot be downloaded."""


class ChecksumError(SteelyardError, OSError):
    """A file whose content is not the one the catalogue describes."""


class ClusterLost(SteelyardError, ConnectionError):  # noqa: N818  # an event, as in its message
    """A cluster that cannot be reached, or went away before the work was done; what was done is kept."""


class MissingDependencyError(SteelyardError, ImportError):
    """An optional library that this call needs is not installed."""


class CostsWarning(UserWarning):
    """Costs that are usable but probably not what was meant."""


class CoverageWarning(UserWarning):
    """An estimate that speaks about fewer rounds than the stream has."""
