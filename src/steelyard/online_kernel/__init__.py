"""Online learning with kernels: the update and query rules of papers 000 and 001 over an expansion of support rows."""

from .classifier import OnlineKernelClassifier

__all__ = ["OnlineKernelClassifier"]
