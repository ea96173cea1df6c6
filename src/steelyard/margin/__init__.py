"""Batch large-margin learners: SVMs on the SMO solver, LDM and CS-LDM. Papers 002 and 004."""

from .kernels import gram
from .path import PathPoint, PathSolution, SVMProblem, solve_path

__all__ = ["PathPoint", "PathSolution", "SVMProblem", "gram", "solve_path"]
