"""The cost-sensitive large margin distribution machine. Paper 004."""

from .cross_validation import CSLDMClassifierCV
from .curves import RhoCurveDisplay, RhoCurves, RhoMetrics, rho_curves
from .estimator import CSLDMClassifier

__all__ = ["CSLDMClassifier", "CSLDMClassifierCV", "RhoCurveDisplay", "RhoCurves", "RhoMetrics", "rho_curves"]
