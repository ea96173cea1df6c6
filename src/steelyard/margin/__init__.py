"""Batch large-margin learners: SVMs on the SMO solver, LDM and CS-LDM. Papers 002 and 004."""

from .cs_svm import CSSVMClassifier
from .kernels import gram
from .one_sided import OneSidedSVR
from .path import PathPoint, PathSolution, SVMProblem, solve_path

__all__ = ["CSSVMClassifier", "OneSidedSVR", "PathPoint", "PathSolution", "SVMProblem", "gram", "solve_path"]
