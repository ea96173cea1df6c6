"""Batch large-margin learners: SVMs on the SMO solver, LDM and CS-LDM. Papers 002 and 004."""

from .cs_svm import CSSVMClassifier
from .kernels import LazyGram, gram
from .ldm import CSLDMClassifier, CSLDMClassifierCV, RhoCurveDisplay, RhoCurves, RhoMetrics, rho_curves
from .one_sided import OneSidedSVR
from .path import PathPoint, PathSolution, SVMProblem, solve_path

__all__ = [
    "CSLDMClassifier",
    "CSLDMClassifierCV",
    "CSSVMClassifier",
    "LazyGram",
    "OneSidedSVR",
    "PathPoint",
    "PathSolution",
    "RhoCurveDisplay",
    "RhoCurves",
    "RhoMetrics",
    "SVMProblem",
    "gram",
    "rho_curves",
    "solve_path",
]
