"""Modules that wait until they are used, and are then the ordinary ones."""

import importlib
import sys
from pathlib import Path

import pytest

from steelyard.deferred import deferred

PACKAGE = "package_that_waits"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A package that notes each time a part of it is run."""
    folder = tmp_path / PACKAGE
    folder.mkdir()
    note = "import builtins\nbuiltins.parts_run.append(__name__)\n"
    (folder / "__init__.py").write_text(f"{note}from . import inner\nvalue = 1\n", encoding="utf-8")
    (folder / "inner.py").write_text(f"{note}value = 2\n", encoding="utf-8")
    (tmp_path / "user_of_it.py").write_text(f"import {PACKAGE}\ndef use(): return {PACKAGE}.value\n", encoding="utf-8")
    ran: list[str] = []
    monkeypatch.setattr("builtins.parts_run", ran, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    for name in (PACKAGE, f"{PACKAGE}.inner", "user_of_it"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return ran


def test_it_is_loaded_when_it_is_used_and_once(package: list[str]) -> None:
    with deferred(PACKAGE):
        user = importlib.import_module("user_of_it")
    assert package == []
    assert PACKAGE not in sys.modules
    assert user.use() == user.use() == 1
    assert package == [PACKAGE, f"{PACKAGE}.inner"]
    assert importlib.import_module(PACKAGE).value == 1
    assert package == [PACKAGE, f"{PACKAGE}.inner"]


def test_behind_the_block_an_inner_part_is_imported_as_ever(package: list[str]) -> None:
    with deferred(PACKAGE):
        user = importlib.import_module("user_of_it")
    inner = importlib.import_module(f"{PACKAGE}.inner")
    assert user.use() == 1
    assert sys.modules[f"{PACKAGE}.inner"] is inner
    assert sys.modules[PACKAGE].inner is inner
    assert package == [PACKAGE, f"{PACKAGE}.inner"]


def test_it_may_be_used_within_the_block(package: list[str]) -> None:
    with deferred(PACKAGE):
        user = importlib.import_module("user_of_it")
        assert user.use() == 1
        assert sys.modules[PACKAGE].__file__ is not None
    assert sys.modules[PACKAGE].value == 1
    assert package == [PACKAGE, f"{PACKAGE}.inner"]


def test_what_is_loaded_or_missing_is_left_alone(package: list[str]) -> None:
    loaded = importlib.import_module(PACKAGE)
    with deferred(PACKAGE, "package_that_is_not_there"):
        assert sys.modules[PACKAGE] is loaded
        with pytest.raises(ModuleNotFoundError, match="package_that_is_not_there"):
            importlib.import_module("package_that_is_not_there")
    assert sys.modules[PACKAGE] is loaded


def test_an_error_in_the_block_leaves_nothing_behind(package: list[str]) -> None:
    with pytest.raises(ZeroDivisionError), deferred(PACKAGE):
        raise ZeroDivisionError
    assert PACKAGE not in sys.modules
    assert package == []
