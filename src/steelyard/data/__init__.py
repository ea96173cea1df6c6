"""Readers and the catalogue of the papers' data. Knows no learner."""
