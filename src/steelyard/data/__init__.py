"""Readers and the catalogue of the papers' data. Knows no learner."""

__all__: list[str] = []
