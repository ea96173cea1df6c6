"""Batch large-margin learners: SVMs on the SMO solver, LDM and CS-LDM. Papers 002 and 004."""

from .cs_svm import CSSVMClassifier
from .kernels import LazyGram, gram
from .ldm import CSLDMClassifier
from .ldm_curves import RhoCurveDisplay, RhoCurves, RhoMetrics, rho_curves
from .ldm_cv import CSLDMClassifierCV
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
