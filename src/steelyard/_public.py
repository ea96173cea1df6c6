"""The lazy door of the package: public names are read from the stub and imported when first asked for (PEP 562)."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Door = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def attach(package: str, file: str) -> Door:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package whose public names its stub lists."""
    folder = Path(file).parent
    places = dict(_imports(Path(file).with_suffix(".pyi")))
    public = sorted(name for name in places if not name.startswith("_"))

    def load(name: str) -> Any:
        if name not in places and (folder / name / "__init__.py").exists():
            return importlib.import_module(f".{name}", package)
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(places[name], package), name)
        setattr(sys.modules[package], name, found)
        return found

    return load, lambda: [*public, "__version__"], public


def _imports(stub: Path) -> Iterator[tuple[str, str]]:
    """Every name the stub imports, and the module it comes from."""
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            module = f".{node.module}"
            for alias in node.names:
                names = _stated(stub.parent, str(node.module)) if alias.name == "*" else [alias.name]
                yield from ((name, module) for name in names)


def _stated(folder: Path, module: str) -> list[str]:
    """``__all__`` of a module, read without importing it."""
    source = folder.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == "__all__":
            return list(ast.literal_eval(node.value))
    raise ImportError(f"steelyard.{module} must state its public names in __all__")
