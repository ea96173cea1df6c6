"""Which public function is which formula, our own and scikit-learn's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn import metrics

from ..validation.values import invalid
from . import _formulas as formulas
from . import measures
from ._sums import Form

Measure = Callable[..., float]

OURS: dict[Measure, Form] = {
    measures.sensitivity_score: formulas.SENSITIVITY,
    measures.specificity_score: formulas.SPECIFICITY,
    measures.precision_score: formulas.PRECISION,
    measures.f_score: formulas.F,
    measures.weighted_sum_score: formulas.WEIGHTED_SUM,
    measures.g_mean_score: formulas.G_MEAN,
    measures.total_cost: formulas.TOTAL_COST,
    measures.mean_cost: formulas.MEAN_COST,
    measures.savings_score: formulas.SAVINGS,
}
FORMS: dict[Measure, Form] = {
    **OURS,
    metrics.accuracy_score: formulas.ACCURACY,
    metrics.balanced_accuracy_score: formulas.BALANCED_ACCURACY,
}


def form_of(measure: Any) -> Form:
    """The formula behind a measure; an error for a function that is not a sum over examples."""
    form = FORMS.get(measure) if callable(measure) else None
    if form is None:
        names = ", ".join(sorted(m.__name__ for m in FORMS))
        raise invalid("measure", f"be one of the functions {names}", measure)
    return form
