"""Measures, curves, intervals and tests: pure functions on arrays. Imports no learner."""

__all__: list[str] = []
