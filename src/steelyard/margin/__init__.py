"""Batch large-margin learners: SVMs on the SMO solver, LDM and CS-LDM. Papers 002 and 004."""

__all__: list[str] = []
