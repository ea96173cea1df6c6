"""What recipes need beyond the core dependencies, said before the first run rather than after it."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import MissingDependencyError
from .recipe import Recipe

_SEARCHES = ("CostSearchCV", "nested_evaluate")


def check_requirements(recipes: Sequence[Recipe]) -> None:
    """Raise one error that names every library the recipes need and this environment lacks."""
    needed = {"matplotlib": "matplotlib"}  # every recipe draws its figure
    for recipe in recipes:
        if recipe.skip is None:
            for name in _used([recipe.learners, recipe.prepare, recipe.measures, recipe.protocol]):
                if name.startswith("imblearn."):
                    needed["imblearn"] = "'steelyard[imbalance]'"
                if name in _SEARCHES:
                    needed["optuna"] = "'steelyard[search]'"
    missing = [library for library in sorted(needed) if importlib.util.find_spec(library) is None]
    if missing:
        raise MissingDependencyError(
            f"Paper {recipes[0].paper} needs {', '.join(missing)}, not installed here. "
            f"Install with: pip install {' '.join(needed[library] for library in missing)}"
        )


def _used(part: Any) -> Iterator[str]:
    """Every name after ``use`` in a part of a recipe."""
    if isinstance(part, Mapping):
        if "use" in part:
            yield str(part["use"])
        for value in part.values():
            yield from _used(value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from _used(value)
