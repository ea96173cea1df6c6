"""Every module has a test file of its own, or its head names the one that covers it.

``src/steelyard/room/name.py`` is mirrored by ``tests/unit/room/test_name.py`` (a room may have a folder of its own,
``tests/room``); otherwise its docstring says "Tested in ``tests/...``.", a file or a folder, which uses the module: it
imports it or one of its names, or a module that does. A room that is tested as a whole says so in its ``__init__``.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "steelyard"
NAMED = re.compile(r"Tested in ``(tests/[\w/.]+)``")


def name_of(path: Path) -> str:
    """The dotted name of a module below the package."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def has_code(path: Path) -> bool:
    """Whether a module defines anything: a package that only hands on names does not."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in body)


MODULES = {name_of(path): path for path in sorted(SOURCE.rglob("*.py"))}
TESTED = {name: path for name, path in MODULES.items() if has_code(path)}


def mirrors(name: str) -> list[Path]:
    """Where the test file of a module would be."""
    parts = name.split(".")
    rooms = [ROOT / "tests" / "unit", ROOT / "tests"]
    return [room.joinpath(*parts[:-1], f"test_{parts[-1]}.py") for room in rooms]


@cache
def public_modules() -> dict[str, str]:
    """Public names and the modules that define them."""
    from steelyard import _public

    return {name: place.lstrip(".") for name, place in _public._imports(SOURCE / "__init__.pyi")}


@cache
def imported(path: Path) -> frozenset[str]:
    """Modules of the package that a file imports itself, by name or through public names."""
    tree, found = ast.parse(path.read_text(encoding="utf-8")), set()
    package = name_of(path).split(".") if path.is_relative_to(SOURCE) else []
    package = package if path.name == "__init__.py" else package[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                base = ".".join([*package[: len(package) - node.level + 1], *(node.module or "").split(".")]).strip(".")
            elif (node.module or "").partition(".")[0] == "steelyard":
                base = (node.module or "").partition(".")[2]
            else:
                continue
            found |= {base, *(f"{base}.{one.name}".strip(".") for one in node.names)}
            found |= {public_modules()[one.name] for one in node.names if not base and one.name in public_modules()}
        elif isinstance(node, ast.Import):
            found |= {one.name.partition(".")[2] for one in node.names if one.name.startswith("steelyard.")}
        elif isinstance(node, ast.Attribute) and node.attr in public_modules():
            found.add(public_modules()[node.attr])
    return frozenset(name for name in found if name in MODULES and name)


def uses(test: Path, module: str) -> bool:
    """Whether a test file, or one of a folder, imports a module, or a module or room that does."""
    files = sorted(test.rglob("test_*.py")) if test.is_dir() else [test]
    direct = {name for file in files for name in imported(file)}
    direct |= {own for name in direct for own in imported(MODULES[name]) if own.startswith(f"{name}.")}  # of a room
    return module in direct or any(module in imported(MODULES[name]) for name in direct)


def uses_some_of(test: Path, module: str) -> bool:
    """The same for a module; for a room, one of its modules is enough."""
    whole = [one for one in MODULES if one == module or one.startswith(f"{module}.")]
    return any(uses(test, one) for one in whole)


def named(path: Path) -> list[str]:
    """The test files or folders that the head of a module names."""
    head = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return NAMED.findall(" ".join(head.split()))


@pytest.mark.parametrize("name", TESTED)
def test_a_module_is_mirrored_or_names_its_tests(name: str) -> None:
    files = named(TESTED[name])
    for file in files:
        assert (ROOT / file).exists(), f"{name} names {file}, which is not there"
        assert uses_some_of(ROOT / file, name), f"{name} names {file}, which does not use it"
    assert files or any(path.exists() for path in mirrors(name)) or covered_with_its_room(name), (
        f"{name} has no test file, and neither its head nor that of its room names one"
    )


def covered_with_its_room(name: str) -> bool:
    """Whether the head of the room names tests, which use the room."""
    room = name.rpartition(".")[0]
    files = named(MODULES[room]) if room else []
    return bool(files) and all(uses_some_of(ROOT / file, room) for file in files)


def test_a_file_that_does_not_use_a_module_is_noticed() -> None:
    assert uses(ROOT / "tests/unit/validation/test_docstrings.py", "validation.docstrings")
    assert not uses(ROOT / "tests/unit/validation/test_docstrings.py", "tree.c45")
