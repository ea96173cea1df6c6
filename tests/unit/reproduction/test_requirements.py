"""Libraries beyond the core are named before the first run."""

import importlib.util
from typing import Any

import pytest

from steelyard import MissingDependencyError
from steelyard.reproduction.recipe import find_recipes
from steelyard.reproduction.requirements import check_requirements


def without(monkeypatch: pytest.MonkeyPatch, *libraries: str) -> None:
    real = importlib.util.find_spec

    def find_spec(name: str, *rest: Any) -> Any:
        return None if name in libraries else real(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)


def test_everything_that_is_missing_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "matplotlib", "optuna", "imblearn")
    with pytest.raises(
        MissingDependencyError, match=r"needs matplotlib, optuna, .*pip install matplotlib 'steelyard\[search\]'"
    ):
        check_requirements(find_recipes("003"))
    with pytest.raises(MissingDependencyError, match=r"imblearn, matplotlib, .*'steelyard\[imbalance\]' matplotlib"):
        check_requirements(find_recipes("004"))


def test_what_a_paper_does_not_use_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "optuna", "imblearn")
    check_requirements(find_recipes("000"))
