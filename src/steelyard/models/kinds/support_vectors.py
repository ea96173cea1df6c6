"""Kernel machines: support rows, their coefficients and a bias, ours and scikit-learn's."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted, validate_data

from ...errors import StateError
from ...evaluate.classifier_mixin import CostClassifierMixin
from ...files import Fields, Node, plain_settings, write_labels, write_rows
from ...margin import CSLDMClassifier, CSSVMClassifier, OneSidedSVR
from ...margin.kernels import DTYPES, NATIVE, KernelSpec, gram_of
from ...validation.arrays import check_scores
from .kind import Kind, State, Write, feature_params, fitted_features

__all__ = ["KINDS", "SupportVectorClassifier", "check_kernel", "write_kernel"]

_MOST_CELLS = 1 << 22  # kernel values held while deciding
_STEEPEST = 100  # degree of a polynomial: higher ones overflow, and take long to
_NOT_KEPT = ("costs", "cache_mb", "gamma", "degree", "coef0", "kernel")


def write_kernel(spec: KernelSpec) -> dict[str, Any]:
    """A settled kernel as parameters; a function cannot be kept."""
    if not isinstance(spec.kernel, str):
        raise StateError(f"the kernel must be one of {(*NATIVE, 'precomputed')} to be saved; got {spec.kernel!r}.")
    return {"kernel": spec.kernel, "gamma": float(spec.gamma), "degree": int(spec.degree), "coef0": float(spec.coef0)}


def check_kernel(fields: Fields) -> KernelSpec:
    """The kernel of a file."""
    return KernelSpec(
        fields.choice("kernel", *NATIVE, "precomputed"),
        fields.number("gamma", 0.0),
        fields.integer("degree", 0, _STEEPEST),
        fields.number("coef0"),
    )


# -- ours ------------------------------------------------------------------------------------------------------------

_RESULTS = ("dual_objective_", "duality_gap_", "violation_")


def _write_machine(model: Any, write: Write) -> Node:
    params, arrays = feature_params(model)
    params |= plain_settings(model, *_NOT_KEPT) | write_kernel(model.kernel_)
    params |= {name: _finite(getattr(model, name)) for name in _RESULTS}
    params |= {"n_iter_": int(model.n_iter_), "intercept_": float(model.intercept_)}
    if model.support_vectors_ is not None:
        more, rows = write_rows("support_vectors", model.support_vectors_)
        params, arrays = params | more, arrays | rows
    arrays |= {"support": model.support_.astype(np.int64), "dual_coef": model.dual_coef_}
    if hasattr(model, "classes_"):
        arrays |= write_labels("classes", model.classes_)
    return Node(f"{type(model).__name__}/1", params, arrays)


def _finite(value: Any) -> float | None:
    return float(value) if value is not None and np.isfinite(value) else None


def _check_machine(fields: Fields, kind: type) -> State:
    state = _check_expansion(fields)
    fitted = state["fitted"]
    fitted["intercept_"] = fields.number("intercept_")
    fitted |= {name: fields.number(name, or_none=True) for name in _RESULTS}
    fitted["n_iter_"] = fields.integer("n_iter_")
    if kind is CSSVMClassifier:
        fitted["classes_"] = fields.classes(at_most=2)
    state["settings"] |= {"dtype": fields.choice("dtype", *DTYPES)}
    state["settings"] |= fields.settings(kind)
    fields.done(parts=0)
    return state


def _check_expansion(fields: Fields) -> State:
    """Support rows, their positions and coefficients, and the kernel between them and new rows."""
    spec = check_kernel(fields)
    fitted: State = {"kernel_": spec, "support_vectors_": None}
    if spec.kernel != "precomputed":
        fitted["support_vectors_"] = fields.rows("support_vectors", "support", "features")
    features = fields.features()
    fitted["support_"] = fields.integers("support", "support", low=0, high=(1 << 53)).astype(np.intp)
    fitted["dual_coef_"] = fields.floats("dual_coef", "support")
    if spec.kernel == "precomputed" and len(fitted["support_"]):
        width = features.get("n_features_in_", 0)
        if fitted["support_"].max() >= width:
            fields.refuse("support", f"lies below {width}", fitted["support_"].max())
    return {"fitted": fitted | features, "settings": spec._asdict()}


def _build_machine(state: State, kind: type) -> Any:
    return fitted_features(kind(**state["settings"]), state["fitted"])


def _machine(kind: type) -> Kind:
    return Kind(
        f"{kind.__name__}/1",
        (kind,),
        _write_machine,
        lambda fields: _check_machine(fields, kind),
        lambda state, parts: _build_machine(state, kind),
    )


# -- large margin distribution ---------------------------------------------------------------------------------------


def _write_ldm(model: CSLDMClassifier, write: Write) -> Node:
    params, arrays = feature_params(model)
    linear = hasattr(model, "coef_")
    params |= plain_settings(model, *_NOT_KEPT) | {"linear": linear}
    params |= {name: _finite(getattr(model, name, None)) for name in ("objective_", "duality_gap_")}
    params |= {"rho_": float(model.rho_), "solver_": model.solver_, "n_iter_": int(model.n_iter_)}
    arrays |= write_labels("classes", model.classes_) | {"seen": np.asarray(model._seen, dtype=np.float64)}
    arrays |= {"intercept": np.asarray(model.intercept_), "rho_interval": np.array(model.rho_interval_, dtype=float)}
    if linear:
        return Node("CSLDMClassifier/1", params, arrays | {"coef": model.coef_})
    if model.support_vectors_ is not None:
        more, rows = write_rows("support_vectors", model.support_vectors_)
        params, arrays = params | more, arrays | rows
    arrays |= {"support": model.support_.astype(np.int64), "dual_coef": model.dual_coef_}
    return Node("CSLDMClassifier/1", params | write_kernel(model.kernel_), arrays)


def _check_ldm(fields: Fields) -> State:
    if fields.flag("linear"):
        state: State = {"fitted": {"coef_": fields.floats("coef", 1, "features")}, "settings": {"kernel": "linear"}}
        state["fitted"] |= fields.features()
    else:
        state = _check_expansion(fields)
    fitted = state["fitted"]
    fitted |= {name: fields.number(name, or_none=True) for name in ("objective_", "duality_gap_")}
    fitted |= {"rho_": fields.number("rho_"), "solver_": fields.text("solver_"), "n_iter_": fields.integer("n_iter_")}
    fitted["rho_interval_"] = tuple(fields.floats("rho_interval", 2).tolist())
    fitted |= {"intercept_": fields.floats("intercept", 1), "_seen": fields.floats("seen", 2, low=0.0)}
    fitted["classes_"] = fields.classes(at_most=2)
    state["settings"] |= fields.settings(CSLDMClassifier)
    fields.done(parts=0)
    return state


# -- scikit-learn's --------------------------------------------------------------------------------------------------


class SupportVectorClassifier(CostClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted scikit-learn SVC; it decides as the original did and cannot learn.

    Every two classes have a machine over the support rows of both (Chang and Lin's layout: ``dual_coef_[j - 1]`` holds
    the coefficients of the rows of class i against class j > i); most wins decide, ties go to the first class.

    Parameters
    ----------
    kernel : KernelSpec
        With every parameter settled.
    """

    classes_: NDArray[Any]
    support_vectors_: Any
    n_support_: NDArray[np.int64]
    dual_coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]

    def __init__(self, kernel: KernelSpec) -> None:
        self.kernel = kernel

    def fit(self, X: Any, y: Any = None) -> Self:
        """Not possible: only what was learned elsewhere is here."""
        raise StateError("a loaded support vector machine cannot be fitted; fit the estimator it came from.")

    def _pairs(self, X: Any) -> NDArray[np.float64]:
        """f(x) of every pair of classes, positive for the first."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=np.float64, accept_sparse="csr")
        ends = np.cumsum(self.n_support_)
        pairs = list(combinations(range(len(self.classes_)), 2))
        weights = np.zeros((int(ends[-1]), len(pairs)))
        for p, (i, j) in enumerate(pairs):
            first, second = (slice(int(ends[k] - self.n_support_[k]), int(ends[k])) for k in (i, j))
            weights[first, p] = self.dual_coef_[j - 1, first]
            weights[second, p] = self.dual_coef_[i, second]
        scores = np.tile(self.intercept_, (rows.shape[0], 1))
        step = max(1, _MOST_CELLS // max(1, len(weights)))
        for start in range(0, rows.shape[0] if len(weights) else 0, step):
            kernel = gram_of(self.kernel, rows[start : start + step], self.support_vectors_, dtype="float64")
            with np.errstate(over="ignore", invalid="ignore"):  # what became of it is looked at
                scores[start : start + step] += kernel @ weights
        return check_scores(scores)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Two classes: f(x), positive for ``classes_[1]``. More: wins of each class, ties decided by their sums."""
        scores = self._pairs(X)
        if len(self.classes_) == 2:
            return -scores[:, 0]
        votes, sums = self._votes(scores)
        return np.asarray(votes + sums / (3 * (np.abs(sums) + 1)))

    def _votes(self, scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        votes, sums = (np.zeros((len(scores), len(self.classes_))) for _ in range(2))
        for p, (i, j) in enumerate(combinations(range(len(self.classes_)), 2)):
            sums[:, i] += scores[:, p]
            sums[:, j] -= scores[:, p]
            votes[:, i] += scores[:, p] >= 0
            votes[:, j] += scores[:, p] < 0
        return votes, sums

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with most wins."""
        scores = self._pairs(X)
        if len(self.classes_) == 2:
            return np.asarray(self.classes_[(scores[:, 0] <= 0).astype(np.intp)])
        return np.asarray(self.classes_[self._votes(scores)[0].argmax(axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _from_svc(model: SVC) -> SupportVectorClassifier:
    if model.kernel not in ("rbf", "linear", "poly") or getattr(model, "probability", False) is True:
        raise StateError(f"an SVC must have a plain kernel and no probabilities to be saved; got {model!r}.")
    if model.break_ties or model.decision_function_shape != "ovr":
        raise StateError(f"an SVC must decide by wins of pairs to be saved; got {model!r}.")
    made = SupportVectorClassifier(KernelSpec(model.kernel, float(model._gamma), int(model.degree), float(model.coef0)))
    dual = model.dual_coef_.toarray() if hasattr(model.dual_coef_, "toarray") else model.dual_coef_
    sign = -1.0 if len(model.classes_) == 2 else 1.0  # of two classes scikit-learn turns the sides round
    made.dual_coef_, made.intercept_ = sign * np.asarray(dual), sign * np.asarray(model.intercept_)
    made.classes_, made.n_support_ = model.classes_, np.asarray(model.n_support_, dtype=np.int64)
    made.support_vectors_ = model.support_vectors_
    names = ("n_features_in_", "feature_names_in_")
    return fitted_features(made, {name: getattr(model, name) for name in names if hasattr(model, name)})  # type: ignore[no-any-return]


def _write_svc(model: Any, write: Write) -> Node:
    model = model if isinstance(model, SupportVectorClassifier) else _from_svc(model)
    params, arrays = feature_params(model)
    more, rows = write_rows("support_vectors", model.support_vectors_)
    arrays |= rows | write_labels("classes", model.classes_)
    arrays |= {"n_support": model.n_support_, "dual_coef": model.dual_coef_, "intercept": model.intercept_}
    return Node("SupportVectorClassifier/1", params | more | write_kernel(model.kernel), arrays)


def _check_svc(fields: Fields) -> State:
    spec = check_kernel(fields)
    if spec.kernel == "precomputed":
        fields.refuse("kernel", "is computed from rows", spec.kernel)
    classes = fields.classes()
    fitted: State = {"classes_": classes}
    fitted["support_vectors_"] = fields.rows("support_vectors", "support", "features")
    fitted |= fields.features()
    fitted["n_support_"] = fields.integers("n_support", "classes", low=0, high=fields.sizes["support"])
    if int(fitted["n_support_"].sum()) != fields.sizes["support"]:
        fields.refuse("n_support", f"adds up to {fields.sizes['support']}", fitted["n_support_"].sum())
    fitted["dual_coef_"] = fields.floats("dual_coef", len(classes) - 1, "support")
    fitted["intercept_"] = fields.floats("intercept", len(classes) * (len(classes) - 1) // 2)
    fields.done(parts=0)
    return {"kernel": spec, "fitted": fitted}


KINDS = (
    _machine(CSSVMClassifier),
    _machine(OneSidedSVR),
    Kind(
        "CSLDMClassifier/1",
        (CSLDMClassifier,),
        _write_ldm,
        _check_ldm,
        lambda state, parts: _build_machine(state, CSLDMClassifier),
    ),
    Kind(
        "SupportVectorClassifier/1",
        (SupportVectorClassifier, SVC),
        _write_svc,
        _check_svc,
        lambda state, parts: fitted_features(SupportVectorClassifier(state["kernel"]), state["fitted"]),
    ),
)
