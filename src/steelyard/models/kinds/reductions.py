"""Reductions of many classes to few problems: their parameters say how answers are put together, their parts score."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import StateError
from ...files import Fields, Node, plain_settings, write_labels, write_rows
from ...margin.kernels import DTYPES
from ...reduction import (
    AllPairsClassifier,
    AllPairsClassifierCV,
    FilterTreeClassifier,
    FilterTreeClassifierCV,
    OneSidedClassifier,
    OneSidedClassifierCV,
    OneVsAllClassifier,
    OneVsAllClassifierCV,
    SECOCClassifier,
    SECOCClassifierCV,
)
from ...reduction._learners import ClassifierSolution, Constant, RegressorSolution, Solutions
from ...reduction.svm_backend import KernelMachines
from .kind import Kind, State, Write, check_part, feature_params, fitted_features
from .support_vectors import check_kernel, write_kernel

__all__ = ["KINDS"]

_REDUCTIONS = (
    AllPairsClassifier,
    AllPairsClassifierCV,
    FilterTreeClassifier,
    FilterTreeClassifierCV,
    OneSidedClassifier,
    OneSidedClassifierCV,
    OneVsAllClassifier,
    OneVsAllClassifierCV,
    SECOCClassifier,
    SECOCClassifierCV,
)
_NOT_KEPT = ("estimator", "costs", "lams", "cv", "n_jobs", "cache_mb", "kernel", "gamma", "degree", "coef0")
_UNREAD = {"tournament", "code"}


# -- how answers are put together ------------------------------------------------------------------------------------


def _write(model: Any, write: Write) -> Node:
    params, arrays = feature_params(model)
    params |= plain_settings(model, *_NOT_KEPT, *_UNREAD)
    arrays |= write_labels("classes", model.classes_)
    if hasattr(model, "tournament"):
        arrays["tournament"] = _written_tournament(model.plan_.matches)
    if hasattr(model, "code"):
        arrays["code"] = np.asarray(model.plan_.code, dtype=np.bool_)
    if hasattr(model, "lam_"):
        params["lam_"] = float(model.lam_)
        arrays |= {"lams": np.asarray(model.lams_, dtype=np.float64), "cv_costs": np.asarray(model.cv_costs_)}
    return Node(f"{type(model).__name__}/1", params, arrays, [write(model.solution_)])


def _written_tournament(matches: Any) -> NDArray[np.int32]:
    """The matches as a list in which -1 joins the two sides before it."""
    sides: dict[tuple[int, ...], list[int]] = {}
    for match in matches:  # lower rounds first
        left, right = (sides.get(side, list(side)) for side in (match.left, match.right))
        sides[tuple(sorted(match.left + match.right))] = [*left, *right, -1]
    return np.array(max(sides.values(), key=len), dtype=np.int32)


def _read_tournament(fields: Fields, n_classes: int) -> Any:
    stack: list[Any] = []
    seen = []
    for code in fields.integers("tournament", None, low=-1, high=n_classes - 1, dtypes="i").tolist():
        if code >= 0:
            seen.append(code)
            stack.append(code)
        elif len(stack) < 2:
            fields.refuse("tournament", "pairs two sides in every match", code)
        else:
            right, left = stack.pop(), stack.pop()
            stack.append((left, right))
    if sorted(seen) != list(range(n_classes)) or len(stack) != 1:
        fields.refuse("tournament", "names each class once", seen[:5])
    return stack[0]


def _labelled(node: Any, classes: NDArray[Any]) -> Any:
    """A tournament of labels instead of codes."""
    if isinstance(node, tuple):
        return _labelled(node[0], classes), _labelled(node[1], classes)
    return classes[node]


def _check(fields: Fields, kind: type) -> State:
    classes = fields.classes()
    state: State = {"classes": classes, "features": fields.features(), "fitted": {}, "given": {}}
    if fields.has("tournament"):
        state["given"]["tournament"] = _labelled(_read_tournament(fields, len(classes)), classes)
    if fields.has("code"):
        state["given"]["code"] = fields.array("code", "?", "groups", "classes")
    if fields.has("lam_"):
        state["fitted"]["lam_"] = fields.number("lam_", 0.0)
        state["fitted"]["lams_"] = fields.floats("lams", "lams", low=0.0)
        state["fitted"]["cv_costs_"] = fields.floats("cv_costs", "lams", None, low=-math.inf, high=math.inf)
    if fields.has("n_thresholds"):
        state["given"]["n_thresholds"] = fields.integer("n_thresholds", 1, 10_000)
    state["settings"] = state["given"] | fields.settings(kind)
    fields.done(parts=1)
    return state


def _build(state: State, parts: list[Any], kind: type) -> Any:
    solution = parts[0]
    if not isinstance(solution, (KernelMachines, Solutions)):
        raise StateError("must answer by the scores of machines; it has something else.")
    made = fitted_features(kind(**state["settings"]), state["features"] | state["fitted"])
    if isinstance(solution, KernelMachines):
        _check_width(solution, state["features"])
    elif hasattr(made, "estimator"):
        made.estimator = next(
            (p.estimator for p in solution.parts if isinstance(p, (ClassifierSolution, RegressorSolution))), None
        )
    made.classes_, made.solution_ = state["classes"], solution
    made.plan_ = made._plan(state["classes"])
    made.plan_.preference(np.zeros((1, _n_scores(solution))))  # refuses another number of scores than it needs
    return made


def _n_scores(solution: Any) -> int:
    return len(solution.bias) if isinstance(solution, KernelMachines) else len(solution.parts)


def _check_width(solution: KernelMachines, features: dict[str, Any]) -> None:
    rows, width = solution.support_rows, features.get("n_features_in_")
    if rows is not None and rows.shape[1] != width:
        raise StateError(f"must compare rows of {width} columns; its support rows have {rows.shape[1]}.")
    if rows is None and len(solution.support) and solution.support.max() >= (width or 0):
        raise StateError(f"must name support rows below {width}; got {int(solution.support.max())}.")


def _reduction(kind: type) -> Kind:
    return Kind(
        f"{kind.__name__}/1",
        (kind,),
        _write,
        lambda fields: _check(fields, kind),
        lambda state, parts: _build(state, parts, kind),
    )


# -- what scores -----------------------------------------------------------------------------------------------------


def _write_machines(model: KernelMachines, write: Write) -> Node:
    params: dict[str, Any] = {"dtype": model.dtype, **write_kernel(model.spec)}
    arrays: dict[str, NDArray[Any]] = {"support": np.asarray(model.support, dtype=np.int64)}
    if model.support_rows is not None:
        more, rows = write_rows("support_rows", model.support_rows)
        params, arrays = params | more, arrays | rows
    arrays |= {"coef": model.coef, "bias": model.bias, "duality_gap": model.duality_gap}
    return Node("KernelMachines/1", params, arrays)


def _check_machines(fields: Fields) -> State:
    spec = check_kernel(fields)
    state: State = {"spec": spec, "dtype": fields.choice("dtype", *DTYPES), "support_rows": None}
    state["support"] = fields.integers("support", "support", low=0, high=1 << 53).astype(np.intp)
    if spec.kernel != "precomputed":
        state["support_rows"] = fields.rows("support_rows", "support", "features")
    state |= {"coef": fields.floats("coef", "support", "scores"), "bias": fields.floats("bias", "scores")}
    state["duality_gap"] = fields.floats("duality_gap", "scores", low=-math.inf, high=math.inf)
    fields.done(parts=0)
    return state


_PARTS: dict[str, Any] = {"classified": ClassifierSolution, "regressed": RegressorSolution}


def _write_solutions(model: Solutions, write: Write) -> Node:
    roles, parts, scores = [], [], []
    for part in model.parts:
        role = next((name for name, kind in _PARTS.items() if type(part) is kind), "constant")
        roles.append(role)
        scores.append(part.score if isinstance(part, Constant) else 0.0)
        if not isinstance(part, Constant):
            parts.append(write(part.estimator))  # type: ignore[attr-defined]
    return Node("Solutions/1", {"roles": roles}, {"constants": np.array(scores, dtype=np.float64)}, parts)


def _check_solutions(fields: Fields) -> State:
    scores = fields.floats("constants", None)
    roles = fields.texts("roles", len(scores))
    if not roles or any(role not in ("constant", *_PARTS) for role in roles):
        fields.refuse("roles", f"are constant or one of {tuple(_PARTS)}", roles)
    fields.done(parts=sum(role != "constant" for role in roles))
    return {"roles": roles, "scores": scores.tolist()}


def _build_solutions(state: State, parts: list[Any]) -> Solutions:
    for part in parts:
        check_part("Solutions/1", part, "predict")
    left = iter(parts)
    return Solutions(
        [
            Constant(score) if role == "constant" else _PARTS[role](next(left))
            for role, score in zip(state["roles"], state["scores"], strict=True)
        ]
    )


KINDS = (
    *(_reduction(kind) for kind in _REDUCTIONS),
    Kind(
        "KernelMachines/1",
        (KernelMachines,),
        _write_machines,
        _check_machines,
        lambda state, parts: KernelMachines(**state),
    ),
    Kind("Solutions/1", (Solutions,), _write_solutions, _check_solutions, _build_solutions),
)
