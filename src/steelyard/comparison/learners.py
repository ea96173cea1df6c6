"""This library's own learners, where they can win."""

from __future__ import annotations

from typing import Any

from ..boosting import AdaBoostM1Classifier
from ..margin import CSLDMClassifier
from ..reduction import OneSidedClassifierCV
from ..tree import C45Classifier
from .candidates import Kind, TrainingRows

Params = dict[str, Any]
Fitted = tuple[Any, int | None]
_KERNEL_ROWS = 2_000
_TREE_ROWS = 20_000


def _adaboost_c45(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    tree = C45Classifier(nominal=list(rows.categories) or None, min_obj=params["min_obj"])
    return AdaBoostM1Classifier(tree, n_estimators=params["n_estimators"]).fit(rows.X, rows.data.codes), None


def _cs_ldm(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    """theta is the cost of a mistake on each example, rho = 0: the classes' sizes play no part of their own."""
    model = CSLDMClassifier(kernel="linear", random_state=rows.data.seed, rho=0.0, **params)
    return model.fit(rows.X, rows.data.codes, costs=rows.data.cost_table), None


def _one_sided_svr(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    return OneSidedClassifierCV(**params).fit(rows.X, rows.data.codes, costs=rows.data.cost_table), None


LEARNERS: dict[str, Kind] = {
    "adaboost_c45": Kind(_adaboost_c45, "coded", "own", most_rows=_TREE_ROWS, dense=True),
    "cs_ldm": Kind(_cs_ldm, "scaled", "own", most_rows=_TREE_ROWS, two_classes=True),
    "one_sided_svr": Kind(_one_sided_svr, "scaled", "own", most_rows=_KERNEL_ROWS),
}
