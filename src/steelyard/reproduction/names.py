"""What a recipe may name: estimators, transformers, measures, rules of costs and protocols. Nothing else is built.

Tested in ``tests/unit/reproduction/test_recipe.py``.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator

import steelyard

from .. import evaluate
from ..active import Budget
from ..costs import Costs
from ..data import load_costs
from ..rules import Rule
from ..validation.values import invalid

__all__ = ["named"]

_LIBRARIES = ("sklearn", "imblearn")
_MEASURES = ("_score", "_loss", "_cost", "_error")
_ADVICE = "Recipes build estimators, transformers, measures, rules of costs and protocols."

# Ways to make costs of numbers; none of them reads a file.
_COSTS = {
    f"Costs.{name}": getattr(Costs, name)
    for name in ("binary", "from_classes", "from_matrix", "from_rows", "from_matrices", "zero_one")
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"get_scorer": evaluate.get_scorer, "steelyard.data.load_costs": load_costs}

# Imported when they are asked for: protocols build recipes themselves, and oversampling needs imbalanced-learn.
_OF_RECIPES = {
    f"{__package__}.{module}.{name}": (f".{module}", name)
    for module, name in (("protocols", "BayesRule"), ("protocols", "RandomCosts"), ("oversampling", "SMOTE"))
}


def named(name: str) -> Any:
    """The class or measure that a recipe names: ``CSOGD2``, ``g_mean_score`` or ``sklearn.svm.SVC``.

    Parameters
    ----------
    name : str
        A public name of Steelyard, or the full public name of a class or measure of scikit-learn or imbalanced-learn.

    Raises
    ------
    InvalidInputError
        If it names anything else: a function that is no measure, a module, a private name.
    """
    known = _COSTS.get(name) or _FUNCTIONS.get(name)
    if known is not None:
        return known
    if name in _OF_RECIPES:
        module, attribute = _OF_RECIPES[name]
        return getattr(importlib.import_module(module, __package__), attribute)
    path, _, attribute = name.rpartition(".")
    if not path:
        found = getattr(steelyard, name, None) if name in dir(steelyard) and name.isidentifier() else None
        return _buildable(name, found, steelyard.__name__)
    library = path.partition(".")[0]
    if library not in _LIBRARIES or any(part.startswith("_") or not part for part in name.split(".")):
        raise invalid("use", f"name something public of steelyard, {', '.join(_LIBRARIES)}", name, _ADVICE)
    try:
        found = getattr(importlib.import_module(path), attribute)
    except (ImportError, AttributeError):
        raise invalid("use", f"name something public of {path}", name, "Check the spelling.") from None
    return _buildable(name, found, library)


def _buildable(name: str, found: Any, library: str) -> Any:
    """What was found, if it is a thing to build or a measure, made by the library that is named."""
    own = str(getattr(found, "__module__", "")).partition(".")[0] == library
    is_class = inspect.isclass(found) and (issubclass(found, (BaseEstimator, Rule, Budget)) or _is_cost_rule(found))
    is_measure = callable(found) and not inspect.isclass(found) and name.endswith(_MEASURES)
    if own and (is_class or (is_measure and _is_of_measures(found))):
        return found
    raise invalid("use", "name something that recipes may build", name, _ADVICE)


def _is_cost_rule(kind: type) -> bool:
    return kind.__module__.startswith(("steelyard.costs.", "steelyard.online.")) and hasattr(kind, "costs_for")


def _is_of_measures(function: Any) -> bool:
    return str(function.__module__).startswith(("sklearn.metrics.", "imblearn.metrics.", "steelyard.evaluate."))
